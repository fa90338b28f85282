package wgpu

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// rowBody returns the programs that the tests of rows run: the sum, the elements less the minimum and the position of
// that, and the sums of the elements so far.
func rowBody(d ops.DType, name string) (backend.Kernel, *ops.Expr) {
	var b ops.Builder
	x := b.Load(b.Operand(d), false)
	switch name {
	case "reduce":
		b.Result(b.Reduce(ops.ReduceSum, x))
		k := &backend.Reduce{Body: b.Expr(), Axes: 1}
		return k, &k.Body
	case "row":
		b.Result(b.Apply(ops.Sub, x, b.Reduce(ops.ReduceMin, x)))
		b.Result(b.Reduce(ops.ReduceArgMin, x))
		k := &backend.Row{Body: b.Expr(), Axes: 1}
		return k, &k.Body
	}
	b.Result(b.Scan(ops.ReduceSum, x, false, false))
	k := &backend.Scan{Body: b.Expr()}
	return k, &k.Body
}

// rowWant returns the results of a kernel of rowBody for one row.
func rowWant(family string, row []int) (elements []int, value int) {
	least := 0
	for i, x := range row {
		if x < row[least] {
			least = i
		}
		value += x
		elements = append(elements, value)
	}
	switch family {
	case "reduce":
		return nil, value
	case "row":
		for i, x := range row {
			elements[i] = x - row[least]
		}
		return elements, least
	}
	return elements, 0
}

// TestRowVariants tries every kernel of rows, with and without subgroups: sizes and layouts that choose it, each with more rows
// or elements than fill what it works on at once. With few workgroups a dimension, grids have two of them.
func TestRowVariants(t *testing.T) {
	e := openTest(t)
	e.info.Limits.Groups = 50
	const held, looped, split = "held", "looped", "split"
	for _, c := range []struct {
		rows, n int
		turned  bool // rows are columns in memory
		slots   int  // that the device has; with too few no row is split
		long    bool // the sum alone if tests are to be short

		columns     bool
		reduce, row string // how the kernels of these families have a row
		threads     int    // of a workgroup of the latter, 0 for the usual number
	}{
		{rows: 2203, n: 3, columns: true, reduce: held, row: held, long: true},
		{rows: 2203, n: 33, reduce: held, row: held, long: true},
		{rows: 1003, n: 128, reduce: held, row: held},
		{rows: 301, n: 1000, reduce: held, row: held, long: true},
		{rows: 3, n: 4001, reduce: held, row: held, long: true},
		{rows: 531, n: 4099, reduce: held, row: held, long: true},
		{rows: 70, n: 4096, reduce: held, row: held},
		{rows: 300, n: 8192, reduce: held, row: held, long: true},
		{rows: 3, n: 1 << 18, reduce: split, row: split, long: true},
		{rows: 67, n: 10_001, reduce: held, row: held, threads: 512, long: true},
		{rows: 257, n: 17_001, reduce: looped, row: held, threads: 1024},
		{rows: 61, n: 16_001, reduce: held, row: split, long: true},
		{rows: 2, n: 20_000, slots: 1, reduce: held, row: looped},
		{rows: 2, n: 300_001, reduce: split, row: split, long: true},
		{rows: 3, n: 30_000, reduce: held, row: split},
		{rows: 70_001, n: 4, turned: true, columns: true, reduce: held, row: held, long: true},
		{rows: 1001, n: 17, turned: true, columns: true, reduce: held, row: held},
		{rows: 402, n: 150, turned: true, columns: true, reduce: held, row: held, threads: 1024, long: true},
		{rows: 5, n: 1000, turned: true, columns: true, reduce: held, row: held, threads: 1024, long: true},
		{rows: 34_000, n: 40, turned: true, columns: true, reduce: held, row: held, long: true},
		{rows: 9, n: 500, turned: true, columns: true, reduce: held, row: held, threads: 1024, long: true},
		{rows: 8_201, n: 264, turned: true, columns: true, reduce: looped, row: held, threads: 512, long: true},
		{rows: 4_093, n: 1100, turned: true, columns: true, reduce: split, row: looped, threads: 1024, long: true},
		{rows: 4_093, n: 1280, turned: true, columns: true, reduce: split, row: looped, threads: 1024, long: true},
		{rows: 129, n: 5000, turned: true, columns: true, reduce: split, row: split, threads: 1024, long: true},
		{rows: 7, n: 30_000, turned: true, columns: true, reduce: split, row: split, threads: 1024, long: true},
		{rows: 7, n: 9_000, turned: true, columns: true, slots: 1, reduce: looped, row: looped, long: true},
	} {
		for _, family := range []string{"reduce", "row", "scan"} {
			if c.long && testing.Short() && family != "reduce" {
				continue
			}
			for _, subgroup := range slices.Compact([]int{e.subgroup, 0}) {
				t.Run(fmt.Sprintf("%s/%dx%d/%d", family, c.rows, c.n, subgroup), func(t *testing.T) {
					limits, most := e.info.Limits, e.subgroup
					defer func() { e.info.Limits, e.subgroup = limits, most }()
					e.subgroup = subgroup
					if c.slots > 0 {
						e.info.Limits.StorageSlots = uint32(c.slots)
					}
					s := rowStep(t, e, family, c.rows, c.n, c.turned)
					k := planOf(e, &s)
					got := looped
					switch {
					case k.held:
						got = held
					case k.pieces > 1:
						got = split
					}
					want := map[string]string{"reduce": c.reduce, "row": c.row, "scan": got}[family]
					if k.columns != c.columns || got != want {
						t.Errorf("columns %t, %s", k.columns, got)
					}
					if family == "row" && k.threads != cmp.Or(c.threads, rowThreads) {
						t.Errorf("%d threads", k.threads)
					}
					run(t, e, s)
					checkRows(t, e, &s, c.rows, c.n, c.turned)
				})
			}
		}
	}
}

// planOf returns the variant for a step of rowStep.
func planOf(e *engine, s *backend.Step) *rowKernel {
	return e.planRows(s, s.Kernel, s.Kernel.Bodies()[0], 1)
}

// rowStep returns a step of small Int32 numbers.
func rowStep(t *testing.T, e *engine, family string, rows, n int, turned bool) backend.Step {
	t.Helper()
	const d = ops.Int32
	kernel, body := rowBody(d, family)
	shape := backend.Shape{rows, n}
	l := backend.Dense(shape)
	if turned {
		l.Strides = []int{1, rows}
	}
	s := backend.Step{Kernel: kernel, Shape: shape, In: []backend.Operand{{Buf: upload(t, e, d, numbers(rows*n, n, true)), DType: d, Layout: l}}}
	for _, r := range body.Out {
		size, to := rows*n, l
		if body.Code[r].Row {
			size, to = rows, backend.Layout{Shape: shape, Strides: []int{1, 0}}
		}
		s.Out = append(s.Out, backend.Operand{Buf: upload(t, e, d, make([]int, size)), DType: d, Layout: to})
	}
	return s
}

// checkRows checks the results of a step of rowStep.
func checkRows(t *testing.T, e *engine, s *backend.Step, rows, n int, turned bool) {
	t.Helper()
	x := numbers(rows*n, n, true)
	var got [][]int
	for _, o := range s.Out {
		got = append(got, download(t, e, o.DType, o.Buf))
	}
	row := make([]int, n)
	for i := range rows {
		for j := range n {
			row[j] = x[at(0, i, j, rows, n, turned)]
		}
		elements, value := rowWant(s.Kernel.Family(), row)
		for j, want := range elements {
			if g := got[0][at(0, i, j, rows, n, turned)]; g != want {
				t.Fatalf("element [%d %d] is %d, want %d", i, j, g, want)
			}
		}
		if last := len(got) - 1; s.Kernel.Family() != "scan" && got[last][i] != value {
			t.Fatalf("row %d gives %d, want %d", i, got[last][i], value)
		}
	}
}

// TestRowInPlace tests outputs in the place of their input.
func TestRowInPlace(t *testing.T) {
	e := openTest(t)
	for i, c := range []struct {
		rows, n int
		turned  bool
	}{{5, 77, false}, {2, 20_000, false}, {3, 4099, false}, {77, 5, true}, {5, 2000, true}} {
		if i > 1 && testing.Short() {
			break
		}
		for _, family := range []string{"row", "scan"} {
			s := rowStep(t, e, family, c.rows, c.n, c.turned)
			s.Out[0].Buf = s.In[0].Buf
			run(t, e, s)
			checkRows(t, e, &s, c.rows, c.n, c.turned)
		}
	}
}

// TestRowCompilesOnce tests that sizes which choose the same variant share its kernel.
func TestRowCompilesOnce(t *testing.T) {
	e := openTest(t)
	for _, family := range []string{"reduce", "row", "scan"} {
		for i, n := range []int{516, 600, 1000, 1024} {
			s := rowStep(t, e, family, 900+n%7, n, false)
			before := e.Info().Compiled
			run(t, e, s)
			if got := e.Info().Compiled - before; i > 0 && got > 0 {
				t.Errorf("%s of rows of %d elements compiled %d kernels", family, n, got)
			}
		}
	}
}

// TestRowOrder tests that a transposed tensor is read in the order of its memory where that does not change the result.
func TestRowOrder(t *testing.T) {
	e := openTest(t)
	const rows, n, d = 60, 100, ops.Int32
	x := numbers(rows*n, 1, true)
	in := matrices(upload(t, e, d, x), d, 1, rows, n, true)
	for _, name := range []string{"reduce", "row"} {
		kernel, body := rowBody(d, name)
		s := backend.Step{Kernel: kernel, Shape: backend.Shape{1, rows, n}, In: []backend.Operand{in}}
		for _, r := range body.Out {
			o := matrices(upload(t, e, d, make([]int, rows*n)), d, 1, rows, n, true)
			if body.Code[r].Row {
				o.Layout.Strides = []int{0, 0, 0}
			}
			s.Out = append(s.Out, o)
		}
		k := e.planRows(&s, kernel, body, 2)
		if ordered := name == "row"; (len(k.shape) == 1) == ordered {
			t.Errorf("%s over %v", name, k.shape)
		}
	}
}

// TestRowFirst looks for the first of the greatest and of the least among elements that are all the least or the greatest of their
// type, but perhaps one.
func TestRowFirst(t *testing.T) {
	e := openTest(t)
	const rows, n, at = 3, 37, 20
	for _, d := range []ops.DType{ops.Bool, ops.Uint8, ops.Int8, ops.Uint32, ops.Int32, ops.Int64, ops.Float16, ops.Float32} {
		lo, hi := int64(0), int64(1)
		if d != ops.Bool && !d.IsFloat() {
			lo, hi = ops.IntRange(d)
		}
		for _, op := range []ops.ReduceOp{ops.ReduceArgMax, ops.ReduceArgMin} {
			for _, v := range []int64{lo, hi} {
				var b ops.Builder
				b.Result(b.Reduce(op, b.Load(b.Operand(d), false)))
				x := make([]int, rows*n)
				for i := range x {
					x[i] = int(v)
				}
				x[n+at] = int(lo + hi - v) // of the second row
				shape := backend.Shape{rows, n}
				out := upload(t, e, ops.Int32, make([]int, rows))
				run(t, e, backend.Step{
					Kernel: &backend.Reduce{Body: b.Expr(), Axes: 1}, Shape: shape,
					In:  []backend.Operand{{Buf: upload(t, e, d, x), DType: d, Layout: backend.Dense(shape)}},
					Out: []backend.Operand{{Buf: out, DType: ops.Int32, Layout: backend.Layout{Shape: shape, Strides: []int{1, 0}}}},
				})
				want := []int{0, 0, 0}
				if (v == lo) == (op == ops.ReduceArgMax) {
					want[1] = at
				}
				if got := download(t, e, ops.Int32, out); !slices.Equal(got, want) {
					t.Errorf("%s of %s, most of them %d: %v, want %v", op, d, v, got, want)
				}
			}
		}
	}
}
