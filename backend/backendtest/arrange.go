package backendtest

import "github.com/weft-go/weft/backend"

// The arrangements of a tensor in memory. Each but the first starts at an odd offset, so that an element is
// aligned to its own size and no more. A kernel may read any, and write all but those that repeat elements.
var (
	writable = []string{"dense", "offset", "transposed", "sliced", "stepped", "reversed"}
	readable = append(writable[:len(writable):len(writable)], "broadcast row", "broadcast column", "broadcast scalar")
)

// arrange returns a layout of shape, made by views of a dense tensor.
func arrange(how string, shape backend.Shape) backend.Layout {
	base := shape.Clone()
	switch how {
	case "dense":
		return backend.Dense(shape)
	case "transposed":
		for i := range base {
			base[i] = shape[len(shape)-1-i]
		}
	case "sliced":
		for i := range base {
			base[i] += 2
		}
	case "stepped":
		for i := range base {
			base[i] = base[i]*steps[i%2] + 1
		}
	case "broadcast row": // the same row again and again
		for i := range base[:max(0, len(base)-1)] {
			base[i] = 1
		}
	case "broadcast column": // all elements of a row the same
		if len(base) > 0 {
			base[len(base)-1] = 1
		}
	case "broadcast scalar":
		for i := range base {
			base[i] = 1
		}
	}
	l := backend.Dense(base)
	l.Offset = 3
	return view(l, how, shape)
}

// steps are the strides of a stepped arrangement, on even axes and on odd.
var steps = [2]int{3, 2}

// view returns the part of l that an arrangement of shape is.
func view(l backend.Layout, how string, shape backend.Shape) backend.Layout {
	var err error
	switch how {
	case "transposed":
		axes := make([]int, len(shape))
		for i := range axes {
			axes[i] = len(shape) - 1 - i
		}
		l, err = l.Permute(axes...)
	case "sliced", "stepped", "reversed":
		for a, d := range shape {
			start, step := 1, 1
			switch how {
			case "stepped":
				step = steps[a%2]
			case "reversed":
				start, step = d-1, -1
			}
			if l, err = l.Slice(a, start, step, d); err != nil {
				break
			}
		}
	default:
		l, err = l.BroadcastTo(shape)
	}
	if err != nil {
		panic("backendtest: " + how + ": " + err.Error()) // the suite is wrong
	}
	return l
}
