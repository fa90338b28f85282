package nn_test

import (
	"context"
	"math"
	"testing"

	"github.com/weft-go/weft/nn"
	"github.com/weft-go/weft/tensor"
)

func TestQuantizedLinear(t *testing.T) {
	ctx := context.Background()
	weight, bias := tensor.Randn(tensor.Float32, 1, 16, 64), tensor.Randn(tensor.Float32, 2, 16)
	x := tensor.Randn(tensor.Float32, 3, 2, 5, 64)
	q, err := tensor.Quantize(ctx, weight, tensor.Q8_0)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*tensor.Tensor{"bias": bias, "no bias": nil} {
		got := tensor.Must(tensor.Data[float32](ctx, (&nn.QuantizedLinear{Weight: q, Bias: b}).Forward(x)))
		want := tensor.Must(tensor.Data[float32](ctx, (&nn.Linear{Weight: q.Tensor(), Bias: b}).Forward(x)))
		exact := tensor.Must(tensor.Data[float32](ctx, (&nn.Linear{Weight: weight, Bias: b}).Forward(x)))
		for i, v := range got {
			if math.Abs(float64(v-want[i])) > 1e-4 || math.Abs(float64(v-exact[i])) > 0.5 {
				t.Fatalf("%s: element %d is %v, want %v, near %v", name, i, v, want[i], exact[i])
			}
		}
	}
	if err := (&nn.QuantizedLinear{}).Forward(x).Err(); err == nil {
		t.Error("no weights, no error")
	}
}
