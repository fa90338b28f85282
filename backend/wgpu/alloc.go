package wgpu

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// Alloc implements [backend.Backend]. New memory is zero, pooled memory holds what its last owner left.
func (e *engine) Alloc(bytes int) (backend.Buffer, error) {
	if bytes < 0 {
		return nil, fmt.Errorf("wgpu: alloc of %d bytes: %w", bytes, backend.ErrMemory)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	b, err := e.alloc(bytes)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// alloc is Alloc under the lock, which it may give up for a moment to collect garbage.
func (e *engine) alloc(bytes int) (*buffer, error) {
	if e.closed {
		return nil, errClosed
	}
	b := &buffer{e: e, size: bytes}
	if bytes == 0 {
		return b, nil
	}
	if most := e.maxBytes(); bytes > most {
		return nil, fmt.Errorf("wgpu: alloc of %d bytes: the device's buffers hold %d: %w", bytes, most, backend.ErrMemory)
	}
	c := min(class(bytes), e.maxBytes())
	if m, ok := e.pool.take(c); ok {
		b.memory, b.batch = m.memory, m.batch
		e.pace()
		return b, nil
	}
	handle, err := e.newMemory(c)
	if err != nil {
		return nil, err
	}
	b.memory = memory{handle, c}
	e.pool.made++
	e.pool.hold(c)
	e.pace()
	return b, nil
}

// The garbage collector sees of a tensor a few hundred bytes of the program's memory, so it would let gigabytes of dead ones
// pile up on the device. When memory in use has grown by half since the last collection, and by so much that getting it new
// costs more than a collection, one is asked for.
const (
	paceBytes   = 256 << 20
	paceBuffers = 1024
)

// A pacer compares what is in use with what was after the last collection, less what that found. What the program gives back
// itself, to take as much again, is no reason for another.
type pacer struct {
	bytes, buffers int
	collecting     bool // the garbage collector has been called
}

// pace is called when memory has been given out.
func (e *engine) pace() {
	p := &e.pacer
	if p.collecting || e.pool.inUse < p.bytes+max(paceBytes, p.bytes/2) && e.pool.live < p.buffers+max(paceBuffers, p.buffers/2) {
		return
	}
	p.collecting = true
	go func() {
		runtime.GC()
		e.mu.Lock()
		defer e.mu.Unlock()
		*p = pacer{bytes: e.pool.inUse, buffers: e.pool.live} // lowered by the drops that follow
	}()
}

// maxBytes returns the size of the largest buffer a kernel can see.
func (e *engine) maxBytes() int {
	return int(min(e.info.Limits.BufferSize, e.info.Limits.StorageBinding) &^ 15)
}

// newMemory asks the driver, and where that has nothing left frees, step by step, what nobody needs: the pool,
// then what the garbage collector finds.
func (e *engine) newMemory(bytes int) (driver.Buffer, error) {
	e.trim(e.pool.limit)
	handle, err := e.dev.NewBuffer("tensor", uint64(bytes), driver.Storage)
	if !errors.Is(err, driver.ErrMemory) {
		return handle, translate(err)
	}
	if err := e.drain(); err != nil {
		return 0, err
	}
	e.trim(0)
	if handle, err = e.dev.NewBuffer("tensor", uint64(bytes), driver.Storage); !errors.Is(err, driver.ErrMemory) {
		return handle, translate(err)
	}
	e.remembering = false // others may record
	e.mu.Unlock()         // the cleanups of dead tensors come back to Release
	runtime.GC()
	runtime.GC() // cleanups run after the cycle that found the tensor dead
	e.mu.Lock()
	if e.closed {
		return 0, errClosed
	}
	if err := e.drain(); err != nil {
		return 0, err
	}
	e.trim(0)
	handle, err = e.dev.NewBuffer("tensor", uint64(bytes), driver.Storage)
	if errors.Is(err, driver.ErrMemory) {
		return 0, fmt.Errorf("wgpu: alloc of %d bytes with %d in use: %w", bytes, e.pool.inUse, backend.ErrMemory)
	}
	return handle, translate(err)
}

// trim frees pooled memory, the longest unused first, until at most limit bytes are left.
func (e *engine) trim(limit int) {
	for e.pool.bytes > limit {
		m, ok := e.pool.oldest()
		if !ok {
			return
		}
		e.groups.forget(e, m)
		e.drop(m.batch, func() { e.dev.FreeBuffer(m.handle) })
	}
}
