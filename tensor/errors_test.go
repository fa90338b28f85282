package tensor_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/tensor"
)

// TestErrors makes every kind of mistake: each is an error of the right kind that says what was wrong and which line of
// this file made it.
func TestErrors(t *testing.T) {
	x := tensor.Iota(tensor.Float32, 2, 3)
	n := tensor.Iota(tensor.Int32, 2, 3)
	other := x.To(tensor.NewDevice("other", cpu.New()))
	img := tensor.Ones(tensor.Float32, 1, 4, 5, 5)
	weight := tensor.Ones(tensor.Float32, 6, 4, 3, 3)
	for _, c := range []struct {
		name string
		x    *tensor.Tensor
		kind error
		text string
	}{
		{"new", tensor.New([]float32{1, 2}, 3), tensor.ErrShape, "new(): 2 elements for shape [3], which has 3"},
		{"wrap negative", tensor.Wrap([]float32{1, 2}, -1, -2), tensor.ErrShape, "extent -1 of axis 0"},
		{"from bytes", tensor.FromBytes(tensor.Int32, []int{1}, make([]byte, 5)), tensor.ErrShape, "5 bytes"},
		{"from bytes type", tensor.FromBytes(99, []int{1}, nil), tensor.ErrDType, "dtype(99)"},
		{"zeros", tensor.Zeros(tensor.Float32, 2, -3), tensor.ErrShape, "extent -3"},
		{"zeros type", tensor.Zeros(0, 2), tensor.ErrDType, "invalid"},
		{"full", tensor.Full(tensor.Uint8, 256, 2), tensor.ErrDType, "256 does not fit uint8"},
		{"full string", tensor.Full(tensor.Uint8, "a", 2), tensor.ErrDType, "scalar is a string"},
		{"arange", tensor.Arange(tensor.Float32, 0, 1, 0), tensor.ErrShape, "steps of 0"},
		{"arange rounded", tensor.Arange(tensor.Int32, 0, 3, .5), tensor.ErrShape, "arange(): step 0.5 is 0 as int32"},
		{"arange nan", tensor.Arange(tensor.Float32, 0, math.NaN(), 1), tensor.ErrShape, "NaN"},
		{"arange bool", tensor.Arange(tensor.Bool, 0, 1, 1), tensor.ErrDType, "bool"},
		{"linspace", tensor.Linspace(tensor.Int32, 0, 1, 5), tensor.ErrDType, "int32"},
		{"linspace n", tensor.Linspace(tensor.Float32, 0, 1, -1), tensor.ErrShape, "extent -1"},
		{"eye", tensor.Eye(tensor.Float32, -1), tensor.ErrShape, "extent -1"},
		{"rand", tensor.Rand(tensor.Int32, 1, 2), tensor.ErrDType, "int32"},
		{"randint", tensor.RandInt(tensor.Int32, 1, 5, 5, 2), tensor.ErrDType, "range 5 to 5 is empty: want lo < hi"},
		{"randint wide", tensor.RandInt(tensor.Int64, 1, 0, 1<<31+1, 2), tensor.ErrDType, "more than 2³¹ integers"},
		{"randint fit", tensor.RandInt(tensor.Uint8, 1, 0, 257, 2), tensor.ErrDType, "range 0 to 257 is not within uint8, which holds 0 to 255"},
		{"scalar", x.AddScalar([]int{1}), tensor.ErrDType, "scalar is a []int"},
		{"scalar fit", n.Cast(tensor.Uint8).AddScalar(300), tensor.ErrDType, "add(uint8 [2 3], int64 []): 300 does not fit uint8"},
		{"scalar named", x.AddScalar(time.Second), tensor.ErrDType, "add(float32 [2 3]): scalar is a time.Duration, want one of Go's own"},
		{"clip", x.ClipScalar("x", 1), tensor.ErrDType, "clip(float32 [2 3]): scalar is a string"},
		{"clip high", x.ClipScalar(1, nil), tensor.ErrDType, "clip(float32 [2 3]): scalar is a <nil>"},
		{"scalar uint64", x.AddScalar(uint64(math.MaxUint64)), tensor.ErrDType, "does not fit int64"},

		{"add", x.Add(tensor.Ones(tensor.Float32, 4)), tensor.ErrShape, "add(float32 [2 3], float32 [4]): shapes [[2 3] [4]] do not broadcast"},
		{"add device", x.Add(other), tensor.ErrDevice, "[" + defaultName() + " other]"},
		{"neg bool", x.IsNaN().Neg(), tensor.ErrDType, "neg(bool [2 3])"},
		{"bitwise", x.BitwiseAnd(x), tensor.ErrDType, "not float32"},
		{"where", tensor.Where(x, x, x), tensor.ErrDType, "condition is float32, want bool"},
		{"nil operand", x.Add(nil), nil, "add(float32 [2 3]): operand 1 is nil"},
		{"nil limit", x.Clip(x, nil), nil, "operand 2 is nil"},
		{"nil condition", tensor.Where(nil, x, x), nil, "operand 0 is nil"},
		{"nil in concat", tensor.Concat(0, x, x, nil), nil, "operand 2 is nil"},
		{"nil in stack", tensor.Stack(0, x, nil), nil, "stack(float32 [2 3]): operand 1 is nil"},
		{"nil factor", x.MatMul(nil), nil, "operand 1 is nil"},
		{"nil index", x.Take(0, nil), nil, "operand 1 is nil"},
		{"nil alone", (*tensor.Tensor)(nil).Exp(), nil, "exp(): operand is nil"},
		{"zero Tensor", x.Add(&tensor.Tensor{}), nil, "operand 1 is a zero Tensor"},
		{"cast", x.Cast(77), tensor.ErrDType, "dtype(77)"},

		{"reshape", x.Reshape(4), tensor.ErrShape, "reshape(float32 [2 3]): 6 elements do not fill shape [4]"},
		{"reshape -1 twice", x.Reshape(-1, -1), tensor.ErrShape, "-1 twice"},
		{"reshape negative", x.Reshape(-2, -3), tensor.ErrShape, "extent -2"},
		{"reshape huge", x.Reshape(math.MaxInt, math.MaxInt), tensor.ErrShape, "more elements"},
		{"permute", x.Permute(0, 0), tensor.ErrAxis, "axis 0 named twice"},
		{"permute few", x.Permute(0), tensor.ErrAxis, "1 axes"},
		{"transpose", x.Transpose(0, 2), tensor.ErrAxis, "axis 2"},
		{"broadcast", x.BroadcastTo(3, 3), tensor.ErrShape, "[2 3]"},
		{"broadcast negative", x.BroadcastTo(-2, 3), tensor.ErrShape, "extent -2"},
		{"squeeze", x.Squeeze(0), tensor.ErrShape, "extent 2, not 1"},
		{"unsqueeze", x.Unsqueeze(4), tensor.ErrAxis, "axis 4"},
		{"unsqueeze twice", x.Unsqueeze(0, 0), tensor.ErrAxis, "named twice"},
		{"diagonal", x.Diagonal(0, 1, 1), tensor.ErrAxis, "with itself"},
		{"unfold", x.Unfold(1, 4, 1), tensor.ErrShape, "windows of 4 elements of axis 1 of extent 3: want 1 to the extent"},
		{"unfold nothing", x.Unfold(1, 0, 1), tensor.ErrShape, "windows of 0 elements of axis 1 of extent 3: want 1 to the extent"},
		{"unfold step", x.Unfold(1, 1, 0), tensor.ErrShape, "step 0 between windows: want 1 or more"},
		{"slice", x.Slice(tensor.All, tensor.All, tensor.All), tensor.ErrAxis, "3 ranges"},
		{"slice step", x.Slice(tensor.All.Step(0)), tensor.ErrIndex, "range ::0: the step must not be 0"},
		{"slice at", x.Slice(tensor.All, tensor.At(3)), tensor.ErrIndex, "axis 1: index 3 of an axis of extent 3"},
		{"select", x.Select(0, -3), tensor.ErrIndex, "index -3"},
		{"select axis", x.Select(5, 0), tensor.ErrAxis, "axis 5"},
		{"narrow", x.Narrow(1, 2, 2), tensor.ErrIndex, "2 elements from 2 on"},
		{"flip", x.Flip(2), tensor.ErrAxis, "axis 2"},
		{"split", x.Split(1, 1, 1)[0], tensor.ErrShape, "sizes [1 1]"},
		{"chunk", x.Chunk(1, 2)[1], tensor.ErrShape, "2 parts"},
		{"tril", tensor.Ones(tensor.Float32, 3).TriL(0), tensor.ErrShape, "two axes"},

		{"max", tensor.Zeros(tensor.Float32, 0).Max(), tensor.ErrShape, "max(float32 [0]): of no elements"},
		{"argmin", tensor.Zeros(tensor.Float32, 3, 0).ArgMin(1), tensor.ErrShape, "of no elements"},
		{"softmax", x.Softmax(2), tensor.ErrAxis, "softmax(float32 [2 3]): axis 2"},
		{"norm", x.Norm(math.NaN()), tensor.ErrDType, "NaN"},
		{"norm empty", tensor.Zeros(tensor.Float32, 0).Norm(-1), tensor.ErrShape, "no elements"},
		{"var", x.Var(1, 1), tensor.ErrAxis, "named twice"},
		{"cumsum mode", x.CumSum(0, 4), tensor.ErrUnsupported, "mode 4 is neither Exclusive nor Reverse"},
		{"sort orders", x.Sort(0, tensor.Ascending, tensor.Descending), tensor.ErrUnsupported, "sort(float32 [2 3]): 2 orders, want one at most"},
		{"argsort orders", x.ArgSort(0, tensor.Ascending, tensor.Ascending), tensor.ErrUnsupported, "argsort(float32 [2 3]): 2 orders"},
		{"topk orders", first(x.TopK(1, 0, tensor.Ascending, tensor.Descending)), tensor.ErrUnsupported, "topk(float32 [2 3]): 2 orders"},
		{"cumsum", x.CumSum(-3), tensor.ErrAxis, "cumsum(float32 [2 3]): axis -3"},

		{"matmul", x.MatMul(x), tensor.ErrShape, "matmul(float32 [2 3], float32 [2 3]): inner dimensions 3 and 2 differ"},
		{"matmul 0-d", x.MatMul(tensor.Scalar(2)), tensor.ErrShape, "without axes"},
		{"matmul batch", img.MatMul(tensor.Ones(tensor.Float32, 3, 5, 5)), tensor.ErrShape, "batches [1 4] and [3]"},
		{"matmul device", x.MatMul(other.T()), tensor.ErrDevice, "different devices"},
		{"outer", x.Outer(x), tensor.ErrShape, "one axis"},

		{"concat none", tensor.Concat(0), tensor.ErrShape, "no operands"},
		{"concat", tensor.Concat(0, x, tensor.Ones(tensor.Float32, 2, 4)), tensor.ErrShape, "extent 4 along axis 1"},
		{"concat rank", tensor.Concat(0, x, tensor.Ones(tensor.Float32, 2)), tensor.ErrShape, "1 axes"},
		{"concat axis", tensor.Concat(2, x, x), tensor.ErrAxis, "axis 2"},
		{"stack", tensor.Stack(0, x, tensor.Ones(tensor.Float32, 3)), tensor.ErrShape, "stack(float32 [2 3], float32 [3]): operand 1 has shape [3], the first [2 3]"},
		{"scatter index", x.Scatter(0, i32(0), x), tensor.ErrShape, "scatter(float32 [2 3], int32 [1], float32 [2 3]): index has"},
		{"scatter source", x.ScatterAdd(0, n, tensor.Ones(tensor.Float32, 5)), tensor.ErrShape, "scatter_add(float32 [2 3], int32 [2 3], float32 [5]): "},
		{"scatter wide", x.Scatter(0, tensor.Ones(tensor.Int32, 2, 4), x), tensor.ErrShape, "scatter(float32 [2 3], int32 [2 4], float32 [2 3]): "},
		{"index add", x.IndexAdd(0, i32(0), tensor.Ones(tensor.Int32, 5)), tensor.ErrShape, "index_add(float32 [2 3], int32 [1], int32 [5]): "},
		{"index copy beyond", x.IndexCopy(0, i32(7), tensor.Scalar(1)), tensor.ErrIndex, "index_copy(float32 [2 3], int32 [1], int64 []): index 7"},
		{"pad", x.Pad(0, [2]int{-1, 0}), tensor.ErrShape, "widths [-1 0] of axis 0: want 0 or more"},
		{"pad axes", x.Pad(0, [2]int{}, [2]int{}, [2]int{}), tensor.ErrAxis, "3 axes"},
		{"pad fit", n.Cast(tensor.Uint8).Pad(-1, [2]int{1, 1}), tensor.ErrDType, "-1 does not fit"},
		{"pad reflect", x.PadReflect([2]int{2, 0}), tensor.ErrShape, "widths [2 0] of axis 0 of extent 2: want less than the extent"},
		{"pad edge", tensor.Zeros(tensor.Float32, 0).PadEdge([2]int{1, 0}), tensor.ErrShape, "widths [1 0] of axis 0 of extent 0: no element to repeat"},
		{"tile", x.Tile(-1), tensor.ErrShape, "-1 times: want 0 or more"},
		{"tile huge", x.Tile(math.MaxInt/4, 1), tensor.ErrShape, ""},
		{"repeat negative", x.Repeat(-1, 0), tensor.ErrShape, "repeat(float32 [2 3]): -1 times: want 0 or more"},
		{"one-hot classes", n.OneHot(-1, tensor.Float32), tensor.ErrShape, "-1 classes: want 0 or more"},
		{"topk negative", first(x.TopK(-1, 0)), tensor.ErrShape, "-1 elements wanted: want 0 or more"},
		{"repeat", x.Repeat(2, 7), tensor.ErrAxis, "axis 7"},
		{"roll", x.Roll(1, 2), tensor.ErrAxis, "axis 2"},
		{"take", x.Take(0, x), tensor.ErrDType, "index is float32"},
		{"take axis", x.Take(2, n), tensor.ErrAxis, "axis 2"},
		{"take empty", tensor.Zeros(tensor.Float32, 0, 3).Take(0, i32(0)), tensor.ErrIndex, "extent 0"},
		{"take along", x.TakeAlongAxis(0, i32(0)), tensor.ErrShape, "different numbers of axes"},
		{"take beyond", x.Take(1, i32(0, -3, 3)), tensor.ErrIndex, "index 3 for an axis of extent 3"},
		{"take before", x.Take(1, tensor.New([]int64{-4, 0}).Flip(0)), tensor.ErrIndex, "index -4 for an axis of extent 3"},
		{"take along empty", tensor.Zeros(tensor.Float32, 2, 0).TakeAlongAxis(1, n), tensor.ErrIndex, "extent 0"},
		{"one-hot", x.OneHot(3, tensor.Float32), tensor.ErrDType, "integers"},

		{"conv", x.Conv2d(weight, tensor.ConvOptions{}), tensor.ErrShape, "need 4 axes"},
		{"conv channels", img.Conv2d(weight, tensor.ConvOptions{Groups: 2}), tensor.ErrShape, "weights for 8 channels, the input has 4"},
		{"conv groups", img.Conv2d(weight, tensor.ConvOptions{Groups: 3}), tensor.ErrShape, "3 groups: must divide the 4 channels and the 6 outputs"},
		{"conv window", img.Conv2d(weight, tensor.ConvOptions{Dilation: []int{3}}), tensor.ErrShape, "window of 7"},
		{"conv stride", img.Conv2d(weight, tensor.ConvOptions{Stride: []int{0}}), tensor.ErrShape, "Stride [0 0]: want 1 or more"},
		{"conv padding", img.Conv2d(weight, tensor.ConvOptions{Padding: []int{-1}}), tensor.ErrShape, "Padding [-1 -1]: want 0 or more"},
		{"conv dilation", img.Conv2d(weight, tensor.ConvOptions{Dilation: []int{1, 0}}), tensor.ErrShape, "Dilation [1 0]: want 1 or more"},
		{"conv list", img.Conv2d(weight, tensor.ConvOptions{Padding: []int{1, 1, 1}}), tensor.ErrShape, "3 numbers"},
		{"conv output padding", img.Conv2d(weight, tensor.ConvOptions{OutputPadding: []int{1}}), tensor.ErrShape, "OutputPadding 1: only a transposed"},
		{"conv bool", img.Cast(tensor.Bool).Conv2d(weight.Cast(tensor.Bool), tensor.ConvOptions{}), tensor.ErrDType, "integers and floats"},
		{"pool", img.MaxPool2d(tensor.PoolOptions{}), tensor.ErrShape, "no Window"},
		{"pool window", img.MaxPool2d(tensor.PoolOptions{Window: []int{6}}), tensor.ErrShape, "window of 6"},
		{"pool padding", img.AvgPool2d(tensor.PoolOptions{Window: []int{2}, Padding: []int{2}}), tensor.ErrShape, "nothing but padding"},
		{"pool axes", tensor.Ones(tensor.Float32, 3).MaxPool2d(tensor.PoolOptions{Window: []int{2}}), tensor.ErrShape, "2 axes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.x.Err()
			var op *tensor.OpError
			if !errors.As(err, &op) {
				t.Fatalf("error is %v, want an OpError", err)
			}
			if c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("error %q is of kind %v, want %v", err, op.Kind, c.kind)
			}
			if !strings.Contains(err.Error(), c.text) || !strings.HasPrefix(err.Error(), "tensor: ") {
				t.Errorf("error %q does not say %q", err, c.text)
			}
			if filepath.Base(op.File) != "errors_test.go" {
				t.Errorf("error %q names file %q", err, op.File)
			}
			if _, got := tensor.Data[float32](ctx, c.x.AddScalar(1).Sum()); !errors.Is(got, err) {
				t.Errorf("later operations turn error %q into %q", err, got)
			}
		})
	}
}

// first returns the first of the results of an operation.
func first(x, _ *tensor.Tensor) *tensor.Tensor { return x }

// second returns the error of a function that returns one besides a result.
func second[T any](_ T, err error) error { return err }

func TestErrorLine(t *testing.T) {
	_, _, line, _ := runtime.Caller(0)
	err := tensor.Ones(tensor.Float32, 1, 3).MatMul(tensor.Ones(tensor.Float32, 2, 2)).Err() // one below
	want := fmt.Sprintf("tensor: matmul(float32 [1 3], float32 [2 2]): inner dimensions 3 and 2 differ (errors_test.go:%d)", line+1)
	if err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// TestErrorNames tests that an operation made of others names itself and its operands where one of those refuses.
func TestErrorNames(t *testing.T) {
	x, y := tensor.Ones(tensor.Float32, 2, 3), tensor.Ones(tensor.Float32, 5)
	most := 1 << 59
	for want, got := range map[string]*tensor.Tensor{
		"layer_norm(float32 [2 3], float32 [5]): shapes":               x.LayerNorm(y, nil, 0),
		"layer_norm(float32 [2 3], float32 [3], float32 [5]): shapes":  x.LayerNorm(tensor.Ones(tensor.Float32, 3), y, 0),
		"rms_norm(float32 [2 3], float32 [5]): shapes":                 x.RMSNorm(y, 0),
		"onehot(int32 [2 3]): shape [2 3 576460752303423488]":          x.Cast(tensor.Int32).OneHot(most, tensor.Float32),
		"stack(float32 [2 3], float32 [5]): axis 7":                    tensor.Stack(7, x, y),
		"repeat(float32 [2 3]): shape [2 3 576460752303423488]":        x.Repeat(most, 1),
		"tile(float32 [5]): shape [576460752303423488 5]":              y.Tile(most),
		"outer(float32 [1073741824], float32 [1073741824]): shape [10": tensor.Ones(tensor.Float32, 1<<30).Outer(tensor.Ones(tensor.Float32, 1<<30)),
	} {
		if err := got.Err(); err == nil || !strings.HasPrefix(err.Error(), "tensor: "+want) {
			t.Errorf("error %v, want %s…", err, want)
		} else if !errors.Is(err, tensor.ErrShape) && !errors.Is(err, tensor.ErrAxis) {
			t.Errorf("error %v of kind %v", err, errors.Unwrap(err))
		}
	}
}

// TestStickyErrors calls methods on tensors that carry an error, are nil or zero: none panics, each passes the error on.
func TestStickyErrors(t *testing.T) {
	bad := tensor.New([]float32{1}, 2)
	good := tensor.Ones(tensor.Float32, 2, 2)
	for name, x := range map[string]*tensor.Tensor{"error": bad, "nil": nil, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			results := []*tensor.Tensor{
				x.Add(good), good.Add(x), x.Exp(), x.AddScalar(1), tensor.Where(x, good, good), x.Clip(good, good),
				x.Cast(tensor.Int32), x.Reshape(2), x.T(), x.Flatten(), x.Permute(0), x.Transpose(0, 1), x.Slice(tensor.From(1)),
				x.Select(0, 0), x.Narrow(0, 0, 1), x.BroadcastTo(2), x.Squeeze(), x.Unsqueeze(0), x.Flip(), x.Diagonal(0, 0, 1),
				x.Unfold(0, 1, 1), x.Split(0, 1, 1)[1], x.Chunk(0, 2)[1], x.TriL(0), x.OneHot(2, tensor.Int32),
				x.Sum(), x.Mean(0), x.Var(), x.Std(), x.ArgMax(), x.Any(), x.LogSumExp(), x.Norm(2), x.Softmax(0), x.LogSoftmax(0),
				x.LayerNorm(nil, nil, 0), x.RMSNorm(nil, 0), x.CumSum(0), x.MatMul(good), good.MatMul(x), x.Outer(good),
				tensor.Concat(0, good, x), tensor.Stack(0, x, good), x.Pad(0), x.PadEdge(), x.PadReflect(), x.Repeat(2, 0),
				x.Tile(2), x.Roll(1, 0), x.Take(0, good), good.Take(0, x), x.TakeAlongAxis(0, good),
				x.Conv2d(good, tensor.ConvOptions{}), x.MaxPool2d(tensor.PoolOptions{}), x.Contiguous(), x.PowScalar(2),
			}
			for i, r := range results {
				if r.Err() == nil {
					t.Errorf("result %d carries no error", i)
				}
				if name == "error" && !errors.Is(r.Err(), bad.Err()) {
					t.Errorf("result %d carries another error: %v", i, r.Err())
				}
			}
			if err := tensor.Eval(ctx, good, x); err == nil {
				t.Error("Eval returns no error")
			}
			if _, err := tensor.Item[float32](ctx, x); err == nil {
				t.Error("Item returns no error")
			}
			if _, err := tensor.Format(ctx, x); err == nil {
				t.Error("Format returns no error")
			}
			if x.Len() != 0 || len(x.Shape()) != 0 || x.Rank() != 0 || x.DType().Valid() || x.Dim(0) != 0 || x.Device() != nil {
				t.Error("a tensor with an error has properties")
			}
			if s := x.String(); !strings.Contains(s, x.Err().Error()) {
				t.Errorf("String is %q", s)
			}
			x.Release()
		})
	}
}

// TestNil asks and uses what is nil, or was made without its New function: none panics.
func TestNil(t *testing.T) {
	bad := tensor.New([]float32{1}, 2)
	for name, d := range map[string]*tensor.Device{"nil": bad.Device(), "zero": {}} {
		t.Run(name+" device", func(t *testing.T) {
			if d.Name() != "none" || d.String() != "none" || d.Info().Adapter != "" {
				t.Errorf("name %q, text %q, info %v", d.Name(), d.String(), d.Info())
			}
			if err := d.Close(); !errors.Is(err, tensor.ErrDevice) {
				t.Errorf("Close: error %v", err)
			}
			refused(t, tensor.Ones(tensor.Float32, 2).To(d).Err(), tensor.ErrDevice, "to(float32 [2])")
			_ = tensor.Stats(d)
		})
	}
	if d := tensor.NewDevice("none", nil); d.Name() != "none" || tensor.Ones(tensor.Float32, 2).To(d).Err() == nil {
		t.Errorf("a nil backend makes device %v", d)
	}
	var v *tensor.Var
	if v.Tensor().Err() == nil || v.Set(tensor.Scalar(1)) == nil {
		t.Error("a nil Var makes no error")
	}
	r, err := tensor.Profile(ctx, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "tensor: profile(): function is nil (errors_test.go:") || r == nil {
		t.Errorf("Profile of nil gives %v, error %v", r, err)
	}
	x := tensor.Ones(tensor.Float32, 2)
	for want, err := range map[string]error{
		"tensor: eval(float32 [2]): operand 1 is nil (errors": tensor.Eval(ctx, x, nil),
		"zero Tensor, which New":                              (&tensor.Tensor{}).Err(),
		"tensor: eval(invalid []): operand is a zero Tensor":  tensor.Eval(ctx, &tensor.Tensor{}),
		"tensor: explain(): operand is nil (errors_test.go:":  second(tensor.Explain(nil)),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s…", err, want)
		}
	}
	refused(t, tensor.Apply(nil, x).Err(), tensor.ErrUnsupported, "apply(float32 [2])")
	refused(t, tensor.Apply(&ops.Op{Name: "add", Arity: 4}, x, x, x, x).Err(), tensor.ErrUnsupported, "not one of ops.All")
	if tensor.Fail("op", nil, x).Err() == nil {
		t.Error("Fail without an error carries none")
	}
	if err := tensor.Fail("op", io.EOF, x, bad).Err(); !errors.Is(err, bad.Err()) {
		t.Errorf("Fail hides the error of an operand behind %v", err)
	}
}

// TestNilOthers is TestNil for quantised arrays, reports and writers.
func TestNilOthers(t *testing.T) {
	d := tensor.Must(tensor.Default())
	for name, q := range map[string]*tensor.Quantized{"nil": nil, "zero": {}} {
		if q.DType().Valid() || len(q.Shape()) != 0 || q.Device() != nil {
			t.Errorf("%s: a Quantized of type %s, shape %v, on %v", name, q.DType(), q.Shape(), q.Device())
		}
		q.Release()
		for want, err := range map[string]error{
			"quantized(): array is nil": q.Tensor().Err(),
			"to(): array is nil":        second(q.To(d)),
			"bytes(): array is nil":     second(q.Bytes(ctx)),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %s", name, err, want)
			}
		}
	}
	for name, r := range map[string]*tensor.Report{"nil": nil, "zero": {}} {
		var b strings.Builder
		if err := r.WriteTrace(&b); err != nil || b.Len() == 0 || !strings.Contains(r.String(), "of kernels in 0.0 µs") {
			t.Errorf("%s: report %q, trace %q, error %v", name, r, b.String(), err)
		}
		if err := r.WriteTrace(nil); err == nil || !strings.Contains(err.Error(), "writetrace(): writer is nil") {
			t.Errorf("%s: a trace to nothing: error %v", name, err)
		}
	}
	for _, x := range []*tensor.Tensor{tensor.Ones(tensor.Float32, 2), tensor.Zeros(tensor.Float32, 0)} {
		if _, err := tensor.WriteTo(ctx, nil, x); err == nil || !strings.Contains(err.Error(), "): writer is nil") {
			t.Errorf("WriteTo nothing: error %v", err)
		}
	}
}

// TestZeroArguments calls every method of what is nil, zero or sound with arguments that are nil or zero: none panics.
func TestZeroArguments(t *testing.T) {
	sound := tensor.Ones(tensor.Float32, 2, 3)
	q, err := tensor.Quantize(ctx, sound, tensor.Q8_0)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]any{
		"tensor": sound, "nil tensor": (*tensor.Tensor)(nil), "zero tensor": &tensor.Tensor{}, "number": tensor.Scalar(1), "empty": tensor.Zeros(tensor.Int32, 0, 2),
		"var": tensor.NewVar(sound), "nil var": (*tensor.Var)(nil), "zero var": &tensor.Var{}, "var of nil": tensor.NewVar(nil),
		"nil device": (*tensor.Device)(nil), "zero device": &tensor.Device{}, "device": tensor.NewDevice("brief", cpu.New()),
		"quantized": q, "nil quantized": (*tensor.Quantized)(nil), "zero quantized": &tensor.Quantized{},
		"nil report": (*tensor.Report)(nil), "zero report": &tensor.Report{}, "zero explanation": tensor.Explanation{},
		"zero kernel time": tensor.KernelTime{}, "zero peak": tensor.Peak{}, "zero spec": tensor.Spec{}, "zero range": tensor.Range{},
		"zero error": &tensor.OpError{},
	} {
		v := reflect.ValueOf(x)
		for i := range v.NumMethod() {
			m := v.Type().Method(i).Name
			t.Run(name+" "+m, func(*testing.T) {
				f := v.Method(i)
				args := make([]reflect.Value, f.Type().NumIn())
				for k := range args {
					args[k] = reflect.Zero(f.Type().In(k))
				}
				if f.Type().IsVariadic() {
					f.CallSlice(args)
				} else {
					f.Call(args)
				}
			})
		}
	}
}

// TestReadErrors makes the mistakes of readers.
func TestReadErrors(t *testing.T) {
	x := tensor.Iota(tensor.Int32, 2, 3)
	_, err := tensor.Data[float32](ctx, x)
	refused(t, err, tensor.ErrDType, "data(int32 [2 3]): elements are int32, not float32: Cast converts them")
	_, err = tensor.Item[int32](ctx, x)
	refused(t, err, tensor.ErrShape, "has 6 elements, not one")
	huge := tensor.Ones(tensor.Float32, 1<<40)
	_, err = tensor.Data[float32](ctx, huge)
	refused(t, err, tensor.ErrMemory, "data(float32 [1099511627776]): elements take 4398046511104 bytes")
	_, err = tensor.Bytes(ctx, huge)
	refused(t, err, tensor.ErrMemory, "bytes(")
	_, err = tensor.WriteTo(ctx, io.Discard, huge)
	refused(t, err, tensor.ErrMemory, "writeto(")
	if err := tensor.Eval(ctx, huge.Exp()); !errors.Is(err, tensor.ErrMemory) {
		t.Errorf("Eval: error %v", err)
	}
	if s, err := tensor.Format(ctx, huge); err != nil || s != "[1. 1. 1. ... 1. 1. 1.]" {
		t.Errorf("Format: %q, %v", s, err)
	}
	if s, err := tensor.Format(ctx, tensor.Ones(tensor.Float32, 1<<20, 1<<17, 1<<20)); err != nil || !strings.HasPrefix(s, "[[[1. 1. 1. ... 1. 1. 1.]") {
		t.Errorf("Format: %q, %v", s, err)
	}
	_, err = x.Take(0, i32(0, 2)).Matrix(ctx)
	if !errors.Is(err, tensor.ErrIndex) {
		t.Errorf("index out of range: error %v", err)
	}
	v := tensor.NewVar(x)
	refused(t, v.Set(x, tensor.From(1)), tensor.ErrShape, "set(int32 [2 3], int32 [2 3])")
	refused(t, v.Set(x, tensor.At(2)), tensor.ErrIndex, "index 2")
	refused(t, v.Set(tensor.Scalar(1<<40)), tensor.ErrDType, "does not fit int32")
	refused(t, v.Set(x.To(tensor.NewDevice("other", cpu.New()))), tensor.ErrDevice, "different devices")
	if v.Set(nil) == nil {
		t.Error("Set of nil is no error")
	}
	wantInts(t, v.Tensor(), []int{2, 3}, 0, 1, 2, 3, 4, 5)
}
