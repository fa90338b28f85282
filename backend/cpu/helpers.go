package cpu

import (
	"runtime"
	"sync/atomic"
	"time"
)

// helpers are goroutines that work on the loops of others. One whose loop is done looks out for the next for a while before it
// ends, and so does the loop's caller for the last helper to be done: to wake a processor takes tens of microseconds, which is as
// long as many a loop.
type helpers struct {
	busy    atomic.Int64         // reserved for a loop
	waiting atomic.Int64         // looking out for one
	offer   atomic.Pointer[loop] // a loop with seats, if any; loops beside it start helpers of their own
}

// patience is how long a goroutine looks out.
const patience = 50 * time.Microsecond

// reserve counts up to n more helpers, as there are processors for, and returns how many.
func (h *helpers) reserve(n int) (reserved int) {
	most := int64(runtime.GOMAXPROCS(0) - 1)
	for reserved < n {
		busy := h.busy.Load()
		if busy >= most {
			break
		}
		if h.busy.CompareAndSwap(busy, busy+1) {
			reserved++
		}
	}
	return reserved
}

// call has n helpers work on l, which are reserved.
func (h *helpers) call(l *loop, n int) {
	if n == 0 {
		return
	}
	l.gone.Add(n)
	l.left.Store(int64(n))
	l.seats.Store(int64(n))
	if h.offer.CompareAndSwap(nil, l) {
		n -= int(h.waiting.Load()) // who gives up at this moment looks once more
	}
	if n <= 0 {
		return
	}
	for range n {
		go h.help(l)
	}
	go func() {}() // Go keeps the goroutine started last for this processor: an idle one, that takes any other at once, waits first
}

// help works on l, and on what is offered afterwards.
func (h *helpers) help(l *loop) {
	for l != nil {
		if seat := l.seats.Add(-1); seat >= 0 {
			if seat == 0 {
				h.offer.CompareAndSwap(l, nil)
			}
			l.work()
			h.busy.Add(-1)
			l.left.Add(-1)
			l.gone.Done()
		}
		l = h.next()
	}
}

// next returns a loop that has a seat, or nil.
func (h *helpers) next() (l *loop) {
	offered := func() bool {
		l = h.offer.Load()
		return l != nil && l.seats.Load() > 0
	}
	h.waiting.Add(1)
	found := lookOut(offered)
	h.waiting.Add(-1)
	if found || offered() {
		return l
	}
	return nil
}

// dismiss closes l to helpers that have not come, and waits for the others to be done.
func (h *helpers) dismiss(l *loop) {
	if l.left.Load() == 0 {
		return // as when none was called
	}
	h.offer.CompareAndSwap(l, nil)
	if missing := l.seats.Swap(0); missing > 0 {
		h.busy.Add(-missing)
		l.left.Add(-missing)
		l.gone.Add(-int(missing))
	}
	if !lookOut(func() bool { return l.left.Load() == 0 }) {
		l.gone.Wait()
	}
}

// lookOut waits for ready to be true, no longer than patience, and reports whether it was. Other goroutines run meanwhile.
func lookOut(ready func() bool) bool {
	const between = 20 // looks: about a microsecond
	for end := time.Now().Add(patience); ; runtime.Gosched() {
		for range between {
			if ready() {
				return true
			}
			if loops != nil {
				loops.Pause()
			}
		}
		if time.Now().After(end) {
			return false
		}
	}
}
