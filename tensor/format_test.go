package tensor_test

import (
	"os"
	"strings"
	"testing"

	"github.com/weft-go/weft/tensor"
)

// TestFormat holds Format to what NumPy prints, in testdata/format.txt by format.py.
func TestFormat(t *testing.T) {
	arange := func(d tensor.DType, shape ...int) *tensor.Tensor { return tensor.Iota(d, shape...) }
	cases := map[string]*tensor.Tensor{
		"fractions":         tensor.New([]float32{1, 2.5, 3, 4.125}, 2, 2),
		"wide range":        f32(1e-5, 1, 1234.5),
		"large":             f64(1e8, 1),
		"thirds":            f64(1.0/3, 2.0/3, 10.0/3),
		"thirds32":          f32(1.0/3, 2.0/3, 10.0/3),
		"specials":          f64(nan, inf, -inf, 1.5),
		"specials whole":    f64(nan, 1, -2),
		"only nan":          f64(nan, inf),
		"neginf":            f64(-inf, 1),
		"negative":          f64(-1.5, 2, -300),
		"zero":              f32(0, negZero),
		"half":              f64(0.1, 0.2, 1.0/3).Cast(tensor.Float16),
		"exp nan":           f64(nan, 1e-10, 1e10),
		"bool":              tensor.New([]bool{true, false, true, true}, 2, 2),
		"int":               tensor.New([]int32{1, -20, 300, 4}, 2, 2),
		"cube":              arange(tensor.Int32, 2, 3, 4),
		"scalar":            tensor.Full(tensor.Float64, 1),
		"scalar32":          tensor.Full(tensor.Float32, 0.1),
		"scalar tiny":       tensor.Full(tensor.Float64, 1e-5),
		"scalar int":        tensor.Scalar(7),
		"scalar bool":       tensor.Scalar(true),
		"empty":             tensor.Zeros(tensor.Float32, 0, 3),
		"one":               tensor.Full(tensor.Float64, 5, 1, 1),
		"long":              arange(tensor.Int32, 30).MulScalar(1000),
		"long 2d":           arange(tensor.Float64, 2, 30).DivScalar(8),
		"summary":           arange(tensor.Int32, 1001),
		"summary 2d":        arange(tensor.Int32, 50, 100),
		"summary narrow":    arange(tensor.Int32, 1000, 3),
		"summary 3d":        arange(tensor.Int64, 20, 20, 20),
		"summary wide rows": arange(tensor.Float64, 2, 2000).DivScalar(7),
		"digits":            f64(123456.789, 0.123456789123),
		"third large":       f64(1e7 / 3.0),
		"f32 1e7":           f32(16777216, 0.5),
		"5d":                arange(tensor.Int32, 2, 1, 2, 2, 2),
	}
	file, err := os.ReadFile("testdata/format.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range strings.Split(strings.TrimPrefix(string(file), "== "), "\n== ") {
		name, want, _ := strings.Cut(c, "\n")
		t.Run(name, func(t *testing.T) {
			x := cases[name]
			if x == nil {
				t.Fatal("no such case")
			}
			got, err := tensor.Format(ctx, x)
			if err != nil {
				t.Fatal(err)
			}
			if got != strings.TrimSuffix(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
		delete(cases, name)
	}
	for name := range cases {
		t.Errorf("format.txt has no case %q", name)
	}
}

func TestString(t *testing.T) {
	device := defaultName()
	x := tensor.New([]float32{1, 2}, 2, 1)
	y := x.Exp()
	for _, c := range []struct{ got, want string }{
		{x.String(), "tensor(float32 [2 1], " + device + ")"},
		{y.String(), "tensor(float32 [2 1], " + device + ", lazy)"},
		{tensor.Scalar(2.5).String(), "tensor(scalar 2.5)"},
		{tensor.From(3).Step(-1).String(), "3::-1"},
		{tensor.R(1, 5).String(), "1:5"},
		{tensor.To(-1).String(), ":-1"},
		{tensor.All.String(), ":"},
		{tensor.At(2).String(), "2"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if err := tensor.Eval(ctx, y); err != nil || y.String() != "tensor(float32 [2 1], "+device+")" {
		t.Errorf("%v after Eval (%v)", y, err)
	}
}
