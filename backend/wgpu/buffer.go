package wgpu

import (
	"fmt"
	"math/bits"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// A buffer is device memory held by the graph. Its fields are guarded by the engine's lock.
type buffer struct {
	e        *engine
	size     int // bytes asked for
	memory   memory
	released bool

	batch uint64 // the batch that used it last
	err   error  // why its content is not what it should be; see engine.fail
}

// memory is a driver's buffer of a size class; no bytes have none.
type memory struct {
	handle driver.Buffer
	bytes  int
}

// Size returns the number of bytes asked for.
func (b *buffer) Size() int { return b.size }

// Release returns the memory to the pool, from which a later allocation takes it. Commands recorded so far
// still find their data: the next owner's come after them.
func (b *buffer) Release() {
	b.e.mu.Lock()
	defer b.e.mu.Unlock()
	b.e.release(b)
}

// OnDrop implements [backend.Dropper].
func (b *buffer) OnDrop() func() { return b.drop }

func (b *buffer) drop() {
	b.e.mu.Lock()
	defer b.e.mu.Unlock()
	if !b.released {
		b.e.pacer.bytes -= b.memory.bytes
		b.e.pacer.buffers--
	}
	b.e.release(b)
}

// release is Release under the lock.
func (e *engine) release(b *buffer) {
	if b.released {
		return
	}
	b.released = true
	if b.memory.handle != 0 && !e.closed {
		e.pool.put(b.memory, b.batch)
	}
}

// use returns b as a buffer of this engine that may be read or written.
func (e *engine) use(b backend.Buffer) (*buffer, error) {
	own, ok := b.(*buffer)
	switch {
	case !ok || own.e != e:
		return nil, fmt.Errorf("wgpu: buffer of another device: %w", backend.ErrDevice)
	case own.released:
		return nil, fmt.Errorf("wgpu: buffer was released: %w", backend.ErrDevice)
	}
	return own, nil
}

// A pool keeps released memory by size class, the last released first, so that a plan run again gets the
// same buffers, and with them the same bind groups.
type pool struct {
	free  map[int][]pooled
	bytes int    // in free
	limit int    // of bytes
	clock uint64 // counts puts

	inUse, peak int   // bytes of live buffers
	live        int   // their number
	made        int64 // buffers asked of the driver
}

type pooled struct {
	memory
	since uint64
	batch uint64 // that used it last: a write by the next owner must come after it
}

// class rounds a size up to one the pool keeps: a power of two or one of three steps between, so that at most a
// fifth is wasted. It is at least 16, the widest load of a kernel.
func class(bytes int) int {
	if bytes <= 64 {
		return max(16, (bytes+15)&^15)
	}
	step := 1 << (bits.Len(uint(bytes-1)) - 3)
	return (bytes + step - 1) &^ (step - 1)
}

// take returns pooled memory of exactly a class, if there is some.
func (p *pool) take(class int) (pooled, bool) {
	list := p.free[class]
	if len(list) == 0 {
		return pooled{}, false
	}
	m := list[len(list)-1]
	p.free[class] = list[:len(list)-1]
	p.bytes -= m.bytes
	p.hold(m.bytes)
	return m, true
}

// hold counts bytes that go to a live buffer.
func (p *pool) hold(bytes int) {
	p.inUse += bytes
	p.live++
	p.peak = max(p.peak, p.inUse)
}

func (p *pool) put(m memory, batch uint64) {
	p.clock++
	p.inUse -= m.bytes
	p.live--
	p.bytes += m.bytes
	p.free[m.bytes] = append(p.free[m.bytes], pooled{m, p.clock, batch})
}

// oldest removes and returns the memory that has been in the pool longest.
func (p *pool) oldest() (pooled, bool) {
	best := -1
	for c, list := range p.free {
		if len(list) > 0 && (best < 0 || list[0].since < p.free[best][0].since) {
			best = c
		}
	}
	if best < 0 {
		return pooled{}, false
	}
	m := p.free[best][0]
	if p.free[best] = p.free[best][1:]; len(p.free[best]) == 0 {
		delete(p.free, best)
	}
	p.bytes -= m.bytes
	return m, true
}
