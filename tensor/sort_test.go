package tensor_test

import (
	"testing"

	"github.com/weft-go/weft/tensor"
)

func TestSort(t *testing.T) {
	x := tensor.New([]int32{3, 1, 2, 9, 8, 7}, 2, 3)
	wantInts(t, x.Sort(-1), []int{2, 3}, 1, 2, 3, 7, 8, 9)
	wantInts(t, x.Sort(1, tensor.Descending), []int{2, 3}, 3, 2, 1, 9, 8, 7)
	wantInts(t, x.ArgSort(1), []int{2, 3}, 1, 2, 0, 2, 1, 0)
	wantInts(t, x.T().Sort(1), []int{3, 2}, 3, 9, 1, 8, 2, 7)
	wantInts(t, x.Sort(0, tensor.Descending), []int{2, 3}, 9, 8, 7, 3, 1, 2)
	wantInts(t, tensor.Iota(tensor.Int64, 2, 3, 4).Sort(1, tensor.Descending).Select(2, 0), []int{2, 3}, 8, 4, 0, 20, 16, 12)
	wantInts(t, x.TakeAlongAxis(1, x.ArgSort(1)), []int{2, 3}, 1, 2, 3, 7, 8, 9)
	wantInts(t, x.MulScalar(-1).Sort(1).AddScalar(10), []int{2, 3}, 7, 8, 9, 1, 2, 3) // of lazy operands, and on
	wantInts(t, i32(4).BroadcastTo(3).ArgSort(0), []int{3}, 0, 1, 2)
	wantInts(t, tensor.Full(tensor.Int32, 7, 2, 2).Sort(0), []int{2, 2}, 7, 7, 7, 7)
	wantInts(t, tensor.Arange(tensor.Int32, 0, 5, 1).Sort(0, tensor.Descending), []int{5}, 4, 3, 2, 1, 0)
	wantInts(t, tensor.New([]bool{true, false, true}).ArgSort(0), []int{3}, 1, 0, 2)
	wantInts(t, tensor.Zeros(tensor.Float32, 0, 3).Sort(0), []int{0, 3})
	wantInts(t, tensor.Zeros(tensor.Float32, 3, 0).ArgSort(1), []int{3, 0})
	want(t, f32(0, negZero, nan32, -1, inf32, -inf32, 0).Sort(0), []int{7}, -inf32, -1, 0, negZero, 0, inf32, nan32)
	want(t, f32(0, negZero, nan32, -1, inf32, -inf32, 0).Sort(0, tensor.Descending), []int{7}, inf32, 0, negZero, 0, -1, -inf32, nan32)
	refuses(t, tensor.Full(tensor.Float32, 1).Sort(0), tensor.ErrAxis, "sort")
	refuses(t, x.ArgSort(2), tensor.ErrAxis, "argsort")
	refuses(t, x.Sort(0, 9), tensor.ErrUnsupported, "order 9")
}

func TestTopK(t *testing.T) {
	x := tensor.New([]float32{1, 9, 3, 7, 2, 2, 8, nan32}, 2, 4)
	v, at := x.TopK(2, -1)
	want[float32](t, v, []int{2, 2}, 9, 7, 8, 2)
	wantInts(t, at, []int{2, 2}, 1, 3, 2, 0)
	v, at = x.TopK(3, 1, tensor.Ascending)
	want[float32](t, v, []int{2, 3}, 1, 3, 7, 2, 2, 8)
	wantInts(t, at, []int{2, 3}, 0, 2, 3, 0, 1, 2)
	v, at = x.TopK(1, 0)
	want[float32](t, v, []int{1, 4}, 2, 9, 8, 7)
	wantInts(t, at, []int{1, 4}, 1, 0, 1, 0)
	v, _ = x.TopK(0, 1)
	want[float32](t, v, []int{2, 0})
	v, at = x.TopK(5, 1)
	refuses(t, v, tensor.ErrShape, "topk", "5 elements wanted of an axis of extent 4")
	refuses(t, at, tensor.ErrShape, "topk")
	v, _ = x.TopK(-1, 1)
	refuses(t, v, tensor.ErrShape, "topk")
}

// TestCasesSorting holds sorting to public bug reports.
func TestCasesSorting(t *testing.T) {
	t.Run("I01", func(t *testing.T) { // mlx#882: rows of more than one block
		for _, c := range []struct{ n, last, middle, argFirst, argLast, argMiddle int64 }{
			{32768, 100001, 50003, 0, 12569, 15574},
			{32769, 100001, 50003, 0, 12569, 15574},
			{65537, 100002, 50005, 0, 56286, 3005},
			{100003, 100002, 50001, 0, 56286, 28143},
		} {
			x := tensor.Arange(tensor.Int64, 0, float64(c.n), 1).MulScalar(48271).ModScalar(100003).Cast(tensor.Int32)
			at := i64(0, -1, c.n/2)
			wantInts(t, x.Sort(0).Take(0, at), []int{3}, 0, c.last, c.middle)
			wantInts(t, x.ArgSort(0).Take(0, at), []int{3}, c.argFirst, c.argLast, c.argMiddle)
		}
	})
	t.Run("I03", func(t *testing.T) { // llama.cpp#27538: padding that is equal to data
		x := f32(-inf32, -inf32, -inf32, -inf32, -inf32, 1, 2, -inf32)
		wantInts(t, x.ArgSort(0), []int{8}, 0, 1, 2, 3, 4, 7, 5, 6)
		wantInts(t, x.Narrow(0, 0, 7).ArgSort(0), []int{7}, 0, 1, 2, 3, 4, 5, 6)
		_, at := tensor.Concat(0, x, f32(-inf32)).TopK(9, 0)
		wantInts(t, at, []int{9}, 6, 5, 0, 1, 2, 3, 4, 7, 8)
		positions := ints(t, tensor.Where(tensor.Iota(tensor.Int32, 100).EqualScalar(40), tensor.Scalar(5), tensor.Scalar(inf)).ArgSort(0))
		for i, p := range positions {
			want := int64(i)
			switch {
			case i == 0:
				want = 40
			case i <= 40:
				want = int64(i) - 1
			}
			if p != want {
				t.Errorf("place %d has element %d, want %d", i, p, want)
			}
		}
		wantInts(t, i32(-1<<31, 1<<31-1, 0, 1<<31-1, -1<<31).ArgSort(0), []int{5}, 0, 4, 2, 1, 3)
	})
	t.Run("I05", func(t *testing.T) { // mlx#3400: ties
		wantInts(t, i32(3, 1, 2, 1, 3, 1).ArgSort(0), []int{6}, 1, 3, 5, 2, 0, 4)
		v, at := i32(3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5).TopK(5, 0)
		wantInts(t, v, []int{5}, 9, 6, 5, 5, 5)
		wantInts(t, at, []int{5}, 5, 7, 4, 8, 10)
		for i, p := range ints(t, tensor.Zeros(tensor.Float32, 100_000).ArgSort(0)) {
			if p != int64(i) {
				t.Fatalf("place %d of 100,000 zeros has element %d", i, p)
			}
		}
	})
}
