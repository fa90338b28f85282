package cpu

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/weft-go/weft/backend"
)

// parallel calls f for the ranges [0, grain), [grain, 2·grain), … up to n, on as many goroutines as there
// are processors to spare; the caller's is one of them, so that nested calls cannot block each other. The
// ranges do not depend on the number of goroutines. It returns when all calls have: with ctx's error if it
// ended before, or the first panic of f as an error. What is not started then is left out. An f that takes longer than some
// milliseconds calls [look] meanwhile.
func (b *Backend) parallel(ctx context.Context, n, grain int, f func(lo, hi int)) error {
	if n <= 0 {
		return ctx.Err()
	}
	grain = max(grain, 1)
	chunks := (n-1)/grain + 1
	if chunks == 1 {
		return protect(ctx, n, f)
	}
	l := &loop{ctx: ctx, n: n, grain: grain, chunks: int64(chunks), f: f}
	helpers := b.helpers.reserve(min(chunks, runtime.GOMAXPROCS(0)) - 1)
	b.helpers.call(l, helpers)
	l.work()
	b.helpers.dismiss(l)
	if err := l.err.Load(); err != nil {
		return *err
	}
	return nil
}

// protect calls f for all of [0, n).
func protect(ctx context.Context, n int, f func(lo, hi int)) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			err = panicError(r)
		}
	}()
	f(0, n)
	return nil
}

// A loop is one call of parallel.
type loop struct {
	ctx      context.Context
	n, grain int
	chunks   int64
	f        func(lo, hi int)
	next     atomic.Int64
	err      atomic.Pointer[error]

	seats atomic.Int64   // for helpers that have not come yet
	left  atomic.Int64   // helpers that have not gone yet, or never came
	gone  sync.WaitGroup // of as many
}

// work takes chunks until none is left.
func (l *loop) work() {
	defer func() {
		if r := recover(); r != nil {
			l.fail(panicError(r))
		}
	}()
	for {
		i := l.next.Add(1) - 1
		if i >= l.chunks {
			return
		}
		if err := l.ctx.Err(); err != nil {
			l.fail(err)
			return
		}
		lo := int(i) * l.grain
		l.f(lo, min(lo+l.grain, l.n))
	}
}

// fail keeps the first error and stops the loop.
func (l *loop) fail(err error) {
	l.err.CompareAndSwap(nil, &err)
	l.next.Store(l.chunks)
}

// stopped is what look panics with.
type stopped struct{ error }

// look stops a kernel whose context has ended: it panics, and whoever started the kernel returns the context's error.
func look(ctx context.Context) {
	if err := ctx.Err(); err != nil {
		panic(stopped{err})
	}
}

// between is the number of elements between two looks.
const between = 1 << 18

// piecewise calls f for the pieces of [0, n) in order, and looks in between.
func piecewise(ctx context.Context, n int, f func(lo, hi int)) {
	for lo := 0; lo < n; lo += between {
		if lo > 0 {
			look(ctx)
		}
		f(lo, min(lo+between, n))
	}
}

// panicError makes an error of a recovered panic: a mistake in a kernel must not end a server.
func panicError(r any) error {
	if s, ok := r.(stopped); ok {
		return s.error
	}
	return fmt.Errorf("cpu: panic: %v: %w\n%s", r, backend.ErrDevice, debug.Stack())
}
