package graph

import (
	"fmt"
	"runtime"

	"github.com/weft-go/weft/backend"
)

// A storage is the memory of a result. The collector gives it back once no node holds it.
type storage struct {
	buf  backend.Buffer // nil as long as no kernel has read what was computed without a plan, and data has it
	data []byte         // the same, where it is the program's own

	// pins counts those who use the memory at the moment, outside the lock of the device: it is neither
	// given back nor written over meanwhile.
	pins int32

	released bool            // Release was called
	cleanup  runtime.Cleanup // gives buf back
}

// newStorage returns a storage of buf, of device d, that gives it back when it is reached no more.
func newStorage(d *Device, buf backend.Buffer) *storage {
	s := &storage{buf: buf}
	if d.applier != nil {
		s.data, _ = d.applier.Bytes(buf) // without it a plan reads buf, and tells what is wrong
	}
	if d, ok := buf.(backend.Dropper); ok {
		if drop := d.OnDrop(); drop != nil {
			s.cleanup = runtime.AddCleanup(s, func(drop func()) { drop() }, drop)
		}
	} else {
		s.cleanup = runtime.AddCleanup(s, backend.Buffer.Release, buf)
	}
	return s
}

// smallStorage returns a storage of so many bytes of the program's memory. Few of them are in one piece of memory with it.
func smallStorage(bytes int) *storage {
	if bytes > line {
		return &storage{data: make([]byte, bytes)}
	}
	s := new(struct {
		storage
		room [line]byte
	})
	s.data = s.room[:bytes]
	return &s.storage
}

// buffer returns the memory as the backend of d knows it. The caller holds the lock of d.
func (s *storage) buffer(d *Device) backend.Buffer {
	if s.buf == nil {
		s.buf = d.host.Wrap(s.data)
	}
	return s.buf
}

// unpin ends a use; the caller holds the lock of the device.
func (s *storage) unpin() {
	if s.pins--; s.pins == 0 && s.released {
		s.free()
	}
}

func (s *storage) free() {
	s.cleanup.Stop()
	s.data = nil
	if s.buf != nil {
		s.buf.Release()
	}
}

// Release gives the memory of n back now, instead of when the collector finds that nobody can reach it. To
// use n later, in a node not yet computed or to read it, is an error of kind [backend.ErrDevice]. A node
// that is not computed loses the right to be.
func Release(n *Node) {
	d := n.Device
	d.lock.must()
	defer d.lock.Unlock()
	if n.gone != 0 {
		return
	}
	n.gone = goneReleased
	s := n.mem.Load()
	if s == nil {
		return
	}
	s.released = true
	if s.pins == 0 {
		s.free()
	}
}

// available returns an error if the result of n can be had no more.
func (n *Node) available() error {
	switch n.gone {
	case goneReleased:
		return fmt.Errorf("graph: %s %v was released: %w", n.DType, n.Layout.Shape, backend.ErrDevice)
	case goneTorn, goneOverwritten:
		return fmt.Errorf("graph: this version of the variable %s %v was overwritten by a later one: %w",
			n.DType, n.Layout.Shape, backend.ErrDevice)
	}
	return nil
}
