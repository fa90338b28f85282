package wgpu

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
	"github.com/weft-go/weft/ops"
)

// A watched device notes submissions and what is freed, and fails submissions on demand.
type watched struct {
	driver.Device

	mu     sync.Mutex
	events []string
	fail   map[int]error // by number of the submission, from 1
	slow   time.Duration
	count  int
}

func watch(e *engine) *watched {
	w := &watched{Device: e.dev, fail: map[int]error{}}
	e.dev, e.out.dev = w, w
	return w
}

func (w *watched) note(event string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, event)
}

func (w *watched) Submit(cmds []driver.Command) (driver.Ticket, error) {
	time.Sleep(w.slow)
	w.mu.Lock()
	w.count++
	err := w.fail[w.count]
	w.mu.Unlock()
	if err != nil {
		return 0, err
	}
	w.note("submit")
	return w.Device.Submit(cmds)
}

func (w *watched) FreeBuffer(b driver.Buffer) {
	w.note("free")
	w.Device.FreeBuffer(b)
}

// TestStart tests that what was recorded is submitted though nobody reads it.
func TestStart(t *testing.T) {
	e := openTest(t)
	steps := increments(t, e, 3)
	if err := e.Run(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
	e.Start()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		e.mu.Lock()
		e.collect(0)
		sent, recorded := e.sent, e.batch.id-1
		e.mu.Unlock()
		if recorded > 0 && sent == recorded {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("batch %d of %d submitted", sent, recorded)
		}
	}
	if got := download(t, e, ops.Float32, steps[2].Out[0].Buf.(*buffer)); got[0] != 3 {
		t.Fatalf("3 increments of 0 are %v", got[0])
	}
}

// TestBatchesInOrder tests that more batches than the queue holds run in the order in which they were recorded, by whomever
// they are submitted.
func TestBatchesInOrder(t *testing.T) {
	e := openTest(t)
	w := watch(e)
	w.slow = 100 * time.Microsecond
	const n = 5 * mostQueued * batchDispatches / 2
	steps := increments(t, e, n)
	for i := 0; i < n; i += 100 {
		if err := e.Run(t.Context(), steps[i:min(i+100, n)]); err != nil {
			t.Fatal(err)
		}
		e.Start()
	}
	if got := download(t, e, ops.Float32, steps[n-1].Out[0].Buf.(*buffer)); got[0] != n {
		t.Fatalf("%d increments of 0 are %v", n, got[0])
	}
}

// TestFailedBatch tests that a submission that fails is reported where its results are used, and nowhere else.
func TestFailedBatch(t *testing.T) {
	e := openTest(t)
	w := watch(e)
	broken, whole := increments(t, e, 1), increments(t, e, 1)
	reason := errors.New("no")
	w.fail[1] = reason
	if err := e.Run(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	err := e.flush()
	e.mu.Unlock()
	if !errors.Is(err, reason) {
		t.Errorf("flush: %v", err)
	}
	if err := e.Run(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	if got := download(t, e, ops.Float32, whole[0].Out[0].Buf.(*buffer)); got[0] != 1 {
		t.Errorf("0 + 1 = %v after a failure of other work", got[0])
	}
	for _, n := range []int{0, 64} {
		if err := e.Read(t.Context(), make([]byte, n), broken[0].Out[0].Buf, 0); !errors.Is(err, reason) {
			t.Errorf("read of %d bytes that were never written: %v", n, err)
		}
	}
	next := broken[0]
	next.In, next.Out = slices.Clone(next.Out), slices.Clone(whole[0].Out)
	if err := e.Run(t.Context(), []backend.Step{next}); !errors.Is(err, reason) {
		t.Errorf("a kernel on what was never written: %v", err)
	}
	if err := e.Run(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	if got := download(t, e, ops.Float32, broken[0].Out[0].Buf.(*buffer)); got[0] != 1 {
		t.Errorf("0 + 1 = %v, the second time", got[0])
	}
}

// TestFreeAfterSubmit tests that memory that recorded commands name is freed after their submission.
func TestFreeAfterSubmit(t *testing.T) {
	e := openTest(t)
	e.mu.Lock()
	e.trim(0)
	e.mu.Unlock()
	w := watch(e)
	steps := increments(t, e, 2)
	if err := e.Run(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
	for _, o := range []backend.Operand{steps[0].In[0], steps[0].Out[0]} {
		o.Buf.Release()
	}
	e.mu.Lock()
	e.trim(0)
	err := e.flush()
	e.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"submit", "free", "free"}; !slices.Equal(w.events, want) {
		t.Errorf("the device saw %v, want %v", w.events, want)
	}
}
