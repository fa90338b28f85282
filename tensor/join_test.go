package tensor_test

import (
	"testing"

	"github.com/weft-go/weft/tensor"
)

func TestConcat(t *testing.T) {
	a, b := tensor.Iota(tensor.Int32, 2, 3, 2), tensor.Iota(tensor.Int32, 2, 1, 2)
	wantInts(t, tensor.Concat(1, a, b), []int{2, 4, 2}, 0, 1, 2, 3, 4, 5, 0, 1, 6, 7, 8, 9, 10, 11, 2, 3)
	wantInts(t, tensor.Concat(-1, a, tensor.Iota(tensor.Int32, 2, 3, 1)), []int{2, 3, 3},
		0, 1, 0, 2, 3, 1, 4, 5, 2, 6, 7, 3, 8, 9, 4, 10, 11, 5)
	wantInts(t, tensor.Concat(0, i32(1, 2).Flip(), tensor.Zeros(tensor.Int32, 0), i32(3)), []int{3}, 2, 1, 3)
	wantInts(t, tensor.Concat(0, tensor.Zeros(tensor.Int32, 0), tensor.Zeros(tensor.Int32, 0)), []int{0})
	wantInts(t, tensor.Concat(0, i32(1), i32(2).Square(), i32(3).Neg()).AddScalar(1), []int{3}, 2, 5, -2)
	wantInts(t, tensor.Concat(0, a), []int{2, 3, 2}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	near(t, tensor.Concat(0, i32(1), f64(0.5)), 0, 1, 0.5)
}

func TestStack(t *testing.T) {
	x, y := i32(1, 2), i32(3, 4)
	wantInts(t, tensor.Stack(0, x, y), []int{2, 2}, 1, 2, 3, 4)
	wantInts(t, tensor.Stack(-1, x, y), []int{2, 2}, 1, 3, 2, 4)
	wantInts(t, tensor.Stack(0, tensor.Scalar(1), tensor.Scalar(2)), []int{2}, 1, 2)
}

func TestSplit(t *testing.T) {
	x := tensor.Iota(tensor.Int32, 2, 4)
	parts := x.Split(1, 1, 0, 3)
	wantInts(t, parts[0], []int{2, 1}, 0, 4)
	wantInts(t, parts[1], []int{2, 0})
	wantInts(t, parts[2], []int{2, 3}, 1, 2, 3, 5, 6, 7)
	halves := x.Chunk(-1, 2)
	wantInts(t, halves[0], []int{2, 2}, 0, 1, 4, 5)
	wantInts(t, halves[1], []int{2, 2}, 2, 3, 6, 7)
}

func TestPad(t *testing.T) {
	x := tensor.Iota(tensor.Int32, 2, 2).AddScalar(1)
	wantInts(t, x.Pad(9, [2]int{1, 0}, [2]int{0, 2}), []int{3, 4}, 9, 9, 9, 9, 1, 2, 9, 9, 3, 4, 9, 9)
	wantInts(t, x.Pad(0), []int{2, 2}, 1, 2, 3, 4)
	wantInts(t, x.T().Pad(-1, [2]int{}, [2]int{1, 1}), []int{2, 4}, -1, 1, 3, -1, -1, 2, 4, -1)
	wantInts(t, tensor.Zeros(tensor.Int32, 0).Pad(7, [2]int{1, 2}), []int{3}, 7, 7, 7)
	near(t, f32(1).Pad(inf, [2]int{1, 0}), 0, inf, 1)
	wantInts(t, i32(1, 2, 3).PadEdge([2]int{2, 1}), []int{6}, 1, 1, 1, 2, 3, 3)
	wantInts(t, i32(1, 2, 3).PadReflect([2]int{2, 1}), []int{6}, 3, 2, 1, 2, 3, 2)
	wantInts(t, x.PadEdge([2]int{1, 0}, [2]int{0, 1}), []int{3, 3}, 1, 2, 2, 1, 2, 2, 3, 4, 4)
}

func TestRepeatTileRoll(t *testing.T) {
	x := tensor.New([]int32{1, 2, 3, 4}, 2, 2)
	wantInts(t, x.Repeat(2, 0), []int{4, 2}, 1, 2, 1, 2, 3, 4, 3, 4)
	wantInts(t, x.Tile(2, 1), []int{4, 2}, 1, 2, 3, 4, 1, 2, 3, 4)
	wantInts(t, x.Repeat(2, -1), []int{2, 4}, 1, 1, 2, 2, 3, 3, 4, 4)
	wantInts(t, i32(1, 2).Tile(2, 2), []int{2, 4}, 1, 2, 1, 2, 1, 2, 1, 2)
	wantInts(t, i32(1, 2).Tile(0), []int{0})
	wantInts(t, i32(1, 2, 3).Roll(1, 0), []int{3}, 3, 1, 2)
	wantInts(t, i32(1, 2, 3).Roll(-1, 0), []int{3}, 2, 3, 1)
	wantInts(t, i32(1, 2, 3).Roll(7, 0), []int{3}, 3, 1, 2)
	wantInts(t, i32(1, 2, 3).Roll(-3, 0), []int{3}, 1, 2, 3)
}
