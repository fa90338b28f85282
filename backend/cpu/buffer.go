package cpu

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/hostmem"
)

// alignment of buffers: a cache line, and the widest vector register.
const alignment = 64

// defaultMemory stands for the size of the machine's memory where it is not known: 64 GiB, or 1 GiB
// where an int has 32 bits.
const defaultMemory = 1 << (24 + 6*bits.UintSize/32)

// uncounted is the greatest class that is not counted as in use: to hear from the collector that it has freed so little costs
// more than what is computed there.
const uncounted = 4 << 10

// A memory hands out aligned buffers and keeps freed ones for reuse by size class: four classes to each
// power of two, so that at most a fifth of a buffer is waste.
type memory struct {
	limit   int // bytes that may be in use, pooled ones included
	poolCap int // bytes that may be pooled

	mu     sync.Mutex
	free   map[int][]*block64 // by class size, the latest freed last
	tick   uint64
	used   int
	pooled int
	peak   int
	made   int64 // blocks asked of Go
}

// A block64 is aligned memory of the size of its class.
type block64 struct {
	data []byte
	tick uint64 // when it was freed
}

// A buffer implements [backend.Buffer]. It counts who uses it: its owner until Release, and every run
// that works on it.
type buffer struct {
	owner    *memory
	data     []byte
	size     int
	wrapped  bool
	refs     atomic.Int32
	released atomic.Bool
	mem      *block64
}

// Size implements [backend.Buffer].
func (c *buffer) Size() int { return c.size }

// Release implements [backend.Buffer].
func (c *buffer) Release() {
	if !c.released.Swap(true) {
		c.drop()
	}
}

// OnDrop implements [backend.Dropper]: the memory is the collector's, and is counted no more. Were it pooled, it would be alive
// when the collector finds the buffer, who then would let the heap double, and the pool with it.
func (c *buffer) OnDrop() func() {
	if c.wrapped || counted(len(c.mem.data)) == 0 {
		return nil
	}
	owner, size := c.owner, len(c.mem.data)
	return func() {
		owner.mu.Lock()
		defer owner.mu.Unlock()
		owner.used -= size
	}
}

// retain keeps the memory from reuse until drop is called.
func (c *buffer) retain() error {
	for {
		n := c.refs.Load()
		if n == 0 || c.released.Load() {
			return fmt.Errorf("buffer of %d bytes was released: %w", c.size, backend.ErrDevice)
		}
		if c.refs.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

// drop undoes one retain, or the initial reference.
func (c *buffer) drop() {
	if c.refs.Add(-1) == 0 && !c.wrapped {
		c.owner.put(c)
	}
}

func (c *buffer) bytes() ([]byte, error) {
	if c.released.Load() {
		return nil, fmt.Errorf("cpu: bytes: buffer was released: %w", backend.ErrDevice)
	}
	return c.data, nil
}

// class returns the size of the class that n bytes belong to, 0 if there is none.
func class(n int) int {
	if n <= alignment {
		return alignment
	}
	step := 1 << max(bits.Len(uint(n-1))-3, 6)
	c := (n + step - 1) / step * step
	if c < n {
		return 0
	}
	return c
}

// counted is what a buffer of class c adds to the bytes in use.
func counted(c int) int {
	if c <= uncounted {
		return 0
	}
	return c
}

// alloc returns a buffer of n bytes with any content.
func (m *memory) alloc(n int) (*buffer, error) {
	if n < 0 || n > m.limit {
		return nil, fmt.Errorf("cpu: alloc of %d bytes, the machine has %d: %w", n, m.limit, backend.ErrMemory)
	}
	c := class(n)
	m.mu.Lock()
	blk := m.take(c)
	if blk == nil {
		if m.used+c > m.limit {
			used := m.used
			m.mu.Unlock()
			return nil, fmt.Errorf("cpu: alloc of %d bytes, %d of %d in use: %w", n, used, m.limit, backend.ErrMemory)
		}
		m.evict(m.limit - m.used - c)
		m.made++
	}
	m.used += counted(c)
	m.peak = max(m.peak, m.used)
	m.mu.Unlock()
	var buf *buffer
	if blk == nil {
		both := &struct { // one piece of memory instead of two
			buffer
			block64
		}{block64: newBlock(c)}
		buf, blk = &both.buffer, &both.block64
	} else {
		buf = new(buffer)
	}
	buf.owner, buf.data, buf.size, buf.mem = m, blk.data[:n], n, blk
	buf.refs.Store(1)
	return buf, nil
}

// take removes a pooled block of class c, or returns nil.
func (m *memory) take(c int) *block64 {
	list := m.free[c]
	if len(list) == 0 {
		return nil
	}
	blk := list[len(list)-1]
	m.free[c] = list[:len(list)-1]
	m.pooled -= c
	return blk
}

// put pools the memory of a buffer that nobody uses any more.
func (m *memory) put(buf *buffer) {
	blk := buf.mem
	c := len(blk.data)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= counted(c)
	if c > m.poolCap {
		return
	}
	m.evict(m.poolCap - c)
	if m.free == nil {
		m.free = make(map[int][]*block64)
	}
	m.tick++
	blk.tick = m.tick
	m.free[c] = append(m.free[c], blk)
	m.pooled += c
}

// trim frees pooled memory until at most keep bytes are left.
func (m *memory) trim(keep int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.evict(keep)
}

// evict frees the blocks that were pooled longest, until at most keep bytes are left.
func (m *memory) evict(keep int) {
	for m.pooled > keep {
		oldest := 0
		for c, list := range m.free {
			if len(list) > 0 && (oldest == 0 || list[0].tick < m.free[oldest][0].tick) {
				oldest = c
			}
		}
		m.free[oldest] = m.free[oldest][1:]
		m.pooled -= oldest
	}
}

// count fills in what of i is about memory.
func (m *memory) count(i *backend.Info) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i.BytesInUse, i.BytesPooled, i.BytesPeak, i.Allocated = m.used, m.pooled, m.peak, m.made
}

// newBlock makes memory of n bytes. The allocator's own pieces are mostly aligned as ours are.
func newBlock(n int) block64 {
	p := hostmem.Make[byte](n)
	if misaligned(p) > 0 {
		p = hostmem.Make[byte](n + alignment)
		p = p[misaligned(p):][:n:n]
	}
	return block64{data: p}
}

// misaligned returns how many bytes of p come before the first that is aligned.
func misaligned(p []byte) int {
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(p))) & (alignment - 1))
}
