package graph

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
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
	wraps    bool // whether it is given data of the program in place
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
	return backend.Info{Name: "fake", MaxOperands: f.limit, BytesInUse: f.live, BytesPeak: f.peak,
		Kernels: int64(len(f.kernels)), Compiled: int64(len(f.seen))}
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

// runRows runs a program whose rows are the axes of the domain from kept on. Outputs of row values are
// checked to be constant along the last axes.
func runRows(s *backend.Step, e *ops.Expr, kept, axes int) error {
	in := make([]operandView, len(s.In))
	for i := range in {
		if in[i] = view(s.In[i]); !s.In[i].Layout.Shape.Equal(s.Shape) {
			return fmt.Errorf("operand of shape %v in a domain of %v", s.In[i].Layout.Shape, s.Shape)
		}
	}
	for i, o := range s.Out {
		if !o.Layout.Shape.Equal(s.Shape) {
			return fmt.Errorf("result of shape %v in a domain of %v", o.Layout.Shape, s.Shape)
		}
		row := e.Code[e.Out[i]].Row
		if row != constant(o.Layout, kept) && axes > 0 && s.Shape[kept:].Len() > 1 {
			return fmt.Errorf("result %d: row value %v, layout %v", i, row, o.Layout)
		}
		l := o.Layout
		if row {
			l = head(l, kept)
		}
		if !injective(l) {
			return fmt.Errorf("result %d: layout %v is not injective", i, l)
		}
	}
	n := s.Shape[kept:].Len()
	for r := range s.Shape[:kept].Len() {
		vals, err := evalRow(s, e, in, r, n, kept)
		if err != nil {
			return err
		}
		for i, o := range s.Out {
			ov := operandView{Operand: o}
			v := vals[e.Out[i]]
			if e.Code[e.Out[i]].Row {
				ov.set(positions(head(o.Layout, kept))[r], v[0])
				continue
			}
			pos := positions(o.Layout)
			for j := range n {
				ov.set(pos[r*n+j], v[j%len(v)])
			}
		}
	}
	return nil
}

func injective(l backend.Layout) bool {
	seen := map[int]bool{}
	for _, p := range positions(l) {
		if seen[p] {
			return false
		}
		seen[p] = true
	}
	return true
}

// evalRow returns the values of a program in row r of n elements: one of each constant and row value, else n.
func evalRow(s *backend.Step, e *ops.Expr, in []operandView, r, n, kept int) ([][]ops.Value, error) {
	vals := make([][]ops.Value, len(e.Code))
	for i := range e.Code {
		c := &e.Code[i]
		width := n
		if c.Row || c.Kind == ops.Const {
			width = 1
		}
		out := make([]ops.Value, width)
		switch c.Kind {
		case ops.Load, ops.Index:
			o := &in[c.Args[0]]
			pos := o.pos
			if c.Row {
				if !constant(o.Layout, kept) {
					return nil, fmt.Errorf("operand %d varies along the row: %v", c.Args[0], o.Layout)
				}
				pos = positions(head(o.Layout, kept))
			}
			for j := range out {
				if c.Kind == ops.Load {
					out[j] = o.at(pos[r*width+j])
				} else {
					out[j] = ops.IntValue(c.DType, int64(pos[r*width+j]))
				}
			}
		case ops.Const:
			out[0] = ops.FromBits(c.DType, s.Consts[c.Args[0]])
		case ops.Apply, ops.Cast:
			for j := range out {
				var args [3]ops.Value
				for k, a := range c.Operands() {
					args[k] = vals[a][j%len(vals[a])]
				}
				if c.Kind == ops.Cast {
					out[j] = args[0].Convert(c.DType)
				} else {
					out[j] = c.Op.Eval(args[:c.Op.Arity]...)
				}
			}
		case ops.Reduce:
			if e.Code[c.Args[0]].Row {
				return nil, fmt.Errorf("reduction of a row value")
			}
			out[0] = fold(c.Red, c.DType, repeatTo(vals[c.Args[0]], n))
		case ops.Scan:
			out = scan(c, repeatTo(vals[c.Args[0]], n))
		}
		vals[i] = out
	}
	return vals, nil
}

func repeatTo(v []ops.Value, n int) []ops.Value {
	out := make([]ops.Value, n)
	for i := range out {
		out[i] = v[i%len(v)]
	}
	return out
}

// fold reduces vs; the empty reduction is the identity.
func fold(op ops.ReduceOp, d ops.DType, vs []ops.Value) ops.Value {
	var f float64
	var n int64
	if op == ops.ReduceProd || op == ops.ReduceAll {
		f, n = 1, 1
	}
	if op == ops.ReduceLogAddExp {
		f = math.Inf(-1)
	}
	for i, v := range vs {
		switch {
		case op == ops.ReduceArgMax || op == ops.ReduceArgMin:
			if best := vs[n]; i > 0 && !isNaN(best) && (isNaN(v) || less(best, v) == (op == ops.ReduceArgMax) && less(best, v) != less(v, best)) {
				n = int64(i)
			}
		case op == ops.ReduceMax || op == ops.ReduceMin:
			if i == 0 || !math.IsNaN(f) && (isNaN(v) || (v.Float() > f) == (op == ops.ReduceMax) && v.Float() != f) {
				f, n = v.F, v.I
			}
			if !d.IsFloat() {
				f = float64(n)
			}
		case op == ops.ReduceSum:
			f, n = f+v.F, n+v.I
		case op == ops.ReduceProd:
			f, n = f*v.F, n*v.I
		case op == ops.ReduceAny:
			n |= v.I
		case op == ops.ReduceAll:
			n &= v.I
		case op == ops.ReduceLogAddExp:
			hi, lo := math.Max(f, v.F), math.Min(f, v.F)
			if f = hi; !math.IsInf(hi, 0) {
				f += math.Log1p(math.Exp(lo - hi))
			}
		}
	}
	if d.IsFloat() {
		return ops.FloatValue(d, f)
	}
	return ops.IntValue(d, n)
}

func isNaN(v ops.Value) bool   { return v.DType.IsFloat() && math.IsNaN(v.F) }
func less(a, b ops.Value) bool { return a.Float() < b.Float() }

func scan(c *ops.Instr, vs []ops.Value) []ops.Value {
	n := len(vs)
	at := func(i int) int {
		if c.Reverse {
			return n - 1 - i
		}
		return i
	}
	run := make([]ops.Value, n)
	for i := range run {
		run[i] = vs[at(i)]
	}
	out := make([]ops.Value, n)
	for i := range out {
		end := i + 1
		if c.Exclusive {
			end = i
		}
		out[at(i)] = fold(c.Red, c.DType, run[:end])
	}
	return out
}

// element runs an elementwise program at element i.
func element(e *ops.Expr, in []operandView, consts []uint64, i int, first *ops.Value) []ops.Value {
	k := 0
	if first != nil {
		k = 1
	}
	return e.Eval(func(o int) ops.Value {
		if o < k {
			return *first
		}
		return in[o-k].at(in[o-k].pos[i])
	}, func(o int) int64 { return int64(in[o-k].pos[i]) }, consts)
}

func views(os []backend.Operand) []operandView {
	vs := make([]operandView, len(os))
	for i := range vs {
		vs[i] = view(os[i])
	}
	return vs
}

func runMatMul(s *backend.Step, k *backend.MatMul) error {
	na, nb := len(k.A.In), len(k.B.In)
	a, b, rest, out := views(s.In[:na]), views(s.In[na:na+nb]), views(s.In[na+nb:]), views(s.Out)
	r := len(s.Shape)
	m, n := s.Shape[r-2], s.Shape[r-1]
	inner := a[0].Layout.Shape[r-1]
	for i := range s.Shape.Len() {
		batch, row, col := i/(m*n), i/n%m, i%n
		var f float64
		var w int64
		for j := range inner {
			x := element(&k.A, a, s.Consts, (batch*m+row)*inner+j, nil)[0]
			y := element(&k.B, b, s.Consts, (batch*inner+j)*n+col, nil)[0]
			f, w = f+x.F*y.F, w+x.I*y.I
		}
		sum := ops.IntValue(k.Acc, w)
		if k.Acc.IsFloat() {
			sum = ops.FloatValue(k.Acc, f)
		}
		for o, v := range element(&k.Post, rest, s.Consts, i, &sum) {
			out[o].set(out[o].pos[i], v)
		}
	}
	return nil
}

func runGather(s *backend.Step, k *backend.Gather) error {
	src, index, rest, out := view(s.In[0]), view(s.In[1]), views(s.In[2:]), views(s.Out)
	n := src.Layout.Shape[len(s.Shape)]
	for i := range s.Shape.Len() {
		at := int(index.at(index.pos[i]).I)
		if at < 0 {
			at += n
		}
		x := src.at(src.pos[i*n+at])
		for o, v := range element(&k.Post, rest, s.Consts, i, &x) {
			out[o].set(out[o].pos[i], v)
		}
	}
	return nil
}
