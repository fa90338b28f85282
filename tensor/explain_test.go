package tensor_test

import (
	"strings"
	"testing"

	"github.com/weft-go/weft/tensor"
)

// TestKernels counts the kernels that expressions take: what is meant to fuse does.
func TestKernels(t *testing.T) {
	x := tensor.Randn(tensor.Float32, 1, 8, 16)
	data := tensor.New(read[float32](t, x), 8, 16)
	half := data.Cast(tensor.Float16)
	w := tensor.New(repeated(16, float32(0.5)))
	if err := tensor.Eval(ctx, half); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		y      *tensor.Tensor
		family string
	}{
		{"chain", data.MulScalar(2).AddScalar(1).GELU().Sum(-1), "reduce"},
		{"elementwise", data.Exp().Mul(w).Add(data.T().T()).Clip(tensor.Scalar(0), tensor.Scalar(9)), "map"},
		{"random", x.MulScalar(0.1), "map"},
		{"arange", tensor.Arange(tensor.Float32, 1, 9, 0.5).Sqrt(), "map"},
		{"eye", tensor.Eye(tensor.Float32, 8).MulScalar(2), "map"},
		{"linspace", tensor.Linspace(tensor.Float32, 0, 1, 100).Exp(), "map"},
		{"softmax", data.Softmax(-1), "row"},
		{"softmax of another axis", data.Softmax(0), "row"},
		{"softmax of a chain", data.DivScalar(8).Add(w).Softmax(-1).MulScalar(3), "row"},
		{"softmax, half", half.Softmax(-1), "row"},
		{"log-softmax", data.LogSoftmax(-1), "row"},
		{"logsumexp", data.LogSumExp(-1), "row"},
		{"layer norm", data.LayerNorm(w, w, 1e-5), "row"},
		{"layer norm by hand", byHand(data, w), "row"},
		{"rms norm", data.RMSNorm(w, 1e-5), "row"},
		{"mean", data.Mean(0), "reduce"},
		{"mean of all", data.Mean(), "reduce"},
		{"var", data.Var(-1), "row"},
		{"std, half", half.Std(0), "row"},
		{"norm", data.Norm(2, -1), "row"},
		{"any", data.GreaterScalar(0).Any(1), "reduce"},
		{"argmax", data.Neg().ArgMax(-1), "reduce"},
		{"cumsum", data.Abs().CumSum(0).AddScalar(1), "scan"},
		{"linear layer", data.MatMul(tensor.New(repeated(128, float32(1)), 16, 8)).AddScalar(1).ReLU(), "matmul"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := tensor.Explain(c.y)
			if err != nil {
				t.Fatal(err)
			}
			if len(e.Kernels) != 1 || e.Kernels[0].Family != c.family {
				t.Errorf("want one kernel of family %s, got\n%s", c.family, e)
			}
			if _, err := tensor.Bytes(ctx, c.y); err != nil {
				t.Error(err)
			}
		})
	}
}

// byHand is layer normalisation as a user would write it.
func byHand(x, w *tensor.Tensor) *tensor.Tensor {
	centred := x.Sub(x.Mean(-1).Unsqueeze(-1))
	variance := centred.Square().Mean(-1).Unsqueeze(-1)
	return centred.Div(variance.AddScalar(1e-5).Sqrt()).Mul(w).Add(w)
}

// TestWarm evaluates the same expression twice on new data: the second time plans and compiles nothing.
func TestWarm(t *testing.T) {
	forward := func(rows int, scale float32) {
		x := tensor.New(repeated(rows*16, scale), rows, 16)
		y := x.MatMul(tensor.Iota(tensor.Float32, 16, 4)).AddScalar(scale).GELU().Softmax(-1)
		if _, err := tensor.Bytes(ctx, y); err != nil {
			t.Fatal(err)
		}
	}
	forward(8, 1)
	before := tensor.Stats(nil)
	forward(8, 2)
	forward(5, 3) // another size
	after := tensor.Stats(nil)
	if after.Plans != before.Plans || after.Compiled != before.Compiled || after.PlanHits != before.PlanHits+2 {
		t.Errorf("stats before %+v, after %+v", before, after)
	}
	if after.Evals != before.Evals+2 || after.Kernels <= before.Kernels || after.Fallbacks != before.Fallbacks {
		t.Errorf("stats before %+v, after %+v", before, after)
	}
}

func TestExplainText(t *testing.T) {
	e, err := tensor.Explain(f32(1, 2).MulScalar(2).Exp())
	if err != nil {
		t.Fatal(err)
	}
	s := e.String()
	for _, w := range []string{"map", "[2]", "mul", "exp", "float32 [2]"} {
		if !strings.Contains(s, w) {
			t.Errorf("%q does not say %q", s, w)
		}
	}
	if e, err := tensor.Explain(f32(1), tensor.Scalar(1)); err != nil || len(e.Kernels) != 0 {
		t.Errorf("data takes kernels: %v, %v", e, err)
	}
}
