package wgpu

import (
	"fmt"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// TestMapPatches adds to what lies in memory with its axes in another order something that does not: every type, and extents
// that fill patches and ones that do not.
func TestMapPatches(t *testing.T) {
	e := openTest(t)
	e.info.Limits.Groups = 3 // so that grids have two dimensions
	for _, c := range []struct {
		d       ops.DType
		shape   backend.Shape
		order   []int // of the axes in memory
		reverse bool  // the axis that is last in memory
		row     bool  // the other operand is one row
		patch   int   // the axis that patches lie along beside the last, -1 if there are none
	}{
		{d: ops.Float32, shape: backend.Shape{132, 260}, order: []int{1, 0}},
		{d: ops.Int32, shape: backend.Shape{131, 257}, order: []int{1, 0}},
		{d: ops.Int64, shape: backend.Shape{128, 132}, order: []int{1, 0}, row: true},
		{d: ops.Int64, shape: backend.Shape{129, 131}, order: []int{1, 0}},
		{d: ops.Float16, shape: backend.Shape{2, 132, 68}, order: []int{0, 2, 1}, patch: 1},
		{d: ops.BFloat16, shape: backend.Shape{68, 3, 84}, order: []int{2, 1, 0}},
		{d: ops.Int8, shape: backend.Shape{64, 5, 64}, order: []int{1, 2, 0}, row: true},
		{d: ops.Uint8, shape: backend.Shape{65, 5, 63}, order: []int{1, 2, 0}},
		{d: ops.Uint32, shape: backend.Shape{4, 7000}, order: []int{1, 0}},
		{d: ops.Uint32, shape: backend.Shape{7000, 4}, order: []int{1, 0}},
		{d: ops.Uint32, shape: backend.Shape{7000, 3}, order: []int{1, 0}, patch: -1},
		{d: ops.Int32, shape: backend.Shape{2, 5, 40, 52}, order: []int{0, 3, 1, 2}, patch: 1},
		{d: ops.Int32, shape: backend.Shape{132, 260}, order: []int{1, 0}, reverse: true},
	} {
		t.Run(fmt.Sprintf("%s/%v%v", c.d, c.shape, c.order), func(t *testing.T) {
			rank, n := len(c.shape), c.shape.Len()
			turned := backend.Layout{Shape: c.shape, Strides: make([]int, rank)}
			stride := 1
			for i := rank - 1; i >= 0; i-- {
				turned.Strides[c.order[i]] = stride
				stride *= c.shape[c.order[i]]
			}
			if c.reverse {
				a := c.order[rank-1]
				turned.Offset, turned.Strides[a] = c.shape[a]-1, -1
			}
			other := backend.Dense(c.shape)
			if c.row {
				other.Strides = append(make([]int, rank-1), 1)
			}
			x, y := numbers(n, 1, false), numbers(n, 2, false)
			var b ops.Builder
			b.Result(b.Apply(ops.Add, b.Load(b.Operand(c.d), false), b.Load(b.Operand(c.d), false)))
			kernel := &backend.Map{Body: b.Expr()}
			s := backend.Step{
				Kernel: kernel, Shape: c.shape,
				In: []backend.Operand{
					{DType: c.d, Layout: turned, Buf: upload(t, e, c.d, x)},
					{DType: c.d, Layout: other, Buf: upload(t, e, c.d, y)},
				},
				Out: []backend.Operand{{DType: c.d, Layout: backend.Dense(c.shape), Buf: upload(t, e, c.d, make([]int, n))}},
			}
			if m, _ := e.planMap(&s, &kernel.Body); m.turned != c.patch+1 {
				t.Errorf("patches along axis %d, want %d", m.turned-1, c.patch)
			}
			run(t, e, s)
			got := download(t, e, c.d, s.Out[0].Buf)
			i := 0
			for index := range indices(c.shape) {
				if want := x[turned.At(index...)] + y[other.At(index...)]; got[i] != want {
					t.Fatalf("element %v is %d, want %d", index, got[i], want)
				}
				i++
			}
		})
	}
}

// indices yields the indices of a shape in row-major order.
func indices(shape backend.Shape) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		index := make([]int, len(shape))
		for range shape.Len() {
			if !yield(index) {
				return
			}
			for a := len(shape) - 1; a >= 0; a-- {
				if index[a]++; index[a] < shape[a] {
					break
				}
				index[a] = 0
			}
		}
	}
}

// TestMapUnits runs a map large enough for threads to take several quads, of which the last workgroup has few.
func TestMapUnits(t *testing.T) {
	e := openTest(t)
	e.info.Limits.Groups = 100
	const n = 4*mapFew + 5
	for _, c := range []struct {
		d     ops.DType
		shape backend.Shape
		units int
		apart int // where lanes are dispersed
	}{
		{ops.Float32, backend.Shape{n}, 4, 0},
		{ops.Int64, backend.Shape{n}, 2, 0},
		{ops.Int8, backend.Shape{1031, 1033}, 4, 0},
		{ops.Int32, backend.Shape{1031, 1033}, 4, 32},
		{ops.Int64, backend.Shape{3, 60}, 1, 8},
	} {
		x := numbers(c.shape.Len(), 3, false)
		var b ops.Builder
		v := b.Load(b.Operand(c.d), false)
		b.Result(b.Apply(ops.Add, v, v))
		kernel := &backend.Map{Body: b.Expr()}
		to := backend.Layout{Shape: c.shape, Strides: backend.Dense(c.shape).Strides}
		if len(c.shape) > 1 {
			to.Strides = []int{c.shape[1] + 1, 1} // so that the axes are not one
		}
		s := backend.Step{
			Kernel: kernel, Shape: c.shape,
			In:  []backend.Operand{{DType: c.d, Layout: backend.Dense(c.shape), Buf: upload(t, e, c.d, x)}},
			Out: []backend.Operand{{DType: c.d, Layout: to, Buf: upload(t, e, c.d, make([]int, c.shape[0]*to.Strides[0]))}},
		}
		if m, _ := e.planMap(&s, &kernel.Body); m.unroll != c.units || m.apart != c.apart {
			t.Errorf("%s%v: %d units, lanes %d apart; want %d and %d", c.d, c.shape, m.unroll, m.apart, c.units, c.apart)
		}
		run(t, e, s)
		got := download(t, e, c.d, s.Out[0].Buf)
		i := 0
		for index := range indices(c.shape) {
			if at := to.At(index...); got[at] != 2*x[i] {
				t.Fatalf("%s: element %v is %d, want %d", c.d, index, got[at], 2*x[i])
			}
			i++
		}
	}
}
