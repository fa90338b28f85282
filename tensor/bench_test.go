package tensor_test

import (
	"testing"

	"github.com/weft-go/weft/tensor"
)

// BenchmarkRecord is what an operation costs before anything is computed.
func BenchmarkRecord(b *testing.B) {
	x := tensor.Iota(tensor.Float32, 8, 1, 16).Reshape(8, 16)
	y := tensor.Iota(tensor.Float32, 16)
	w := tensor.Iota(tensor.Float32, 16, 16)
	for _, c := range []struct {
		name string
		f    func() *tensor.Tensor
	}{
		{"Exp", func() *tensor.Tensor { return x.Exp() }},
		{"Add", func() *tensor.Tensor { return x.Add(x) }},
		{"broadcast", func() *tensor.Tensor { return x.Add(y) }},
		{"AddScalar", func() *tensor.Tensor { return x.AddScalar(2) }},
		{"Sum", func() *tensor.Tensor { return x.Sum(-1) }},
		{"Sum(0)", func() *tensor.Tensor { return x.Sum(0) }},
		{"MatMul", func() *tensor.Tensor { return x.MatMul(w) }},
		{"Slice", func() *tensor.Tensor { return x.Slice(tensor.All, tensor.From(3)) }},
		{"Reshape", func() *tensor.Tensor { return x.Reshape(4, 32) }},
		{"T", func() *tensor.Tensor { return x.T() }},
		{"Softmax", func() *tensor.Tensor { return x.Softmax(-1) }},
		{"LayerNorm", func() *tensor.Tensor { return x.LayerNorm(y, y, 1e-5) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.f()
			}
		})
	}
}

// BenchmarkSmall computes a small expression: overhead alone, warm.
func BenchmarkSmall(b *testing.B) {
	x := tensor.Iota(tensor.Float32, 8, 16)
	if err := tensor.Eval(ctx, x); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tensor.Data[float32](ctx, x.MulScalar(2).AddScalar(1).Softmax(-1)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTiny computes three operations on 16 elements, warm: the overhead of recording, of finding the plan and of running it.
func BenchmarkTiny(b *testing.B) {
	x := tensor.Iota(tensor.Float32, 16)
	y := tensor.Iota(tensor.Float32, 16)
	if err := tensor.Eval(ctx, x, y); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		f    func() *tensor.Tensor
	}{
		{"1", func() *tensor.Tensor { return x.Add(y) }},
		{"3", func() *tensor.Tensor { return x.Add(y).Mul(x).ReLU() }},
	} {
		b.Run(c.name+"/Record", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.f()
			}
		})
		b.Run(c.name+"/Eval", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := tensor.Eval(ctx, c.f()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/Data", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tensor.Data[float32](ctx, c.f()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
