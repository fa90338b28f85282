package wgpu

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// Write implements [backend.Backend]. The driver orders it after what has been submitted, so a batch that
// uses dst goes first.
func (e *engine) Write(dst backend.Buffer, off int, src []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, err := e.span("write", dst, off, len(src))
	if err != nil || len(src) == 0 {
		return err
	}
	if b.batch > e.sent {
		e.flush() //nolint:errcheck // the error is with the buffers
	}
	if off%4 != 0 || len(src)%4 != 0 && off+len(src) < b.size {
		return e.writeInside(b, off, src)
	}
	return translate(e.dev.Write(e.life, b.memory.handle, uint64(off), src))
}

// writeInside writes bytes that begin or end within a word whose other bytes must stay.
func (e *engine) writeInside(b *buffer, off int, src []byte) error {
	lo := off &^ 3
	words := make([]byte, (off+len(src)+3)&^3-lo)
	if err := e.fetch(e.life, b, lo, words); err != nil {
		return err
	}
	copy(words[off-lo:], src)
	return translate(e.dev.Write(e.life, b.memory.handle, uint64(lo), words))
}

// Read implements [backend.Backend].
func (e *engine) Read(ctx context.Context, dst []byte, src backend.Buffer, off int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, err := e.span("read", src, off, len(dst))
	if err != nil {
		return err
	}
	if b.err != nil {
		return b.err
	}
	if len(dst) == 0 {
		e.flush() //nolint:errcheck // the error is with the buffers
		if b.err != nil {
			return b.err
		}
		last := e.last
		e.mu.Unlock()
		err := e.dev.Wait(ctx, last)
		e.mu.Lock()
		return translate(err)
	}
	lo, hi := off&^3, (off+len(dst)+3)&^3
	if lo == off && hi == off+len(dst) {
		return e.fetch(ctx, b, off, dst)
	}
	words := make([]byte, hi-lo)
	if err := e.fetch(ctx, b, lo, words); err != nil {
		return err
	}
	copy(dst, words[off-lo:])
	return nil
}

// span checks a range of bytes of a buffer.
func (e *engine) span(op string, b backend.Buffer, off, n int) (*buffer, error) {
	if e.closed {
		return nil, errClosed
	}
	own, err := e.use(b)
	if err != nil {
		return nil, err
	}
	if off < 0 || n > own.size-off {
		return nil, fmt.Errorf("wgpu: %s: %d bytes at %d of a buffer of %d: %w", op, n, off, own.size, backend.ErrDevice)
	}
	return own, nil
}

// Staging buffers. Small reads, a number or a row of logits, are most; large ones go in chunks, the copy of
// the next under way while the program takes the last.
const (
	stagingSmall = 64 << 10
	stagingLarge = 16 << 20
	maxStaging   = 8 // kept of them
)

// fetch copies whole words out of a buffer. It is called with the lock and gives it up while it waits.
func (e *engine) fetch(ctx context.Context, b *buffer, off int, dst []byte) error {
	var under []flight
	defer func() {
		for _, f := range under {
			e.unstage(f.memory)
		}
	}()
	for len(dst) > 0 || len(under) > 0 {
		for len(dst) > 0 && len(under) < 2 {
			n := min(len(dst), stagingLarge)
			m, err := e.stage(n)
			if err != nil {
				return translate(err)
			}
			under = append(under, flight{m, dst[:n]})
			if err := e.copyOut(b, off, m, n); err != nil {
				return err
			}
			dst, off = dst[n:], off+n
		}
		f := under[0]
		e.mu.Unlock()
		err := e.dev.Read(ctx, f.handle, 0, f.dst)
		e.mu.Lock()
		if err != nil {
			return translate(err)
		}
		if e.closed {
			return errClosed
		}
		e.unstage(f.memory)
		under = under[1:]
	}
	return nil
}

// A flight is a copy on its way to dst.
type flight struct {
	memory
	dst []byte
}

// copyOut submits what has been recorded with a copy of n bytes at its end. If that fails because of a kernel that has nothing
// to do with b, the copy goes alone.
func (e *engine) copyOut(b *buffer, off int, to memory, n int) error {
	command := driver.Command{
		Op: driver.Copy, Src: b.memory.handle, SrcOff: uint64(off), Dst: to.handle, Size: uint64(n),
	}
	err := e.copyNow(command)
	switch {
	case b.err != nil:
		return b.err
	case err != nil:
		return e.copyNow(command)
	}
	return nil
}

// copyNow submits what has been recorded with a command at its end, and returns the error of the batch it is in.
func (e *engine) copyNow(c driver.Command) error {
	if e.closed {
		return errClosed
	}
	e.batch.commands = append(e.batch.commands, c)
	return e.flush()
}

// stage returns a readback buffer of at least n bytes.
func (e *engine) stage(n int) (memory, error) {
	size := stagingSmall
	if n > size {
		size = stagingLarge
	}
	for i, m := range e.staging {
		if m.bytes == size {
			e.staging = append(e.staging[:i], e.staging[i+1:]...)
			return m, nil
		}
	}
	e.pool.made++
	h, err := e.dev.NewBuffer("readback", uint64(size), driver.Readback)
	return memory{h, size}, err
}

// unstage keeps a readback buffer for the next read.
func (e *engine) unstage(m memory) {
	if e.closed {
		return
	}
	if len(e.staging) >= maxStaging {
		e.dev.FreeBuffer(m.handle)
		return
	}
	e.staging = append(e.staging, m)
}
