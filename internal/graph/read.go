package graph

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/hostmem"
	"github.com/weft-go/weft/ops"
)

// Read copies the elements of e to dst, row-major, after computing what they need. Dst has room for exactly
// those.
func Read(ctx context.Context, e Edge, dst []byte) error {
	ctx = live(ctx)
	d := e.Node.Device
	if e.Node.kind.leaf() {
		if src, l, err := e.onHost(); src != nil || err != nil {
			if err == nil {
				pack(dst, src, l, e.Node.DType.Size())
			}
			return err
		}
	}
	if d.readSmall(ctx, e, dst) {
		return nil
	}
	s, buf, at, err := access(ctx, e)
	if err != nil {
		return err
	}
	defer d.unpin(s)
	if err := d.read(ctx, dst, buf, at); err != nil {
		return fmt.Errorf("graph: read of %d bytes from %s: %w", len(dst), d.name, err)
	}
	return nil
}

// Bytes returns the elements of e, row-major, after computing what they need. Where they are in the memory
// of the program already, one after the other, they are not copied: the caller must not write to them, and
// must keep e.Node reachable while using them.
func Bytes(ctx context.Context, e Edge) ([]byte, error) {
	ctx = live(ctx)
	size := e.Node.DType.Bytes(e.Layout.Len())
	at := e.Node.DType.Bytes(e.Layout.Offset)
	d := e.Node.Device
	if !e.Layout.IsDense() || e.Node.kind.memoryless() {
		dst := hostmem.Make[byte](size)
		return dst, Read(ctx, e, dst)
	}
	if e.Node.kind.leaf() {
		if src, _, err := e.onHost(); err != nil {
			return nil, err
		} else if src != nil {
			return src[at : at+size : at+size], nil
		}
	}
	if d.host == nil {
		dst := hostmem.Make[byte](size)
		return dst, Read(ctx, e, dst)
	}
	s, buf, at, err := access(ctx, e)
	if err != nil {
		return nil, err
	}
	defer d.unpin(s)
	if err := d.read(ctx, nil, buf, 0); err != nil { // waits for the kernels
		return nil, fmt.Errorf("graph: read from %s: %w", d.name, err)
	}
	all, err := d.host.Bytes(buf)
	if err != nil {
		return nil, fmt.Errorf("graph: memory of %s: %w", d.name, err)
	}
	return all[at : at+size : at+size], nil
}

// access computes e and returns the memory that holds its elements, row-major from byte at on. It is pinned.
func access(ctx context.Context, e Edge) (s *storage, buf backend.Buffer, at int, err error) {
	n := e.Node
	d := n.Device
	if e.Layout.IsDense() {
		at = n.DType.Bytes(e.Layout.Offset)
	} else {
		n = Copy(e)
	}
	if err := compute(ctx, n); err != nil {
		return nil, nil, 0, err
	}
	if err := d.lock.Lock(ctx); err != nil {
		return nil, nil, 0, err
	}
	defer d.lock.Unlock()
	if err := n.available(); err != nil { // gone since
		return nil, nil, 0, err
	}
	s = n.mem.Load()
	s.pins++
	return s, s.buffer(d), at, nil
}

func (d *Device) unpin(s *storage) {
	d.lock.must()
	s.unpin()
	d.lock.Unlock()
}

// onHost returns memory of the program that has the elements of e, of a leaf, at layout l, or nil if they are on the
// device.
func (e Edge) onHost() (src []byte, l backend.Layout, err error) {
	n := e.Node
	n.Device.lock.must()
	defer n.Device.lock.Unlock()
	if err := n.available(); err != nil {
		return nil, l, err
	}
	switch n.kind {
	case kindConst:
		src = binary.LittleEndian.AppendUint64(nil, n.bits())
	case kindIndex: // element i is i
		src = make([]byte, 0, 8*e.Layout.Len())
		for _, at := range e.Layout.All() {
			src = binary.LittleEndian.AppendUint64(src, ops.IntValue(n.DType, int64(at)).Bits())[:len(src)+n.DType.Size()]
		}
		return src, backend.Dense(e.Layout.Shape), nil
	default:
		src, _ = n.attr.([]byte)
	}
	return src, *e.Layout, nil
}

// pack copies the elements of src at l, of size bytes each, to dst one after the other.
func pack(dst, src []byte, l backend.Layout, size int) {
	if l.IsDense() {
		copy(dst, src[l.Offset*size:])
		return
	}
	for i, at := range l.All() {
		copy(dst[i*size:(i+1)*size], src[at*size:])
	}
}
