package graph

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// Many take the lock again and again, some with contexts that end while they wait.
func TestCtxMutex(t *testing.T) {
	m := ctxMutex{wake: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	count, want := 0, 0
	for g := range 8 {
		if g%2 == 0 {
			want += 500
		}
		wg.Go(func() {
			for i := range 500 {
				if g%2 == 0 {
					m.must()
					count++
					m.Unlock()
					continue
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%7)*time.Microsecond)
				if m.Lock(ctx) == nil {
					time.Sleep(time.Microsecond)
					m.Unlock()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if m.must(); count != want {
		t.Errorf("counted %d under the lock, want %d", count, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Lock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("lock that is held, ended context: %v", err)
	}
	m.Unlock()
	if err := m.Lock(context.Background()); err != nil {
		t.Errorf("after that: %v", err)
	}
}
