package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
)

// scanOf is a Scan body that scans its operand.
func scanOf(r ops.ReduceOp, d ops.DType, exclusive, reverse bool) ops.Expr {
	var b ops.Builder
	b.Result(b.Scan(r, b.Load(b.Operand(d), false), exclusive, reverse))
	return b.Expr()
}

func runScan(t *testing.T, b *cpu.Backend, e ops.Expr, shape backend.Shape, in []tensor, out backend.Layout) []ops.Value {
	t.Helper()
	s := backend.Step{Kernel: &backend.Scan{Body: e}, Shape: shape}
	for _, x := range in {
		s.In = append(s.In, x.Operand)
	}
	s.Out = []backend.Operand{result(t, b, e.Code[e.Out[0]].DType, out)}
	run(t, b, s)
	return read(t, b, s.Out[0])
}

func TestScan(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(9, 10))
	shapes := []backend.Shape{{1}, {7}, {3, 5}, {300, 3}, {3, 1, 33}, {2, 1030}, {2, 3, 20}}
	for _, red := range ops.ReduceOps() {
		for _, d := range ops.DTypes() {
			if !red.Scans() || !red.Accepts().Has(d.Kind()) {
				continue
			}
			tol := ops.Tol{ULP: 2}
			if red == ops.ReduceLogAddExp {
				tol.ULP = 20
			}
			for way := range 4 {
				e := scanOf(red, d, way&1 != 0, way&2 != 0)
				for i, shape := range shapes {
					if i%3 != 1 && d != ops.Float32 && d != ops.Int64 {
						continue // the loops over rows are the same for all types
					}
					for _, name := range layoutNames(shape) {
						t.Run(fmt.Sprintf("%s/%s/%d/%v/%s", red, d, way, shape, name), func(t *testing.T) {
							x := operand(t, b, d, layouts(shape)[name], func(int) ops.Value { return plain(r, d) })
							got := runScan(t, b, e, shape, []tensor{x}, backend.Dense(shape))
							checkScan(t, &e, shape, []tensor{x}, got, tol)
						})
					}
				}
			}
		}
	}
}

func checkScan(t *testing.T, e *ops.Expr, shape backend.Shape, in []tensor, got []ops.Value, tol ops.Tol) {
	t.Helper()
	c := shape[len(shape)-1]
	want := evalRows(e, shape.Len()/c, c, in, nil)[0]
	for i := range got {
		if !near(got[i], want[i], tol) {
			t.Fatalf("element %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

// TestScanAround has elementwise instructions before and after the scan, and a value used by both.
func TestScanAround(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(11, 12))
	var eb ops.Builder
	x, y := eb.Load(eb.Operand(ops.Float32), false), eb.Load(eb.Operand(ops.Float32), false)
	sq := eb.Apply(ops.Square, x)
	eb.Result(eb.Apply(ops.Add, eb.Apply(ops.Mul, eb.Scan(ops.ReduceSum, sq, false, true), y), sq))
	e := eb.Expr()
	for _, shape := range []backend.Shape{{5, 3}, {4, 1500}, {30, 50}} {
		for _, name := range layoutNames(shape) {
			t.Run(fmt.Sprint(shape, name), func(t *testing.T) {
				next := func(int) ops.Value { return plain(r, ops.Float32) }
				in := []tensor{
					operand(t, b, ops.Float32, layouts(shape)[name], next),
					operand(t, b, ops.Float32, backend.Dense(shape), next),
				}
				got := runScan(t, b, e, shape, in, layouts(shape)["transposed"])
				checkScan(t, &e, shape, in, got, ops.Tol{ULP: 4})
			})
		}
	}
}

// TestScanSegments scans long rows, on one thread and on several, which split them: the bits are the same.
func TestScanSegments(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(13, 14))
	shape := backend.Shape{2, 400000}
	for _, d := range []ops.DType{ops.Float32, ops.Int64} {
		x := operand(t, b, d, backend.Dense(shape), func(int) ops.Value {
			if d.IsFloat() {
				return ops.FloatValue(d, r.NormFloat64())
			}
			return ops.IntValue(d, r.Int64N(100)-50)
		})
		for _, red := range []ops.ReduceOp{ops.ReduceSum, ops.ReduceProd, ops.ReduceMin} {
			for way := range 4 {
				var first []ops.Value
				for _, procs := range []int{1, 4} {
					old := runtime.GOMAXPROCS(procs)
					got := runScan(t, b, scanOf(red, d, way&1 != 0, way&2 != 0), shape, []tensor{x}, backend.Dense(shape))
					runtime.GOMAXPROCS(old)
					if first == nil {
						first = got
					}
					if !slices.Equal(got, first) {
						t.Errorf("%s of %s, way %d: %d threads give other bits than 1", red, d, way, procs)
					}
				}
				last := shape[1] - 1
				if want := reduceValues(red, x.vals[:last+1], d); way == 0 && red == ops.ReduceSum && !near(first[last], want, ops.Tol{ULP: 1}) {
					t.Errorf("%s: last sum %v, want %v", d, first[last], want)
				}
			}
		}
	}
}

func TestScanEdges(t *testing.T) {
	b := device(t)
	inf, nan := math.Inf(1), math.NaN()
	for _, tc := range []struct {
		name               string
		red                ops.ReduceOp
		exclusive, reverse bool
		in, want           []float64
	}{
		{"S09 logcumsumexp of -inf", ops.ReduceLogAddExp, false, false, []float64{-inf, -inf, 0, 0}, []float64{-inf, -inf, 0, math.Ln2}},
		{"S11 cumprod of zeros", ops.ReduceProd, false, false, []float64{2, 0, 3, inf}, []float64{2, 0, 0, nan}},
		{"S05 exclusive", ops.ReduceSum, true, false, []float64{1, 2, 3, 4}, []float64{0, 1, 3, 6}},
		{"S05 reverse", ops.ReduceSum, false, true, []float64{1, 2, 3, 4}, []float64{10, 9, 7, 4}},
		{"S05 both", ops.ReduceSum, true, true, []float64{1, 2, 3, 4}, []float64{9, 7, 4, 0}},
		{"cummax keeps NaN", ops.ReduceMax, false, false, []float64{1, nan, 5, inf}, []float64{1, nan, nan, nan}},
		{"cummin keeps NaN", ops.ReduceMin, false, false, []float64{1, nan, 5, -inf}, []float64{1, nan, nan, nan}},
		{"cumsum of infinities", ops.ReduceSum, false, false, []float64{1, inf, 5, -inf, 1}, []float64{1, inf, inf, nan, nan}},
	} {
		for _, d := range []ops.DType{ops.Float32, ops.Float64} {
			for _, columns := range []int{1, 9} {
				t.Run(fmt.Sprint(tc.name, d, columns), func(t *testing.T) {
					shape := backend.Shape{columns, len(tc.in)}
					l := must(backend.Dense(backend.Shape{len(tc.in), columns}).Permute(1, 0))
					x := operand(t, b, d, l, func(i int) ops.Value { return ops.FloatValue(d, tc.in[i%len(tc.in)]) })
					got := runScan(t, b, scanOf(tc.red, d, tc.exclusive, tc.reverse), shape, []tensor{x}, backend.Dense(shape))
					for i, v := range got {
						if !near(v, ops.FloatValue(d, tc.want[i%len(tc.in)]), ops.Tol{ULP: 1}) {
							t.Fatalf("got %v, want %v", got[:len(tc.in)], tc.want)
						}
					}
				})
			}
		}
	}
}
