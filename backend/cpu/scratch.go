package cpu

import (
	"sync"
	"unsafe"
)

// A scratch is memory that one goroutine works in, taken and given back like a stack. Its content is
// whatever was there.
type scratch struct {
	buf  []byte // aligned
	used int
	need int // greatest use so far, beyond buf if it was full
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// getScratch returns an empty scratch, for the goroutine until it calls putScratch.
func getScratch() *scratch { return scratches.Get().(*scratch) }

// putScratch gives s back, with one buffer as large as all that was in use at once. Scratch beyond
// maxScratch goes to the garbage collector.
func putScratch(s *scratch) {
	if s.need > len(s.buf) && s.need <= maxScratch {
		s.buf = newBlock(s.need).data
	}
	s.used, s.need = 0, 0
	scratches.Put(s)
}

const maxScratch = 32 << 20

// mark returns the present top of the stack, for release.
func (s *scratch) mark() int { return s.used }

// release gives back all that was taken since mark.
func (s *scratch) release(mark int) { s.used = mark }

// take returns n elements of scratch, aligned, with any content.
func take[T any](s *scratch, n int) []T {
	if n == 0 {
		return nil
	}
	size := (n*int(unsafe.Sizeof(*new(T))) + alignment - 1) &^ (alignment - 1)
	from := s.used
	s.used += size
	s.need = max(s.need, s.used)
	p := s.buf
	if s.used > len(p) {
		p, from = newBlock(size).data, 0
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&p[from])), n)
}
