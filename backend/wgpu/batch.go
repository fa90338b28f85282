package wgpu

import (
	"context"
	"math"
	"time"

	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// Bounds of a batch. A submission costs the host tens of microseconds, so a batch is long; it is bounded so that
// the GPU starts early, and so that no submission runs for seconds, which the watchdogs of graphics drivers kill.
const (
	batchDispatches = 128
	batchBytes      = min(8<<30, math.MaxInt) // touched by its kernels: some milliseconds on a fast GPU, a second on a slow one
	batchArgs       = 64 << 10
)

// A batch is a list of commands for one submission.
type batch struct {
	id       uint64 // counts batches, from 1
	commands []driver.Command
	args     []byte // parameters of its dispatches, each at a multiple of the device's alignment
	bytes    int    // touched by its kernels
	writes   []*buffer
	notes    []note // of its dispatches, where somebody traces
}

// A launch is one dispatch: a pipeline with its buffers and parameters. Without a pipeline it sets its buffer to zeros.
type launch struct {
	pipeline *pipeline
	buffers  []*buffer // one for each storage slot
	writes   []*buffer // those of buffers that the kernel writes
	args     []byte    // the Params block
	consts   int       // 1 + the word of it at which the constants of the step begin, if it has some
	grid     [3]uint32
	bytes    int // touched
}

// record adds a launch to the batch, under the lock.
func (e *engine) record(l launch) error {
	align := int(e.info.Limits.UniformAlign)
	if b := e.batch; len(b.commands) >= batchDispatches || b.bytes >= batchBytes || len(b.args)+align+len(l.args) > batchArgs {
		e.seal()
		e.start()
	}
	if e.remembering {
		e.launches = append(e.launches, l)
	}
	b := e.batch
	if l.pipeline == nil {
		to := l.buffers[0]
		b.commands = append(b.commands, driver.Command{Op: driver.Clear, Dst: to.memory.handle, Size: uint64(to.size)})
		to.batch = b.id
		return nil
	}
	group, err := e.groups.get(e, l)
	if err != nil {
		return translate(err)
	}
	for len(b.args)%align != 0 {
		b.args = append(b.args, 0)
	}
	b.commands = append(b.commands, driver.Command{
		Op: driver.Dispatch, Pipeline: l.pipeline.handle, Group: group, Offset: uint32(len(b.args)), Grid: l.grid,
	})
	b.args = append(b.args, l.args...)
	e.note(&l)
	b.bytes += l.bytes
	for _, buf := range l.buffers {
		buf.batch = b.id
	}
	b.writes = append(b.writes, l.writes...)
	e.dispatches++
	return nil
}

// clear records that a buffer of whole words is set to zeros.
func (e *engine) clear(b *buffer) error { return e.record(launch{buffers: []*buffer{b}}) }

// seal ends the batch, so that it is submitted as it is, and begins another.
func (e *engine) seal() {
	if len(e.batch.commands) == 0 {
		return
	}
	id := e.batch.id + 1
	e.out.push(e.batch)
	if n := len(e.spare); n > 0 {
		e.batch, e.spare = e.spare[n-1], e.spare[:n-1]
	} else {
		e.batch = new(batch)
	}
	e.batch.id = id
}

// start sees to it that what has been recorded is submitted soon, by a goroutine that then takes what has been recorded in the
// meantime, and so on: callers who come one after another fill a batch while the one before is submitted.
func (e *engine) start() {
	if !e.sending && (len(e.batch.commands) > 0 || e.out.waiting() > 0) {
		e.sending = true
		go e.send()
	}
}

// startIdle is start, and submits at once where the device has nothing to do: waking another thread takes as long. Of callers
// who come one after another only the first finds it so.
func (e *engine) startIdle() {
	now := time.Now()
	quiet := now.Sub(e.started) > quietFor
	e.started = now
	if quiet && !e.sending && e.dev.Poll() >= e.last {
		e.flush() //nolint:errcheck // the error is with the buffers
		return
	}
	e.start()
}

// quietFor is some times what a submission takes.
const quietFor = 200 * time.Microsecond

func (e *engine) send() {
	for {
		e.out.submitAll()
		e.mu.Lock()
		if e.closed || len(e.batch.commands) == 0 && e.out.waiting() == 0 {
			e.sending = false
			e.mu.Unlock()
			return
		}
		if e.out.waiting() == 0 {
			e.seal()
		}
		e.mu.Unlock()
	}
}

// flush returns when all that has been recorded is submitted, with the error of the last batch, which stays with the buffers
// that a batch was to write.
func (e *engine) flush() error {
	e.seal()
	e.out.submitAll()
	return e.collect(e.batch.id - 1)
}

// collect takes note of the batches that have been submitted, and returns the error of batch id if it is among them.
func (e *engine) collect(id uint64) (err error) {
	for _, s := range e.out.takeSent() {
		e.sent, e.last = s.id, max(e.last, s.ticket)
		if s.id == id {
			err = s.err
		}
		for _, w := range s.writes {
			if s.err != nil && w.err == nil {
				w.err = s.err
			}
		}
		clear(s.writes)
		clear(s.commands)
		*s.batch = batch{commands: s.commands[:0], args: s.args[:0], writes: s.writes[:0], notes: s.notes[:0]}
		e.spare = append(e.spare, s.batch)
	}
	e.freeDropped()
	return err
}

// A dropped thing is freed once the last batch whose commands name it has been submitted.
type dropped struct {
	batch uint64
	free  func()
}

// drop calls free once batch has been submitted.
func (e *engine) drop(batch uint64, free func()) {
	e.dropped = append(e.dropped, dropped{batch, free})
	if batch <= e.sent {
		e.freeDropped()
	}
}

func (e *engine) freeDropped() {
	kept := e.dropped[:0]
	for _, d := range e.dropped {
		if d.batch <= e.sent {
			d.free()
		} else {
			kept = append(kept, d)
		}
	}
	clear(e.dropped[len(kept):])
	e.dropped = kept
}

// drain submits what has been recorded and waits for all work, under the lock.
func (e *engine) drain() error {
	e.flush() //nolint:errcheck // the error is with the buffers
	return translate(e.dev.Wait(context.Background(), e.last))
}
