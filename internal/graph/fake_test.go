package graph

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A fake is a backend that runs kernels by the definitions of their operations: slow, and right to look at. It
// checks what it is given, and fails a test that gives it something wrong.
type fake struct {
	t        testing.TB
	refuse   func(backend.Kernel) bool // what it does not support
	before   func()                    // called before a run
	limit    int
	mu       sync.Mutex
	fail     error // of the next run
	live     int
	peak     int
	capacity int // bytes there are, when not 0
	writes   int
	kernels  []backend.Kernel        // run so far
	seen     map[backend.Kernel]bool // compiled so far
}

func newFake(t testing.TB) *fake { return &fake{t: t, seen: map[backend.Kernel]bool{}} }

type fakeBuffer struct {
	f    *fake
	data []byte
	dead bool
	lent bool
}

func (b *fakeBuffer) Size() int { return len(b.data) }

func (b *fakeBuffer) Release() {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	if b.dead || b.lent {
		return
	}
	b.dead = true
	b.f.live -= len(b.data)
	poison(b.data)
}

func poison(b []byte) {
	for i := range b {
		b[i] = 0xff // NaN in every float type
	}
}

func (f *fake) Info() backend.Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	return backend.Info{
		Name: "fake", MaxOperands: f.limit, BytesInUse: f.live, BytesPeak: f.peak,
		Kernels: int64(len(f.kernels)), Compiled: int64(len(f.seen)),
	}
}

func (f *fake) Supports(k backend.Kernel) bool { return f.refuse == nil || !f.refuse(k) }

func (f *fake) Alloc(bytes int) (backend.Buffer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.capacity > 0 && f.live+bytes > f.capacity {
		return nil, fmt.Errorf("fake: %d bytes, of which %d are taken: %w", f.capacity, f.live, backend.ErrMemory)
	}
	f.live += bytes
	f.peak = max(f.peak, f.live)
	b := &fakeBuffer{f: f, data: make([]byte, bytes)}
	poison(b.data)
	return b, nil
}

func (f *fake) Write(dst backend.Buffer, off int, src []byte) error {
	f.mu.Lock()
	f.writes++
	f.mu.Unlock()
	copy(dst.(*fakeBuffer).data[off:], src)
	return nil
}

func (f *fake) Read(_ context.Context, dst []byte, src backend.Buffer, off int) error {
	b := src.(*fakeBuffer)
	if b.dead {
		return fmt.Errorf("fake: read of a released buffer: %w", backend.ErrDevice)
	}
	copy(dst, b.data[off:])
	return nil
}

func (f *fake) Close() error { return nil }

// A wrapping is a fake whose memory is the program's own.
type wrapping struct{ *fake }

func (w wrapping) Wrap(b []byte) backend.Buffer {
	return &fakeBuffer{f: w.fake, data: b, lent: true}
}

func (w wrapping) Bytes(b backend.Buffer) ([]byte, error) { return b.(*fakeBuffer).data, nil }

func (f *fake) Run(ctx context.Context, steps []backend.Step) error {
	if f.before != nil {
		f.before()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	err := f.fail
	f.fail = nil
	for _, s := range steps {
		f.kernels = append(f.kernels, s.Kernel)
		f.seen[s.Kernel] = true
	}
	f.mu.Unlock()
	if err != nil {
		return err
	}
	for i := range steps {
		if err := runFake(&steps[i]); err != nil {
			f.t.Errorf("step %d (%s): %v\n%s", i, steps[i].Kernel.Family(), err, steps[i].Kernel.Bodies()[0])
			return err
		}
	}
	return nil
}

// runFake checks and runs one step.
func runFake(s *backend.Step) error {
	for _, e := range s.Kernel.Bodies() {
		if err := e.Check(); err != nil {
			return err
		}
	}
	if err := checkOperands(s); err != nil {
		return err
	}
	switch k := s.Kernel.(type) {
	case *backend.Map:
		return runRows(s, &k.Body, len(s.Shape), 0)
	case *backend.Reduce:
		for _, r := range k.Body.Out {
			if !k.Body.Code[r].Row {
				return fmt.Errorf("result of a reduce is not a row value")
			}
		}
		return runRows(s, &k.Body, len(s.Shape)-k.Axes, k.Axes)
	case *backend.Row:
		return runRows(s, &k.Body, len(s.Shape)-k.Axes, k.Axes)
	case *backend.Scan:
		return runRows(s, &k.Body, len(s.Shape)-1, 0)
	case *backend.MatMul:
		return runMatMul(s, k)
	case *backend.Gather:
		return runGather(s, k)
	}
	return fmt.Errorf("the fake does not run it")
}

func checkOperands(s *backend.Step) error {
	inputs := map[backend.Buffer]bool{}
	for i, o := range append(append([]backend.Operand(nil), s.In...), s.Out...) {
		if o.Buf == nil {
			if i >= len(s.In) {
				return fmt.Errorf("result without memory")
			}
			continue
		}
		b := o.Buf.(*fakeBuffer)
		if b.dead {
			return fmt.Errorf("operand %d was released", i)
		}
		if lo, hi := o.Layout.Bounds(); lo < 0 || (hi+1)*o.DType.Size() > len(b.data) {
			return fmt.Errorf("operand %d: %s %v beyond %d bytes", i, o.DType, o.Layout, len(b.data))
		}
		if i < len(s.In) {
			inputs[o.Buf] = true
		} else if inputs[o.Buf] {
			return fmt.Errorf("result %d is in the memory of an operand", i-len(s.In))
		}
	}
	return nil
}

func (o *operandView) at(pos int) ops.Value {
	n := o.DType.Size()
	var w [8]byte
	copy(w[:], o.Buf.(*fakeBuffer).data[pos*n:(pos+1)*n])
	return ops.FromBits(o.DType, binary.LittleEndian.Uint64(w[:]))
}

func (o *operandView) set(pos int, v ops.Value) {
	n := o.DType.Size()
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], v.Bits())
	copy(o.Buf.(*fakeBuffer).data[pos*n:(pos+1)*n], w[:n])
}

type operandView struct {
	backend.Operand
	pos []int // of the elements, in row-major order
}

func view(o backend.Operand) operandView { return operandView{o, positions(o.Layout)} }
