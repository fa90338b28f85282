package cpu

import (
	"context"
	"fmt"
	"testing"
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu/internal/asm"
	"github.com/weft-go/weft/ops"
)

// TestTransposeAssembly compares transpositions in assembly with loops, and looks for writes between and beyond the lines.
func TestTransposeAssembly(t *testing.T) {
	loopSets(t, func(t *testing.T, s asm.Set) {
		for size, k := range map[int]*asm.Transpose{4: &s.Loops().Transpose32, 8: &s.Loops().Transpose64} {
			for name, f := range map[string]func(z, x unsafe.Pointer, n, zs, xs int){"copy": k.Copy, "stream": k.Stream} {
				for _, n := range [][2]int{{1, 1}, {k.Lanes, k.Lanes}, {3 * k.Lanes, 2 * k.Lanes}, {2*k.Lanes + 3, k.Lanes + 5}, {k.Lanes - 1, 40}, {40, 3}} {
					t.Run(fmt.Sprintf("%d/%s/%v", size, name, n), func(t *testing.T) {
						if size == 4 {
							transposeCase[uint32](t, k, f, n[0], n[1])
						} else {
							transposeCase[uint64](t, k, f, n[0], n[1])
						}
					})
				}
			}
		}
	})
}

func transposeCase[T uint32 | uint64](t *testing.T, k *asm.Transpose, f func(z, x unsafe.Pointer, n, zs, xs int), rows, cols int) {
	size := int(unsafe.Sizeof(T(0)))
	xs, zs := rows+3, (cols+k.Lanes)/k.Lanes*k.Lanes // aligned, for stream
	x, z := typed[T](newBlock(xs*cols*size).data), typed[T](newBlock((rows+1)*zs*size).data)
	clear(z)
	for i := range x {
		x[i] = T(i + 1)
	}
	transposeTo(k, f, size, unsafe.Pointer(&z[0]), unsafe.Pointer(&x[0]), rows, cols, zs, xs)
	for i, got := range z {
		want := T(0)
		if r, c := i/zs, i%zs; r < rows && c < cols {
			want = x[c*xs+r]
		}
		if got != want {
			t.Fatalf("row %d, column %d: %d, want %d", i/zs, i%zs, got, want)
		}
	}
}

// TestTransposeCopy copies across: between matrices, with axes around them and lines that run backwards, and as many elements
// as go past the caches.
func TestTransposeCopy(t *testing.T) {
	b := New()
	var eb ops.Builder
	eb.Result(eb.Load(eb.Operand(ops.Int32), false))
	k := &backend.Map{Body: eb.Expr()}
	many := []int{streamBytes/4/1040 + 1, 1040}
	for _, c := range []struct {
		shape, axes []int
		flip, slice bool
	}{
		{[]int{300, 270}, []int{1, 0}, false, false},
		{[]int{300, 270}, []int{1, 0}, true, false},
		{[]int{300, 270}, []int{1, 0}, false, true},
		{[]int{3, 65, 5, 70}, []int{0, 3, 2, 1}, false, false},
		{[]int{3, 65, 5, 70}, []int{2, 3, 0, 1}, true, true},
		{[]int{100, 7, 33}, []int{2, 1, 0}, false, false},
		{[]int{3, 1000}, []int{1, 0}, false, false},
		{many, []int{1, 0}, false, false},
		{[]int{many[1], many[0]}, []int{1, 0}, false, false},
		{many, []int{1, 0}, false, true},
	} {
		l := backend.Dense(c.shape)
		if c.slice { // neither begins nor goes on at a multiple of anything
			for a := range l.Strides {
				l.Strides[a] = 1
				for _, d := range c.shape[a+1:] {
					l.Strides[a] *= d + 1
				}
			}
			l.Offset = 1
		}
		if c.flip {
			l.Offset += (c.shape[0] - 1) * l.Strides[0]
			l.Strides[0] *= -1
		}
		x, err := l.Permute(c.axes...)
		if err != nil {
			t.Fatal(err)
		}
		_, hi := l.Bounds()
		src := make([]int32, hi+1)
		for i := range src {
			src[i] = int32(i)
		}
		z := backend.Dense(x.Shape)
		buf, err := b.Alloc(4 * z.Len())
		if err != nil {
			t.Fatal(err)
		}
		step := backend.Step{
			Kernel: k, Shape: x.Shape,
			In:  []backend.Operand{{Buf: b.Wrap(bytesOf(src)), DType: ops.Int32, Layout: x}},
			Out: []backend.Operand{{Buf: buf, DType: ops.Int32, Layout: z}},
		}
		if err := b.Run(context.Background(), []backend.Step{step}); err != nil {
			t.Fatal(err)
		}
		p, err := b.Bytes(buf)
		if err != nil {
			t.Fatal(err)
		}
		got := typed[int32](p)
		for i, at := range x.All() {
			if got[i] != int32(at) {
				t.Fatalf("%+v: element %d is that at %d, want %d", c, i, got[i], at)
			}
		}
	}
}
