package cpu

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-go/weft/backend"
)

func TestParallelCovers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	b := New()
	for _, n := range []int{0, 1, 7, 100, 1001} {
		for _, grain := range []int{0, 1, 10, 100, 5000} {
			seen := make([]atomic.Int32, n)
			err := b.parallel(context.Background(), n, grain, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					seen[i].Add(1)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range seen {
				if c := seen[i].Load(); c != 1 {
					t.Fatalf("n %d, grain %d: element %d is seen %d times", n, grain, i, c)
				}
			}
		}
	}
}

// TestParallelNested has every worker of several loops start loops of its own.
func TestParallelNested(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	b := New()
	var sum, most atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			err := b.parallel(context.Background(), 20, 1, func(int, int) {
				most.Store(max(most.Load(), b.helpers.busy.Load()))
				if err := b.parallel(context.Background(), 50, 1, func(lo, hi int) { sum.Add(int64(hi - lo)) }); err != nil {
					t.Error(err)
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if sum.Load() != 8*20*50 {
		t.Errorf("%d calls, want %d", sum.Load(), 8*20*50)
	}
	if most.Load() > 3 {
		t.Errorf("%d helpers on 4 processors", most.Load())
	}
	if n := b.helpers.busy.Load(); n != 0 {
		t.Errorf("%d helpers left", n)
	}
}

func TestParallelPanic(t *testing.T) {
	b := New()
	for _, n := range []int{1, 1000} {
		err := b.parallel(context.Background(), n, 1, func(lo, _ int) {
			if lo == n/2 {
				panic("boom")
			}
		})
		if !errors.Is(err, backend.ErrDevice) || !strings.Contains(err.Error(), "boom") {
			t.Errorf("n %d: %v, want ErrDevice about boom", n, err)
		}
	}
	if n := b.helpers.busy.Load(); n != 0 {
		t.Errorf("%d helpers left", n)
	}
}

func TestParallelCancel(t *testing.T) {
	b := New()
	ctx, cancel := context.WithCancel(context.Background())
	var calls atomic.Int64
	start := time.Now()
	err := b.parallel(ctx, 1_000_000, 1, func(int, int) {
		if calls.Add(1) == 3 {
			cancel()
		}
		time.Sleep(time.Millisecond)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want Canceled", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
	for _, n := range []int{0, 1} {
		if err := b.parallel(ctx, n, 1, func(int, int) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("n %d: got %v, want Canceled", n, err)
		}
	}
}

// TestParallelHelpersGo has several goroutines run one short loop after another, for which helpers look out, which end when there are no more.
func TestParallelHelpersGo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	b := New()
	var sum atomic.Int64
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 2000 {
				err := b.parallel(context.Background(), 3, 1, func(lo, hi int) { sum.Add(int64(hi - lo)) })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := sum.Load(); got != 3*2000*3 {
		t.Errorf("%d calls, want %d", got, 3*2000*3)
	}
	h := &b.helpers
	if n := h.busy.Load(); n != 0 {
		t.Errorf("%d helpers left", n)
	}
	if l := h.offer.Load(); l != nil {
		t.Error("a loop is offered still")
	}
	for end := time.Now().Add(10 * time.Second); h.waiting.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d helpers look out still", h.waiting.Load())
		}
	}
}
