package tensor_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/tensor"
)

// What is read without being evaluated takes a short way if it is small: the bits are those of the long way.
func TestSmallAndPlanned(t *testing.T) {
	for _, d := range ops.DTypes() {
		for _, n := range []int{1, 2, 7, 16, 33, 256, 257} {
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
				"long":          func() *tensor.Tensor { return x.Add(y).Add(x).Add(y).Add(x).Add(y).Add(x).Add(y).Add(x).Add(y) },
			} {
				small, planned := build(), build()
				if small.Err() != nil {
					continue // of an operation that the type has not
				}
				if err := tensor.Eval(ctx, planned); err != nil {
					t.Fatal(err)
				}
				got, want := tensor.Must(tensor.Bytes(ctx, small)), tensor.Must(tensor.Bytes(ctx, planned))
				if !bytes.Equal(got, want) {
					t.Errorf("%s of %d %s: %v at once, %v planned", name, n, d, got, want)
				}
				again := tensor.Must(tensor.Bytes(ctx, small.Add(small.Cast(small.DType()))))
				if twice := tensor.Must(tensor.Bytes(ctx, planned.Add(planned))); !bytes.Equal(again, twice) {
					t.Errorf("%s of %d %s, read and used again: %v, want %v", name, n, d, again, twice)
				}
			}
		}
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
	for k, want := range map[int]float64{1: 2, 3: 4} {
		got := testing.AllocsPerRun(100, func() {
			y := x
			for range k {
				y = y.Add(x)
			}
			tensor.Must(tensor.Data[float32](ctx, y))
		})
		if got > want {
			t.Errorf("%s take %v allocations, want %v", fmt.Sprint(k, " operations"), got, want)
		}
	}
}
