package tensor_test

import (
	"testing"

	"github.com/weft-go/weft/tensor"
)

// TestWarmCreatesNothing runs a forward pass of a small transformer and convolutions again and again. Once it is warm it
// makes no plan, compiles nothing, asks for no memory, and binds no buffers.
func TestWarmCreatesNothing(t *testing.T) {
	d := ownDevice(t)
	weight := func(seed uint64, shape ...int) *tensor.Tensor {
		w := tensor.Randn(tensor.Float32, seed, shape...).To(d)
		if err := tensor.Eval(ctx, w); err != nil {
			t.Fatal(err)
		}
		return w
	}
	qkv, up, down, norm := weight(1, 16, 48), weight(2, 16, 64), weight(3, 64, 16), weight(4, 16)
	filter := weight(5, 8, 1, 3)
	forward := func(seed int) float32 {
		data := make([]float32, 10*16)
		for i := range data {
			data[i] = float32((i*7+seed)%11) / 8
		}
		x := tensor.New(data, 10, 16).To(d)
		parts := x.LayerNorm(norm, norm, 1e-5).MatMul(qkv).Chunk(1, 3)
		h := x.Add(parts[0].MatMul(parts[1].T()).MulScalar(0.25).Softmax(-1).MatMul(parts[2]))
		y := h.Add(h.RMSNorm(norm, 1e-5).MatMul(up).GELU().MatMul(down))
		z := y.Reshape(10, 1, 16).Conv1d(filter, tensor.ConvOptions{Padding: []int{1}}).ReLU().
			MaxPool1d(tensor.PoolOptions{Window: []int{2}}).Mean(0, 2).CumSum(0).Sum()
		v, err := tensor.Item[float32](ctx, z)
		if err != nil {
			t.Fatal(err)
		}
		x.Release()
		z.Release()
		return v
	}
	first := forward(0)
	for i := range 5 { // until every buffer has had its turn
		forward(i)
	}
	before := tensor.Stats(d)
	for i := range 20 {
		forward(i)
	}
	if v := forward(0); v != first {
		t.Errorf("got %v, the first time %v", v, first)
	}
	after := tensor.Stats(d)
	if after.Plans != before.Plans || after.Compiled != before.Compiled || after.Allocated != before.Allocated || after.Bound != before.Bound {
		t.Errorf("21 warm passes:\nbefore %+v\nafter  %+v", before, after)
	}
	if d.Info().Name == "wgpu" && (before.Bound == 0 || before.Allocated == 0) {
		t.Errorf("nothing is counted: %+v", before)
	}
}

// longChain records n dependent operations.
func longChain(x *tensor.Tensor, n int) *tensor.Tensor {
	for range n / 2 {
		x = x.AddScalar(1).MulScalar(0.5)
	}
	return x
}

// TestLongChain computes a thousand operations in one kernel, and in a thousand where fusing is forbidden.
func TestLongChain(t *testing.T) {
	const n = 1000
	for _, c := range []struct {
		fuse    string
		kernels int64
	}{{"", 1}, {"0", n}} {
		t.Setenv("WEFT_FUSE", c.fuse)
		d := ownDevice(t)
		y := longChain(tensor.New([]float32{1, 3, -5}).To(d), n)
		e, err := tensor.Explain(y)
		if err != nil || len(e.Kernels) != int(c.kernels) {
			t.Errorf("WEFT_FUSE=%s: %d kernels (%v), want %d", c.fuse, len(e.Kernels), err, c.kernels)
		}
		before := tensor.Stats(d).Kernels
		want(t, y, nil, 1, 1, float32(1))
		if ran := tensor.Stats(d).Kernels - before; ran != c.kernels {
			t.Errorf("WEFT_FUSE=%s: %d kernels ran, want %d", c.fuse, ran, c.kernels)
		}
	}
}
