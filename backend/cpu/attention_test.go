package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// attended returns the attention of q [m depth] to k [n depth] and v [n width], by its definition.
func attended(q, k, v []ops.Value, m, n, depth, width int, scale float64, causal bool) []float64 {
	out := make([]float64, m*width)
	for i := range m {
		weights, most, total := make([]float64, n), math.Inf(-1), 0.0
		for j := range n {
			weights[j] = math.Inf(-1)
			if causal && j > i+n-m {
				continue
			}
			weights[j] = 0
			for d := range depth {
				weights[j] += q[i*depth+d].F * k[j*depth+d].F * scale
			}
			most = max(most, weights[j])
		}
		for j, s := range weights {
			if weights[j] = 0; s > math.Inf(-1) {
				weights[j] = math.Exp(s - most)
			}
			total += weights[j]
		}
		for j, p := range weights {
			for c := 0; c < width && p > 0; c++ {
				out[i*width+c] += p / total * v[j*width+c].F
			}
		}
	}
	return out
}

// TestAttentionBlocks has more queries, keys and terms than a block, and few queries, with factors in several layouts.
func TestAttentionBlocks(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	b := device(t)
	r := rand.New(rand.NewPCG(5, 6))
	names := []string{"dense", "transposed", "sliced", "stepped"}
	for i, size := range [][4]int{{98, 140, 300, 12}, {9, 300, 520, 40}, {8, 129, 40, 33}, {200, 200, 17, 70}, {1, 400, 64, 64}, {3, 7, 600, 5}} {
		for _, d := range []ops.DType{ops.Float32, ops.Float64, ops.Float16} {
			for _, causal := range []bool{false, true} {
				how := func(k int, shape backend.Shape) backend.Layout { return layouts(shape)[names[(i+k)%len(names)]] }
				t.Run(fmt.Sprintf("%v/%s/causal %v", size, d, causal), func(t *testing.T) {
					m, n, depth, width := size[0], size[1], size[2], size[3]
					q := operand(t, b, d, how(0, backend.Shape{m, depth}), small(r, d))
					k := operand(t, b, d, how(1, backend.Shape{n, depth}), small(r, d))
					v := operand(t, b, d, how(2, backend.Shape{n, width}), small(r, d))
					scale := 0.7 / math.Sqrt(float64(depth))
					want := attended(q.vals, k.vals, v.vals, m, n, depth, width, scale, causal)
					shape := backend.Shape{m, width}
					var one []ops.Value
					for _, procs := range []int{1, 4} {
						runtime.GOMAXPROCS(procs)
						out := result(t, b, d, backend.Dense(shape))
						run(t, b, backend.Step{
							Kernel: &backend.Attention{DType: d, Causal: causal, Scale: scale, Post: load(d)}, Shape: shape,
							In: []backend.Operand{q.Operand, k.Operand, v.Operand}, Out: []backend.Operand{out},
						})
						got := read(t, b, out)
						if one == nil {
							one = got
						}
						if !slices.Equal(got, one) {
							t.Fatalf("%d threads give other bits than 1", procs)
						}
					}
					tol := ops.Tol{ULP: 1, Abs: 2e-5}
					if d == ops.Float64 {
						tol.Abs = 1e-13
					}
					for i, g := range one {
						if !near(g, ops.FloatValue(d, want[i]), tol) {
							t.Fatalf("element %d is %v, want %v", i, g.F, want[i])
						}
					}
				})
			}
		}
	}
}
