package wgpu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/ops"
)

// Compilers of shaders may assume that there is no NaN and no infinity, and may round sums in another order. They then
// take x - x and 0·x for 0, x/0 for anything, (x + y) - x for y, and x·y + x·z for x·(y + z). They can where they see
// both sides: the constant in the code, or the x on the left that is the x on the right. A body keeps that from them, so
// that fusing changes no bit, and not even that a kernel of one operation would be right for a NaN: of an operand that it
// must not know a compiler gets the bits with those of a zero in a uniform buffer put on (seal_), one integer instruction.
// Elements read from memory and the constants of a step are unknown to it anyway. A product that goes into a sum is hidden from
// the sum: fused, the two would be rounded once.

// A sight is what a compiler may know of a float of a body.
type sight struct {
	// literal says that it may be a constant, or hold one of the text as its last term: the result of a function of the
	// prelude, or what was a bool.
	literal bool

	// roots are the values that it is made of by arithmetic in the open, itself if by none.
	roots []ops.Ref

	// product says that it is one, rounded: a sum of it would be made a fused multiplication and addition, as NVIDIA's compiler
	// does, which rounds once.
	product bool

	// sealed says which operands of the operation that it is the result of are hidden. Other results have it too.
	sealed []bool
}

// see returns the sights of the values of e. Those of other types are empty.
func see(e *ops.Expr) []sight {
	sights := make([]sight, len(e.Code))
	for i := range e.Code {
		in := &e.Code[i]
		var s sight
		switch in.Kind {
		case ops.Apply:
			s = seeApply(e, sights, in)
		case ops.Cast:
			s = seeCast(e, sights, in)
		case ops.Reduce, ops.Scan:
			s.literal = !reduction{in.Red, in.DType}.keyed() // a thread may have combined the elements by itself
		}
		if in.DType.IsFloat() && s.roots == nil {
			s.roots = []ops.Ref{ops.Ref(i)}
		}
		sights[i] = s
	}
	return sights
}

// seeApply returns the sight of the result of an operation.
func seeApply(e *ops.Expr, sights []sight, in *ops.Instr) sight {
	s := sight{sealed: seals(e, sights, in)}
	if !in.DType.IsFloat() {
		return s
	}
	if calls(in) {
		s.literal = !in.DType.IsHalf()
		return s
	}
	for k, a := range in.Operands() {
		if s.sealed[k] {
			s.roots = append(s.roots, a)
			continue
		}
		s.literal = s.literal || sights[a].literal
		s.roots = append(s.roots, sights[a].roots...)
	}
	slices.Sort(s.roots)
	s.roots = slices.Compact(s.roots)
	s.product = in.Op == ops.Mul || in.Op == ops.Square || in.Op == ops.Neg && sights[in.Args[0]].product
	if in.DType.IsHalf() { // rounded in its bits, which hides what it is made of; but not that a constant is one
		s.roots, s.product = nil, false
	}
	return s
}

// seeCast returns the sight of a value that has been converted to a float.
func seeCast(e *ops.Expr, sights []sight, in *ops.Instr) (s sight) {
	from := &e.Code[in.Args[0]]
	switch {
	case !in.DType.IsFloat():
	case from.DType.IsFloat():
		s.literal = sights[in.Args[0]].literal
		if !in.DType.IsHalf() {
			s.roots = sights[in.Args[0]].roots // the same number, or the nearest
		}
	case from.DType == ops.Bool:
		s.literal = true // a product with it is a selection
	default:
		s.literal = from.Kind == ops.Apply || from.Kind == ops.Cast
	}
	return s
}

// seals returns for each operand of an operation whether it has to be hidden.
func seals(e *ops.Expr, sights []sight, in *ops.Instr) []bool {
	args := in.Operands()
	sealed := make([]bool, len(args))
	if in.DType == ops.Bool || passes(in) {
		return sealed // comparisons look at bits
	}
	for k, a := range args {
		if e.Code[a].DType.IsFloat() {
			sealed[k] = sights[a].literal || calls(in) && !sights[a].alone(a) || adds(in) && sights[a].product
		}
	}
	used := func(k int) []ops.Ref {
		if sealed[k] {
			return args[k : k+1]
		}
		return sights[args[k]].roots
	}
	for k := range args {
		for j := range k {
			switch {
			case !overlap(used(j), used(k)):
			case !sealed[k]:
				sealed[k] = true
			default: // if both are sealed, then by different zeros
				sealed[j] = true
			}
		}
	}
	return sealed
}

func overlap(a, b []ops.Ref) bool {
	return slices.ContainsFunc(a, func(r ops.Ref) bool { return slices.Contains(b, r) })
}

// alone reports whether a compiler knows nothing of value v.
func (s *sight) alone(v ops.Ref) bool { return !s.literal && len(s.roots) == 1 && s.roots[0] == v }

// passes reports whether an operation gives on what a compiler knows of its operands, and adds no more: a selection, or one of
// a single operand.
func passes(in *ops.Instr) bool {
	return in.Op == ops.Where || in.Op.Arity == 1 && !calls(in)
}

// adds reports whether an operation is a sum that a compiler may fuse with a product.
func adds(in *ops.Instr) bool { return in.Op == ops.Add || in.Op == ops.Sub }

// calls reports whether an operation is a function of the prelude, with constants of its own.
func calls(in *ops.Instr) bool { return strings.Contains(in.Op.Shader(in.DType), "_(") }

// seal returns v, of type d, as a float that a compiler knows nothing of, for operand k of an operation: not even that it is
// another operand's.
func seal(d ops.DType, v string, k int) string {
	if d == ops.Float64 {
		return fmt.Sprintf("seal_f64_(%s, zero%d_())", v, k)
	}
	return fmt.Sprintf("seal_(%s, zero%d_())", v, k)
}

// declareZeros prints the functions that seal calls, for parameters of a number of bytes, whose last words are 0 (see
// blockSize).
func declareZeros(t *text, args int) {
	for k := range 3 {
		t.line("fn zero%d_() -> u32 { return %s; }", k, word(args/4-4+k))
	}
}
