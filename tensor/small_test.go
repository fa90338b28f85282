package tensor_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/tensor"
)

// planned evaluates tensors the long way, which is taken wherever somebody traces.
func planned(t *testing.T, ts ...*tensor.Tensor) {
	t.Helper()
	if _, err := tensor.Profile(ctx, func() error { return tensor.Eval(ctx, ts...) }); err != nil {
		t.Fatal(err)
	}
}

// What is small takes a short way: the bits are those of the long way.
func TestSmallAndPlanned(t *testing.T) {
	sizes := []int{1, 2, 7, 16, 33, 256, 257}
	if tensor.Must(tensor.Default()).Name() != "cpu" {
		sizes = []int{16} // no short way, and a kernel to compile for each expression and type
	}
	for _, d := range ops.DTypes() {
		for _, n := range sizes {
			x, y := tensor.Iota(tensor.Int32, n).SubScalar(n/2).Cast(d), tensor.Iota(tensor.Int32, n).ModScalar(5).AddScalar(1).Cast(d)
			if err := tensor.Eval(ctx, x, y); err != nil {
				t.Fatal(err)
			}
			one := tensor.Full(d, 3, 1)
			cond := x.Less(y)
			for name, build := range map[string]func() *tensor.Tensor{
				"add":           func() *tensor.Tensor { return x.Add(y) },
				"chain":         func() *tensor.Tensor { return x.Add(y).Mul(x).Sub(y).Maximum(x) },
				"scalar":        func() *tensor.Tensor { return x.MulScalar(3).AddScalar(1) },
				"scalar first":  func() *tensor.Tensor { return tensor.Scalar(7).Sub(x).Minimum(y) },
				"broadcast one": func() *tensor.Tensor { return x.Add(one) },
				"compare":       func() *tensor.Tensor { return x.Less(y) },
				"equal":         func() *tensor.Tensor { return x.Add(x).Equal(y) },
				"where":         func() *tensor.Tensor { return tensor.Where(cond, x, y) },
				"where of new":  func() *tensor.Tensor { return tensor.Where(x.Less(y), x.Add(y), y) },
				"where scalar":  func() *tensor.Tensor { return tensor.Where(cond, x, tensor.Scalar(2)) },
				"unary":         func() *tensor.Tensor { return x.Add(y).Abs().Neg() },
				"exp":           func() *tensor.Tensor { return x.DivScalar(64).Exp().Sqrt().Tanh() },
				"reversed":      func() *tensor.Tensor { return x.Flip(0).Add(y) },
				"part":          func() *tensor.Tensor { return x.Slice(tensor.From(1)).Add(y.Slice(tensor.To(-1))) },
				"part of new":   func() *tensor.Tensor { return x.Add(y).Slice(tensor.From(1)) },
				"matrix":        func() *tensor.Tensor { return x.Reshape(n, 1).Mul(y.Reshape(1, n)).Select(1, 0) },
				"row": func() *tensor.Tensor {
					return x.Reshape(1, n).BroadcastTo(2, n).Mul(y).Add(y.Neg()).Select(0, 1)
				},
				"column":     func() *tensor.Tensor { return x.Reshape(n, 1).Sub(y.Reshape(n, 1)).BroadcastTo(n, 2).Mul(one) },
				"transposed": func() *tensor.Tensor { return x.Reshape(n, 1).T().Add(y.Reshape(n, 1).T()).T() },
				"every other": func() *tensor.Tensor {
					return x.Add(y).Slice(tensor.All.Step(2)).Mul(y.Slice(tensor.All.Step(2)))
				},
				"cast":       func() *tensor.Tensor { return x.Cast(tensor.Float32).MulScalar(0.5).Cast(d) },
				"cast bool":  func() *tensor.Tensor { return x.Cast(tensor.Bool) },
				"cast wide":  func() *tensor.Tensor { return one.Cast(tensor.Float64).Add(x) },
				"contiguous": func() *tensor.Tensor { return x.Flip(0).Contiguous() },
				"computed":   func() *tensor.Tensor { return x.Flip(0) },
				"one number": func() *tensor.Tensor { return one.Add(one) },
				"clip":       func() *tensor.Tensor { return x.ClipScalar(1, 5) },
				"long":       func() *tensor.Tensor { return x.Add(y).Add(x).Add(y).Add(x).Add(y).Add(x).Add(y).Add(x).Add(y) },
			} {
				read, evaluated, want := build(), build(), build()
				if want.Err() != nil {
					continue // of an operation that the type has not
				}
				planned(t, want)
				if err := tensor.Eval(ctx, evaluated, x, evaluated); err != nil {
					t.Fatal(err)
				}
				twice := want.Add(want)
				planned(t, twice)
				bits := tensor.Must(tensor.Bytes(ctx, want))
				for how, got := range map[string]*tensor.Tensor{"read": read, "evaluated": evaluated} {
					if b := tensor.Must(tensor.Bytes(ctx, got)); !bytes.Equal(b, bits) {
						t.Errorf("%s of %d %s, %s: %v, planned %v", name, n, d, how, b, bits)
					}
					again := got.Add(got)
					if b, want := tensor.Must(tensor.Bytes(ctx, again)), tensor.Must(tensor.Bytes(ctx, twice)); !bytes.Equal(b, want) {
						t.Errorf("%s of %d %s, %s and used again: %v, want %v", name, n, d, how, b, want)
					}
					if n != 16 {
						continue
					}
					many := got.Unsqueeze(0).BroadcastTo(append([]int{300}, got.Shape()...)...).Sum(0) // a kernel reads it
					if err := tensor.Eval(ctx, many); err != nil {
						t.Errorf("%s of %d %s, %s and used by a kernel: %v", name, n, d, how, err)
					}
				}
			}
		}
	}
}

// Eval gives several results at once, or none.
func TestSmallEval(t *testing.T) {
	x := tensor.Iota(tensor.Float32, 8)
	sum, product := x.AddScalar(1), x.MulScalar(2)
	both := sum.Add(product)
	if err := tensor.Eval(ctx, sum, both, product, sum); err != nil {
		t.Fatal(err)
	}
	for _, y := range []*tensor.Tensor{sum, product, both} {
		if strings.Contains(y.String(), "lazy") {
			t.Errorf("%v after Eval", y)
		}
	}
	want(t, both, nil, 1, 4, 7, 10, 13, 16, 19, float32(22))
	gone := x.Neg()
	gone.Release()
	lazy := x.Abs()
	if err := tensor.Eval(ctx, lazy, gone); !errors.Is(err, tensor.ErrDevice) {
		t.Errorf("with one that was released: %v, want ErrDevice", err)
	}
	if !strings.Contains(lazy.String(), "lazy") {
		t.Errorf("%v after an Eval that failed", lazy)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := tensor.Eval(ended, lazy); !errors.Is(err, context.Canceled) {
		t.Errorf("context that has ended: %v", err)
	}
	if _, err := tensor.Data[float32](ended, both); !errors.Is(err, context.Canceled) {
		t.Errorf("read of what is computed, context that has ended: %v", err)
	}
	both.Release()
	if _, err := tensor.Data[float32](ctx, both); !errors.Is(err, tensor.ErrDevice) {
		t.Errorf("read after its release: %v, want ErrDevice", err)
	}
	d := ownDevice(t)
	y := x.To(d).AddScalar(1)
	if err := errors.Join(tensor.Eval(ctx, y), d.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := tensor.Data[float32](ctx, y); !errors.Is(err, tensor.ErrDevice) {
		t.Errorf("read after Close: %v, want ErrDevice", err)
	}
	if err := tensor.Eval(ctx, y.Neg()); !errors.Is(err, tensor.ErrDevice) {
		t.Errorf("Eval after Close: %v, want ErrDevice", err)
	}
}

func TestSmallAfterRelease(t *testing.T) {
	x := tensor.Iota(tensor.Float32, 8)
	y := x.AddScalar(1)
	x.Release()
	if _, err := tensor.Data[float32](ctx, y); !errors.Is(err, tensor.ErrDevice) {
		t.Errorf("sum with what was released: %v, want ErrDevice", err)
	}
}

func TestSmallConcurrent(t *testing.T) {
	x := tensor.Iota(tensor.Float32, 16)
	y := x.MulScalar(2)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				v, err := tensor.Data[float32](ctx, y.AddScalar(float32(g*1000+i)).Add(x))
				if err != nil || v[15] != float32(45+g*1000+i) {
					t.Errorf("goroutine %d, round %d: %v, %v", g, i, v, err)
					return
				}
				if i%50 == g {
					if err := tensor.Eval(ctx, y); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// Few things are read as often as small ones.
func TestSmallAllocations(t *testing.T) {
	if d := tensor.Must(tensor.Default()); d.Info().Name != "cpu" {
		t.Skip("for the CPU")
	}
	x := tensor.Iota(tensor.Float32, 16)
	chain := func(k int) *tensor.Tensor {
		y := x
		for range k {
			y = y.Add(x)
		}
		return y
	}
	fewest := func(f func()) float64 { // other goroutines allocate too
		n := math.Inf(1)
		for range 10 {
			n = min(n, testing.AllocsPerRun(100, f))
		}
		return n
	}
	for k, want := range map[int]float64{1: 2, 3: 4} {
		if got := fewest(func() { tensor.Must(tensor.Data[float32](ctx, chain(k))) }); got > want {
			t.Errorf("%d operations, read: %v allocations, want %v", k, got, want)
		}
		if got := fewest(func() { _ = tensor.Eval(ctx, chain(k)) }); got > want {
			t.Errorf("%d operations, evaluated: %v allocations, want %v", k, got, want)
		}
	}
}
