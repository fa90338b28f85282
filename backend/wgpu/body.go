package wgpu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/shaders"
)

// A text is WGSL under construction.
type text struct{ strings.Builder }

// line appends a formatted line.
func (t *text) line(format string, args ...any) {
	fmt.Fprintf(&t.Builder, format, args...)
	t.WriteByte('\n')
}

// A body prints the instructions of an Expr as WGSL, for one element or for the lanes of a thread. Value i in lane j is
// the name v<i>_<j>, or v<i> where all lanes share it.
type body struct {
	e      *ops.Expr
	lanes  int
	prefix string                                                   // of the names of values, so that several bodies fit a function
	shared []bool                                                   // by value: the same in all lanes
	names  [][]string                                               // by value and lane, where the value is not simply named (a register given from outside)
	sights []sight                                                  // by value: what a compiler may know of it
	consts int                                                      // word of the first constant
	load   func(t *text, operand int, d ops.DType, lane int) string // expression of an element
	index  func(operand, lane int) string                           // expression of a position, as u32
	same   func(operand int) bool                                   // whether an operand is the same in all lanes
}

// newBody prepares to print e.
func newBody(e *ops.Expr, lanes, consts int) *body {
	return &body{
		e: e, lanes: lanes, prefix: "v", consts: consts, sights: see(e),
		shared: make([]bool, len(e.Code)), names: make([][]string, len(e.Code)),
	}
}

// name returns the name of value r in a lane.
func (b *body) name(r ops.Ref, lane int) string {
	if names := b.names[r]; names != nil {
		return names[min(lane, len(names)-1)]
	}
	if b.shared[r] {
		return fmt.Sprintf("%s%d", b.prefix, r)
	}
	return fmt.Sprintf("%s%d_%d", b.prefix, r, lane)
}

// term returns the name of value r in a lane, or where it is a float and the compiler knows more of it than that, an
// expression that hides it: r goes into a sum.
func (b *body) term(r ops.Ref, lane int) string {
	v := b.name(r, lane)
	if d := b.e.Code[r].DType; d.IsFloat() && !b.sights[r].alone(r) {
		return seal(d, v, 0)
	}
	return v
}

// width returns the number of lanes that value r has names for.
func (b *body) width(r ops.Ref) int {
	if b.shared[r] {
		return 1
	}
	return b.lanes
}

// bits returns the bits of value v, of type d, in each lane.
func (b *body) bits(v ops.Ref, d ops.DType) []string {
	bits := make([]string, b.lanes)
	for lane := range bits {
		bits[lane] = encode(d, b.name(v, lane))
	}
	return bits
}

// instruction prints instruction i. Reduce and Scan are the kernels' own: they give the value its names.
func (b *body) instruction(t *text, i int) error {
	in := &b.e.Code[i]
	b.shared[i] = b.isShared(in)
	for lane := range b.width(ops.Ref(i)) {
		expr, err := b.expression(t, i, lane)
		if err != nil {
			return err
		}
		t.line("let %s: %s = %s;", b.name(ops.Ref(i), lane), held(in.DType), expr)
	}
	return nil
}

func (b *body) isShared(in *ops.Instr) bool {
	switch in.Kind {
	case ops.Const:
		return true
	case ops.Load, ops.Index:
		return b.lanes == 1 || b.same(int(in.Args[0]))
	}
	for _, a := range in.Operands() {
		if !b.shared[a] {
			return false
		}
	}
	return true
}

func (b *body) expression(t *text, i, lane int) (string, error) {
	in := &b.e.Code[i]
	switch in.Kind {
	case ops.Const:
		return constant(in.DType, b.consts, int(in.Args[0])), nil
	case ops.Load:
		return b.load(t, int(in.Args[0]), in.DType, lane), nil
	case ops.Index:
		at := b.index(int(in.Args[0]), lane)
		if in.DType == ops.Int64 {
			return fmt.Sprintf("vec2<u32>(%s, 0u)", at), nil
		}
		return cast(ops.Uint32, in.DType, at), nil
	case ops.Cast:
		a := in.Args[0]
		return cast(b.e.Code[a].DType, in.DType, b.name(a, lane)), nil
	case ops.Apply:
		return b.apply(i, lane)
	}
	return "", fmt.Errorf("instruction %s inside an elementwise part", in)
}

// apply returns the expression of an operation, rounded to its type.
func (b *body) apply(i, lane int) (string, error) {
	in := &b.e.Code[i]
	args := in.Operands()
	d := b.e.Code[args[len(args)-1]].DType // the type operated on; the result may be Bool
	expr := in.Op.Shader(d)
	if expr == "" {
		return "", fmt.Errorf("no shader for %s on %s", in.Op.Name, d)
	}
	var pairs []string
	for k, a := range args {
		v := b.name(a, lane)
		if b.sights[i].sealed[k] {
			v = seal(b.e.Code[a].DType, v, k)
		}
		pairs = append(pairs, "$"+"xyz"[k:k+1], v)
	}
	expr = strings.NewReplacer(pairs...).Replace(expr)
	if in.DType == d {
		expr = rounded(d, expr)
	}
	return expr, nil
}

// supported reports whether every instruction of e has WGSL on a device with or without Float64.
func supported(e *ops.Expr, float64 bool) bool {
	if !float64 && slices.Contains(e.In, ops.Float64) {
		return false
	}
	for i := range e.Code {
		in := &e.Code[i]
		if in.DType == ops.Float64 && !float64 {
			return false
		}
		args := in.Operands()
		switch in.Kind {
		case ops.Apply:
			if s := in.Op.Shader(e.Code[args[len(args)-1]].DType); s == "" || !shaders.Has(s) {
				return false
			}
		case ops.Cast:
			if cast(e.Code[args[0]].DType, in.DType, "x") == "" {
				return false
			}
		}
	}
	return true
}
