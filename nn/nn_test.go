package nn_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weft-go/weft/nn"
	"github.com/weft-go/weft/tensor"
)

var ctx = context.Background()

// weights are tensors in the program, as nn.Load takes them.
type weights []entry

type entry struct {
	name string
	t    *tensor.Tensor
}

func (w weights) Names() []string {
	var names []string
	for _, e := range w {
		names = append(names, e.name)
	}
	return names
}

func (w weights) Tensor(name string) (*tensor.Tensor, error) {
	for _, e := range w {
		if e.name == name {
			return e.t, e.t.Err()
		}
	}
	return nil, fmt.Errorf("no tensor %q", name)
}

func values(t *testing.T, x *tensor.Tensor) []float32 {
	t.Helper()
	v, err := tensor.Data[float32](ctx, x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func near(t *testing.T, what string, got, want []float32, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(float64(got[i]-want[i])) <= tol*(1+math.Abs(float64(want[i])))) {
			t.Fatalf("%s: element %d is %v, want %v\n got %v\nwant %v", what, i, got[i], want[i], got, want)
		}
	}
}

// Images are sin 0, sin 1, …, weights cos 0, cos 1, …; what is expected is computed by the definitions in float64.
func TestLayers(t *testing.T) {
	x := wave(math.Sin, 1, 2, 4, 4)
	for _, c := range []struct {
		name  string
		layer nn.Layer
		x     *tensor.Tensor
		shape []int
		want  func() []float32
	}{
		{"linear", &nn.Linear{Weight: wave(math.Cos, 3, 4), Bias: wave(math.Sin, 3)}, wave(math.Sin, 2, 4), []int{2, 3}, func() []float32 {
			return affine(2, 4, 3)
		}},
		{"conv2d", &nn.Conv2d{Weight: wave(math.Cos, 2, 2, 3, 3), Bias: wave(math.Sin, 2), Conv2dOptions: nn.Conv2dOptions{Padding: 1, Stride: 2}}, x, []int{1, 2, 2, 2}, func() []float32 {
			return convolved(1, 2, 4, 4, 2, 3, 2, 1, 1, 1)
		}},
		{"depthwise", &nn.Conv2d{Weight: wave(math.Cos, 2, 1, 2, 2), Bias: wave(math.Sin, 2), Conv2dOptions: nn.Conv2dOptions{Groups: 2, Dilation: 2}}, x, []int{1, 2, 2, 2}, func() []float32 {
			return convolved(1, 2, 4, 4, 2, 2, 1, 0, 2, 2)
		}},
		{"maxpool2d", nn.NewMaxPool2d(2), x, []int{1, 2, 2, 2}, func() []float32 { return pooled(2, 4, 4, 2, math.Max, math.Inf(-1), 1) }},
		{"avgpool2d", nn.NewAvgPool2d(2), x, []int{1, 2, 2, 2}, func() []float32 {
			return pooled(2, 4, 4, 2, func(a, b float64) float64 { return a + b }, 0, 4)
		}},
		{"globalavgpool2d", nn.GlobalAvgPool2d, x, []int{1, 2}, func() []float32 {
			return pooled(2, 4, 4, 4, func(a, b float64) float64 { return a + b }, 0, 16)
		}},
		{"flatten", nn.Flatten, x, []int{1, 32}, func() []float32 { return sequence(math.Sin, 32) }},
		{"dropout", nn.Dropout{P: 0.5}, x, []int{1, 2, 4, 4}, func() []float32 { return sequence(math.Sin, 32) }},
		{"sequential", nn.Sequential{}, x, []int{1, 2, 4, 4}, func() []float32 { return sequence(math.Sin, 32) }},
		{"relu", nn.ReLU, x, []int{1, 2, 4, 4}, func() []float32 {
			return sequence(func(v float64) float64 { return max(0, math.Sin(v)) }, 32)
		}},
		{"leakyrelu", nn.LeakyReLU(0.1), x, []int{1, 2, 4, 4}, func() []float32 {
			return sequence(func(v float64) float64 { return max(0.1*math.Sin(v), math.Sin(v)) }, 32)
		}},
		{"elu", nn.ELU(2), x, []int{1, 2, 4, 4}, func() []float32 {
			return sequence(func(v float64) float64 {
				if s := math.Sin(v); s < 0 {
					return 2 * math.Expm1(s)
				}
				return math.Sin(v)
			}, 32)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := c.layer.Forward(c.x)
			if got := fmt.Sprint(y.Shape()); got != fmt.Sprint(c.shape) {
				t.Fatalf("shape %v, want %v (%v)", got, c.shape, y.Err())
			}
			near(t, c.name, values(t, y), c.want(), 1e-5)
		})
	}
}

// sequence returns f(0), f(1), ….
func sequence(f func(float64) float64, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(f(float64(i)))
	}
	return v
}

func wave(f func(float64) float64, shape ...int) *tensor.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return tensor.New(sequence(f, n), shape...)
}

// affine is x·Wᵀ + b by the definition.
func affine(rows, in, out int) []float32 {
	var y []float32
	for r := range rows {
		for o := range out {
			s := math.Sin(float64(o))
			for i := range in {
				s += math.Sin(float64(r*in+i)) * math.Cos(float64(o*in+i))
			}
			y = append(y, float32(s))
		}
	}
	return y
}

// convolved is a convolution by the definition.
func convolved(n, c, h, w, out, k, stride, pad, dilation, groups int) []float32 {
	ho := (h+2*pad-dilation*(k-1)-1)/stride + 1
	wo := (w+2*pad-dilation*(k-1)-1)/stride + 1
	cg, og := c/groups, out/groups
	var res []float32
	for b := range n {
		for o := range out {
			for y := range ho {
				for x := range wo {
					s := math.Sin(float64(o))
					for i := range cg {
						for ky := range k {
							for kx := range k {
								sy, sx := y*stride-pad+ky*dilation, x*stride-pad+kx*dilation
								if sy < 0 || sx < 0 || sy >= h || sx >= w {
									continue
								}
								ch := o/og*cg + i
								s += math.Sin(float64(((b*c+ch)*h+sy)*w+sx)) * math.Cos(float64(((o*cg+i)*k+ky)*k+kx))
							}
						}
					}
					res = append(res, float32(s))
				}
			}
		}
	}
	return res
}

func pooled(c, h, w, k int, f func(a, b float64) float64, zero, div float64) []float32 {
	var res []float32
	for ch := range c {
		for y := range h / k {
			for x := range w / k {
				s := zero
				for i := range k * k {
					s = f(s, math.Sin(float64((ch*h+y*k+i/k)*w+x*k+i%k)))
				}
				res = append(res, float32(s/div))
			}
		}
	}
	return res
}

func TestBatchNorm2d(t *testing.T) {
	n := nn.NewBatchNorm2d(2)
	err := nn.Load(n, weights{
		{"weight", tensor.New([]float32{2, 3})},
		{"bias", tensor.New([]float32{-1, 1})},
		{"running_mean", tensor.New([]float32{0.5, -0.5})},
		{"running_var", tensor.New([]float32{4, 0.25})},
		{"num_batches_tracked", tensor.New([]int64{17})},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := wave(math.Sin, 1, 2, 2, 2)
	want := make([]float32, 8)
	for i := range want {
		v := math.Sin(float64(i))
		if i < 4 {
			want[i] = float32((v-0.5)/math.Sqrt(4+1e-5)*2 - 1)
		} else {
			want[i] = float32((v+0.5)/math.Sqrt(0.25+1e-5)*3 + 1)
		}
	}
	near(t, "batchnorm2d", values(t, n.Forward(x)), want, 1e-6)
}

func TestLoad(t *testing.T) {
	net := func() nn.Sequential {
		return nn.Sequential{nn.NewLinear(3, 2), nn.ReLU, nn.NewLinearNoBias(2, 1)}
	}
	good := weights{
		{"0.weight", tensor.Ones(tensor.Float32, 2, 3)},
		{"0.bias", tensor.Zeros(tensor.Float32, 2)},
		{"2.weight", tensor.Ones(tensor.Float32, 1, 2)},
	}
	t.Run("binds", func(t *testing.T) {
		n := net()
		if err := nn.Load(n, good, nil); err != nil {
			t.Fatal(err)
		}
		near(t, "forward", values(t, n.Forward(tensor.Ones(tensor.Float32, 1, 3))), []float32{6}, 0)
	})
	t.Run("prefix and type", func(t *testing.T) {
		var w weights
		for _, e := range good {
			w = append(w, entry{"model." + e.name, e.t.Cast(tensor.Float16)})
		}
		w = append(w, entry{"other.weight", tensor.Ones(tensor.Float32, 1)})
		n := net()
		if err := nn.Load(n, w, &nn.LoadOptions{Prefix: "model.", DType: tensor.Float32}); err != nil {
			t.Fatal(err)
		}
		near(t, "forward", values(t, n.Forward(tensor.Ones(tensor.Float32, 1, 3))), []float32{6}, 0)
	})
	t.Run("all problems at once", func(t *testing.T) {
		n := net()
		broken := errors.New("disk on fire")
		err := nn.Load(n, weights{
			{"0.weight", tensor.Ones(tensor.Float32, 3, 2)},
			{"2.weight", tensor.Fail("read", broken)},
			{"extra", tensor.Ones(tensor.Float32, 1)},
		}, nil)
		var all *nn.LoadError
		if !errors.As(err, &all) {
			t.Fatalf("error %v, want a LoadError", err)
		}
		for _, want := range []string{"4 problems", "missing 0.bias", "unused extra", "0.weight: is [3 2], want [2 3]", "disk on fire"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error lacks %q:\n%v", want, err)
			}
		}
		if !errors.Is(err, tensor.ErrShape) || !errors.Is(err, broken) {
			t.Errorf("errors.Is fails on %v", err)
		}
		if n[0].(*nn.Linear).Weight != nil || n[2].(*nn.Linear).Weight != nil {
			t.Error("something was bound after an error")
		}
	})
	t.Run("unused allowed", func(t *testing.T) {
		w := append(weights{{"extra", tensor.Ones(tensor.Float32, 1)}}, good...)
		if err := nn.Load(net(), w, &nn.LoadOptions{AllowUnused: true}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("no module", func(t *testing.T) {
		if err := nn.Load(nn.ReLU, good, nil); err == nil {
			t.Fatal("no error for a layer without parameters")
		}
	})
	t.Run("no weights", func(t *testing.T) {
		if err := nn.Load(net(), nil, nil); err == nil {
			t.Fatal("no error for nil weights")
		}
	})
	t.Run("unknown type", func(t *testing.T) {
		n := net()
		if err := nn.Load(n, good, &nn.LoadOptions{DType: 77}); !errors.Is(err, tensor.ErrDType) {
			t.Errorf("error %v, want of kind ErrDType", err)
		}
		if n[0].(*nn.Linear).Weight != nil {
			t.Error("something was bound after an error")
		}
	})
}

func TestUnbound(t *testing.T) {
	x := tensor.Ones(tensor.Float32, 1, 2, 4, 4)
	for _, l := range []nn.Layer{nn.NewLinear(4, 2), nn.NewConv2d(2, 2, 3, nn.Conv2dOptions{}), nn.NewBatchNorm2d(2)} {
		err := nn.Sequential{l, nn.ReLU}.Forward(x).Err()
		if !errors.Is(err, nn.ErrUnbound) || !strings.Contains(err.Error(), "nn_test.go") {
			t.Errorf("%T without weights: %v", l, err)
		}
	}
}

// TestFirstError tests that a layer without weights does not hide an earlier mistake.
func TestFirstError(t *testing.T) {
	x := tensor.Ones(tensor.Float32, 1, 2, 4, 4)
	first := nn.NewConv2d(2, 2, 3, nn.Conv2dOptions{})
	for _, l := range []nn.Layer{nn.NewLinear(4, 2), nn.NewConv2d(2, 2, 3, nn.Conv2dOptions{}), nn.NewBatchNorm2d(2), nil} {
		err := nn.Sequential{first, nn.Flatten, l}.Forward(x).Err()
		if err == nil || !strings.Contains(err.Error(), "conv2d(float32 [1 2 4 4]): layer has no weights") {
			t.Errorf("%T after a conv2d without weights: %v", l, err)
		}
	}
	if err := (nn.Sequential{nn.ReLU, nil}).Forward(x).Err(); err == nil || !strings.Contains(err.Error(), "layer 1 is nil") {
		t.Errorf("nil layer: %v", err)
	}
}

func TestBadShapes(t *testing.T) {
	l := &nn.Linear{Weight: tensor.Ones(tensor.Float32, 2, 3)}
	if err := l.Forward(tensor.Ones(tensor.Float32, 4, 5)).Err(); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("linear of 5 features with weights for 3: %v", err)
	}
	c := &nn.Conv2d{Weight: tensor.Ones(tensor.Float32, 2, 3, 3, 3)}
	if err := c.Forward(tensor.Ones(tensor.Float32, 1, 2, 8, 8)).Err(); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("conv2d of 2 channels with weights for 3: %v", err)
	}
}
