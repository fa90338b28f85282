package tensor_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/weft-go/weft/tensor"
)

func TestVarSet(t *testing.T) {
	v := tensor.NewVar(tensor.Zeros(tensor.Float32, 2, 3))
	set(t, v, tensor.Scalar(1), tensor.At(0))
	set(t, v, f32(5, 6), tensor.At(1), tensor.From(1))
	set(t, v, i32(9).Reshape(1, 1), tensor.All, tensor.R(0, 1)) // broadcasts, and is converted
	set(t, v, tensor.Zeros(tensor.Float32, 0, 3), tensor.To(0)) // nothing
	want(t, v.Tensor(), []int{2, 3}, 9, 1, 1, 9, 5, float32(6))
	set(t, v, v.Tensor().T().Reshape(2, 3))
	want(t, v.Tensor(), []int{2, 3}, 9, 9, 1, 5, 1, float32(6))
}

// TestVarLoop is a cache that grows by a row a step: the writes are in place.
func TestVarLoop(t *testing.T) {
	const steps, width = 50, 4096
	v := tensor.NewVar(tensor.Zeros(tensor.Float32, steps, width))
	var written int64
	for i := range steps {
		before := tensor.Stats(nil).Kernels
		set(t, v, tensor.Full(tensor.Float32, i+1, width), tensor.At(i))
		sum, err := tensor.Item[float32](ctx, v.Tensor().Slice(tensor.To(i+1)).Sum())
		if err != nil {
			t.Fatal(err)
		}
		if w := float32(width * (i + 1) * (i + 2) / 2); sum != w {
			t.Fatalf("step %d: sum %v, want %v", i, sum, w)
		}
		written = tensor.Stats(nil).Kernels - before
	}
	if written > 2 { // one that writes the row, one that sums
		t.Errorf("a step takes %d kernels: it copies the cache", written)
	}
}

// TestVarOldHandle reads a handle from before a write in place: an error, not new elements.
func TestVarOldHandle(t *testing.T) {
	v := tensor.NewVar(i32(1, 2, 3))
	set(t, v, tensor.Scalar(5), tensor.At(0)) // so that the memory is the Var's own
	old := v.Tensor()
	if err := tensor.Eval(ctx, old); err != nil {
		t.Fatal(err)
	}
	wantInts(t, old, []int{3}, 5, 2, 3)
	set(t, v, tensor.Scalar(7), tensor.At(1))
	wantInts(t, v.Tensor(), []int{3}, 5, 7, 3)
	got, err := tensor.Data[int32](ctx, old)
	if err == nil && fmt.Sprint(got) != "[5 2 3]" || err != nil && !errors.Is(err, tensor.ErrDevice) {
		t.Errorf("the old handle reads %v, %v", got, err)
	}
}

func TestVarConcurrent(t *testing.T) {
	v := tensor.NewVar(tensor.Zeros(tensor.Int64, 8))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 20 {
				if err := v.Set(tensor.Scalar(k), tensor.At(i)); err != nil {
					t.Error(err)
				}
				if k%5 == 0 {
					if err := tensor.Eval(ctx, v.Tensor().Sum()); err != nil && !errors.Is(err, tensor.ErrDevice) {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	wantInts(t, v.Tensor(), []int{8}, repeated[int64](8, 19)...)
}
