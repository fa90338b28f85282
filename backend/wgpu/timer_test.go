package wgpu

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-go/weft/backend"
)

// traced returns the spans of kernels that f runs on e.
func traced(t *testing.T, e *engine, f func()) []backend.Span {
	t.Helper()
	if !e.Times() {
		t.Skip("the device has no clock")
	}
	var mu sync.Mutex
	var spans []backend.Span
	stop := backend.Trace(func(s backend.Span) {
		mu.Lock()
		defer mu.Unlock()
		if s.Device != "" {
			spans = append(spans, s)
		}
	})
	defer stop()
	f()
	if err := e.Timed(context.Background()); err != nil {
		t.Fatal(err)
	}
	return spans
}

// TestTimer traces from the middle of a batch on, over several batches: every kernel since then is there, none overlaps
// another, and all lie between the beginning and the end.
func TestTimer(t *testing.T) {
	e := openTest(t)
	const n = 3*batchDispatches + 10
	run(t, e, increments(t, e, 5)...) // and not submitted
	steps := increments(t, e, n)
	begin := time.Now()
	spans := traced(t, e, func() { run(t, e, steps...) })
	end := time.Now()
	if len(spans) != n {
		t.Fatalf("%d kernels, want %d", len(spans), n)
	}
	out := &steps[0].Out[0]
	bytes := 2 * out.Layout.Len() * out.DType.Size()
	slices.SortFunc(spans, func(a, b backend.Span) int { return a.Start.Compare(b.Start) })
	last := begin
	for i, s := range spans {
		if s.Name != "map.add" || s.Family != "map" || s.Device != e.info.Name || s.Bytes != bytes {
			t.Fatalf("kernel %d: %+v, want %d bytes", i, s, bytes)
		}
		const slack = 2 * time.Millisecond // between batches, whose clocks are set apart: on a busy machine the more
		if s.Start.Before(last.Add(-slack)) {
			t.Errorf("kernel %d begins at %v, before %v", i, s.Start.Sub(begin), last.Sub(begin))
		}
		if last = s.Start.Add(s.Duration); s.Duration < 0 || last.After(end) {
			t.Errorf("kernel %d: %+v ends after %v", i, s, end)
		}
	}
}

// TestTimerReads traces kernels between reads, which put copies into the same batches, and steps of several dispatches.
func TestTimerReads(t *testing.T) {
	e := openTest(t)
	steps := increments(t, e, 3)
	spans := traced(t, e, func() {
		for i := range 4 {
			run(t, e, steps[:2]...)
			wait(t, e, steps[1].Out[0].Buf)
			if i == 2 {
				run(t, e, steps[2])
			}
		}
	})
	if len(spans) != 9 {
		t.Errorf("%d kernels, want 9", len(spans))
	}
	if again := traced(t, e, func() {}); len(again) != 0 {
		t.Errorf("%d kernels more", len(again))
	}
	run(t, e, steps...) // not traced any more
	wait(t, e, steps[2].Out[0].Buf)
}

// TestTimerWaits has a trace that takes its time: who waits for the spans waits for the last.
func TestTimerWaits(t *testing.T) {
	e := openTest(t)
	if !e.Times() {
		t.Skip("the device has no clock")
	}
	steps := increments(t, e, 5)
	var count atomic.Int64
	stop := backend.Trace(func(s backend.Span) {
		if s.Device != "" {
			time.Sleep(5 * time.Millisecond)
			count.Add(1)
		}
	})
	defer stop()
	run(t, e, steps...)
	wait(t, e, steps[4].Out[0].Buf)
	time.Sleep(5 * time.Millisecond) // the first is under way
	if err := e.Timed(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := count.Load(); n != 5 {
		t.Errorf("%d kernels, want 5", n)
	}
}

// TestTimerClose closes a device with kernels under way that are traced: they come out all the same.
func TestTimerClose(t *testing.T) {
	e := openTest(t)
	steps := increments(t, e, 20)
	spans := traced(t, e, func() {
		run(t, e, steps...)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.start()
	})
	if len(spans) != 20 {
		t.Errorf("%d kernels, want 20", len(spans))
	}
	count := 0
	stop := backend.Trace(func(s backend.Span) {
		if s.Device != "" {
			count++
		}
	})
	defer stop()
	run(t, e, steps...)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if count != 20 {
		t.Errorf("closed with %d kernels traced, want 20", count)
	}
	if err := e.Timed(context.Background()); err == nil {
		t.Error("no error of a closed device")
	}
}
