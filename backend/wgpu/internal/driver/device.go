package driver

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// device is the checked half of a Device; the binding is the native half.
type device struct {
	info Info
	b    binding

	// sem is the device's lock. It is a channel so that a caller with a
	// context need not wait out another's long native call.
	sem chan struct{}

	// Under the lock:
	buffers     table[buffer]
	pipelines   table[pipeline]
	groups      table[group]
	queries     table[queries]
	layouts     map[string]object // by layoutKey; kept until Close
	bufferBytes uint64
	pending     uint64 // bytes written since the last submission
	steps       []step // scratch of Submit

	submitted atomic.Uint64 // a Ticket; grows under the lock
	completed atomic.Uint64 // a Ticket; grows inside native calls
	state     atomic.Int32  // alive, lost, closed
	gone      chan struct{} // closed when the state leaves alive
	goneOnce  sync.Once
	closeOnce sync.Once
	copies    sync.WaitGroup // goroutines that touch mapped memory
	staging   chan Buffer    // idle staging buffers
	poll      poller
}

const (
	alive int32 = iota
	lost
	closed
)

func newDevice(info Info, b binding) *device {
	var serial uint64
	for serial == 0 { // 16 bits of the handle; 0 would make a zero handle
		serial = uint64(serials.Add(1) & 0xffff)
	}
	d := &device{
		info: info, b: b,
		sem:     make(chan struct{}, 1),
		gone:    make(chan struct{}),
		staging: newStaging(),
		layouts: map[string]object{},
	}
	d.buffers.serial, d.pipelines.serial, d.groups.serial, d.queries.serial = serial, serial, serial, serial
	d.poll.init()
	return d
}

func (d *device) Info() Info { return d.info }

func (d *device) Err() error {
	switch d.state.Load() {
	case lost:
		return ErrLost
	case closed:
		return ErrClosed
	}
	return nil
}

// lock takes the device for a call on a named thing. It gives up when ctx
// ends, and fails when the device is lost or closed.
func (d *device) lock(ctx context.Context, op, label string) error {
	if err := ctx.Err(); err != nil {
		return &Error{Op: op, Label: label, Err: err}
	}
	select {
	case d.sem <- struct{}{}:
	default:
		select {
		case d.sem <- struct{}{}:
		case <-ctx.Done():
			return &Error{Op: op, Label: label, Err: ctx.Err()}
		}
	}
	if err := d.Err(); err != nil {
		d.unlock()
		return &Error{Op: op, Label: label, Err: err}
	}
	return nil
}

// free takes the device to free something. It reports false once the device
// is closed, which has freed everything.
func (d *device) free() bool {
	d.sem <- struct{}{}
	if d.state.Load() == closed {
		d.unlock()
		return false
	}
	return true
}

func (d *device) unlock() { <-d.sem }

// failed is nativeError, and notes a lost device.
func (d *device) failed(op, label string, err error) error {
	e := nativeError(op, label, err)
	if errors.Is(e, ErrLost) {
		d.leave(lost)
	}
	return e
}

// leave ends the device's life as usable; everything that waits wakes up.
func (d *device) leave(state int32) {
	if state == lost {
		d.state.CompareAndSwap(alive, lost)
	} else {
		d.state.Store(state)
	}
	d.goneOnce.Do(func() { close(d.gone) })
}

func (d *device) Stats() Stats {
	var s Stats
	d.sem <- struct{}{}
	defer d.unlock()
	if d.state.Load() != closed {
		s.Buffers, s.Pipelines, s.Groups, s.Queries = d.buffers.live, d.pipelines.live, d.groups.live, d.queries.live
		s.BufferBytes = d.bufferBytes
	}
	s.Submitted, s.Completed = Ticket(d.submitted.Load()), Ticket(d.completed.Load())
	return s
}

func (d *device) Close() error {
	d.closeOnce.Do(d.close)
	return nil
}

func (d *device) close() {
	d.sem <- struct{}{}
	wasLost := d.state.Load() == lost
	d.leave(closed)
	d.unlock()

	// From here on no call passes lock. Those that wait have been woken;
	// mapped memory may still be copied and the poller be in a native call.
	d.copies.Wait()
	d.poll.stop()

	d.sem <- struct{}{}
	defer d.unlock()
	if !wasLost {
		d.b.drain()
	}
	d.groups.each(func(g *group) { g.obj.Release() })
	d.pipelines.each(func(p *pipeline) { p.obj.Release() })
	d.queries.each(func(q *queries) { q.obj.Release() })
	d.buffers.each(func(b *buffer) { b.obj.Release() })
	for _, l := range d.layouts {
		l.Release()
	}
	d.b.release(wasLost)
	d.buffers, d.pipelines, d.groups, d.queries = table[buffer]{}, table[pipeline]{}, table[group]{}, table[queries]{}
	d.layouts, d.steps = nil, nil
}
