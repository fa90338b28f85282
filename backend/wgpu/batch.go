package wgpu

import (
	"context"
	"time"

	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// Bounds of a batch. A submission costs the host tens of microseconds, so a batch is long; it is bounded so that
// the GPU starts early, and so that no submission runs for seconds, which the watchdogs of graphics drivers kill.
const (
	batchDispatches = 128
	batchBytes      = 8 << 30 // touched by its kernels: some milliseconds on a fast GPU, a second on a slow one
	batchArgs       = 64 << 10
)

// A batch is what has been recorded and not yet submitted.
type batch struct {
	id       uint64 // counts batches, from 1
	commands []driver.Command
	args     []byte // parameters of its dispatches, each at a multiple of the device's alignment
	bytes    int    // touched by its kernels
	writes   []*buffer
}

// A launch is one dispatch: a pipeline with its buffers and parameters.
type launch struct {
	pipeline *pipeline
	buffers  []*buffer // one for each storage slot
	writes   []*buffer // those of buffers that the kernel writes
	args     []byte    // the Params block
	grid     [3]uint32
	bytes    int // touched
}

// record adds a launch to the batch, under the lock.
func (e *engine) record(l launch) error {
	align := int(e.info.Limits.UniformAlign)
	if len(e.batch.commands) >= batchDispatches || e.batch.bytes >= batchBytes ||
		len(e.batch.args)+align+len(l.args) > batchArgs {
		e.flush()
	}
	group, err := e.groups.get(e, l)
	if err != nil {
		return translate(err)
	}
	b := &e.batch
	for len(b.args)%align != 0 {
		b.args = append(b.args, 0)
	}
	b.commands = append(b.commands, driver.Command{
		Op: driver.Dispatch, Pipeline: l.pipeline.handle, Group: group, Offset: uint32(len(b.args)), Grid: l.grid,
	})
	b.args = append(b.args, l.args...)
	b.bytes += l.bytes
	for _, buf := range l.buffers {
		buf.batch = b.id
	}
	b.writes = append(b.writes, l.writes...)
	e.dispatches++
	return nil
}

// flush submits the batch. An error stays with the buffers the batch was to write.
func (e *engine) flush() { _ = e.submitBatch() }

// submitBatch is flush, and returns the error too.
func (e *engine) submitBatch() error {
	b := &e.batch
	if len(b.commands) == 0 {
		return nil
	}
	err := e.submit(b)
	for i, w := range b.writes {
		if err != nil && w.err == nil {
			w.err = err
		}
		b.writes[i] = nil
	}
	clear(b.commands)
	*b = batch{id: b.id + 1, commands: b.commands[:0], args: b.args[:0], writes: b.writes[:0]}
	return err
}

func (e *engine) submit(b *batch) error {
	// The write is ordered between the submissions before and this one, so one arena serves all batches.
	if len(b.args) > 0 {
		if err := e.dev.Write(context.Background(), e.arena, 0, b.args); err != nil {
			return translate(err)
		}
	}
	t, err := e.dev.Submit(b.commands)
	if err != nil {
		return translate(err)
	}
	e.last = t
	return nil
}

// settle is called when a caller has recorded all it has: the batch goes to the GPU if that has nothing to do. Else
// the batch may grow until the GPU is free, which somebody then looks out for. He does not wait in the driver: there
// he would hold up the next submission.
func (e *engine) settle() {
	if len(e.batch.commands) == 0 {
		return
	}
	if e.dev.Poll() >= e.last {
		e.flush()
		return
	}
	if !e.waiting {
		e.waiting = true
		go e.lookout()
	}
}

// lookout submits the batch once the GPU has nothing to do.
func (e *engine) lookout() {
	const pause = 50 * time.Microsecond // a small part of what a full batch takes
	for {
		time.Sleep(pause)
		e.mu.Lock()
		if e.closed || len(e.batch.commands) == 0 || e.dev.Poll() >= e.last {
			if !e.closed {
				e.flush()
			}
			e.waiting = false
			e.mu.Unlock()
			return
		}
		e.mu.Unlock()
	}
}

// drain submits the batch and waits for all work, under the lock.
func (e *engine) drain() error {
	e.flush()
	return translate(e.dev.Wait(context.Background(), e.last))
}
