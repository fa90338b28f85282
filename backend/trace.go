package backend

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A Span is the time that a piece of work took: of a goroutine, or of a kernel on its device.
type Span struct {
	Name      string // what was done: "plan", "submit"; of a kernel its family and operations, as "map.mul.add"
	Start     time.Time
	Duration  time.Duration
	Goroutine int // that did it; 0 for a kernel

	// Of kernels alone:
	Device string // "" if the span is no kernel's
	Family string // as [Kernel] gives it
	Bytes  int    // read and written
}

// A Timer is a Backend that times kernels by the clock of its device. While [Tracing] is on it emits a span for each.
type Timer interface {
	Backend
	// Times reports whether the device has such a clock. If not, it emits nothing.
	Times() bool
	// Timed waits until the kernels of all runs so far have been emitted.
	Timed(ctx context.Context) error
}

// Reads returns how many elements of its input i, one of in, a kernel reads for out at most: no more than there are in memory,
// and of what is gathered from no more than are found.
func Reads(k Kernel, i int, in, out []Operand) int {
	n := in[i].Layout.Touched()
	if _, ok := k.(*Gather); ok && i == 0 && len(out) > 0 {
		n = min(n, out[0].Layout.Len())
	}
	return n
}

// tracers are those who want to see spans; nil if there are none.
var tracers struct {
	sync.Mutex // of writers
	list       atomic.Pointer[[]*func(Span)]
}

// Trace calls f with every span of the program, of all devices, until stop is called. Calls may come from several
// goroutines at once, which may hold a device meanwhile: f must not compute, or it may wait for itself. While somebody traces, devices
// that have no clock run their kernels one by one.
func Trace(f func(Span)) (stop func()) {
	mine := &f
	change := func(edit func([]*func(Span)) []*func(Span)) {
		tracers.Lock()
		defer tracers.Unlock()
		var list []*func(Span)
		if p := tracers.list.Load(); p != nil {
			list = slices.Clone(*p)
		}
		if list = edit(list); len(list) == 0 {
			tracers.list.Store(nil)
		} else {
			tracers.list.Store(&list)
		}
	}
	change(func(list []*func(Span)) []*func(Span) { return append(list, mine) })
	return func() {
		change(func(list []*func(Span)) []*func(Span) {
			return slices.DeleteFunc(list, func(t *func(Span)) bool { return t == mine })
		})
	}
}

// Tracing reports whether anybody wants to see spans. It costs next to nothing.
func Tracing() bool { return tracers.list.Load() != nil }

// Emit shows a span to those who trace.
func Emit(s Span) {
	if list := tracers.list.Load(); list != nil {
		for _, f := range *list {
			(*f)(s)
		}
	}
}

// A Mark is the beginning of a span of the goroutine that made it.
type Mark struct {
	traced bool
	name   string
	start  time.Time
}

// Begin begins a span, which End of the result emits. If nobody traces it does nothing.
//
//	defer backend.Begin("plan").End()
func Begin(name string) (m Mark) {
	if Tracing() {
		m = begin(name)
	}
	return m
}

func begin(name string) Mark { return Mark{true, name, time.Now()} }

// End emits the span that began at m.
func (m Mark) End() {
	if m.traced {
		m.emit()
	}
}

func (m *Mark) emit() {
	Emit(Span{Name: m.name, Start: m.start, Duration: time.Since(m.start), Goroutine: goroutine()})
}

// goroutine returns the number of the goroutine that calls. The runtime tells it in traces of the stack alone, which takes
// a microsecond.
func goroutine() int {
	var buf [40]byte
	text := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	if i := bytes.IndexByte(text, ' '); i > 0 {
		if n, err := strconv.Atoi(string(text[:i])); err == nil {
			return n
		}
	}
	return 1
}
