package tensor_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weft-go/weft/tensor"
)

var quantized = []tensor.DType{tensor.Q8_0, tensor.Q4_0, tensor.Q4_1}

func TestQuantized(t *testing.T) {
	w := tensor.Randn(tensor.Float32, 1, 48, 96)
	x := tensor.Randn(tensor.Float32, 2, 5, 96)
	for _, d := range quantized {
		q, err := tensor.Quantize(ctx, w, d)
		if err != nil {
			t.Fatal(err)
		}
		if q.DType() != d || !slices.Equal(q.Shape(), []int{48, 96}) || q.Device() != w.Device() {
			t.Errorf("%s %v on %s", q.DType(), q.Shape(), q.Device().Name())
		}
		blocks, err := q.Bytes(ctx)
		if err != nil || len(blocks) != d.Bytes(48*96) {
			t.Fatalf("%d bytes, want %d (%v)", len(blocks), d.Bytes(48*96), err)
		}
		values := tensor.Must(tensor.Data[float32](ctx, q.Tensor()))
		near := tensor.Must(tensor.Data[float32](ctx, w))
		for i, v := range values {
			if v != d.Dequantize(blocks, i) {
				t.Fatalf("%s: element %d is %v, its block says %v", d, i, v, d.Dequantize(blocks, i))
			}
			if math.Abs(float64(v-near[i])) > 0.6 {
				t.Fatalf("%s: element %d is %v, was %v", d, i, v, near[i])
			}
		}
		again, err := tensor.NewQuantized(d, []int{48, 96}, blocks)
		if err != nil {
			t.Fatal(err)
		}
		whole := tensor.New(values).Reshape(48, 96)
		for name, pair := range map[string][2]*tensor.Tensor{
			"product":                {x.MatMul(again.Tensor().T()), x.MatMul(whole.T())},
			"product from the left":  {again.Tensor().MatMul(x.T()), whole.MatMul(x.T())},
			"product with a bias":    {x.MatMul(again.Tensor().T()).AddScalar(1).ReLU(), x.MatMul(whole.T()).AddScalar(1).ReLU()},
			"sum":                    {again.Tensor().Sum(-1), whole.Sum(-1)},
			"softmax":                {again.Tensor().Softmax(0), whole.Softmax(0)},
			"running sum":            {again.Tensor().CumSum(0), whole.CumSum(0)},
			"rows":                   {again.Tensor().Take(0, tensor.New([]int32{7, 3, 7})), whole.Take(0, tensor.New([]int32{7, 3, 7}))},
			"slice":                  {again.Tensor().Slice(tensor.R(3, 40).Step(3), tensor.R(90, 5).Step(-2)), whole.Slice(tensor.R(3, 40).Step(3), tensor.R(90, 5).Step(-2))},
			"sorted":                 {again.Tensor().Sort(0), whole.Sort(0)},
			"concatenation":          {tensor.Concat(0, again.Tensor(), whole), tensor.Concat(0, whole, whole)},
			"broadcast to two heads": {again.Tensor().Unsqueeze(0).Mul(x.Unsqueeze(1)).Max(-1), whole.Unsqueeze(0).Mul(x.Unsqueeze(1)).Max(-1)},
		} {
			got, want := tensor.Must(tensor.Data[float32](ctx, pair[0])), tensor.Must(tensor.Data[float32](ctx, pair[1]))
			if len(got) != len(want) {
				t.Fatalf("%s, %s: %d elements, want %d", d, name, len(got), len(want))
			}
			for i, v := range got {
				if !(math.Abs(float64(v-want[i])) <= 1e-5*(1+math.Abs(float64(want[i])))*10) {
					t.Errorf("%s, %s: element %d is %v, want %v", d, name, i, v, want[i])
					break
				}
			}
		}
	}
}

// A product reads the blocks, in one kernel.
func TestQuantizedFused(t *testing.T) {
	w := tensor.Must(tensor.Quantize(ctx, tensor.Randn(tensor.Float32, 1, 256, 512), tensor.Q4_0))
	x := tensor.Randn(tensor.Float32, 2, 1, 512)
	if err := tensor.Eval(ctx, x); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		y := x.MatMul(w.Tensor().T())
		plan, err := tensor.Explain(y)
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Kernels) != 1 || plan.Kernels[0].Bytes > 256*512*5/8 {
			t.Errorf("the plan is not one kernel that reads the blocks:\n%s", plan)
		}
		if err := tensor.Eval(ctx, y); err != nil {
			t.Fatal(err)
		}
	}
}

func TestQuantizedOdd(t *testing.T) {
	for _, d := range quantized {
		for _, shape := range [][]int{{}, {0}, {1}, {3, 5}, {7, 33}} {
			x := tensor.Iota(tensor.Float32, append(shape, 1)...).Squeeze(-1).ModScalar(13)
			q, err := tensor.Quantize(ctx, x, d)
			if err != nil {
				t.Fatal(err)
			}
			blocks := tensor.Must(q.Bytes(ctx))
			got := tensor.Must(tensor.Data[float32](ctx, q.Tensor()))
			for i, v := range got {
				if v != d.Dequantize(blocks, i) {
					t.Errorf("%s %v: element %d is %v", d, shape, i, v)
				}
			}
		}
	}
}

func TestQuantizedErrors(t *testing.T) {
	x := tensor.Ones(tensor.Float32, 2, 32)
	for name, c := range map[string]struct {
		err  error
		kind error
	}{
		"float type":     {second(tensor.NewQuantized(tensor.Float16, []int{32}, make([]byte, 64))), tensor.ErrDType},
		"bytes":          {second(tensor.NewQuantized(tensor.Q8_0, []int{32}, make([]byte, 33))), tensor.ErrShape},
		"shape":          {second(tensor.NewQuantized(tensor.Q8_0, []int{-1}, nil)), tensor.ErrShape},
		"quantize to":    {second(tensor.Quantize(ctx, x, tensor.Int8)), tensor.ErrDType},
		"quantize ints":  {second(tensor.Quantize(ctx, x.Cast(tensor.Int32), tensor.Q8_0)), tensor.ErrDType},
		"quantize NaN":   {second(tensor.Quantize(ctx, x.MulScalar(math.NaN()), tensor.Q4_1)), tensor.ErrDType},
		"cast":           {x.Cast(tensor.Q4_0).Err(), tensor.ErrDType},
		"zeros":          {tensor.Zeros(tensor.Q4_0, 32).Err(), tensor.ErrDType},
		"from bytes":     {tensor.FromBytes(tensor.Q8_0, []int{32}, make([]byte, 34)).Err(), tensor.ErrDType},
		"of an error":    {second(tensor.Quantize(ctx, x.MatMul(x), tensor.Q8_0)), tensor.ErrShape},
		"released":       {released(t), tensor.ErrDevice},
		"to no device":   {second(tensor.Must(tensor.Quantize(ctx, x, tensor.Q8_0)).To(nil)), tensor.ErrDevice},
		"random numbers": {tensor.Randn(tensor.Q8_0, 1, 32).Err(), tensor.ErrDType},
	} {
		if !errors.Is(c.err, c.kind) {
			t.Errorf("%s: %v, want %v", name, c.err, c.kind)
		}
	}
	if err := (*tensor.Quantized)(nil).Tensor().Err(); err == nil {
		t.Error("an array that is nil gives a tensor")
	}
}

func released(t *testing.T) error {
	t.Helper()
	q := tensor.Must(tensor.Quantize(ctx, tensor.Ones(tensor.Float32, 64), tensor.Q8_0))
	if err := tensor.Eval(ctx, q.Tensor()); err != nil {
		t.Fatal(err)
	}
	q.Release()
	return second(tensor.Data[float32](ctx, q.Tensor()))
}

func TestQuantizedTo(t *testing.T) {
	q := tensor.Must(tensor.Quantize(ctx, tensor.Randn(tensor.Float32, 1, 64, 33), tensor.Q4_1))
	want := tensor.Must(tensor.Data[float32](ctx, q.Tensor()))
	d := tensor.Must(tensor.Open("cpu"))
	moved := tensor.Must(q.To(d))
	if moved.Device() != d {
		t.Errorf("on %s, want %s", moved.Device().Name(), d.Name())
	}
	if got := tensor.Must(tensor.Data[float32](ctx, moved.Tensor())); !slices.Equal(got, want) {
		t.Error("elements changed on the way")
	}
	if same := tensor.Must(moved.To(d)); same != moved {
		t.Error("moved to where it is")
	}
}

func ExampleQuantize() {
	weights := tensor.Iota(tensor.Float32, 64).Reshape(2, 32).DivScalar(16)
	q, err := tensor.Quantize(ctx, weights, tensor.Q8_0)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := tensor.Ones(tensor.Float32, 1, 32)
	fmt.Println(tensor.Must(tensor.Data[float32](ctx, x.MatMul(q.Tensor().T()).Round())))
	// Output: [31 95]
}
