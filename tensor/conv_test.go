package tensor_test

import (
	"testing"

	"github.com/weft-go/weft/tensor"
)

func TestCasesConv(t *testing.T) {
	t.Run("M13", func(t *testing.T) { // tvm#19524: what output padding uncovers is computed
		x := tensor.Iota(tensor.Float32, 1, 1, 2, 2).AddScalar(1)
		w := tensor.Ones(tensor.Float32, 1, 1, 3, 3)
		o := tensor.ConvOptions{Stride: []int{2}, Padding: []int{1}, OutputPadding: []int{1}}
		wantInts(t, x.ConvTranspose2d(w, o), []int{1, 1, 4, 4}, 1, 3, 2, 2, 4, 10, 6, 6, 3, 7, 4, 4, 3, 7, 4, 4)
		o.OutputPadding = nil
		wantInts(t, x.ConvTranspose2d(w, o), []int{1, 1, 3, 3}, 1, 3, 2, 4, 10, 6, 3, 7, 4)
		line := tensor.Iota(tensor.Float32, 1, 1, 4).AddScalar(1)
		o.OutputPadding = []int{1}
		wantInts(t, line.ConvTranspose1d(f32(1, 10, 100).Reshape(1, 1, 3), o), []int{1, 1, 8}, 10, 102, 20, 203, 30, 304, 40, 400)
		groups := tensor.Iota(tensor.Float32, 4, 2, 1, 1).AddScalar(1)
		y := line.Reshape(1, 4, 1, 1).ConvTranspose2d(groups, tensor.ConvOptions{Groups: 2})
		wantInts(t, y, []int{1, 4, 1, 1}, 7, 10, 43, 50)
	})
	t.Run("M15", func(t *testing.T) { // onnxjs#41: depthwise, and channels that are no multiple of 4
		x := tensor.Iota(tensor.Float32, 1, 8, 2, 2).AddScalar(1)
		w := tensor.Iota(tensor.Float32, 16, 1, 1, 1).AddScalar(1)
		y := x.Conv2d(w, tensor.ConvOptions{Groups: 8}).Slice(tensor.At(0), tensor.All, tensor.At(0), tensor.At(0))
		wantInts(t, y, []int{16}, 1, 2, 15, 20, 45, 54, 91, 104, 153, 170, 231, 252, 325, 350, 435, 464)
		full := tensor.Iota(tensor.Float32, 1, 3, 3, 3).AddScalar(1)
		rising := func(channels int) *tensor.Tensor {
			return tensor.Arange(tensor.Float32, 1, 6, 1).Reshape(5, 1, 1, 1).BroadcastTo(5, channels, 3, 3)
		}
		wantInts(t, full.Conv2d(rising(3), tensor.ConvOptions{}), []int{1, 5, 1, 1}, 378, 756, 1134, 1512, 1890)
		wantInts(t, tensor.Ones(tensor.Float32, 1, 9, 3, 3).Conv2d(rising(9), tensor.ConvOptions{}), []int{1, 5, 1, 1}, 81, 162, 243, 324, 405)
	})
	t.Run("M17", func(t *testing.T) { // pytorch#183528: what an average divides by
		x := tensor.Iota(tensor.Float32, 1, 1, 4, 4).AddScalar(1)
		o := tensor.PoolOptions{Window: []int{3}, Stride: []int{2}, Padding: []int{1}, Ceil: true, CountPad: true}
		near(t, x.AvgPool2d(o), 1e-6, 1.5555556, 3.3333333, 2, 6.3333333, 11, 6, 4.5, 7.5, 4)
		o.CountPad = false
		near(t, x.AvgPool2d(o), 1e-6, 3.5, 5, 6, 9.5, 11, 12, 13.5, 15, 16)
		o.Padding = nil
		near(t, x.AvgPool2d(o), 1e-6, 6, 7.5, 12, 13.5)
		y := tensor.Iota(tensor.Float32, 1, 1, 7, 7)
		near(t, y.AvgPool2d(tensor.PoolOptions{Window: []int{2}, Stride: []int{3}, Ceil: true}), 1e-6,
			4, 7, 9.5, 25, 28, 30.5, 42.5, 45.5, 48)
	})
}

// TestConvDefinition holds convolutions to sums over windows of the padded image.
func TestConvDefinition(t *testing.T) {
	x := tensor.RandInt(tensor.Int32, 1, -4, 5, 2, 4, 7, 6).Cast(tensor.Float32)
	for _, c := range []struct {
		name string
		w    []int
		o    tensor.ConvOptions
	}{
		{"plain", []int{3, 4, 3, 3}, tensor.ConvOptions{}},
		{"one", []int{3, 4, 1, 1}, tensor.ConvOptions{}},
		{"stride", []int{3, 4, 2, 3}, tensor.ConvOptions{Stride: []int{2, 1}}},
		{"padding", []int{3, 4, 3, 3}, tensor.ConvOptions{Padding: []int{1, 2}}},
		{"uneven padding", []int{3, 4, 3, 3}, tensor.ConvOptions{Padding: []int{0, 2}, PaddingEnd: []int{1, 0}, Stride: []int{2}}},
		{"dilation", []int{3, 4, 2, 3}, tensor.ConvOptions{Dilation: []int{3, 2}}},
		{"groups", []int{6, 2, 3, 3}, tensor.ConvOptions{Groups: 2, Padding: []int{1}}},
		{"depthwise", []int{8, 1, 3, 3}, tensor.ConvOptions{Groups: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := tensor.RandInt(tensor.Int32, 2, -3, 4, c.w...).Cast(tensor.Float32)
			ref := convolved(x, w, c.o)
			got := x.Conv2d(w, c.o)
			wantInts(t, got, ref.Shape(), ints(t, ref)...)
		})
	}
	line := x.Select(2, 0)
	w := tensor.RandInt(tensor.Int32, 2, -3, 4, 5, 4, 3).Cast(tensor.Float32)
	ref := convolved(line.Unsqueeze(2), w.Unsqueeze(2), tensor.ConvOptions{})
	wantInts(t, line.Conv1d(w, tensor.ConvOptions{}), []int{2, 5, 4}, ints(t, ref)...)
	wantInts(t, x.Slice(tensor.To(0)).Conv2d(w.Unsqueeze(2), tensor.ConvOptions{}), []int{0, 5, 7, 4})
}

// convolved is Conv2d by views and a sum.
func convolved(x, w *tensor.Tensor, o tensor.ConvOptions) *tensor.Tensor {
	pair := func(v []int, otherwise int) [2]int {
		switch len(v) {
		case 0:
			return [2]int{otherwise, otherwise}
		case 1:
			return [2]int{v[0], v[0]}
		}
		return [2]int(v)
	}
	stride, dilation, pad := pair(o.Stride, 1), pair(o.Dilation, 1), pair(o.Padding, 0)
	end, groups := pad, max(1, o.Groups)
	if o.PaddingEnd != nil {
		end = pair(o.PaddingEnd, 0)
	}
	x = x.Pad(0, [2]int{}, [2]int{}, [2]int{pad[0], end[0]}, [2]int{pad[1], end[1]})
	for i := range 2 { // [N C H W] to [N C OH OW KH KW]
		size := dilation[i]*(w.Dim(2+i)-1) + 1
		x = x.Unfold(2+i, size, stride[i]).SliceAxis(-1, tensor.All.Step(dilation[i]))
	}
	s := x.Shape()
	x = x.Reshape(s[0], groups, 1, s[1]/groups, s[2], s[3], s[4], s[5])
	w = w.Reshape(groups, w.Dim(0)/groups, w.Dim(1), 1, 1, w.Dim(2), w.Dim(3))
	return x.Mul(w).Sum(3, 6, 7).Reshape(s[0], -1, s[2], s[3])
}

func TestPool(t *testing.T) {
	x := tensor.Iota(tensor.Int32, 1, 4, 4)
	wantInts(t, x.MaxPool2d(tensor.PoolOptions{Window: []int{2}}), []int{1, 2, 2}, 5, 7, 13, 15)
	wantInts(t, x.Neg().MaxPool2d(tensor.PoolOptions{Window: []int{3}, Stride: []int{2}, Padding: []int{1}}), []int{1, 2, 2}, 0, -1, -4, -5)
	wantInts(t, x.MaxPool2d(tensor.PoolOptions{Window: []int{2}, Dilation: []int{2}, Stride: []int{1}}), []int{1, 2, 2}, 10, 11, 14, 15)
	wantInts(t, x.Select(1, 1).MaxPool1d(tensor.PoolOptions{Window: []int{3}, Stride: []int{1}}), []int{1, 2}, 6, 7)
	near(t, x.Select(1, 0).AvgPool1d(tensor.PoolOptions{Window: []int{2}}), 0, 0.5, 2.5)
	near(t, f32(1, nan32, 3, 4).Reshape(1, 4).MaxPool1d(tensor.PoolOptions{Window: []int{2}}), 0, nan, 4)
	near(t, x.AvgPool2d(tensor.PoolOptions{Window: []int{4, 2}}), 0, 6.5, 8.5)
}
