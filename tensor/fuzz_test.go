package tensor_test

import (
	"slices"
	"testing"

	"github.com/weft-go/weft/tensor"
)

// A grid is an array as plainly as can be: the model that views are held to.
type grid struct {
	shape []int
	elems []int64
}

// view returns the grid of the given shape whose element at an index is that of g at from(index).
func (g grid) view(shape []int, from func(index []int) []int) grid {
	v := grid{shape: shape}
	index := make([]int, len(shape))
	for range product(shape) {
		at := 0
		for a, i := range from(slices.Clone(index)) {
			at = at*g.shape[a] + i
		}
		v.elems = append(v.elems, g.elems[at])
		for a := len(index) - 1; a >= 0; a-- {
			if index[a]++; index[a] < shape[a] {
				break
			}
			index[a] = 0
		}
	}
	return v
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// positions returns what start:stop:step selects of d elements, by walking: nil stands for an open end.
func positions(d int, start, stop *int, step int) (at []int) {
	from, to := 0, d
	if step < 0 {
		from, to = d-1, -1
	}
	place := func(p *int, open int) int {
		if p == nil {
			return open
		}
		i := *p
		if i < 0 {
			i += d
		}
		if step < 0 {
			return min(max(i, -1), d-1)
		}
		return min(max(i, 0), d)
	}
	from, to = place(start, from), place(stop, to)
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		at = append(at, i)
	}
	return at
}

// FuzzViews applies views chosen by bytes, one after the other, to a tensor and to a grid.
func FuzzViews(f *testing.F) {
	f.Add([]byte{2, 3, 4, 0, 1, 2})
	f.Add([]byte{3, 4, 5, 1, 200, 3, 9, 4, 0, 1, 5, 2, 6})
	f.Add([]byte{1, 0, 7, 3, 3, 3, 2, 250, 1, 254})
	f.Add([]byte{4, 4, 4, 7, 1, 2, 1, 6, 0, 2, 5, 1, 8, 3, 1, 3, 0})
	f.Add([]byte{4, 2, 3, 3, 0, 1, 1, 255, 3, 3, 2, 1, 0, 7, 3, 3, 7})
	f.Fuzz(func(t *testing.T, b []byte) {
		next := func(n int) int {
			if len(b) == 0 || n == 0 {
				return 0
			}
			v := int(b[0]) % n
			b = b[1:]
			return v
		}
		g := grid{shape: []int{next(5), next(5), next(5)}}
		for i := range product(g.shape) {
			g.elems = append(g.elems, int64(i))
		}
		x := tensor.New(g.elems, g.shape...)
		for step := 0; len(b) > 0 && step < 8 && len(g.shape) < 7; step++ {
			x, g = randomView(x, g, next)
		}
		wantInts(t, x, g.shape, g.elems...)
		wantInts(t, x.Neg(), g.shape, negated(g.elems)...) // through a kernel too
	})
}

func negated(v []int64) []int64 {
	n := make([]int64, len(v))
	for i, x := range v {
		n[i] = -x
	}
	return n
}

func randomView(x *tensor.Tensor, g grid, next func(int) int) (*tensor.Tensor, grid) {
	rank := len(g.shape)
	if rank == 0 {
		return x.Unsqueeze(0), grid{[]int{1}, g.elems}
	}
	a := next(rank)
	shape := slices.Clone(g.shape)
	switch next(9) {
	case 0: // slice
		var start, stop *int
		i, j, step := next(15)-7, next(15)-7, next(7)-3
		if step == 0 {
			step = 1
		}
		r := tensor.All
		switch next(4) {
		case 0:
			r, start, stop = tensor.R(i, j), &i, &j
		case 1:
			r, start = tensor.From(i), &i
		case 2:
			r, stop = tensor.To(j), &j
		}
		at := positions(shape[a], start, stop, step)
		shape[a] = len(at)
		return x.SliceAxis(a, r.Step(step)), g.view(shape, func(index []int) []int {
			index[a] = at[index[a]]
			return index
		})
	case 1: // transpose
		c := next(rank)
		shape[a], shape[c] = shape[c], shape[a]
		return x.Transpose(a, c-rank), g.view(shape, func(index []int) []int {
			index[a], index[c] = index[c], index[a]
			return index
		})
	case 2: // flatten and cut anew
		if n := product(shape); n > 0 && n%2 == 0 {
			return x.Reshape(2, -1), grid{[]int{2, n / 2}, g.elems}
		}
		return x.Flatten(), grid{[]int{product(shape)}, g.elems}
	case 3: // flip
		return x.Flip(a), g.view(shape, func(index []int) []int {
			index[a] = shape[a] - 1 - index[a]
			return index
		})
	case 4: // broadcast a new axis
		n := next(3)
		wide := append([]int{n}, shape...)
		return x.BroadcastTo(wide...), g.view(wide, func(index []int) []int { return index[1:] })
	case 5: // diagonal
		c, k := next(rank), next(5)-2
		if a == c {
			return x.Unsqueeze(a), grid{slices.Insert(shape, a, 1), g.elems}
		}
		n := max(0, min(shape[a]-max(0, -k), shape[c]-max(0, k)))
		var rest []int
		for i, d := range shape {
			if i != a && i != c {
				rest = append(rest, d)
			}
		}
		return x.Diagonal(k, a, c), g.view(append(rest, n), func(index []int) []int {
			i, others := index[len(index)-1], index[:len(index)-1]
			var full []int
			for axis := range shape {
				switch axis {
				case a:
					full = append(full, i+max(0, -k))
				case c:
					full = append(full, i+max(0, k))
				default:
					full, others = append(full, others[0]), others[1:]
				}
			}
			return full
		})
	case 6: // unfold
		if shape[a] < 2 {
			return x.Squeeze(), grid{slices.DeleteFunc(shape, func(d int) bool { return d == 1 }), g.elems}
		}
		size, step := 1+next(shape[a]), 1+next(3)
		shape[a] = (shape[a]-size)/step + 1
		return x.Unfold(a, size, step), g.view(append(shape, size), func(index []int) []int {
			index[a] = index[a]*step + index[len(index)-1]
			return index[:len(index)-1]
		})
	case 7: // select
		if shape[a] == 0 {
			return x, g
		}
		i := next(shape[a])
		rest := slices.Delete(shape, a, a+1)
		return x.Select(a, i-g.shape[a]), g.view(rest, func(index []int) []int { return slices.Insert(index, a, i) })
	}
	return x.Contiguous(), g
}

// FuzzReshape holds Reshape to its rule: the elements stay, or the error is of kind ErrShape.
func FuzzReshape(f *testing.F) {
	f.Add(2, 3, 6, -1)
	f.Add(4, 4, 2, 8)
	f.Add(0, 5, -1, 5)
	f.Add(3, 3, -1, -1)
	f.Add(1, 1, 1<<62, 1<<62)
	f.Fuzz(func(t *testing.T, m, n, p, q int) {
		m, n = m&15, n&15
		x := tensor.Iota(tensor.Int32, m, n)
		y := x.T().Reshape(p, q)
		shape := []int{p, q}
		switch {
		case p == -1 && q > 0 && m*n%q == 0:
			shape[0] = m * n / q
		case q == -1 && p > 0 && m*n%p == 0:
			shape[1] = m * n / p
		case p >= 0 && q >= 0 && (q == 0 || p <= 256) && (p == 0 || q <= 256) && p*q == m*n:
		default:
			if y.Err() == nil {
				t.Fatalf("[%d %d] reshaped to %d, %d", m, n, p, q)
			}
			refuses(t, y, tensor.ErrShape)
			return
		}
		wantInts(t, y, shape, ints(t, x.T())...)
	})
}

// FuzzOperands gives binary and matrix operations two tensors of any shape: the result has NumPy's shape, or an error.
func FuzzOperands(f *testing.F) {
	f.Add([]byte{2, 3, 4, 1, 4})
	f.Add([]byte{0})
	f.Add([]byte{1, 0, 3, 3, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 8 {
			b = b[:8]
		}
		shapes := [2][]int{}
		for i, v := range b {
			shapes[i%2] = append(shapes[i%2], int(v)%5)
		}
		x, y := tensor.Iota(tensor.Float32, shapes[0]...), tensor.Iota(tensor.Float32, shapes[1]...)
		for _, z := range []*tensor.Tensor{x.Add(y), x.MatMul(y), x.Take(0, y.Cast(tensor.Int32).MulScalar(0)), tensor.Concat(0, x, y), x.Outer(y)} {
			if z.Err() != nil {
				continue
			}
			if n := len(read[float32](t, z)); n != product(z.Shape()) || n != z.Len() {
				t.Errorf("%v and %v: shape %v with %d elements", shapes[0], shapes[1], z.Shape(), n)
			}
		}
	})
}
