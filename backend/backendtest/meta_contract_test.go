package backendtest

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A broken backend is the reference with one promise broken.
type (
	deafToCancel  struct{ *reference }
	forgetsWrites struct{ *reference }
	wrongError    struct{ *reference }
	neverCloses   struct{ *reference }
	panics        struct{ *reference }
	leaks         struct{ *reference }
	dropsSteps    struct{ *reference }
)

func (b deafToCancel) Run(_ context.Context, s []backend.Step) error {
	return b.reference.Run(context.Background(), s)
}

func (b deafToCancel) Read(_ context.Context, dst []byte, src backend.Buffer, off int) error {
	return b.reference.Read(context.Background(), dst, src, off)
}

func (b forgetsWrites) Write(dst backend.Buffer, off int, src []byte) error {
	if off > 0 {
		return nil
	}
	return b.reference.Write(dst, off, src)
}

func (b wrongError) Alloc(n int) (backend.Buffer, error) {
	buf, err := b.reference.Alloc(n)
	if err != nil {
		return nil, errors.New("no")
	}
	return buf, nil
}

func (b neverCloses) Close() error { return nil }

func (b panics) Run(ctx context.Context, s []backend.Step) error {
	if err := b.reference.Run(ctx, s); err != nil {
		panic(err)
	}
	return nil
}

func (b leaks) Info() backend.Info {
	i := b.reference.Info()
	i.BytesInUse = i.BytesPeak + int(i.Kernels)
	return i
}

func (b dropsSteps) Run(ctx context.Context, s []backend.Step) error {
	return b.reference.Run(ctx, s[:min(len(s), 100)])
}

// TestBrokenPromises shows that the suite catches each.
func TestBrokenPromises(t *testing.T) {
	for _, c := range []struct {
		name string
		b    backend.Backend
		part func(*suite, tb)
	}{
		{"deaf to cancelling", deafToCancel{&reference{}}, (*suite).testCancelled},
		{"forgets writes", forgetsWrites{&reference{}}, (*suite).testMemory},
		{"wrong kind of error", wrongError{&reference{}}, (*suite).testAbsurd},
		{"never closes", neverCloses{&reference{}}, (*suite).testClose},
		{"panics", panics{&reference{}}, (*suite).testMalformed},
		{"leaks", leaks{&reference{}}, (*suite).testRelease},
		{"drops steps", dropsSteps{&reference{}}, (*suite).testOrder},
	} {
		s := newSuite(c.b)
		s.short = true
		r := newRecorder("broken")
		r.Run(c.name, func(t tb) { c.part(s, t) })
		if len(*r.errors) == 0 {
			t.Errorf("%s: not caught", c.name)
		}
	}
}

// none is a backend that supports no kernel.
type none struct{ *reference }

func (none) Supports(backend.Kernel) bool { return false }

// TestSkips shows that kernels a backend lacks are counted, and are failures if it has to be strict.
func TestSkips(t *testing.T) {
	for _, strict := range []bool{false, true} {
		s := newSuite(none{&reference{}})
		s.short, s.strict = true, strict
		r := newRecorder("none")
		r.Run("parts", func(t tb) {
			for _, p := range parts {
				p.run(s, t)
			}
		})
		if failed := len(*r.errors) > 0; failed != strict {
			t.Errorf("strict %v: failed %v", strict, failed)
		}
		if s.kept != 0 || len(s.skips) < 8 {
			t.Errorf("%d kernels run, skipped%s", s.kept, s.skipped())
		}
	}
}

// flusher is the reference as a device that takes subnormal numbers for 0.
type flusher struct {
	*mutant
	says bool
}

func (f flusher) Info() backend.Info {
	i := f.reference.Info()
	if f.says {
		i.Features = append(i.Features, backend.FlushesSubnormals)
	}
	return i
}

// flush replaces subnormal numbers of an operand by 0.
func flush(o backend.Operand) {
	if o.Buf == nil || !flushes(o.DType) {
		return
	}
	mem := o.Buf.(*refBuffer).data
	for _, at := range o.Layout.All() {
		if v := load(o.DType, mem, at); math.Abs(v.F) < leastNormal {
			v.F = math.Copysign(0, v.F)
			store(mem, at, v)
		}
	}
}

// TestFlushing shows that a device may lose subnormal numbers if it says so.
func TestFlushing(t *testing.T) {
	for _, says := range []bool{false, true} {
		f := flusher{says: says, mutant: &mutant{reference: &reference{}, spoil: func(s *backend.Step, _ [][]byte) { flush(s.Out[0]) }}}
		f.change = func(s *backend.Step) {
			for i, o := range s.In {
				if o.Buf != nil {
					b := o.Buf.(*refBuffer)
					s.In[i].Buf = &refBuffer{owner: b.owner, data: slices.Clone(b.data), size: b.size}
					flush(s.In[i])
				}
			}
		}
		s := newSuite(f)
		s.short = true
		r := newRecorder("flush")
		r.Run("parts", func(t tb) {
			for _, p := range parts {
				p.run(s, t)
			}
			s.testCopy(t)
			s.testOpOn(t, ops.Mul, ops.BFloat16)
			s.testOpOn(t, ops.Less, ops.Float32)
		})
		if failed := len(*r.errors) > 0; failed == says {
			t.Errorf("says %v: failed %v: %v (WEFT_SEED=%d)", says, failed, *r.errors, s.seed)
		}
	}
}
