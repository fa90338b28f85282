package tensor_test

import (
	"testing"

	"github.com/weft-go/weft/tensor"
)

// The cases are public bug reports of other array packages, each under its id; the comment says where from.

func TestCasesViews(t *testing.T) {
	t.Run("V01", func(t *testing.T) { // pytorch#160740: the position is that in the view, not in memory
		b := tensor.Iota(tensor.Int32, 5, 5).Permute(0, 1).MulScalar(7).ModScalar(25)
		if got := ints(t, b.Select(0, 1)); got[0] != 10 {
			t.Fatalf("input is %v", got)
		}
		wantInts(t, b.ArgMax(), []int{}, 7)
		wantInts(t, b.T().ArgMax(), []int{}, 11)
		half := tensor.All.Step(2)
		wantInts(t, b.Slice(half, half).ArgMax(), []int{}, 5)
	})
	t.Run("V03", func(t *testing.T) { // pytorch#100764
		y := tensor.Iota(tensor.Float32, 2, 2).T().Neg()
		want(t, y, []int{2, 2}, negZero, -2, -1, -3)
		want(t, y.T(), []int{2, 2}, negZero, -1, -2, -3)
	})
	t.Run("V05", func(t *testing.T) { // llvm/torch-mlir#4630
		a := tensor.Iota(tensor.Int32, 10)
		wantInts(t, a.Slice(tensor.R(8, 1).Step(-3)), []int{3}, 8, 5, 2)
		wantInts(t, a.Slice(tensor.R(-2, -9).Step(-2)), []int{4}, 8, 6, 4, 2)
		wantInts(t, a.Slice(tensor.From(3).Step(-1)), []int{4}, 3, 2, 1, 0)
		wantInts(t, a.Slice(tensor.To(3).Step(-1)), []int{6}, 9, 8, 7, 6, 5, 4)
		wantInts(t, a.Slice(tensor.All.Step(-4)), []int{3}, 9, 5, 1)
		wantInts(t, a.Slice(tensor.R(20, 4).Step(-1)), []int{5}, 9, 8, 7, 6, 5)
	})
	t.Run("V07", func(t *testing.T) { // numpy#1683: the operand is not the result half written
		x := tensor.NewVar(tensor.New([]int64{1, 2, 3, 4}, 2, 2))
		set(t, x, x.Tensor().Add(x.Tensor().T()))
		wantInts(t, x.Tensor(), []int{2, 2}, 2, 5, 5, 8)
	})
	t.Run("V09", caseV09)
	t.Run("V11", func(t *testing.T) { // numpy#4868: a repeated element cannot be written through
		x := tensor.NewVar(tensor.New([]int64{1, 2}).BroadcastTo(2, 2))
		set(t, x, x.Tensor().Add(tensor.New([]int64{1, 2, 3, 4}, 2, 2))) // a Var's elements are its own
		wantInts(t, x.Tensor(), []int{2, 2}, 2, 4, 4, 6)
	})
	t.Run("V13", func(t *testing.T) { // rust-ndarray#1609
		zeros := func(shape ...int) *tensor.Tensor { return tensor.Zeros(tensor.Float32, shape...) }
		want[float32](t, zeros(0).Add(zeros(1)), []int{0})
		want[float32](t, zeros(3, 1).Add(zeros(0)), []int{3, 0})
		refuses(t, zeros(3).Add(zeros(0)), tensor.ErrShape, "3 and 0")
		want[float32](t, zeros(0, 3).Reshape(-1, 3), []int{0, 3})
		refuses(t, zeros(0).Reshape(0, -1), tensor.ErrShape, "-1")
		want[float32](t, zeros(3, 0).Sum(1), []int{3}, 0, 0, 0)
		want[float32](t, zeros(3, 0).Sum(0), []int{0})
	})
	t.Run("V15", func(t *testing.T) { // blaze_tensor#38
		m := tensor.Iota(tensor.Int32, 2, 3, 4)
		s := m.Permute(2, 0, 1).Slice(tensor.From(1), tensor.All.Step(-1), tensor.All.Step(2))
		all := []int64{13, 21, 1, 9, 14, 22, 2, 10, 15, 23, 3, 11}
		wantInts(t, s, []int{3, 2, 2}, all...)
		wantInts(t, s.Sum(0), []int{2, 2}, 42, 66, 6, 30)
		wantInts(t, s.Contiguous(), []int{3, 2, 2}, all...)
	})
	t.Run("V17", caseV17)
	t.Run("V19", caseV19)
	t.Run("V21", func(t *testing.T) { // gorgonia#31
		m := tensor.Iota(tensor.Int32, 8, 10)
		wantInts(t, m.Select(0, 0).T(), []int{10}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		c := m.Slice(tensor.All, tensor.At(2))
		wantInts(t, c.T(), []int{8}, 2, 12, 22, 32, 42, 52, 62, 72)
		wantInts(t, c.Sum(), []int{}, 296)
		wantInts(t, c.ArgMax(), []int{}, 7)
	})
}

func set(t *testing.T, v *tensor.Var, x *tensor.Tensor, at ...tensor.Range) {
	t.Helper()
	if err := v.Set(x, at...); err != nil {
		t.Fatal(err)
	}
}

// numpy#6166, numpy#16749: shifts onto oneself.
func caseV09(t *testing.T) {
	iota5 := tensor.Iota(tensor.Int64, 5)
	front := func(x *tensor.Tensor) *tensor.Tensor { return x.Slice(tensor.To(-1)) }
	back := func(x *tensor.Tensor) *tensor.Tensor { return x.Slice(tensor.From(1)) }

	a := tensor.NewVar(iota5)
	set(t, a, back(a.Tensor()).Add(front(a.Tensor())), tensor.From(1))
	wantInts(t, a.Tensor(), []int{5}, 0, 1, 3, 5, 7)

	b := tensor.NewVar(iota5.Flip())
	set(t, b, back(b.Tensor()).Add(front(b.Tensor())), tensor.From(1))
	wantInts(t, b.Tensor(), []int{5}, 4, 7, 5, 3, 1)

	c := tensor.NewVar(tensor.Iota(tensor.Int64, 10))
	set(t, c, back(c.Tensor()), tensor.To(9))
	wantInts(t, c.Tensor(), []int{10}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9)

	d := tensor.NewVar(tensor.Iota(tensor.Int64, 10))
	set(t, d, front(d.Tensor()), tensor.From(1))
	wantInts(t, d.Tensor(), []int{10}, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8)

	e := tensor.NewVar(tensor.Iota(tensor.Int64, 10))
	set(t, e, e.Tensor(), tensor.All.Step(-1))
	wantInts(t, e.Tensor(), []int{10}, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
}

// tinygrad#17074: what was recorded before a write reads from before it, in either order.
func caseV17(t *testing.T) {
	for _, order := range []string{"r first", "x first"} {
		for view, of := range map[string]func(x *tensor.Tensor) *tensor.Tensor{
			"whole":      func(x *tensor.Tensor) *tensor.Tensor { return x },
			"transposed": func(x *tensor.Tensor) *tensor.Tensor { return x.Reshape(1, 2).T().Reshape(2) },
			"sliced":     func(x *tensor.Tensor) *tensor.Tensor { return x.Slice(tensor.From(0)).Slice(tensor.To(2)) },
		} {
			t.Run(order+" "+view, func(t *testing.T) {
				v := tensor.NewVar(tensor.New([]int32{0, 0}))
				set(t, v, tensor.New([]int32{1, 2})) // so that the memory is the Var's own
				if err := tensor.Eval(ctx, v.Tensor()); err != nil {
					t.Fatal(err)
				}
				r := of(v.Tensor()).AddScalar(10)
				set(t, v, tensor.Scalar(9), tensor.To(1))
				if order == "x first" {
					wantInts(t, v.Tensor(), []int{2}, 9, 2)
				}
				wantInts(t, r, []int{2}, 11, 12)
				wantInts(t, v.Tensor(), []int{2}, 9, 2)
			})
		}
	}
}

// ml-explore/mlx#3784, cupy#9841: more elements than 32 or 64 bits count.
func caseV19(t *testing.T) {
	one := tensor.Ones(tensor.Uint8, 1)
	e1 := one.BroadcastTo(65536, 65536)
	if e1.Len() != 1<<32 {
		t.Errorf("%d elements", e1.Len())
	}
	wantInts(t, e1.Slice(tensor.At(65535), tensor.At(65535)), []int{}, 1)
	if n := tensor.Ones(tensor.Float32, 1).BroadcastTo(1<<31, 2).Len(); n != 1<<32 {
		t.Errorf("%d elements", n)
	}
	refuses(t, tensor.Zeros(tensor.Float32, 1<<32, 1<<32), tensor.ErrShape, "more elements")
	refuses(t, tensor.Zeros(tensor.Float32, 1<<31, 0, 1<<31, 4), tensor.ErrShape, "more elements")
	refuses(t, tensor.Ones(tensor.Bool, 1<<40, 1).Add(tensor.Ones(tensor.Bool, 1<<40)), tensor.ErrShape, "more elements")
	if testing.Short() {
		return
	}
	wantInts(t, e1.Sum(), []int{}, 1<<32)
}
