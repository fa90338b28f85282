package driver

import (
	"context"
	"errors"
)

// buffer is one buffer of a device.
type buffer struct {
	label string
	size  uint64 // a multiple of 4
	usage Usage
	obj   object
	m     *mapping // of host memory; see mapping.go
	until uint64   // the submission before whose end it must not be mapped; see settle
}

func (d *device) NewBuffer(label string, size uint64, u Usage) (Buffer, error) {
	switch {
	case u >= numUsages:
		return 0, fail(ErrValidation, "buffer", label, "usage %d", u)
	case size == 0:
		return 0, fail(ErrValidation, "buffer", label, "size 0")
	case size > d.info.Limits.BufferSize:
		return 0, fail(ErrLimit, "buffer", label, "%d bytes, the limit is %d", size, d.info.Limits.BufferSize)
	case !ascii(label):
		return 0, fail(ErrValidation, "buffer", "", "label %q is not ASCII", label)
	}
	if err := d.lock(context.Background(), "buffer", label); err != nil {
		return 0, err
	}
	defer d.unlock()
	size = roundUp(size, 4)
	obj, err := d.b.newBuffer(label, size, u)
	if err != nil {
		return 0, d.failed("buffer", label, err)
	}
	h, err := d.buffers.put(&buffer{label: label, size: size, usage: u, obj: obj})
	if err != nil {
		obj.Release()
		return 0, fail(ErrLimit, "buffer", label, "%v", err)
	}
	d.bufferBytes += size
	return Buffer(h), nil
}

func (d *device) FreeBuffer(h Buffer) {
	if !d.free() {
		return
	}
	defer d.unlock()
	b := d.buffers.drop(uint64(h))
	if b == nil {
		return
	}
	d.bufferBytes -= b.size
	if b.m != nil && b.m.orphan() {
		return // the copy from its memory releases it
	}
	b.obj.Release()
}

func (d *device) Write(ctx context.Context, dst Buffer, off uint64, src []byte) error {
	upload, err := d.writeSmall(ctx, dst, off, src)
	switch {
	case err != nil:
		return err
	case upload:
		return d.mapCopy(ctx, "write", dst, off, src)
	case len(src) >= stagedWrite:
		return d.writeStaged(ctx, dst, off, src)
	}
	return nil
}

// The library keeps a copy of what is written until a later submission is
// done, so an empty one is made when this much has gathered.
const writeFlush = 64 << 20

// writeSmall checks a write, and does it unless it is large or, as it reports,
// the buffer is for Upload.
func (d *device) writeSmall(ctx context.Context, dst Buffer, off uint64, src []byte) (upload bool, err error) {
	if err := d.lock(ctx, "write", ""); err != nil {
		return false, err
	}
	defer d.unlock()
	b, err := d.buffers.get(uint64(dst))
	if err != nil {
		return false, fail(ErrHandle, "write", "", "%v", err)
	}
	if err := b.writable(off, uint64(len(src))); err != nil {
		return false, err
	}
	if b.usage == Upload || len(src) >= stagedWrite {
		return b.usage == Upload, nil
	}
	whole := len(src) &^ 3
	if whole > 0 {
		err = d.b.writeBuffer(b.obj, off, src[:whole])
	}
	if tail := src[whole:]; len(tail) > 0 && err == nil {
		word := make([]byte, 4)
		copy(word, tail)
		err = d.b.writeBuffer(b.obj, off+uint64(whole), word)
	}
	if err != nil {
		e := d.failed("write", b.label, err)
		if errors.Is(e, ErrMemory) { // no memory to stage in: the library has dropped the device
			d.leave(lost)
			e = fail(ErrLost, "write", b.label, "%v", ErrMemory)
		}
		return false, e
	}
	if d.pending += uint64(len(src)); d.pending >= writeFlush {
		_, err = d.submit("write", b.label, nil)
	}
	return false, err
}

// writable checks a write of n bytes at off.
func (b *buffer) writable(off, n uint64) error {
	switch {
	case b.usage == Readback || b.usage == Results:
		return fail(ErrValidation, "write", b.label, "a %v buffer cannot be written", b.usage)
	case off%4 != 0:
		return fail(ErrValidation, "write", b.label, "offset %d is not a multiple of 4", off)
	case !b.holds(off, n):
		return fail(ErrValidation, "write", b.label, "%d bytes at %d of %d", n, off, b.size)
	}
	return nil
}

// holds reports whether n bytes at off lie in b, with no overflow.
func (b *buffer) holds(off, n uint64) bool { return off <= b.size && n <= b.size-off }

func (d *device) Read(ctx context.Context, src Buffer, off uint64, dst []byte) error {
	return d.mapCopy(ctx, "read", src, off, dst)
}

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }
