package cpu_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	weft "github.com/weft-go/weft/tensor"
)

// TestCancelPromptly ends the context of long runs of all families. Each would take seconds, or is cut off within one pass, one
// task or one row otherwise.
func TestCancelPromptly(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds and gigabytes")
	}
	const long = 1 << 25
	bg := context.Background()
	x := weft.Rand(weft.Float32, 1, long)
	index := weft.RandInt(weft.Int32, 2, 0, 1<<20, long)
	double, half := x.Cast(weft.Float64), x.Cast(weft.Float16)
	if err := weft.Eval(bg, x, index, double, half); err != nil {
		t.Fatal(err)
	}
	matrix := func(d weft.DType, rows, columns int) *weft.Tensor {
		return weft.Ones(d, 1, 1).BroadcastTo(rows, columns)
	}
	base := func(n int) *weft.Tensor { return weft.Zeros(weft.Float32, n) }
	for _, c := range []struct {
		name string
		y    *weft.Tensor
	}{
		{"map", weft.Rand(weft.Float64, 1, 1<<27).Pow(weft.Rand(weft.Float64, 2, 1<<27))},
		{"reduce, segments", weft.Zeros(weft.Float32, 1<<40).Sum()},
		{"reduce, rows", weft.Rand(weft.Float32, 1, 4, 1<<30).Sum(1)},
		{"reduce, columns", weft.Rand(weft.Float32, 1, 1<<30, 4).Sum(0)},
		{"row", x.Exp().Reshape(1, long).Softmax(1)},
		{"scan", x.LogCumSumExp(0)},
		{"scan, sums", weft.Ones(weft.Float32, 1<<28).CumSum(0)},
		{"scan, columns", x.Reshape(long/16, 16).LogCumSumExp(0)},
		{"product, long rows", matrix(weft.Float32, 4, 1<<26).MatMul(matrix(weft.Float32, 1<<26, 4))},
		{"product, square", matrix(weft.Float32, 8192, 8192).MatMul(matrix(weft.Float32, 8192, 8192))},
		{"product, Float64", matrix(weft.Float64, 64, 1<<24).MatMul(matrix(weft.Float64, 1<<24, 64))},
		{"product, Int32", matrix(weft.Int32, 256, 1<<18).MatMul(matrix(weft.Int32, 1<<18, 256))},
		{"product, Int64", matrix(weft.Int64, 256, 1<<18).MatMul(matrix(weft.Int64, 1<<18, 256))},
		{"product, computed", matrix(weft.Float32, 64, 1<<24).Exp().MatMul(matrix(weft.Float32, 1<<24, 64).Exp())},
		{"convolution", matrix(weft.Float32, 512, 128*128).Reshape(1, 512, 128, 128).
			Conv2d(matrix(weft.Float32, 1024, 512*9).Reshape(1024, 512, 3, 3), weft.ConvOptions{})},
		{"maximum pooling", x.Reshape(8, 1, 2048, 2048).MaxPool2d(weft.PoolOptions{Window: []int{1024}, Stride: []int{1}})},
		{"average pooling", x.Reshape(8, 1, 2048, 2048).AvgPool2d(weft.PoolOptions{Window: []int{1024}, Stride: []int{1}})},
		{"gather", x.Take(0, index.Reshape(1, long).BroadcastTo(16, long))},
		{"scatter, sum", base(1<<20).ScatterAdd(0, index, x)},
		{"scatter, last", base(1<<20).IndexCopy(0, index, x)},
		{"sort", x.Sort(0)},
		{"sort, Float64", double.Sort(0)},
		{"sort, Float16", half.Sort(0)},
		{"sort, places", x.ArgSort(0)},
		{"sort, places, Float64", double.ArgSort(0)},
		{"sort, columns", x.Reshape(long/2, 2).Sort(0)},
		{"sort, rows", x.Reshape(2, long/2).Sort(1)},
		{"sort, first few", first(x.TopK(1000, 0))},
		{"attention", attention(matrix(weft.Float32, 96, 64), matrix(weft.Float32, 1<<21, 64))},
	} {
		t.Run(c.name, func(t *testing.T) {
			const after, most = 10 * time.Millisecond, 300 * time.Millisecond
			late := time.Duration(math.MaxInt64)
			for try := 0; try < 3 && late > most; try++ { // others may load the machine
				ctx, cancel := context.WithTimeout(bg, after)
				start := time.Now()
				err := weft.Eval(ctx, c.y)
				late = min(late, time.Since(start)-after)
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("got %v, want DeadlineExceeded", err)
				}
			}
			if t.Logf("%v late", late); late > most {
				t.Errorf("returns %v late, three times", late)
			}
		})
	}
}

func first(x, _ *weft.Tensor) *weft.Tensor { return x }

func attention(q, k *weft.Tensor) *weft.Tensor {
	q, k = q.Reshape(1, 96, 64), k.Reshape(1, 1<<21, 64)
	return weft.ScaledDotProductAttention(q, k, k, weft.AttentionOptions{})
}
