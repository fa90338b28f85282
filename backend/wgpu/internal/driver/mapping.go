package driver

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/weft-go/weft/backend"
)

// mapping is the time in which a buffer's memory belongs to the host. One
// goroutine, in mapCopy, waits for it and then touches the memory outside the
// lock. When it is through, or has given up, it leaves the mapping idle and
// the buffer mapped: the next use of the buffer unmaps it (settle). So neither
// a cancelled nor a finished call needs the lock once more.
type mapping struct {
	state atomic.Int32
	done  chan bool // buffered: the library's callback must not block
	after uint64    // the last submission when it was asked for
}

const (
	mapActive   int32 = iota // mapCopy waits or copies
	mapIdle                  // mapCopy has returned
	mapOrphaned              // the buffer was freed while active: mapCopy releases it
)

// orphan reports whether mapCopy is active, and then makes it the owner.
func (m *mapping) orphan() bool { return m.state.CompareAndSwap(mapActive, mapOrphaned) }

// settle makes a buffer usable by the device again, or says that it is busy.
// The lock is held.
//
// A mapping that is taken back while it waits for a submission stays in the
// library's list of what that submission holds up. When that ends the library
// maps the buffer if anybody waits for it by then, though a later submission
// may use it too: stale data would be read, or an upload be overwritten. So
// the buffer is not mapped again before (mapStart).
func (d *device) settle(op string, b *buffer) error {
	if b.m == nil {
		return nil
	}
	if b.m.state.Load() != mapIdle {
		return fail(ErrBusy, op, b.label, "another goroutine reads or writes it")
	}
	select {
	case ok := <-b.m.done:
		if !ok { // it never got mapped
			b.m = nil
			return nil
		}
	default: // pending, or taken by mapCopy, which then succeeded
	}
	b.until = max(b.until, b.m.after)
	b.m = nil
	d.poll.native.Lock() // see there
	defer d.poll.native.Unlock()
	if err := d.b.unmap(b.obj); err != nil {
		return d.failed(op, b.label, err)
	}
	return nil
}

// mapCopy maps a buffer of host memory, copies from it into data or from data
// into it, and leaves it idle. op is "read" or "write".
func (d *device) mapCopy(ctx context.Context, op string, h Buffer, off uint64, data []byte) error {
	b, m, until, err := d.mapStart(ctx, op, h, off, uint64(len(data)))
	for err == nil && until > 0 {
		if err = d.wait(ctx, op, b.label, until); err == nil {
			b, m, until, err = d.mapStart(ctx, op, h, off, uint64(len(data)))
		}
	}
	if err != nil || m == nil {
		return err
	}
	err = d.mapWait(ctx, op, b, m)
	if err == nil {
		err = d.mapMove(ctx, op, b, off, data)
	}
	if !m.state.CompareAndSwap(mapActive, mapIdle) {
		d.sem <- struct{}{} // the buffer was freed meanwhile: it is ours to release
		b.obj.Release()
		d.unlock()
	}
	return err
}

// mapStart checks the call and asks for the buffer. The mapping is nil if
// there is nothing to copy, or if submission until has to be waited for first.
func (d *device) mapStart(ctx context.Context, op string, h Buffer, off, n uint64) (b *buffer, m *mapping, until Ticket, err error) {
	if err := d.lock(ctx, op, ""); err != nil {
		return nil, nil, 0, err
	}
	defer d.unlock()
	b, err = d.buffers.get(uint64(h))
	if err != nil {
		return nil, nil, 0, fail(ErrHandle, op, "", "%v", err)
	}
	switch {
	case op == "read" && b.usage != Readback, op == "write" && b.usage != Upload:
		return nil, nil, 0, fail(ErrValidation, op, b.label, "a %v buffer cannot be mapped; copy it to a readback buffer", b.usage)
	case !b.holds(off, n):
		return nil, nil, 0, fail(ErrValidation, op, b.label, "%d bytes at %d of %d", n, off, b.size)
	case n == 0:
		return nil, nil, 0, nil
	}
	if err := d.settle(op, b); err != nil {
		return nil, nil, 0, err
	}
	if b.until > d.completed.Load() {
		return b, nil, Ticket(b.until), nil
	}
	asked := &mapping{done: make(chan bool, 1), after: d.submitted.Load()}
	lo, size := window(off, n)
	if err := d.b.mapBuffer(b.obj, op == "write", lo, size, func(ok bool) { asked.done <- ok }); err != nil {
		return nil, nil, 0, d.failed(op, b.label, err)
	}
	b.m = asked
	return b, asked, 0, nil
}

// mapWait waits until the device has handed the buffer over.
func (d *device) mapWait(ctx context.Context, op string, b *buffer, m *mapping) error {
	defer backend.Begin("wait").End()
	if !d.joinPoll(func() bool { return len(m.done) > 0 || ctx.Err() != nil || d.Err() != nil }) {
		return &Error{Op: op, Label: b.label, Err: ErrClosed}
	}
	defer d.leavePoll()
	select {
	case ok := <-m.done:
		if !ok {
			m.done <- false // for settle
			if err := d.Err(); err != nil {
				return &Error{Op: op, Label: b.label, Err: err}
			}
			return fail(ErrValidation, op, b.label, "the buffer was not mapped")
		}
		return nil
	case <-ctx.Done():
		return &Error{Op: op, Label: b.label, Err: ctx.Err()}
	case <-d.gone:
		return &Error{Op: op, Label: b.label, Err: d.Err()}
	}
}

// mapMove copies between data and the mapped memory. Close waits for it.
func (d *device) mapMove(ctx context.Context, op string, b *buffer, off uint64, data []byte) error {
	if err := d.lock(ctx, op, b.label); err != nil {
		return err
	}
	lo, size := window(off, uint64(len(data)))
	mem := d.b.mapped(b.obj, lo, size)
	d.copies.Add(1)
	d.unlock()
	defer d.copies.Done()
	if mem = mem[off-lo:]; op == "write" {
		copyMem(mem, data)
		clear(mem[len(data):])
	} else {
		copyMem(data, mem)
	}
	return nil
}

// A copy of at least copyPart bytes for each of copyWays goroutines is split
// among them: one core does not keep up with the bus of a GPU.
const (
	copyPart = 2 << 20
	copyWays = 4
)

// copyMem is copy, by several goroutines when it is large.
func copyMem(dst, src []byte) {
	n := min(len(dst), len(src))
	ways := min(copyWays, n/copyPart, runtime.GOMAXPROCS(0))
	if ways < 2 {
		copy(dst, src)
		return
	}
	part := (n/ways + 63) &^ 63
	var wg sync.WaitGroup
	for lo := 0; lo < n; lo += part {
		hi := min(lo+part, n)
		wg.Go(func() { copy(dst[lo:hi], src[lo:hi]) })
	}
	wg.Wait()
}

// window widens a range to what can be mapped: offsets in eights, sizes in fours.
func window(off, n uint64) (lo, size uint64) {
	lo = off &^ 7
	return lo, roundUp(off+n, 4) - lo
}
