package tensor_test

import (
	"testing"

	"github.com/weft-go/weft/tensor"
)

func TestScatter(t *testing.T) {
	x := tensor.Iota(tensor.Int32, 2, 3)
	at := tensor.New([]int32{2, 0, -2, 1}, 2, 2)
	src := tensor.New([]int32{10, 20, 30, 40}, 2, 2)
	wantInts(t, x.Scatter(1, at, src), []int{2, 3}, 20, 1, 10, 3, 40, 5)
	wantInts(t, x.ScatterAdd(1, at, src), []int{2, 3}, 20, 1, 12, 3, 74, 5)
	wantInts(t, x.ScatterAdd(1, at, tensor.Scalar(1)), []int{2, 3}, 1, 1, 3, 3, 6, 5)
	wantInts(t, x.Scatter(0, tensor.New([]uint8{1, 1, 0}, 1, 3), tensor.New([]int32{7, 8, 9}, 1, 3)), []int{2, 3}, 0, 1, 9, 7, 8, 5)
	wantInts(t, x.Scatter(1, at.Narrow(1, 0, 0), tensor.Scalar(1)), []int{2, 3}, 0, 1, 2, 3, 4, 5)
	wantInts(t, x.T().Scatter(0, x.T().ArgSort(0), x.T()).AddScalar(1), []int{3, 2}, 1, 4, 2, 5, 3, 6) // of lazy operands, and on
	want[float64](t, x.ScatterAdd(1, at, tensor.Full(tensor.Float32, 0.5, 2, 2)), []int{2, 3}, 0.5, 1, 2.5, 3, 5, 5)
	want(t, tensor.Zeros(tensor.Bool, 3).ScatterAdd(0, i32(1, 1), tensor.New([]bool{true, true})), []int{3}, false, true, false)
	want(t, f32(negZero, negZero).ScatterAdd(0, i32(1), f32(3)), []int{2}, negZero, 3)
	want(t, f32(0, 0).ScatterAdd(0, i32(0, 0, 1), f32(inf32, -inf32, inf32)), []int{2}, nan32, inf32)

	refuses(t, x.Scatter(2, at, src), tensor.ErrAxis, "scatter")
	refuses(t, x.Scatter(1, at.Cast(tensor.Float32), src), tensor.ErrDType, "integer type")
	refuses(t, x.Scatter(1, i32(1), src), tensor.ErrShape, "number of axes")
	refuses(t, x.Scatter(1, tensor.New([]int32{0, 1, 2}, 3, 1), src), tensor.ErrShape, "scatter")
	refuses(t, x.ScatterAdd(1, at, tensor.New([]int32{1, 2, 3}, 1, 3)), tensor.ErrShape, "scatter_add")
	refuses(t, x.Scatter(1, at, tensor.Scalar(1<<40)), tensor.ErrDType, "does not fit")
	refuses(t, tensor.Zeros(tensor.Int32, 0).Scatter(0, i32(0), i32(0)), tensor.ErrIndex, "extent 0")
}

func TestIndexAdd(t *testing.T) {
	x := tensor.Iota(tensor.Int32, 3, 2)
	rows := tensor.New([]int32{10, 20, 30, 40, 50, 60}, 3, 2)
	wantInts(t, x.IndexCopy(0, i32(2, 0, 2), rows), []int{3, 2}, 30, 40, 2, 3, 50, 60)
	wantInts(t, x.IndexAdd(0, i64(2, 0, 2), rows), []int{3, 2}, 30, 41, 2, 3, 64, 85)
	wantInts(t, x.IndexAdd(1, i32(-1), tensor.New([]int32{1, 2, 3}, 3, 1)), []int{3, 2}, 0, 2, 2, 5, 4, 8)
	wantInts(t, x.IndexAdd(0, tensor.New([]int32{0, 1, 1, 1}, 2, 2), tensor.New([]int32{1, 2}, 1, 1, 2)), []int{3, 2}, 1, 3, 5, 9, 4, 5)
	wantInts(t, x.IndexCopy(0, tensor.Scalar(1), tensor.Scalar(9)), []int{3, 2}, 0, 1, 9, 9, 4, 5)
	ids := tensor.RandInt(tensor.Int32, 1, 0, 10, 100_000)
	histogram := tensor.Zeros(tensor.Int32, 10).IndexAdd(0, ids, tensor.Scalar(1))
	for i, n := range ints(t, histogram) {
		if same := ints(t, ids.EqualScalar(i).Sum()); n != same[0] {
			t.Errorf("%d times %d, want %d", n, i, same[0])
		}
	}
	if s := ints(t, tensor.Zeros(tensor.Float32, 1).IndexAdd(0, tensor.Zeros(tensor.Int32, 3_000_000), tensor.Scalar(1))); s[0] != 3_000_000 {
		t.Errorf("a sum of 3,000,000 ones is %d", s[0])
	}
	refuses(t, x.IndexAdd(0, i32(1), rows), tensor.ErrShape, "index_add")
}

// TestCasesScatter holds scattering to public bug reports.
func TestCasesScatter(t *testing.T) {
	t.Run("I11", func(t *testing.T) { // tensorflow#27033: a write outside
		refuses(t, i32(1, 2, 3).Scatter(0, i32(5), i32(9)), tensor.ErrIndex, "index 5 for an axis of extent 3")
		neighbour := i32(7, 7, 7).AddScalar(0)
		if err := tensor.Eval(ctx, neighbour); err != nil {
			t.Fatal(err)
		}
		x := i32(1, 2, 3).Scatter(0, i32(4).AddScalar(1), i32(9))
		if _, err := tensor.Data[int32](ctx, x); err != nil || x.Device().Name() == "cpu" { // others need not check
			refused(t, err, tensor.ErrIndex, "scatter(int32 [3], int32 [1], int32 [1])")
		}
		wantInts(t, neighbour, []int{3}, 7, 7, 7)
	})
}
