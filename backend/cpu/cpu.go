package cpu

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/weft-go/weft/backend"
)

func init() {
	backend.Register("cpu", backend.Registration{
		Open: func(index int) (backend.Backend, error) {
			if index != 0 {
				return nil, fmt.Errorf("cpu: no device %d, there is one: %w", index, backend.ErrDevice)
			}
			return New(), errInstructions
		},
	})
}

// A Backend is the processor as a device. Make one with [New]. Its methods may be called by several
// goroutines at once; runs are done when Run returns.
type Backend struct {
	memory   memory
	programs cache
	helpers  helpers
	kernels  atomic.Int64
	closed   atomic.Bool
}

var _ backend.HostBackend = (*Backend)(nil)

// New returns a Backend with memory and a cache of programs of its own.
func New() *Backend {
	b := &Backend{}
	b.memory.limit = memoryLimit()
	b.memory.poolCap = min(b.memory.limit/8, 1<<30)
	return b
}

// processor returns the name of the processor.
var processor = sync.OnceValue(processorName)

// Info implements [backend.Backend].
func (b *Backend) Info() backend.Info {
	i := backend.Info{
		Name:     "cpu",
		Adapter:  fmt.Sprintf("%s, %d threads, %s", processor(), runtime.GOMAXPROCS(0), instructions),
		MaxBytes: b.memory.limit,
		Kernels:  b.kernels.Load(),
		Compiled: b.programs.compiled.Load(),
	}
	b.memory.count(&i)
	return i
}

// Supports implements [backend.Backend]. Every family and element type is supported.
func (b *Backend) Supports(k backend.Kernel) bool {
	switch k.(type) {
	case *backend.Map, *backend.Reduce, *backend.Row, *backend.Scan,
		*backend.MatMul, *backend.Conv, *backend.Pool, *backend.Gather, *backend.Scatter, *backend.Sort, *backend.Attention:
		return true
	}
	return false
}

// Alloc implements [backend.Backend].
func (b *Backend) Alloc(bytes int) (backend.Buffer, error) {
	if b.closed.Load() {
		return nil, errClosed("alloc")
	}
	return b.memory.alloc(bytes)
}

// Wrap implements [backend.HostBackend].
func (b *Backend) Wrap(p []byte) backend.Buffer {
	buf := &buffer{owner: &b.memory, data: p, size: len(p), wrapped: true}
	buf.refs.Store(1)
	return buf
}

// Bytes implements [backend.HostBackend].
func (b *Backend) Bytes(buf backend.Buffer) ([]byte, error) {
	c, err := b.buffer(buf)
	if err != nil {
		return nil, fmt.Errorf("cpu: bytes: %w", err)
	}
	return c.bytes()
}

// Write implements [backend.Backend].
func (b *Backend) Write(dst backend.Buffer, off int, src []byte) error {
	p, c, err := b.section(dst, off, len(src))
	if err != nil {
		return fmt.Errorf("cpu: write: %w", err)
	}
	defer c.drop()
	copy(p, src)
	return nil
}

// Read implements [backend.Backend].
func (b *Backend) Read(ctx context.Context, dst []byte, src backend.Buffer, off int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, c, err := b.section(src, off, len(dst))
	if err != nil {
		return fmt.Errorf("cpu: read: %w", err)
	}
	defer c.drop()
	copy(dst, p)
	return nil
}

// Close implements [backend.Backend]. Memory of live buffers goes when they do.
func (b *Backend) Close() error {
	b.closed.Store(true)
	b.memory.trim(0)
	return nil
}

// buffer returns buf as a buffer of this backend.
func (b *Backend) buffer(buf backend.Buffer) (*buffer, error) {
	if b.closed.Load() {
		return nil, fmt.Errorf("device is closed: %w", backend.ErrDevice)
	}
	c, ok := buf.(*buffer)
	if !ok || c.owner != &b.memory {
		return nil, fmt.Errorf("buffer of another device: %w", backend.ErrDevice)
	}
	return c, nil
}

// section returns n bytes of buf from off on, and keeps them from reuse until c is dropped.
func (b *Backend) section(buf backend.Buffer, off, n int) (p []byte, c *buffer, err error) {
	c, err = b.buffer(buf)
	if err != nil {
		return nil, nil, err
	}
	if off < 0 || n > c.size-off {
		return nil, nil, fmt.Errorf("%d bytes at %d of a buffer of %d: %w", n, off, c.size, backend.ErrDevice)
	}
	if err := c.retain(); err != nil {
		return nil, nil, err
	}
	return c.data[off : off+n], c, nil
}

func errClosed(what string) error {
	return fmt.Errorf("cpu: %s: device is closed: %w", what, backend.ErrDevice)
}
