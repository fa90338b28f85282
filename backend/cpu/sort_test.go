package cpu_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
)

// sortStep sorts the rows of x into out.
func sortStep(b *cpu.Backend, k *backend.Sort, x tensor, out backend.Operand) error {
	return b.Run(context.Background(), []backend.Step{{
		Kernel: k, Shape: out.Layout.Shape, In: []backend.Operand{x.Operand}, Out: []backend.Operand{out},
	}})
}

// TestSortLongRows sorts rows that several goroutines share: of few different elements, so that the order of equal ones
// shows, with zeros of both signs and NaN among them.
func TestSortLongRows(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(3, 4))
	values := []float64{math.Copysign(0, -1), 0, 1, -1, 2, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, d := range []ops.DType{ops.Float32, ops.Float64, ops.Float16} {
		for _, n := range []int{1 << 16, 70_001, 300_000} {
			for _, kept := range []int{n, 3, 9000, n - 1} {
				for _, descending := range []bool{false, true} {
					shape := backend.Shape{1, n}
					x := operand(t, b, d, backend.Dense(shape), func(int) ops.Value { return ops.FloatValue(d, values[r.IntN(len(values))]) })
					want := make([]int, n)
					for i := range want {
						want[i] = i
					}
					slices.SortStableFunc(want, func(i, j int) int {
						a, c := x.vals[i].F, x.vals[j].F
						switch {
						case math.IsNaN(a) && math.IsNaN(c):
							return 0
						case math.IsNaN(a) || !math.IsNaN(c) && (a > c) != descending && a != c:
							return 1
						case math.IsNaN(c) || a != c:
							return -1
						}
						return 0
					})
					domain := backend.Shape{1, kept}
					index, values := result(t, b, ops.Int32, backend.Dense(domain)), result(t, b, d, backend.Dense(domain))
					if err := sortStep(b, &backend.Sort{DType: d, Descending: descending, Index: true, Post: load(ops.Int32)}, x, index); err != nil {
						t.Fatal(err)
					}
					if err := sortStep(b, &backend.Sort{DType: d, Descending: descending, Post: load(d)}, x, values); err != nil {
						t.Fatal(err)
					}
					at, got := read(t, b, index), read(t, b, values)
					for i := range kept {
						if int(at[i].I) != want[i] || got[i].Bits() != x.vals[want[i]].Bits() {
							t.Fatalf("%s, the first %d of %d, descending %v: place %d has element %d, %v, want %d, %v",
								d, kept, n, descending, i, at[i].I, got[i].F, want[i], x.vals[want[i]].F)
						}
					}
				}
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	for _, c := range []struct{ rows, n, kept int }{{1, 1e6, 1e6}, {1000, 1000, 1000}, {1, 1e6, 50}, {100_000, 10, 10}} {
		for _, index := range []bool{false, true} {
			b.Run(fmt.Sprintf("%dx%d/first%d/index=%v", c.rows, c.n, c.kept, index), func(b *testing.B) {
				post := load(ops.Float32)
				if index {
					var e ops.Builder
					e.Result(e.Cast(ops.Float32, e.Load(e.Operand(ops.Int32), false)))
					post = e.Expr()
				}
				shape := backend.Shape{c.rows, c.kept}
				bench(b, &backend.Sort{DType: ops.Float32, Index: index, Post: post}, shape,
					[]backend.Layout{backend.Dense(backend.Shape{c.rows, c.n})}, backend.Dense(shape))
			})
		}
	}
}
