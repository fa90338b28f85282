package backendtest

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/weft-go/weft/backend"
)

// refMaxBytes bounds a buffer of the reference, so that an absurd size is an error and not the end of the
// process.
const refMaxBytes = min(1<<31, math.MaxInt)

// Reference returns a new backend that computes every kernel by its definition: elementwise operations by
// the rows of package ops, sums in twice the precision of float64, one element after the other. It is slow
// and has no memory of its own kind ([backend.HostBackend]), so that programs tested with it copy as they
// would to a GPU. It checks each step, and every index of a gather.
func Reference() backend.Backend { return &reference{} }

type reference struct {
	mu     sync.Mutex // held while steps run: the order of calls is the order of effects
	closed bool
	info   backend.Info
}

// A refBuffer is memory of a reference. Its data is nil once released.
type refBuffer struct {
	owner *reference
	data  []byte
	size  int
}

// Size implements [backend.Buffer].
func (m *refBuffer) Size() int { return m.size }

// Release implements [backend.Buffer].
func (m *refBuffer) Release() {
	m.owner.mu.Lock()
	defer m.owner.mu.Unlock()
	if m.data != nil {
		m.owner.info.BytesInUse -= m.size
		m.data = nil
	}
}

// Info implements [backend.Backend].
func (r *reference) Info() backend.Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	info := r.info
	info.Name, info.Adapter, info.MaxBytes, info.Software = "reference", "definitions", refMaxBytes, true
	return info
}

// Supports implements [backend.Backend]: the reference runs every well-formed kernel.
func (r *reference) Supports(k backend.Kernel) bool {
	for _, e := range k.Bodies() {
		if e.Check() != nil {
			return false
		}
	}
	return true
}

// Alloc implements [backend.Backend].
func (r *reference) Alloc(bytes int) (backend.Buffer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, errClosed("alloc")
	case bytes < 0 || bytes > refMaxBytes:
		return nil, fmt.Errorf("backendtest: alloc of %d bytes, at most %d: %w", bytes, refMaxBytes, backend.ErrMemory)
	}
	r.info.BytesInUse += bytes
	r.info.BytesPeak = max(r.info.BytesPeak, r.info.BytesInUse)
	m := &refBuffer{owner: r, data: make([]byte, bytes), size: bytes}
	for i := range m.data {
		m.data[i] = poison // a program that relies on zeros is wrong
	}
	return m, nil
}

// Write implements [backend.Backend].
func (r *reference) Write(dst backend.Buffer, off int, src []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	mem, err := r.bytes("write", dst, off, len(src))
	copy(mem, src)
	return err
}

// Read implements [backend.Backend].
func (r *reference) Read(ctx context.Context, dst []byte, src backend.Buffer, off int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	mem, err := r.bytes("read", src, off, len(dst))
	copy(dst, mem)
	return err
}

// Run implements [backend.Backend].
func (r *reference) Run(ctx context.Context, steps []backend.Step) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errClosed("run")
	}
	for i := range steps {
		if err := r.step(ctx, &steps[i]); err != nil {
			return fmt.Errorf("backendtest: step %d (%s over %v): %w", i, family(steps[i].Kernel), steps[i].Shape, err)
		}
		r.info.Kernels++
	}
	return ctx.Err()
}

// Close implements [backend.Backend].
func (r *reference) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

func (r *reference) step(ctx context.Context, s *backend.Step) error {
	run := &step{Step: s, ctx: ctx}
	for _, o := range append(s.In[:len(s.In):len(s.In)], s.Out...) {
		var mem []byte
		if o.Buf != nil {
			var err error
			if mem, err = r.bytes("operand", o.Buf, 0, o.Buf.Size()); err != nil {
				return err
			}
		}
		run.mem = append(run.mem, mem)
	}
	return run.run()
}

// bytes returns n bytes of b from off on. The caller holds the lock.
func (r *reference) bytes(op string, b backend.Buffer, off, n int) ([]byte, error) {
	m, ok := b.(*refBuffer)
	switch {
	case r.closed:
		return nil, errClosed(op)
	case !ok || m == nil || m.owner != r:
		return nil, fmt.Errorf("backendtest: %s: buffer of another device: %w", op, backend.ErrDevice)
	case m.data == nil:
		return nil, fmt.Errorf("backendtest: %s: buffer was released: %w", op, backend.ErrDevice)
	case off < 0 || off > m.size || n > m.size-off:
		return nil, fmt.Errorf("backendtest: %s of %d bytes at %d of a buffer of %d: %w", op, n, off, m.size, backend.ErrShape)
	}
	return m.data[off : off+n], nil
}

func errClosed(op string) error {
	return fmt.Errorf("backendtest: %s: device is closed: %w", op, backend.ErrDevice)
}

func family(k backend.Kernel) string {
	if k == nil {
		return "no kernel"
	}
	return k.Family()
}
