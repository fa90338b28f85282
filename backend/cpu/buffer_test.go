package cpu_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

func TestAlloc(t *testing.T) {
	b := device(t)
	for _, n := range []int{0, 1, 63, 64, 65, 1000, 1 << 20} {
		buf, err := b.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.Bytes(buf)
		if err != nil {
			t.Fatal(err)
		}
		if len(p) != n || buf.Size() != n {
			t.Errorf("Alloc(%d): %d bytes, size %d", n, len(p), buf.Size())
		}
		if n > 0 && uintptr(unsafe.Pointer(&p[0]))%64 != 0 {
			t.Errorf("Alloc(%d): not aligned", n)
		}
	}
}

func TestAllocAbsurd(t *testing.T) {
	b := device(t)
	for _, n := range []int{-1, math.MaxInt / 8, math.MaxInt} {
		if _, err := b.Alloc(n); !errors.Is(err, backend.ErrMemory) {
			t.Errorf("Alloc(%d): %v, want ErrMemory", n, err)
		}
	}
	if used := b.Info().BytesInUse; used != 0 {
		t.Errorf("%d bytes in use", used)
	}
}

func TestMemoryPool(t *testing.T) {
	b := device(t)
	first, err := b.Alloc(10_000)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := b.Bytes(first)
	used := b.Info().BytesInUse
	first.Release()
	first.Release() // does nothing
	if i := b.Info(); i.BytesInUse != 0 || i.BytesPooled != used || i.BytesPeak != used {
		t.Errorf("after Release: %d in use, %d pooled, peak %d; want 0, %d, %d", i.BytesInUse, i.BytesPooled, i.BytesPeak, used, used)
	}
	if _, err := b.Bytes(first); !errors.Is(err, backend.ErrDevice) {
		t.Errorf("Bytes of a released buffer: %v, want ErrDevice", err)
	}
	second, err := b.Alloc(9_900) // of the same class
	if err != nil {
		t.Fatal(err)
	}
	q, _ := b.Bytes(second)
	if &p[0] != &q[0] {
		t.Error("memory is not reused")
	}
	if i := b.Info(); i.BytesInUse != used || i.BytesPooled != 0 {
		t.Errorf("after reuse: %d in use, %d pooled", i.BytesInUse, i.BytesPooled)
	}
}

// TestReleaseDuringRun releases the operands of runs in progress, with others at work that would reuse
// them.
func TestReleaseDuringRun(t *testing.T) {
	b := device(t)
	var eb ops.Builder
	x := eb.Load(eb.Operand(ops.Float32), false)
	eb.Result(eb.Apply(ops.Add, x, eb.Const(0, ops.Float32)))
	k := &backend.Map{Body: eb.Expr()}
	shape := backend.Shape{50000}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 20 {
				v := float64(100*worker + i)
				in := operand(t, b, ops.Float32, backend.Dense(shape), func(int) ops.Value { return ops.FloatValue(ops.Float32, v) })
				out := result(t, b, ops.Float32, backend.Dense(shape))
				s := backend.Step{
					Kernel: k, Shape: shape, Consts: []uint64{ops.FloatValue(ops.Float32, 1).Bits()},
					In: []backend.Operand{in.Operand}, Out: []backend.Operand{out},
				}
				var released sync.WaitGroup
				released.Go(in.Buf.Release)
				err := b.Run(context.Background(), []backend.Step{s})
				released.Wait()
				if errors.Is(err, backend.ErrDevice) {
					continue // released before the run began
				}
				if err != nil {
					t.Error(err)
					return
				}
				for at, got := range read(t, b, out) {
					if got.F != v+1 {
						t.Errorf("element %d: got %v, want %v", at, got.F, v+1)
						return
					}
				}
				out.Buf.Release()
			}
		})
	}
	wg.Wait()
}

func TestWrap(t *testing.T) {
	b := device(t)
	mem := []byte{1, 2, 3, 4, 5}
	buf := b.Wrap(mem[1:])
	if err := b.Write(buf, 1, []byte{9}); err != nil {
		t.Fatal(err)
	}
	if mem[2] != 9 {
		t.Error("Wrap copies")
	}
	got := make([]byte, 2)
	if err := b.Read(context.Background(), got, buf, 1); err != nil || got[0] != 9 || got[1] != 4 {
		t.Errorf("Read: %v, %v", got, err)
	}
	if used := b.Info().BytesInUse; used != 0 {
		t.Errorf("%d bytes in use", used)
	}
	buf.Release()
	if pooled := b.Info().BytesPooled; pooled != 0 {
		t.Errorf("%d bytes of the caller's pooled", pooled)
	}
}

func TestOutOfRange(t *testing.T) {
	b, other := device(t), device(t)
	buf, err := b.Alloc(10)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.Alloc(10)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"write past the end": b.Write(buf, 8, make([]byte, 3)),
		"write before":       b.Write(buf, -1, make([]byte, 3)),
		"read past the end":  b.Read(context.Background(), make([]byte, 11), buf, 0),
		"foreign buffer":     b.Write(foreign, 0, nil),
	} {
		if !errors.Is(err, backend.ErrDevice) {
			t.Errorf("%s: %v, want ErrDevice", name, err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Alloc(1); !errors.Is(err, backend.ErrDevice) {
		t.Errorf("Alloc after Close: %v, want ErrDevice", err)
	}
	if err := b.Write(buf, 0, nil); !errors.Is(err, backend.ErrDevice) {
		t.Errorf("Write after Close: %v, want ErrDevice", err)
	}
}

// TestDroppedResults tests that the heap of a program that drops its results, as programs in Go do, settles.
func TestDroppedResults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	b := device(t)
	type tensor struct{ buf backend.Buffer }
	const size = 256 << 10
	var stats runtime.MemStats
	for range 20_000 { // 5 GiB
		buf, err := b.Alloc(size)
		if err != nil {
			t.Fatal(err)
		}
		runtime.AddCleanup(&tensor{buf}, func(drop func()) { drop() }, buf.(backend.Dropper).OnDrop())
	}
	runtime.ReadMemStats(&stats)
	if stats.HeapSys > 1<<30 {
		t.Errorf("the heap is of %d MB", stats.HeapSys>>20)
	}
}
