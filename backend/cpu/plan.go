package cpu

import (
	"sync"

	"github.com/weft-go/weft/ops"
)

// blockLen is the number of elements a block function works on at once: a few registers of them fit the
// first-level cache, and the cost of a call is small beside theirs.
const blockLen = 1024

// A plan is a program for operands of which some are known to be uniform: one element for all. What is
// computed from those and from constants alone is computed once, not for each element.
type plan struct {
	expr    *ops.Expr
	uniform []bool // of each value
	once    []call // computes the uniform values, one element each
	each    []call // computes a block of the others
	fills   []fillIn
	filled  map[ops.Ref]int32 // the entries of fills, by value
	light   bool              // arrays are read and written for longer than their elements are computed
	direct  []bool            // of each result: its value may be computed in its place in memory
	regs    []int             // of each entry: where its register begins in a frame, in bytes
	size    int               // bytes of a frame
	frames  sync.Pool
}

// A call is a block function on entries of a frame: values, or registers filled with a uniform value. With
// no function it loads operand x.
type call struct {
	fn         block
	z, x, y, w int32
}

// A fillIn is a register filled with a uniform value, for a block function that takes no lone element.
type fillIn struct {
	value int32
	entry int32
}

// newPlan compiles p for the operands in mask being uniform.
func newPlan(p *program, mask uint64) *plan {
	e := p.expr
	pl := &plan{
		expr:    e,
		uniform: make([]bool, len(e.Code)),
		direct:  make([]bool, len(e.Out)),
		filled:  make(map[ops.Ref]int32),
	}
	b := planner{plan: pl, prog: p, mask: mask, needed: needed(e)}
	for i := range e.Code {
		if b.needed[i] {
			b.emit(ops.Ref(i))
		}
	}
	claimed := make(map[ops.Ref]bool)
	for k, v := range e.Out {
		if pl.uniform[v] {
			b.fill(v)
			continue
		}
		computed := e.Code[v].Kind == ops.Apply || e.Code[v].Kind == ops.Cast
		pl.direct[k] = computed && !claimed[v]
		claimed[v] = true
	}
	pl.light = b.light()
	b.allocate()
	pl.frames.New = func() any { return newFrame(pl) }
	return pl
}

// needed reports which values the results of e depend on.
func needed(e *ops.Expr) []bool {
	n := make([]bool, len(e.Code))
	for _, v := range e.Out {
		n[v] = true
	}
	for i := len(e.Code) - 1; i >= 0; i-- {
		if n[i] {
			for _, a := range e.Code[i].Operands() {
				n[a] = true
			}
		}
	}
	return n
}

// light reports whether there are fewer functions than arrays that are read.
func (b *planner) light() bool {
	functions, arrays := 0, 0
	for i := range b.expr.Code {
		switch in := &b.expr.Code[i]; {
		case !b.needed[i] || b.uniform[i]:
		case in.Kind == ops.Load:
			arrays++
		case in.Kind == ops.Apply && isFunction(in.Op):
			functions++
		}
	}
	return functions < arrays
}

// isFunction reports whether o takes a polynomial rather than an instruction or two, which are more accurate.
func isFunction(o *ops.Op) bool { return o.Tol.ULP > 1 && o != ops.Div && o != ops.Reciprocal }

// A planner makes a plan.
type planner struct {
	*plan
	prog   *program
	mask   uint64
	needed []bool
}

// emit adds the call that computes v.
func (b *planner) emit(v ops.Ref) {
	in := &b.expr.Code[v]
	c := call{z: int32(v)}
	switch in.Kind {
	case ops.Const:
		b.uniform[v] = true
		return // the frame sets it
	case ops.Load, ops.Index:
		k := in.Args[0]
		b.uniform[v] = k < 64 && b.mask>>k&1 != 0
		c.x = int32(k)
	default:
		b.uniform[v] = true
		for _, a := range in.Operands() {
			b.uniform[v] = b.uniform[v] && b.uniform[a]
		}
		b.apply(&c, in, v)
	}
	if b.uniform[v] {
		b.once = append(b.once, c)
	} else {
		b.each = append(b.each, c)
	}
}

// apply chooses the block function for in, and fills registers with the uniform operands it cannot take.
func (b *planner) apply(c *call, in *ops.Instr, v ops.Ref) {
	fns := &b.prog.fns[v]
	args := in.Operands()
	to := [3]*int32{&c.x, &c.y, &c.w}
	for i, a := range args {
		*to[i] = int32(a)
	}
	c.fn = fns.v
	if b.uniform[v] {
		return
	}
	lone := 0
	for i, a := range args {
		if b.uniform[a] {
			lone |= 1 << i
		}
	}
	if fn := fns.lone[lone]; lone == 0 || fn != nil {
		if lone != 0 {
			c.fn = fn
		}
		return
	}
	for i, a := range args {
		if b.uniform[a] {
			*to[i] = b.fill(a)
		}
	}
}

// fill returns the entry of a register filled with the uniform value v.
func (b *planner) fill(v ops.Ref) int32 {
	if e, ok := b.filled[v]; ok {
		return e
	}
	e := int32(len(b.expr.Code) + len(b.fills))
	b.fills = append(b.fills, fillIn{value: int32(v), entry: e})
	b.filled[v] = e
	return e
}

// allocate gives each entry a register. Two values share one if the first is not read after the second
// is made, and their elements are of one size, so that a block function may work in place.
func (b *planner) allocate() {
	e := b.expr
	n := len(e.Code)
	b.regs = make([]int, n+len(b.fills))
	take := func(bytes int) int {
		at := b.size
		b.size += (bytes + alignment - 1) / alignment * alignment
		return at
	}
	for v := range n {
		if b.uniform[v] {
			b.regs[v] = take(8)
		}
	}
	for _, f := range b.fills {
		b.regs[f.entry] = take(blockLen * regSize(e.Code[f.value].DType))
	}
	last := b.lastUses()
	var free [9][]int // registers by element size
	for i, c := range b.each {
		size := regSize(e.Code[c.z].DType)
		if c.fn != nil {
			for _, x := range e.Code[c.z].Operands() {
				if !b.uniform[x] && last[x] == i {
					last[x] = -1 // an operand may be named twice
					s := regSize(e.Code[x].DType)
					free[s] = append(free[s], b.regs[x])
				}
			}
		}
		if f := free[size]; len(f) > 0 {
			b.regs[c.z], free[size] = f[len(f)-1], f[:len(f)-1]
		} else {
			b.regs[c.z] = take(blockLen * size)
		}
	}
}

// lastUses returns for each value the last call of each that reads it: none for results, which are read
// at the end.
func (b *planner) lastUses() []int {
	last := make([]int, len(b.expr.Code))
	for i, c := range b.each {
		if c.fn != nil {
			for _, x := range b.expr.Code[c.z].Operands() {
				last[x] = i
			}
		}
	}
	for _, v := range b.expr.Out {
		last[v] = len(b.each)
	}
	return last
}
