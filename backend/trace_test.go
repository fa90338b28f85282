package backend_test

import (
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/backend"
)

func TestTrace(t *testing.T) {
	backend.Begin("before").End()
	var mu sync.Mutex
	var a, b []backend.Span
	into := func(list *[]backend.Span) func(backend.Span) {
		return func(s backend.Span) {
			mu.Lock()
			defer mu.Unlock()
			*list = append(*list, s)
		}
	}
	late := backend.Begin("late") // nobody traces yet
	stopA := backend.Trace(into(&a))
	late.End()
	stopB := backend.Trace(into(&b))
	start := time.Now()
	var other sync.WaitGroup
	m := backend.Begin("work")
	other.Go(func() { backend.Begin("other").End() })
	other.Wait()
	m.End()
	stopA()
	backend.Emit(backend.Span{Name: "map.add", Device: "d", Family: "map", Bytes: 8})
	if stopA(); !backend.Tracing() {
		t.Error("the other one does not trace any more")
	}
	stopB()
	backend.Begin("after").End()
	if backend.Tracing() || len(a) != 2 || len(b) != 3 {
		t.Fatalf("spans %+v and %+v", a, b)
	}
	o, w := a[0], a[1]
	if o.Name != "other" || w.Name != "work" || o.Goroutine == w.Goroutine || o.Goroutine <= 0 || w.Goroutine <= 0 {
		t.Errorf("spans %+v", a)
	}
	if w.Start.Before(start) || w.Duration < o.Duration || w.Start.Add(w.Duration).After(time.Now()) || w.Device != "" {
		t.Errorf("times %+v, begun at %v", a, start)
	}
}

// Nothing is allocated, nor a clock read, where nobody traces.
func BenchmarkBegin(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		backend.Begin("work").End()
	}
}
