package wgpu

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// TestWriteToReusedMemory tests that a write to memory whose last owner a recorded kernel still reads comes after that
// kernel.
func TestWriteToReusedMemory(t *testing.T) {
	e := openTest(t)
	const n, d = 1000, ops.Int32
	ones, twos := make([]int, n), make([]int, n)
	for i := range n {
		ones[i], twos[i] = 1, 2
	}
	x, out := upload(t, e, d, ones), upload(t, e, d, make([]int, n))
	var b ops.Builder
	b.Result(b.Load(b.Operand(d), false))
	l := backend.Dense(backend.Shape{n})
	e.mu.Lock()
	err := e.step(&backend.Step{
		Kernel: &backend.Map{Body: b.Expr()}, Shape: l.Shape,
		In: []backend.Operand{{Buf: x, DType: d, Layout: l}}, Out: []backend.Operand{{Buf: out, DType: d, Layout: l}},
	})
	e.mu.Unlock() // and the batch is not submitted
	if err != nil {
		t.Fatal(err)
	}
	x.Release()
	y := upload(t, e, d, twos)
	if y.memory != x.memory {
		t.Fatalf("memory %v is not reused: %v", x.memory, y.memory)
	}
	for i, got := range download(t, e, d, out) {
		if got != 1 {
			t.Fatalf("element %d of the copy is %d, want 1", i, got)
		}
	}
}

// TestDeadTensorsAreCollected tests that a program that drops its tensors, and makes so little garbage of its own that the
// collector would not run, does not fill the device.
func TestDeadTensorsAreCollected(t *testing.T) {
	e := openTest(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // only what asks for a collection gets one
	type tensor struct{ buf backend.Buffer }
	const size = 8 << 20
	most := 0
	for range 400 { // 3.1 GiB
		buf, err := e.Alloc(size)
		if err != nil {
			t.Fatal(err)
		}
		runtime.AddCleanup(&tensor{buf}, func(drop func()) { drop() }, buf.(backend.Dropper).OnDrop())
		for e.isCollecting() {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Millisecond) // for the cleanups
		most = max(most, e.Info().BytesInUse)
	}
	if most > 5*paceBytes { // a busy machine is late with the cleanups
		t.Errorf("%d bytes in use by dead tensors of %d bytes", most, size)
	}
}

// TestReleasedTensorsAreNotCollected tests that a program that gives its tensors back is not slowed down by collections.
func TestReleasedTensorsAreNotCollected(t *testing.T) {
	e := openTest(t)
	hold := func(n int) (bufs []backend.Buffer) {
		for range n {
			buf, err := e.Alloc(paceBytes / 4)
			if err != nil {
				t.Fatal(err)
			}
			bufs = append(bufs, buf)
		}
		for e.isCollecting() {
			time.Sleep(time.Millisecond)
		}
		return bufs
	}
	hold(4)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const rounds = 50
	for range rounds {
		for _, buf := range hold(8) {
			buf.Release()
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.NumForcedGC - before.NumForcedGC; n > 3 {
		t.Errorf("%d collections in %d rounds that gave back what they took", n, rounds)
	}
}

func (e *engine) isCollecting() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pacer.collecting
}
