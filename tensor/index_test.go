package tensor_test

import (
	"errors"
	"testing"

	"github.com/weft-go/weft/tensor"
)

func TestTake(t *testing.T) {
	x := tensor.Iota(tensor.Int32, 3, 2, 4)
	wantInts(t, x.Take(1, i32(1, 1)), []int{3, 2, 4},
		4, 5, 6, 7, 4, 5, 6, 7, 12, 13, 14, 15, 12, 13, 14, 15, 20, 21, 22, 23, 20, 21, 22, 23)
	wantInts(t, x.Take(-1, i64(1, -1)), []int{3, 2, 2}, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23)
	wantInts(t, x.Take(0, tensor.New([]uint8{2, 0, 0, 1}, 2, 2)).Select(-1, 0), []int{2, 2, 2}, 16, 20, 0, 4, 0, 4, 8, 12)
	wantInts(t, i32(7, 8, 9).Take(0, tensor.Scalar(-3)), []int{}, 7)
	wantInts(t, x.T().Take(0, i32(3)).Flatten(), []int{6}, 3, 11, 19, 7, 15, 23)
	wantInts(t, i32(5, 6, 7, 8).Take(0, i32(-1, -2, 0, 2)), []int{4}, 8, 7, 5, 7)
	wantInts(t, x.Take(0, tensor.Zeros(tensor.Int32, 0)), []int{0, 2, 4})
	wantInts(t, i32(5, 6).MulScalar(2).Take(0, i32(0, 1).Flip()).AddScalar(1), []int{2}, 13, 11) // of lazy operands, and on
	_, err := tensor.Data[int32](ctx, x.Take(0, i32(0, 3)))
	if !errors.Is(err, tensor.ErrIndex) {
		t.Errorf("index 3 of 3: error %v", err)
	}
	_, err = tensor.Data[int32](ctx, x.Take(0, i32(-4)))
	if !errors.Is(err, tensor.ErrIndex) {
		t.Errorf("index -4 of 3: error %v", err)
	}
}

func TestTakeAlongAxis(t *testing.T) {
	x := tensor.New([]int32{3, 1, 2, 9, 8, 7}, 2, 3)
	wantInts(t, x.TakeAlongAxis(1, tensor.New([]int32{1, 2, 2, -1, 0, 0}, 2, 3)), []int{2, 3}, 1, 2, 2, 7, 9, 9)
	wantInts(t, x.TakeAlongAxis(0, tensor.New([]int64{1, 0, 1}, 1, 3)), []int{1, 3}, 9, 1, 7)
	wantInts(t, x.TakeAlongAxis(1, x.ArgMax(1).Unsqueeze(1)), []int{2, 1}, 3, 9)
	wantInts(t, x.TakeAlongAxis(1, i32(0, 1).Reshape(1, 2)), []int{2, 2}, 3, 1, 9, 8)                     // broadcasts the index
	wantInts(t, x.Select(0, 0).Unsqueeze(0).TakeAlongAxis(1, i32(0, 2).Reshape(2, 1)), []int{2, 1}, 3, 2) // and the source
	wantInts(t, x.T().TakeAlongAxis(0, i32(2, 0).Reshape(1, 2)), []int{1, 2}, 2, 9)
	wantInts(t, x.TakeAlongAxis(1, tensor.Zeros(tensor.Int32, 2, 0)), []int{2, 0})
}

func TestOneHotAndTriangles(t *testing.T) {
	wantInts(t, i32(1, 0, 3).OneHot(3, tensor.Float32), []int{3, 3}, 0, 1, 0, 1, 0, 0, 0, 0, 0)
	x := tensor.Iota(tensor.Int32, 3, 3).AddScalar(1)
	wantInts(t, x.TriL(0), []int{3, 3}, 1, 0, 0, 4, 5, 0, 7, 8, 9)
	wantInts(t, x.TriL(-1), []int{3, 3}, 0, 0, 0, 4, 0, 0, 7, 8, 0)
	wantInts(t, x.TriU(1), []int{3, 3}, 0, 2, 3, 0, 0, 6, 0, 0, 0)
	want(t, tensor.Ones(tensor.Bool, 2, 2).TriL(0), []int{2, 2}, true, false, true, true)
	wantInts(t, tensor.Eye(tensor.Float32, 2), []int{2, 2}, 1, 0, 0, 1)
}
