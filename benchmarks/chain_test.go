package benchmarks

import (
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/tensor"
)

// BenchmarkChainUnfused times a thousand dependent operations on 16 elements that may not be fused, in one evaluation, with
// the recording of them and the waiting: what one small kernel costs. BenchmarkChainFused is the same in one kernel.
func BenchmarkChainUnfused(b *testing.B) { chain(b, "0") }

func BenchmarkChainFused(b *testing.B) { chain(b, "") }

func chain(b *testing.B, fuse string) {
	const n = 1000
	def, err := tensor.Default()
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv("WEFT_FUSE", fuse) // not for the default device
	own, err := backend.Open(def.Info().Name, 0)
	if err != nil {
		b.Fatal(err)
	}
	d := tensor.NewDevice("own", own)
	defer func() {
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	}()
	x := tensor.New(make([]float32, 16)).To(d)
	build := func() *tensor.Tensor {
		y := x
		for range n / 2 {
			y = y.AddScalar(1).MulScalar(0.5)
		}
		return y
	}
	once := func() {
		v, err := tensor.Data[float32](ctx, build())
		if err != nil || v[15] != 1 {
			b.Fatalf("got %v, %v", v, err)
		}
	}
	once()
	before := tensor.Stats(d).Kernels
	b.ReportAllocs()
	for b.Loop() {
		once()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/operation")
	b.ReportMetric(float64(tensor.Stats(d).Kernels-before)/float64(b.N), "kernels/op")
}
