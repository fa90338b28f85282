package tensor_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/tensor"
)

// TestMethods holds every row of package ops to the method of its name: same elements, same type.
func TestMethods(t *testing.T) {
	x := f32(-2.5, -0, 0.25, 1, 3, nan32)
	y := f32(0.5, -1, 2, 1, -3, 0)
	z := f32(1, 2, 0.5, -4, 0, 1)
	for _, op := range ops.All() {
		t.Run(op.Name, func(t *testing.T) {
			in := []*tensor.Tensor{x, y, z}[:op.Arity]
			switch {
			case op.Rule.Cond:
				in[0] = in[0].GreaterScalar(0)
			case op.Float == nil:
				in = []*tensor.Tensor{i32(1, 2, 3, 4, 5, 6), i32(1, 0, 2, 31, 32, -1), i32(7, 7, 7, 7, 7, 7)}[:op.Arity]
			}
			got := method(t, op, in)
			if got == nil {
				return
			}
			plain := tensor.Apply(op, in...)
			if got.DType() != plain.DType() || got.Err() != nil {
				t.Fatalf("type %v, want %v (%v)", got.DType(), plain.DType(), got.Err())
			}
			near(t, got, 0, read[float64](t, plain.Cast(tensor.Float64))...)
		})
	}
}

// method calls the method or function of tensor that op's row stands for; nil if it takes no tensors for all operands.
func method(t *testing.T, op *ops.Op, in []*tensor.Tensor) *tensor.Tensor {
	t.Helper()
	switch op {
	case ops.Where:
		return tensor.Where(in[0], in[1], in[2])
	case ops.LeakyReLU, ops.ELU, ops.RandBits: // take a number, or are used by Rand
		return nil
	}
	name := strings.ReplaceAll(op.Name, "_", "")
	v := reflect.ValueOf(in[0])
	for i := range v.NumMethod() {
		if strings.EqualFold(v.Type().Method(i).Name, name) {
			args := make([]reflect.Value, 0, 2)
			for _, x := range in[1:] {
				args = append(args, reflect.ValueOf(x))
			}
			r, ok := v.Method(i).Call(args)[0].Interface().(*tensor.Tensor)
			if !ok {
				t.Fatalf("method %s returns no tensor", name)
			}
			return r
		}
	}
	t.Fatalf("package tensor has no method %s", name)
	return nil
}

func TestScalarMethods(t *testing.T) {
	x := f32(-3, 0, 2)
	for name, c := range map[string]struct {
		x    *tensor.Tensor
		want []float64
	}{
		"AddScalar":          {x.AddScalar(2), []float64{-1, 2, 4}},
		"SubScalar":          {x.SubScalar(2), []float64{-5, -2, 0}},
		"MulScalar":          {x.MulScalar(2), []float64{-6, 0, 4}},
		"DivScalar":          {x.DivScalar(2), []float64{-1.5, 0, 1}},
		"FloorDivScalar":     {x.FloorDivScalar(2), []float64{-2, 0, 1}},
		"ModScalar":          {x.ModScalar(2), []float64{1, 0, 0}},
		"PowScalar 2":        {x.PowScalar(2), []float64{9, 0, 4}},
		"PowScalar 3":        {x.PowScalar(3.0), []float64{-27, 0, 8}},
		"MaximumScalar":      {x.MaximumScalar(1), []float64{1, 1, 2}},
		"MinimumScalar":      {x.MinimumScalar(1), []float64{-3, 0, 1}},
		"EqualScalar":        {x.EqualScalar(0), []float64{0, 1, 0}},
		"NotEqualScalar":     {x.NotEqualScalar(0), []float64{1, 0, 1}},
		"LessScalar":         {x.LessScalar(0), []float64{1, 0, 0}},
		"LessEqualScalar":    {x.LessEqualScalar(0), []float64{1, 1, 0}},
		"GreaterScalar":      {x.GreaterScalar(0), []float64{0, 0, 1}},
		"GreaterEqualScalar": {x.GreaterEqualScalar(0), []float64{0, 1, 1}},
		"ClipScalar":         {x.ClipScalar(-1, 1), []float64{-1, 0, 1}},
		"LeakyReLU":          {x.LeakyReLU(0.5), []float64{-1.5, 0, 2}},
		"left":               {tensor.Scalar(1).Sub(x), []float64{4, 1, -1}},
		"both":               {tensor.Scalar(3).Sub(tensor.Scalar(1)), []float64{2}},
	} {
		t.Run(name, func(t *testing.T) { near(t, c.x, 1e-7, c.want...) })
	}
	near(t, x.ELU(2), 1e-6, 2*math.Expm1(-3), 0, 2)
}

// TestPromotion has an example of each rule of the package comment.
func TestPromotion(t *testing.T) {
	of := func(d tensor.DType) *tensor.Tensor { return tensor.Ones(d, 2) }
	for _, c := range []struct {
		name string
		x    *tensor.Tensor
		want tensor.DType
	}{
		{"bool+bool", of(tensor.Bool).Add(of(tensor.Bool)), tensor.Bool},
		{"uint8+int8", of(tensor.Uint8).Add(of(tensor.Int8)), tensor.Int32},
		{"int32+uint32", of(tensor.Int32).Add(of(tensor.Uint32)), tensor.Int64},
		{"int8+float16", of(tensor.Int8).Add(of(tensor.Float16)), tensor.Float16},
		{"int32+float32", of(tensor.Int32).Add(of(tensor.Float32)), tensor.Float64},
		{"float16+bfloat16", of(tensor.Float16).Add(of(tensor.BFloat16)), tensor.Float32},
		{"float32+float64", of(tensor.Float32).Add(of(tensor.Float64)), tensor.Float64},
		{"uint8+1", of(tensor.Uint8).AddScalar(1), tensor.Uint8},
		{"bool+1", of(tensor.Bool).AddScalar(1), tensor.Int64},
		{"bool+true", of(tensor.Bool).AddScalar(true), tensor.Bool},
		{"int64+1.5", of(tensor.Int64).AddScalar(1.5), tensor.Float32},
		{"float16+1e10", of(tensor.Float16).AddScalar(1e10), tensor.Float16},
		{"float64+float32(1)", of(tensor.Float64).AddScalar(float32(1)), tensor.Float64},
		{"float32+int64(1)", of(tensor.Float32).AddScalar(int64(1)), tensor.Float32},
		{"1+1", tensor.Scalar(1).AddScalar(1), tensor.Int64},
		{"1+1.5", tensor.Scalar(1).AddScalar(1.5), tensor.Float32},
		{"int8 Scalar int8", tensor.Scalar(1).Sub(of(tensor.Int8)), tensor.Int8},
		{"0-d array", of(tensor.Float32).Add(tensor.Full(tensor.Float64, 1)), tensor.Float64},
		{"int32/int32", of(tensor.Int32).Div(of(tensor.Int32)), tensor.Float32},
		{"sqrt(int64)", of(tensor.Int64).Sqrt(), tensor.Float32},
		{"sqrt(float64)", of(tensor.Float64).Sqrt(), tensor.Float64},
		{"less", of(tensor.Int8).Less(of(tensor.Float32)), tensor.Bool},
		{"where", tensor.Where(of(tensor.Bool), of(tensor.Int8), tensor.Scalar(0.5)), tensor.Float32},
		{"sum(uint8)", of(tensor.Uint8).Sum(), tensor.Int64},
		{"sum(float16)", of(tensor.Float16).Sum(), tensor.Float16},
		{"mean(int32)", of(tensor.Int32).Mean(), tensor.Float32},
		{"mean(float64)", of(tensor.Float64).Mean(), tensor.Float64},
		{"var(bfloat16)", of(tensor.BFloat16).Var(), tensor.BFloat16},
		{"argmax", of(tensor.Float64).ArgMax(), tensor.Int32},
		{"max(bool)", of(tensor.Bool).Max(), tensor.Bool},
		{"softmax(float16)", of(tensor.Float16).Softmax(0), tensor.Float16},
		{"cumsum(int32)", of(tensor.Int32).CumSum(0), tensor.Int64},
		{"cummax(int32)", of(tensor.Int32).CumMax(0), tensor.Int32},
		{"matmul", of(tensor.Float16).MatMul(of(tensor.Float32)), tensor.Float32},
		{"matmul(bool)", of(tensor.Bool).MatMul(of(tensor.Bool)), tensor.Bool},
		{"concat", tensor.Concat(0, of(tensor.Int8), of(tensor.Float16)), tensor.Float16},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.x.Err() != nil || c.x.DType() != c.want {
				t.Errorf("type %v, want %v (%v)", c.x.DType(), c.want, c.x.Err())
			}
		})
	}
}

// TestComparisonWithWideScalar compares with integers that the array's type lacks, as NumPy 2 does.
func TestComparisonWithWideScalar(t *testing.T) {
	x := tensor.New([]uint8{0, 255})
	want(t, x.LessScalar(300), nil, true, true)
	want(t, x.EqualScalar(256), nil, false, false) // not 0
	want(t, x.GreaterScalar(-1), nil, true, true)
	want(t, tensor.Scalar(-1).GreaterEqual(x), nil, false, false)
}

func TestBroadcast(t *testing.T) {
	a := tensor.Iota(tensor.Int32, 2, 3)
	wantInts(t, a.Add(i32(10, 20, 30)), []int{2, 3}, 10, 21, 32, 13, 24, 35)
	wantInts(t, a.Add(i32(10, 20).Reshape(2, 1)), []int{2, 3}, 10, 11, 12, 23, 24, 25)
	wantInts(t, i32(1, 2).Reshape(2, 1).Mul(i32(1, 10)), []int{2, 2}, 1, 10, 2, 20)
	wantInts(t, tensor.Full(tensor.Int32, 2).Mul(tensor.Full(tensor.Int32, 3, 1, 1)), []int{1, 1}, 6)
	wantInts(t, tensor.Where(i32(0, 1).GreaterScalar(0), i32(1).Reshape(1, 1), tensor.Scalar(5)), []int{1, 2}, 5, 1)
}

func TestApplyArity(t *testing.T) {
	x := tensor.Apply(ops.Add, f32(1))
	if !errors.Is(x.Err(), tensor.ErrShape) || !strings.Contains(x.Err().Error(), "1 operands, want 2") {
		t.Errorf("error %v", x.Err())
	}
}

// TestEmpty gives operations tensors without elements, or without axes.
func TestEmpty(t *testing.T) {
	x := tensor.Zeros(tensor.Float32, 0, 3)
	for name, c := range map[string]struct {
		x     *tensor.Tensor
		shape []int
		want  []float64
	}{
		"exp":         {x.Exp(), []int{0, 3}, nil},
		"cast":        {x.Cast(tensor.Int8), []int{0, 3}, nil},
		"sum":         {x.Sum(0), []int{3}, []float64{0, 0, 0}},
		"prod":        {x.Prod(), []int{}, []float64{1}},
		"any":         {x.Any(0), []int{3}, []float64{0, 0, 0}},
		"all":         {x.All(), []int{}, []float64{1}},
		"mean":        {x.Mean(), []int{}, []float64{nan}},
		"var":         {x.Var(0), []int{3}, []float64{nan, nan, nan}},
		"max":         {x.Max(1), []int{0}, nil},
		"argmax":      {x.ArgMax(-1), []int{0}, nil},
		"norm":        {x.Norm(3, 0), []int{3}, []float64{0, 0, 0}},
		"norm inf":    {x.Norm(inf, 0), []int{3}, []float64{0, 0, 0}},
		"logsumexp":   {x.LogSumExp(0), []int{3}, []float64{-inf, -inf, -inf}},
		"softmax":     {x.Softmax(0), []int{0, 3}, nil},
		"log-softmax": {x.LogSoftmax(1), []int{0, 3}, nil},
		"layer norm":  {x.T().LayerNorm(nil, nil, 1e-5), []int{3, 0}, nil},
		"cumsum":      {x.CumSum(0), []int{0, 3}, nil},
		"cummax":      {x.CumMax(1, tensor.Exclusive), []int{0, 3}, nil},
		"flip":        {x.Flip(), []int{0, 3}, nil},
		"copy":        {x.T().Contiguous(), []int{3, 0}, nil},
		"outer":       {x.Flatten().Outer(f32(1, 2)), []int{0, 2}, nil},
		"where":       {tensor.Where(x.IsNaN(), x, tensor.Scalar(1)), []int{0, 3}, nil},
		"rand":        {tensor.Randn(tensor.Float32, 1, 2, 0), []int{2, 0}, nil},
		"one":         {tensor.Full(tensor.Float32, 4).Sqrt(), []int{}, []float64{2}},
		"one, sum":    {tensor.Full(tensor.Float32, 4).Sum(), []int{}, []float64{4}},
		"one, argmax": {tensor.Full(tensor.Float32, 4).ArgMax(), []int{}, []float64{0}},
		"one, flat":   {tensor.Full(tensor.Float32, 4).Flatten(), []int{1}, []float64{4}},
		"one, t":      {tensor.Full(tensor.Float32, 4).T(), []int{}, []float64{4}},
	} {
		t.Run(name, func(t *testing.T) {
			near(t, c.x, 0, c.want...)
			want(t, c.x.Cast(tensor.Float64), c.shape, c.want...)
		})
	}
}

func TestReductionExamples(t *testing.T) {
	x := tensor.Iota(tensor.Float32, 2, 2, 2, 2)
	near(t, x.Sum(1, 3), 0, 10, 18, 42, 50)
	near(t, x.Sum(0, 2, 3), 0, 44, 76)
	near(t, x.Max(1, 3), 0, 5, 7, 13, 15)
	near(t, x.Min(3, -3), 0, 0, 2, 8, 10)
	near(t, x.ArgMax(1, 2), 0, 3, 3, 3, 3)
	near(t, x.Prod(3, 2, 1).Reshape(2), 1e-6, 0, 259459200)
	near(t, f32(3, -2, 7, nan32, -1).Max(), 0, nan)
	near(t, f32(3, -2, 7, nan32, -1).ArgMin(), 0, 3)
	near(t, f32(1, 2, 3, 4).Var(), 1e-6, 1.25)
	near(t, f32(1, 2, 3, 4).VarDDof(1), 1e-6, 5.0/3)
	near(t, f32(1, 2, 3, 4).StdDDof(1), 1e-6, math.Sqrt(5.0/3))
	near(t, f32(5).VarDDof(1), 0, nan)
	near(t, i32(1, 2, 4).Mean(), 1e-6, 7.0/3)
	near(t, f32(3, -4).Norm(1), 0, 7)
	near(t, f32(3, -4).Norm(inf), 0, 4)
	near(t, f32(3, -4).Norm(-inf), 0, 3)
	near(t, f32(3, 0, -4).Norm(0), 0, 2)
	near(t, f32(1, 2).Norm(-1), 1e-6, 2.0/3)
	near(t, f32(1e20, 2e20).Norm(3), 1e-5, 2.0800838e20)
	near(t, i32(3, 4).Norm(2), 1e-6, 5)
	near(t, tensor.New([]int8{100, 100}).Sum(), 0, 200)
	near(t, f32(-inf32, -inf32).Softmax(0), 0, nan, nan)
	near(t, f32(3, 4).RMSNorm(f32(1, 2), 0), 1e-6, 3/math.Sqrt(12.5), 8/math.Sqrt(12.5))
	near(t, f64(1, 3).LayerNorm(f64(2, 2), f64(5, 5), 0), 1e-12, 3, 7)
}
