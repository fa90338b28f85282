package backendtest

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// runAndRead runs steps and returns the content of b.
func (s *suite) runAndRead(t tb, what string, steps []backend.Step, b backend.Buffer) []byte {
	t.Helper()
	got := make([]byte, b.Size())
	if err := s.b.Run(context.Background(), steps); err != nil {
		t.Errorf("%s: Run: %v", what, err)
	} else if err := s.b.Read(context.Background(), got, b, 0); err != nil {
		t.Errorf("%s: Read: %v", what, err)
	}
	return got
}

// testChains tests random programs: run as one kernel and one instruction at a time they must give the same
// bits, because every result is rounded to its type.
func (s *suite) testChains(t tb) {
	count := 300
	if s.short {
		count = 40
	}
	for i := range count {
		s.leaf(t, fmt.Sprint(i), func(t tb) {
			in := s.draw(t)
			home := []ops.DType{ops.Float32, ops.Float32, ops.Float16, ops.BFloat16, ops.Float64, ops.Int32, ops.Uint32, ops.Int64, ops.Uint8, ops.Int8}
			c := newChain(in, home[i%len(home)])
			c.grow(3 + in.IntN(30))
			s.checkChain(t, c)
		})
	}
}

// A chain is a random program and the trial that runs it.
type chain struct {
	in   *inputs
	b    ops.Builder
	home ops.DType // of most values
	tr   trial
}

func newChain(in *inputs, home ops.DType) *chain {
	c := &chain{in: in, home: home}
	c.tr.name = "chain"
	c.tr.shape = sample(in, []backend.Shape{{}, {5}, {3, 4, 5}, {1025}, {33, 65}}, 1)[0]
	for range 1 + in.IntN(3) {
		d := home
		if in.IntN(4) == 0 {
			d = sample(in, []ops.DType{ops.Bool, ops.Int32, ops.Float32, home}, 1)[0]
		}
		c.b.Load(c.b.Operand(d), false)
		c.tr.in = append(c.tr.in, in.tensor(d, sample(in, readable, 1)[0], c.tr.shape, in.any))
	}
	if in.IntN(2) == 0 {
		how := sample(in, readable, 1)[0]
		c.b.Index(c.b.Operand(ops.Int32), ops.Int32, false)
		c.tr.in = append(c.tr.in, operand{dtype: ops.Int32, how: how, layout: arrange(how, c.tr.shape)})
	}
	return c
}

// pick returns a value of type d: one of the program's, cast if need be, or a constant.
func (c *chain) pick(d ops.DType) ops.Ref {
	if c.in.IntN(5) == 0 {
		c.tr.consts = append(c.tr.consts, ops.FromBits(d, c.in.ordinary(d, 0)))
		return c.b.Const(len(c.tr.consts)-1, d)
	}
	n := c.b.Len()
	v := ops.Ref(max(0, n-1-c.in.IntN(min(n, 6)))) // mostly recent ones, for depth
	return c.b.Cast(d, v)
}

// grow adds n operations, and makes some values results.
func (c *chain) grow(n int) {
	rows := ops.All()
	for range n {
		o := rows[c.in.IntN(len(rows))]
		d := c.home
		if c.in.IntN(8) == 0 {
			d = ops.Int32
		}
		types := operandTypes(o, d)
		if arg, _, err := o.Infer(types...); err != nil || arg != d {
			continue
		}
		refs := make([]ops.Ref, o.Arity)
		for k, d := range types {
			refs[k] = c.pick(d)
		}
		c.b.Apply(o, refs...)
	}
	last := ops.Ref(c.b.Len() - 1)
	c.result(last)
	for range c.in.IntN(3) {
		c.result(ops.Ref(c.in.IntN(int(last) + 1)))
	}
	c.tr.kernel = &backend.Map{Body: c.b.Expr()}
}

func (c *chain) result(v ops.Ref) {
	c.b.Result(v)
	c.tr.out = append(c.tr.out, c.in.blank(c.b.DType(v), sample(c.in, writable, 1)[0], c.tr.shape))
}

// checkChain runs the chain as one kernel and as one kernel an instruction.
func (s *suite) checkChain(t tb, c *chain) {
	t.Helper()
	program := &c.tr.kernel.(*backend.Map).Body
	if err := program.Check(); err != nil {
		t.Fatalf("the suite's program is wrong: %v", err)
	}
	if !s.b.Supports(c.tr.kernel) {
		s.skip(t, &c.tr)
		return
	}
	var buffers pile
	defer buffers.release()
	in, out := s.upload(t, &buffers, c.tr.in), s.upload(t, &buffers, c.tr.out)
	fused := c.tr.step(in, out)
	single := single{chain: c, program: program, in: fused.In, consts: fused.Consts, at: make([]backend.Operand, len(program.Code))}
	steps := []backend.Step{fused}
	for i := range program.Code {
		st, ok := single.step(s, t, &buffers, i)
		if ok && !s.b.Supports(st.Kernel) {
			t.Logf("instruction %d (%s) is supported in a chain alone", i, program.Code[i].String())
			return
		}
		if ok {
			steps = append(steps, st)
		}
	}
	if err := s.b.Run(context.Background(), steps); err != nil {
		t.Errorf("Run of %d steps: %v\n%s", len(steps), err, program)
		return
	}
	s.kept++
	for o, r := range program.Out {
		got, want := s.read(t, fused.Out[o].Buf), s.read(t, single.at[r].Buf)
		d := c.tr.out[o].dtype
		for i, at := range c.tr.out[o].layout.All() {
			if g, w := load(d, got, at), load(d, want, i); !sameBits(g, w) {
				t.Errorf("result %d of a chain, %s, element %v of %v: fused %s, one instruction at a time %s\n%s\nWEFT_SEED=%d",
					o, describe(c.tr.out[o]), unravel(c.tr.shape, i), c.tr.shape, show(g), show(w), program, s.seed)
				break
			}
		}
	}
}

// sameBits reports whether a and b are the same, any NaN being as good as another.
func sameBits(a, b ops.Value) bool { return a.Bits() == b.Bits() || a.F != a.F && b.F != b.F }

func (s *suite) read(t tb, b backend.Buffer) []byte {
	t.Helper()
	mem := make([]byte, b.Size())
	if err := s.b.Read(context.Background(), mem, b, 0); err != nil {
		t.Errorf("Read: %v", err)
	}
	return mem
}

// single runs a program one instruction at a time, each value in dense memory of its own.
type single struct {
	chain   *chain
	program *ops.Expr
	in      []backend.Operand
	consts  []uint64
	at      []backend.Operand // where each value is
}

// step returns the step that computes instruction i from the values before it. A constant that is no result
// needs none.
func (r *single) step(s *suite, t tb, buffers *pile, i int) (backend.Step, bool) {
	in := r.program.Code[i]
	shape := r.chain.tr.shape
	st := backend.Step{Shape: shape, Consts: r.consts}
	var b ops.Builder
	var v ops.Ref
	switch in.Kind {
	case ops.Load:
		v = b.Load(b.Operand(in.DType), false)
		st.In = r.in[in.Args[0] : in.Args[0]+1]
	case ops.Index:
		v = b.Index(b.Operand(in.DType), in.DType, false)
		st.In = r.in[in.Args[0] : in.Args[0]+1]
	case ops.Const:
		v = b.Const(int(in.Args[0]), in.DType)
	default:
		refs := make([]ops.Ref, len(in.Operands()))
		for k, a := range in.Operands() {
			refs[k] = b.Load(b.Operand(r.at[a].DType), false)
			st.In = append(st.In, r.at[a])
		}
		if in.Kind == ops.Cast {
			v = b.Cast(in.DType, refs[0])
		} else {
			v = b.Apply(in.Op, refs...)
		}
	}
	b.Result(v)
	o := r.chain.in.blank(in.DType, "dense", shape)
	r.at[i] = backend.Operand{Buf: s.buffer(t, buffers, o.mem), DType: in.DType, Layout: o.layout}
	st.Kernel, st.Out = &backend.Map{Body: b.Expr()}, []backend.Operand{r.at[i]}
	return st, true
}
