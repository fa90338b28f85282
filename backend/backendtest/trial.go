package backendtest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A trial is one step, the content of its memory, and how far its results may be from the reference's.
type trial struct {
	name   string
	kernel backend.Kernel
	shape  backend.Shape
	in     []operand
	out    []operand
	consts []ops.Value

	// A kernel that applies one operation to its operands is judged by that operation's row; args gives
	// the operands for element i.
	op   *ops.Op
	args func(i int) []ops.Value

	// Other results may be ulp units in the last place off, or bound times the rounding unit of the type
	// they are summed in, times what the same kernel gives for the absolute values of its inputs; or abs times
	// that unit.
	ulp, bound, abs float64

	signs bool // 0 and -0 are not the same
}

// An operand is a tensor of a trial, and its memory: what lies outside its elements is poisoned. An input
// that is asked for positions alone has none.
type operand struct {
	dtype  ops.DType
	how    string // the arrangement of layout
	layout backend.Layout
	cells  backend.Layout // of an output: its elements, once each, where layout repeats them along a row
	mem    []byte
}

// types returns the element types of a trial, as "float32, int32 → bool".
func (tr *trial) types() string {
	var b strings.Builder
	for i, o := range tr.in {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(o.dtype.String())
	}
	b.WriteString(" →")
	for _, o := range tr.out {
		b.WriteString(" " + o.dtype.String())
	}
	return b.String()
}

// step returns the trial as a step on the given buffers.
func (tr *trial) step(in, out []backend.Buffer) backend.Step {
	st := backend.Step{Kernel: tr.kernel, Shape: tr.shape}
	for i, o := range tr.in {
		op := backend.Operand{DType: o.dtype, Layout: o.layout}
		if in[i] != nil {
			op.Buf = in[i]
		}
		st.In = append(st.In, op)
	}
	for i, o := range tr.out {
		st.Out = append(st.Out, backend.Operand{Buf: out[i], DType: o.dtype, Layout: o.layout})
	}
	for _, c := range tr.consts {
		st.Consts = append(st.Consts, c.Bits())
	}
	return st
}

// want returns the memory of the outputs as the reference leaves it. With magnitudes the inputs and
// constants are replaced by their absolute values.
func (tr *trial) want(magnitudes bool) ([][]byte, error) {
	t := *tr
	var in, out []backend.Buffer
	run := step{ctx: context.Background()}
	if magnitudes {
		t.consts = slices.Clone(tr.consts)
		for i, c := range t.consts {
			t.consts[i].F = math.Abs(c.F)
		}
	}
	_, indexed := t.kernel.(*backend.Scatter) // by input 1, which is no summand
	for i, o := range t.in {
		if o.mem == nil {
			in = append(in, nil)
			run.mem = append(run.mem, nil)
			continue
		}
		mem := o.mem
		if magnitudes && o.dtype.Quantized() {
			mem = absoluteBlocks(o.dtype, mem)
		}
		if magnitudes && o.dtype.Signed() && !(indexed && i == 1) {
			mem = slices.Clone(mem)
			_, greatest := ops.IntRange(o.dtype)
			for _, at := range o.layout.All() {
				v := load(o.dtype, o.mem, at)
				v.F, v.I = math.Abs(v.F), max(v.I, -max(v.I, -greatest))
				store(mem, at, v)
			}
		}
		in = append(in, &refBuffer{data: mem, size: len(mem)})
		run.mem = append(run.mem, mem)
	}
	var outs [][]byte
	for _, o := range t.out {
		mem := slices.Clone(o.mem)
		outs = append(outs, mem)
		out = append(out, &refBuffer{data: mem, size: len(mem)})
		run.mem = append(run.mem, mem)
	}
	st := t.step(in, out)
	run.Step = &st
	return outs, run.run()
}

// check runs the trials on the backend, in batches, and compares.
func (s *suite) check(t tb, trials ...*trial) {
	t.Helper()
	const most, mostBytes = 64, 16 << 20 // of a batch
	var batch []*trial
	bytes := 0
	for _, tr := range trials {
		if !s.b.Supports(tr.kernel) {
			s.skip(t, tr)
			continue
		}
		size := 0
		for _, o := range append(tr.in[:len(tr.in):len(tr.in)], tr.out...) {
			size += len(o.mem)
		}
		if len(batch) == most || len(batch) > 0 && bytes+size > mostBytes {
			s.batch(t, batch)
			batch, bytes = nil, 0
		}
		batch = append(batch, tr)
		bytes += size
	}
	s.batch(t, batch)
}

// batch runs trials as one list of steps.
func (s *suite) batch(t tb, trials []*trial) {
	t.Helper()
	if len(trials) == 0 {
		return
	}
	s.kept += len(trials)
	s.soil(t)
	ctx := context.Background()
	var buffers pile
	defer buffers.release()
	steps := make([]backend.Step, len(trials))
	for i, tr := range trials {
		in, out := s.upload(t, &buffers, tr.in), s.upload(t, &buffers, tr.out)
		steps[i] = tr.step(in, out)
	}
	if err := s.b.Run(ctx, steps); err != nil {
		t.Errorf("%s: Run: %v", s.culprit(trials, steps), err)
		return
	}
	for i, tr := range trials {
		want := make([][]byte, len(tr.out))
		if tr.op == nil { // else the row judges
			var err error
			if want, err = tr.want(false); err != nil {
				t.Fatalf("%s: the suite's step is wrong: %v", tr.name, err)
			}
		}
		for o := range tr.out {
			got := make([]byte, len(tr.out[o].mem))
			if err := s.b.Read(ctx, got, steps[i].Out[o].Buf, 0); err != nil {
				t.Errorf("%s: Read: %v", s.culprit(trials, steps), err)
				return
			}
			s.compare(t, tr, o, got, want[o])
		}
		s.untouched(t, tr, steps[i].In)
	}
}

// untouched reports an error if an input is not what it was.
func (s *suite) untouched(t tb, tr *trial, in []backend.Operand) {
	t.Helper()
	for k, o := range tr.in {
		if len(o.mem) == 0 || len(o.mem) > 1<<16 {
			continue // large ones take long to read back, and show nothing more
		}
		got := make([]byte, len(o.mem))
		if err := s.b.Read(context.Background(), got, in[k].Buf, 0); err != nil {
			t.Errorf("%s: Read: %v", tr.name, err)
			return
		}
		if i := differs(got, o.mem); i >= 0 {
			t.Errorf("%s: input %d changed at byte %d", tr.name, k, i)
		}
	}
}

// culprit runs the steps one by one, and names the first that fails.
func (s *suite) culprit(trials []*trial, steps []backend.Step) string {
	ctx := context.Background()
	for i := range steps {
		err := s.b.Run(ctx, steps[i:i+1])
		if err == nil {
			err = s.b.Read(ctx, nil, steps[i].Out[0].Buf, 0)
		}
		if err != nil {
			return trials[i].name + " (" + trials[i].types() + ")"
		}
	}
	return fmt.Sprintf("%d kernels from %s on, none of which fails alone", len(trials), trials[0].name)
}

// A pile is buffers to release together.
type pile []backend.Buffer

func (p pile) release() {
	for _, b := range p {
		b.Release()
	}
}

// upload allocates and writes the memory of the operands.
func (s *suite) upload(t tb, p *pile, operands []operand) []backend.Buffer {
	t.Helper()
	bufs := make([]backend.Buffer, len(operands))
	for i, o := range operands {
		if o.mem != nil {
			bufs[i] = s.buffer(t, p, o.mem)
		}
	}
	return bufs
}

// buffer allocates a buffer that holds mem.
func (s *suite) buffer(t tb, p *pile, mem []byte) backend.Buffer {
	t.Helper()
	b, err := s.b.Alloc(len(mem))
	if err != nil {
		t.Fatalf("Alloc(%d): %v", len(mem), err)
	}
	*p = append(*p, b)
	if b.Size() != len(mem) {
		t.Errorf("Alloc(%d) gives a buffer of Size %d", len(mem), b.Size())
	}
	if err := s.b.Write(b, 0, mem); err != nil {
		t.Fatalf("Write of %d bytes: %v", len(mem), err)
	}
	return b
}

// soil fills memory that the backend may keep for reuse with NaN: a kernel that relies on zeros in fresh or
// temporary memory shows.
func (s *suite) soil(t tb) {
	t.Helper()
	var p pile
	for _, n := range []int{64, 1 << 12, 1 << 16} {
		s.buffer(t, &p, poisoned(n))
	}
	p.release()
}

func poisoned(n int) []byte {
	mem := make([]byte, n)
	for i := range mem {
		mem[i] = poison
	}
	return mem
}
