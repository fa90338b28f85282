package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu/internal/asm"
)

// A transposition copies matrices whose rows in one memory are columns in the other.
type transposition struct {
	kernel       *asm.Transpose
	size         int // bytes of an element
	src, dst     unsafe.Pointer
	stream       bool
	rows, cols   int // of a matrix in dst
	across, down int // elements from one column to the next in src, from one row to the next in dst

	outer    backend.Shape // the matrices
	srcSteps []int
	dstSteps []int
}

// transposeSide is the side of the parts in which a matrix is copied: as many lines of both memories as a processor
// remembers the addresses of, and enough work for a goroutine.
const transposeSide = 256

// streamBytes is the size from which on results are written past the caches, where that can be: none would hold them until they
// are read.
const streamBytes = 16 << 20

// transpose copies src to dst if that is a transposition for which there is assembly. It reports whether it is.
func (j *job) transpose(src, dst backend.Layout) (bool, error) {
	t := j.transposition(src, dst)
	if t == nil {
		return false, nil
	}
	down, along := (t.rows-1)/transposeSide+1, (t.cols-1)/transposeSide+1
	return true, j.parallel(t.outer.Len()*down*along, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			t.part(i/(down*along), i/along%down*transposeSide, i%along*transposeSide)
		}
		if t.stream {
			loops.StoreFence()
		}
	})
}

// transposition returns what copies src to dst, or nil if no kernel suits.
func (j *job) transposition(src, dst backend.Layout) *transposition {
	if loops == nil || overlapping(j.in[0].mem, j.out[0].mem) {
		return nil
	}
	t := &transposition{size: j.in[0].dtype.Size()}
	switch t.size {
	case 4:
		t.kernel = &loops.Transpose32
	case 8:
		t.kernel = &loops.Transpose64
	default:
		return nil
	}
	axes := make([]int, len(dst.Shape))
	for i := range axes {
		axes[i] = i
	}
	sortAxes(axes, dst.Strides)
	both, _ := backend.Collapse([]backend.Layout{permute(src, axes), permute(dst, axes)}, 0)
	src, dst = both[0], both[1]
	last := len(src.Shape) - 1
	if dst.Strides[last] != 1 || src.Shape[last] < t.kernel.Lanes {
		return nil
	}
	row := -1
	for a := range last {
		if src.Strides[a] == 1 && src.Shape[a] >= t.kernel.Lanes {
			row = a
		} else {
			t.outer = append(t.outer, src.Shape[a])
			t.srcSteps, t.dstSteps = append(t.srcSteps, src.Strides[a]), append(t.dstSteps, dst.Strides[a])
		}
	}
	if row < 0 {
		return nil
	}
	t.rows, t.cols, t.across, t.down = src.Shape[row], src.Shape[last], src.Strides[last], dst.Strides[row]
	t.src = unsafe.Pointer(&j.in[0].mem[src.Offset*t.size])
	t.dst = unsafe.Pointer(&j.out[0].mem[dst.Offset*t.size])
	t.stream = dst.Shape.Len()*t.size >= streamBytes && t.aligned()
	return t
}

// aligned reports whether the lines of squares begin at multiples of their length.
func (t *transposition) aligned() bool {
	bits := uintptr(t.dst) | uintptr(t.down*t.size)
	for _, s := range t.dstSteps {
		bits |= uintptr(s * t.size)
	}
	return bits%uintptr(t.kernel.Lanes*t.size) == 0
}

// part copies the part of matrix m that begins at the given row and column of dst.
func (t *transposition) part(m, row, col int) {
	src, dst := row+col*t.across, row*t.down+col
	for a := len(t.outer) - 1; a >= 0; a-- {
		i := m % t.outer[a]
		m /= t.outer[a]
		src, dst = src+i*t.srcSteps[a], dst+i*t.dstSteps[a]
	}
	rows, cols := min(transposeSide, t.rows-row), min(transposeSide, t.cols-col)
	x, z := unsafe.Add(t.src, src*t.size), unsafe.Add(t.dst, dst*t.size)
	f := t.kernel.Copy
	if t.stream {
		f = t.kernel.Stream
	}
	transposeTo(t.kernel, f, t.size, z, x, rows, cols, t.down, t.across)
}

// transposeTo writes z[r·zs+c] = x[c·xs+r] by f, a function of k, and what is not in squares one by one.
func transposeTo(k *asm.Transpose, f func(z, x unsafe.Pointer, n, zs, xs int), size int, z, x unsafe.Pointer, rows, cols, zs, xs int) {
	down, along := rows/k.Lanes*k.Lanes, cols/k.Lanes*k.Lanes
	for c := 0; c < along; c += k.Lanes {
		f(unsafe.Add(z, c*size), unsafe.Add(x, c*xs*size), down/k.Lanes, zs, xs)
	}
	rest := func(r, c, rows, cols int) {
		z, x := unsafe.Add(z, (r*zs+c)*size), unsafe.Add(x, (c*xs+r)*size)
		if size == 4 {
			transposeEach[uint32](z, x, rows, cols, zs, xs)
		} else {
			transposeEach[uint64](z, x, rows, cols, zs, xs)
		}
	}
	if down < rows {
		rest(down, 0, rows-down, cols)
	}
	if along < cols {
		rest(0, along, down, cols-along)
	}
}

func transposeEach[T any](z, x unsafe.Pointer, rows, cols, zs, xs int) {
	size := int(unsafe.Sizeof(*new(T)))
	for r := range rows {
		for c := range cols {
			*(*T)(unsafe.Add(z, (r*zs+c)*size)) = *(*T)(unsafe.Add(x, (c*xs+r)*size))
		}
	}
}
