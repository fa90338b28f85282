package cpu

import "github.com/weft-go/weft/ops"

// A rowKernel is the body of a Reduce or Row kernel cut into programs without reductions. A reduction of
// depth d needs d-1 other reductions to be done before; phase d makes what the reductions of depth d+1
// reduce, and the last phase the results.
//
// Values that are one for the whole row are computed once a row, by the phase's rows program, and given to
// the elements program as an operand. A costly element that two phases need is kept by the first.
type rowKernel struct {
	phases  []phase
	results part  // results that are row values, after the last phase
	outs    []int // outputs of the kernel that those are

	orders

	rows map[ops.Ref]int // numbers of the row values that parts pass on
	kept map[ops.Ref]int // numbers of the elements that phases keep
}

// A phase is one pass over the elements of a row.
type phase struct {
	rows  part // row values that become known with the reductions before
	elems part // elements to reduce, elements to keep for later phases, and in the last phase results

	reduces []ops.Ref // reductions of the first results of elems
	reduced []int     // numbers of those as row values
	kept    []ops.Ref // values of the results after those
	outs    []int     // outputs of the kernel that are the results after those

	loads []int       // operands of elems that its results are, if they are nothing else
	quick *quickPhase // what does it at once, or nil
}

// A part is a program cut out of a body.
type part struct {
	*program
	expr ops.Expr
	args []arg
	vals []ops.Ref // what its results are in the body
}

// An arg is an operand of a part: an input of the kernel, or a value that another part made.
type arg struct {
	input int // -1 for a value
	value ops.Ref
}

// splitRows cuts e. The outputs that are row values are those of reductions alone (Reduce), or those so
// marked (Row).
func splitRows(e *ops.Expr, reduce bool) (*rowKernel, error) {
	s := splitter{e: e, depth: depths(e), made: map[ops.Ref]bool{}}
	for _, d := range s.depth {
		s.last = max(s.last, d)
	}
	k := &rowKernel{phases: make([]phase, s.last+1)}
	for i := range k.phases {
		for v := range e.Code {
			if e.Code[v].Kind == ops.Reduce && s.depth[v] == i+1 {
				k.phases[i].reduces = append(k.phases[i].reduces, ops.Ref(v))
			}
		}
	}
	final := &k.phases[s.last]
	for i, v := range e.Out {
		if reduce || e.Code[v].Row {
			k.outs = append(k.outs, i)
		} else {
			final.outs = append(final.outs, i)
		}
	}
	s.keep(k)
	s.cut(k)
	for i := range k.phases {
		k.phases[i].loads = k.phases[i].loaded()
		k.phases[i].quick = k.quick(&k.phases[i], e)
	}
	return k, k.compile()
}

func (k *rowKernel) compile() error {
	parts := []*part{&k.results}
	for i := range k.phases {
		parts = append(parts, &k.phases[i].rows, &k.phases[i].elems)
	}
	for _, p := range parts {
		var err error
		if p.program, err = compile(&p.expr); err != nil {
			return err
		}
	}
	return nil
}

// depths returns how many reductions each value of e waits for, one after the other.
func depths(e *ops.Expr) []int {
	depth := make([]int, len(e.Code))
	for v := range e.Code {
		in := &e.Code[v]
		for _, a := range in.Operands() {
			depth[v] = max(depth[v], depth[a])
		}
		if in.Kind == ops.Reduce {
			depth[v]++
		}
	}
	return depth
}

// A splitter cuts a body.
type splitter struct {
	e     *ops.Expr
	depth []int
	last  int
	made  map[ops.Ref]bool // values that a part gets as operands
}

// keep finds the values worth keeping from one phase to a later one.
func (s *splitter) keep(k *rowKernel) {
	computed := make([]int, len(s.e.Code)) // 1 + first phase that computes the value
	for i := range k.phases {
		ph := &k.phases[i]
		seen := map[ops.Ref]bool{}
		var visit func(v ops.Ref)
		visit = func(v ops.Ref) {
			in := &s.e.Code[v]
			if seen[v] || in.Row || in.Kind == ops.Reduce {
				return
			}
			seen[v] = true
			if first := computed[v] - 1; first >= 0 && first < i && s.cost(v) >= keepCost {
				if !s.made[v] {
					s.made[v] = true
					k.phases[first].kept = append(k.phases[first].kept, v)
				}
				return
			}
			if computed[v] == 0 {
				computed[v] = i + 1
			}
			for _, a := range in.Operands() {
				visit(a)
			}
		}
		for _, v := range s.elements(ph) {
			visit(v)
		}
	}
}

// elements returns what phase ph makes for its reductions and outputs.
func (s *splitter) elements(ph *phase) []ops.Ref {
	var vs []ops.Ref
	for _, r := range ph.reduces {
		vs = append(vs, s.e.Code[r].Args[0])
	}
	for _, o := range ph.outs {
		vs = append(vs, s.e.Out[o])
	}
	return vs
}

// keepCost is the cost from which on reading an element again is cheaper than computing it again.
const keepCost = 6

// cost estimates the work of computing the element v, in additions.
func (s *splitter) cost(v ops.Ref) int {
	in := &s.e.Code[v]
	c := 1
	switch {
	case in.Row || in.Kind == ops.Load || in.Kind == ops.Index || in.Kind == ops.Const:
		return 0
	case in.Kind == ops.Apply && !cheap[in.Op.Name]:
		c = keepCost
	}
	for _, a := range in.Operands() {
		c = min(c+s.cost(a), keepCost)
	}
	return c
}

// cheap names the operations that cost about as much as an addition.
var cheap = map[string]bool{
	"add": true, "sub": true, "mul": true, "neg": true, "abs": true, "square": true, "maximum": true,
	"minimum": true, "relu": true, "where": true, "equal": true, "not_equal": true, "less": true,
	"less_equal": true, "greater": true, "greater_equal": true, "logical_and": true, "logical_or": true,
	"logical_not": true, "bitwise_and": true, "bitwise_or": true, "bitwise_xor": true,
}

// cut fills in the parts of k.
func (s *splitter) cut(k *rowKernel) {
	rows := map[ops.Ref]bool{} // row values that element programs use
	for i := range k.phases {
		ph := &k.phases[i]
		vals := append(s.elements(ph)[:len(ph.reduces):len(ph.reduces)], ph.kept...)
		vals = append(vals, s.elements(ph)[len(ph.reduces):]...)
		ph.elems = s.extract(vals, func(v ops.Ref) bool {
			in := &s.e.Code[v]
			if in.Row || in.Kind == ops.Reduce {
				rows[v] = true
				return true
			}
			return s.made[v] && !contains(ph.kept, v)
		})
	}
	known := func(d int) func(v ops.Ref) bool {
		return func(v ops.Ref) bool {
			return s.e.Code[v].Kind == ops.Reduce || rows[v] && s.depth[v] < d
		}
	}
	for i := range k.phases {
		var vals []ops.Ref
		for v := range s.e.Code {
			if v := ops.Ref(v); rows[v] && s.depth[v] == i && s.e.Code[v].Kind != ops.Reduce {
				vals = append(vals, v)
			}
		}
		k.phases[i].rows = s.extract(vals, known(i))
	}
	var outs []ops.Ref
	for _, i := range k.outs {
		outs = append(outs, s.e.Out[i])
	}
	k.results = s.extract(outs, known(s.last+1))
	k.number(rows)
}

// number numbers the values that are passed from part to part: reductions, the others in rows, and what is
// kept.
func (k *rowKernel) number(rows map[ops.Ref]bool) {
	k.rows, k.kept = map[ops.Ref]int{}, map[ops.Ref]int{}
	for i := range k.phases {
		for _, r := range k.phases[i].reduces {
			k.phases[i].reduced = append(k.phases[i].reduced, len(k.rows))
			k.rows[r] = len(k.rows)
		}
		for _, v := range k.phases[i].kept {
			k.kept[v] = len(k.kept)
		}
	}
	for v := range rows {
		if _, ok := k.rows[v]; !ok {
			k.rows[v] = len(k.rows)
		}
	}
}

// extract returns the program that computes vals, with operands in place of the values that given names.
func (s *splitter) extract(vals []ops.Ref, given func(v ops.Ref) bool) part {
	x := extractor{e: s.e, given: given, refs: map[ops.Ref]ops.Ref{}, inputs: map[int]int{}}
	for _, v := range vals {
		x.b.Result(x.visit(v))
	}
	return part{expr: x.b.Expr(), args: x.args, vals: vals}
}

// An extractor copies a part of a body.
type extractor struct {
	e      *ops.Expr
	given  func(v ops.Ref) bool
	b      ops.Builder
	refs   map[ops.Ref]ops.Ref // values of the body in the part
	inputs map[int]int         // operands of the body in the part
	args   []arg
}

func (x *extractor) visit(v ops.Ref) ops.Ref {
	if r, ok := x.refs[v]; ok {
		return r
	}
	in := x.e.Code[v]
	var r ops.Ref
	switch {
	case x.given(v):
		x.args = append(x.args, arg{input: -1, value: v})
		r = x.b.Load(x.b.Operand(in.DType), false)
	case in.Kind == ops.Load:
		r = x.b.Load(x.operand(int(in.Args[0])), false)
	case in.Kind == ops.Index:
		r = x.b.Index(x.operand(int(in.Args[0])), in.DType, false)
	case in.Kind == ops.Const:
		r = x.b.Const(int(in.Args[0]), in.DType)
	case in.Kind == ops.Cast:
		r = x.b.Cast(in.DType, x.visit(in.Args[0]))
	default:
		var args [3]ops.Ref
		for i, a := range in.Operands() {
			args[i] = x.visit(a)
		}
		r = x.b.Apply(in.Op, args[:in.Op.Arity]...)
	}
	x.refs[v] = r
	return r
}

// operand returns the part's number of operand k of the body.
func (x *extractor) operand(k int) int {
	n, ok := x.inputs[k]
	if !ok {
		n = x.b.Operand(x.e.In[k])
		x.inputs[k] = n
		x.args = append(x.args, arg{input: k})
	}
	return n
}

func contains(vs []ops.Ref, v ops.Ref) bool {
	for _, w := range vs {
		if w == v {
			return true
		}
	}
	return false
}
