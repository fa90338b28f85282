package graph

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/env"
	"github.com/weft-go/weft/internal/trace"
)

// A Device is a backend with the plans made for it. It may be used by several goroutines at once.
type Device struct {
	name string
	b    backend.Backend
	host backend.HostBackend // b, if its memory is the program's own

	applier backend.Applier // b, if it computes single operations at once
	starter backend.Starter // b, if it collects what it is to run
	timer   backend.Timer   // b, if the device can time kernels

	lock   ctxMutex // guards what follows and the nodes of the device; never held while kernels run
	small  *small   // made when it is first wanted
	closed bool     // Close was called
	walks  uint64   // counts the walks over the graph, to mark nodes
	cache  cache

	limit    int             // operands a kernel may have
	unfused  bool            // every operation is to have a kernel of its own
	strict   bool            // a kernel that b does not support is an error
	fallback backend.Backend // runs kernels that b does not support; opened when one is met
	warned   map[string]bool // of which kernels that was logged

	stats counters
	peak  atomic.Pointer[Peak]
}

// NewDevice returns a device named name that computes on b. With WEFT_FUSE=0 in the environment it fuses nothing,
// with WEFT_STRICT=1 it runs nothing elsewhere that b does not support.
func NewDevice(name string, b backend.Backend) *Device {
	d := &Device{
		name:    name,
		b:       b,
		lock:    ctxMutex{wake: make(chan struct{}, 1)},
		cache:   newCache(),
		limit:   b.Info().MaxOperands,
		unfused: !env.On("WEFT_FUSE", true),
		strict:  env.On("WEFT_STRICT", false),
		warned:  map[string]bool{},
	}
	d.host, _ = b.(backend.HostBackend)
	d.applier, _ = b.(backend.Applier)
	d.starter, _ = b.(backend.Starter)
	if t, ok := b.(backend.Timer); ok && t.Times() {
		d.timer = t
	}
	trace.FromEnvironment()
	return d
}

// Name returns the name the device was made with.
func (d *Device) Name() string { return d.name }

// Backend returns the backend that runs the kernels.
func (d *Device) Backend() backend.Backend { return d.b }

// Close closes the backend. What is computed on the device later fails with an error of kind
// [backend.ErrDevice].
func (d *Device) Close() error {
	err := d.b.Close()
	if d.lock.Lock(context.Background()) == nil {
		defer d.lock.Unlock()
		d.closed = true
		if d.fallback != nil {
			err = errors.Join(err, d.fallback.Close())
			d.fallback = nil
		}
	}
	return err
}

// Stats are counts since the device was made, and the memory in use now.
type Stats struct {
	Evals     int64 // calls of Eval that had something to compute
	Plans     int64 // of them, those that were planned
	PlanHits  int64 // of them, those that found a plan
	Kernels   int64 // kernels run
	Compiled  int64 // kernels the backend compiled
	Fallbacks int64 // kernels that another device had to run
	Allocated int64 // as in [backend.Info], like the following
	Bound     int64

	BytesInUse, BytesPooled, BytesPeak int
}

type counters struct {
	evals, plans, planHits, kernels, fallbacks atomic.Int64
}

// Stats returns the statistics of the device.
func (d *Device) Stats() Stats {
	info := d.b.Info()
	return Stats{
		Evals:       d.stats.evals.Load(),
		Plans:       d.stats.plans.Load(),
		PlanHits:    d.stats.planHits.Load(),
		Kernels:     d.stats.kernels.Load(),
		Compiled:    info.Compiled,
		Fallbacks:   d.stats.fallbacks.Load(),
		Allocated:   info.Allocated,
		Bound:       info.Bound,
		BytesInUse:  info.BytesInUse,
		BytesPooled: info.BytesPooled,
		BytesPeak:   info.BytesPeak,
	}
}

// alloc returns memory of the device. When there is none left it lets the garbage collector find results
// that nobody can reach any more, and tries again.
func (d *Device) alloc(bytes int) (backend.Buffer, error) {
	buf, err := d.b.Alloc(bytes)
	for try := 0; errors.Is(err, backend.ErrMemory) && try < 7; try++ {
		runtime.GC()
		time.Sleep(time.Millisecond << try) // cleanups run after the collection, on their own goroutine
		buf, err = d.b.Alloc(bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("graph: %d bytes on %s: %w", bytes, d.name, err)
	}
	return buf, nil
}

// A ctxMutex is a lock that one can give up waiting for. Where nobody waits it takes two atomic operations.
type ctxMutex struct {
	state atomic.Int32  // unlocked, locked or wanted
	wake  chan struct{} // has an element if somebody who waits is to look again
}

// States of a ctxMutex.
const (
	unlocked = iota
	locked
	wanted // locked, and somebody may wait
)

// Lock takes the lock, or returns the error of ctx when it ends first.
func (m *ctxMutex) Lock(ctx context.Context) error {
	if m.state.CompareAndSwap(unlocked, locked) {
		return nil
	}
	return m.wait(ctx)
}

// wait takes the lock, which somebody may hold.
func (m *ctxMutex) wait(ctx context.Context) error {
	for m.state.Swap(wanted) != unlocked {
		select {
		case <-m.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// must takes the lock, however long that takes. It is held only for moments.
func (m *ctxMutex) must() { _ = m.Lock(context.Background()) }

// Unlock gives the lock back.
func (m *ctxMutex) Unlock() {
	if m.state.Swap(unlocked) == wanted {
		m.wakeOne()
	}
}

// wakeOne wakes one who waits.
func (m *ctxMutex) wakeOne() {
	select {
	case m.wake <- struct{}{}:
	default: // one that is woken already looks after it
	}
}
