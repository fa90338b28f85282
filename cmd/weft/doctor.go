package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/weft-go/weft/backend/wgpu"
	"github.com/weft-go/weft/tensor"
)

// doctor tries every device, and says what to do about those that are missing.
func doctor(ctx context.Context, w io.Writer) int {
	names := []string{"cpu"}
	adapters, err := wgpu.Adapters()
	if err != nil {
		fmt.Fprintf(w, "no GPU: %v\n", err)
	}
	for i := range adapters {
		names = append(names, fmt.Sprintf("wgpu:%d", i))
	}
	status := 0
	for _, name := range names {
		start := time.Now()
		if err := examine(ctx, name); err != nil {
			fmt.Fprintf(w, "%-8s ill: %v\n", name, err)
			status = 1
			continue
		}
		fmt.Fprintf(w, "%-8s well: %d checks in %v\n", name, len(checks), time.Since(start).Round(time.Millisecond))
	}
	return status
}

// A check is a computation, on the default device, whose result is known.
type check struct {
	name string
	run  func() *tensor.Tensor
	want []float64
}

var checks = []check{
	{"elementwise", func() *tensor.Tensor {
		return tensor.New([]float32{-2, 0, 3}).MulScalar(2).AddScalar(1).Exp()
	}, []float64{math.Exp(-3), math.E, math.Exp(7)}},
	{"NaN through a maximum", func() *tensor.Tensor {
		return tensor.New([]float32{1, float32(math.NaN()), 3}).Max().IsNaN()
	}, []float64{1}},
	{"sum", func() *tensor.Tensor {
		return tensor.New(ones(100_000)).Sum()
	}, []float64{100_000}},
	{"softmax", func() *tensor.Tensor {
		return tensor.New([]float32{0, 0, 1000, 1000}, 2, 2).T().Softmax(0)
	}, []float64{0.5, 0.5, 0.5, 0.5}},
	{"matmul", func() *tensor.Tensor {
		x := tensor.New([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
		return x.MatMul(x.T())
	}, []float64{14, 32, 32, 77}},
	{"cumsum", func() *tensor.Tensor {
		return tensor.New([]int64{1 << 40, 1, 1}).CumSum(0).SubScalar(int64(1 << 40))
	}, []float64{0, 1, 2}},
	{"gather", func() *tensor.Tensor {
		return tensor.New([]float32{10, 20, 30}).Take(0, tensor.New([]int32{2, -3}))
	}, []float64{30, 10}},
}

func ones(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// examine opens a device and compares its results with the known ones. The device is the default meanwhile, so that no
// other takes part: a check of the CPU needs no GPU.
func examine(ctx context.Context, name string) error {
	d, err := tensor.Open(name)
	if err != nil {
		return err
	}
	tensor.SetDefault(d)
	defer tensor.SetDefault(nil)
	for _, c := range checks {
		got, err := tensor.Data[float32](ctx, c.run().Cast(tensor.Float32))
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if len(got) != len(c.want) {
			return fmt.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		for i, v := range got {
			if !(math.Abs(float64(v)-c.want[i]) <= 1e-5*math.Abs(c.want[i])) {
				return fmt.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
	return nil
}
