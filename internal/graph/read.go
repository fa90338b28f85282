package graph

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/backend"
)

// Read copies the elements of e to dst, row-major, after computing what they need. Dst has room for exactly
// those.
func Read(ctx context.Context, e Edge, dst []byte) error {
	buf, at, done, err := access(ctx, e)
	if err != nil {
		return err
	}
	defer done()
	d := e.Node.Device
	if err := d.b.Read(ctx, dst, buf, at); err != nil {
		return fmt.Errorf("graph: read of %d bytes from %s: %w", len(dst), d.name, err)
	}
	return nil
}

// Bytes returns the elements of e, row-major, after computing what they need. Where the memory of the device
// is the program's own and e is dense they are not copied: the caller must not write to them, and must
// keep e.Node reachable while using them.
func Bytes(ctx context.Context, e Edge) ([]byte, error) {
	size := e.Layout.Len() * e.Node.DType.Size()
	d := e.Node.Device
	if d.host == nil || !e.Layout.IsDense() {
		dst := make([]byte, size)
		return dst, Read(ctx, e, dst)
	}
	buf, at, done, err := access(ctx, e)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := d.b.Read(ctx, nil, buf, 0); err != nil { // waits for the kernels
		return nil, fmt.Errorf("graph: read from %s: %w", d.name, err)
	}
	all, err := d.host.Bytes(buf)
	if err != nil {
		return nil, fmt.Errorf("graph: memory of %s: %w", d.name, err)
	}
	return all[at : at+size : at+size], nil
}

// access computes e and returns the buffer that holds its elements, row-major from byte at on. The buffer
// stays valid until done is called.
func access(ctx context.Context, e Edge) (buf backend.Buffer, at int, done func(), err error) {
	n := e.Node
	d := n.Device
	if e.Layout.IsDense() {
		at = e.Layout.Offset * n.DType.Size()
	} else {
		n = Copy(e)
	}
	for {
		if err := Eval(ctx, n); err != nil {
			return nil, 0, nil, err
		}
		if err := d.lock.Lock(ctx); err != nil {
			return nil, 0, nil, err
		}
		if err := n.available(); err != nil {
			d.lock.Unlock()
			return nil, 0, nil, err
		}
		if s := n.mem.Load(); s != nil {
			s.pins++
			d.lock.Unlock()
			return s.buf, at, func() { d.unpin(s) }, nil
		}
		d.lock.Unlock()
	}
}

func (d *Device) unpin(s *storage) {
	if d.lock.Lock(context.Background()) == nil {
		s.unpin()
		d.lock.Unlock()
	}
}
