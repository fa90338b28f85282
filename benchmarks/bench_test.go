package benchmarks

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	_ "github.com/weft-go/weft/backend/wgpu" // for WEFT_DEVICE=wgpu
	"github.com/weft-go/weft/tensor"
)

var ctx = context.Background()

// input returns n normally distributed numbers, as a tensor in memory and as slices of both widths.
func input(b *testing.B, seed uint64, n int) (*tensor.Tensor, []float32, []float64) {
	b.Helper()
	x := tensor.Randn(tensor.Float32, seed, n)
	if err := tensor.Eval(ctx, x); err != nil {
		b.Fatal(err)
	}
	narrow, err := tensor.Data[float32](ctx, x)
	if err != nil {
		b.Fatal(err)
	}
	wide := make([]float64, n)
	for i, v := range narrow {
		wide[i] = float64(v)
	}
	return x, narrow, wide
}

// weft times the evaluation of what build records, after it has compared the result with want, within tol of the greatest
// magnitude in want.
func weft(b *testing.B, bytes int, want []float64, tol float64, build func() *tensor.Tensor) {
	b.Run("weft", func(b *testing.B) {
		check(b, build(), want, tol)
		evaluate(b, build)
		bandwidth(b, bytes)
	})
}

// sampled is weft with want for an element at a time, of which some are compared.
func sampled(b *testing.B, bytes int, tol float64, want func(i int) float64, build func() *tensor.Tensor) {
	b.Run("weft", func(b *testing.B) {
		checkSome(b, build(), tol, want)
		evaluate(b, build)
		bandwidth(b, bytes)
	})
}

// bandwidth reports bytes a second, where bytes says how many an evaluation moves.
func bandwidth(b *testing.B, bytes int) {
	if bytes > 0 {
		b.ReportMetric(float64(bytes)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
	}
}

// flops reports the rate of n floating-point operations an evaluation.
func flops(b *testing.B, n int) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// evaluate evaluates what build records, b.N times, with the waiting for the device in the time. A GPU is waited for after
// every few evaluations: what takes a fraction of a millisecond would drown in the trip back to the program.
func evaluate(b *testing.B, build func() *tensor.Tensor) {
	const ahead = 20
	if onGPU(b) {
		warm(b, build)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		y := build()
		if err := tensor.Eval(ctx, y); err != nil {
			b.Fatal(err)
		}
		if (i+1)%ahead == 0 || i+1 == b.N {
			wait(b, y)
		}
		y.Release()
	}
	b.StopTimer()
	if onGPU(b) {
		reportDevice(b, build)
	}
}

// latency times f, which waits for the device, b.N times and reports the median beside the mean. Tiny kernels would not warm a GPU;
// and calls before these make what the first need.
func latency(b *testing.B, f func() error) {
	if onGPU(b) {
		x, _, _ := input(b, 3, 1<<24)
		warm(b, func() *tensor.Tensor { return x.Exp() })
		for range 1000 {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportAllocs()
	times := make([]time.Duration, 0, 1<<10)
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		if took := time.Since(start); len(times) < cap(times) {
			times = append(times, took)
		}
	}
	b.StopTimer()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "median-ns/op")
}

// warm keeps the device busy for a while: one that idles runs at a fraction of its clock, and takes its time to go faster.
func warm(b *testing.B, build func() *tensor.Tensor) {
	for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
		y := build()
		if err := tensor.Eval(ctx, y); err != nil {
			b.Fatal(err)
		}
		wait(b, y)
		y.Release()
	}
}

// reportDevice adds what the kernels alone take, by the clock of the device, with the one that copies the element that wait
// reads.
func reportDevice(b *testing.B, build func() *tensor.Tensor) {
	const times = 3
	report, err := tensor.Profile(ctx, func() error {
		for range times {
			y := build()
			if err := tensor.Eval(ctx, y); err != nil {
				return err
			}
			wait(b, y)
			y.Release()
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(report.Device.Nanoseconds())/times, "device-ns/op")
}

// onGPU reports whether the default device is not the CPU.
func onGPU(b *testing.B) bool {
	d, err := tensor.Default()
	if err != nil {
		b.Fatal(err)
	}
	return d.Info().Name != "cpu"
}

// peer times f, another library's way to the same result.
func peer(b *testing.B, name string, bytes int, f func()) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f()
		}
		bandwidth(b, bytes)
	})
}

// wait waits until the device has computed y, by reading one element of it.
func wait(b *testing.B, y *tensor.Tensor) {
	if y.Device().Info().Name == "cpu" {
		return // Eval has waited
	}
	for y.Rank() > 0 {
		y = y.Select(0, 0)
	}
	if _, err := tensor.Bytes(ctx, y); err != nil {
		b.Fatal(err)
	}
}

func check(b *testing.B, y *tensor.Tensor, want []float64, tol float64) {
	b.Helper()
	got, err := tensor.Data[float32](ctx, y.Cast(tensor.Float32))
	if err != nil {
		b.Fatal(err)
	}
	if len(got) != len(want) {
		b.Fatalf("%d elements, want %d", len(got), len(want))
	}
	scale := 0.0
	for _, v := range want {
		scale = max(scale, math.Abs(v))
	}
	for i, v := range got {
		if !(math.Abs(float64(v)-want[i]) <= tol*scale) {
			b.Fatalf("element %d is %v, want %v", i, v, want[i])
		}
	}
}

// checkSome compares elements of y here and there with what want says of them, within tol of the greatest of these: where
// all would take a reference long.
func checkSome(b *testing.B, y *tensor.Tensor, tol float64, want func(i int) float64) {
	b.Helper()
	const some = 97
	at, values := make([]int32, some), make([]float64, some)
	for k := range at {
		at[k] = int32(k * (y.Len() - 1) / (some - 1))
		values[k] = want(int(at[k]))
	}
	check(b, y.Flatten().Take(0, tensor.New(at)), values, tol)
}
