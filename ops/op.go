package ops

import (
	"fmt"
	"strings"
)

// An Op is an elementwise operation: one row of the table that both backends, the conformance suite, the
// golden files and the documentation read. Rows are the package variables [Add], [Exp], and so on; they
// are made once, at start-up, and never change.
type Op struct {
	Name  string // the Go name in lower case, its words split where NumPy splits them: "logical_and", "isnan"
	Arity int    // number of operands, 1 to 3
	Rule  Rule   // which element types it takes and gives

	// Float defines the operation on floating-point elements: its operands are exact, and the result,
	// rounded to the element type, is what a backend must give within Tol. It is nil for an operation
	// that takes no floats. Operands beyond Arity are 0. A predicate returns 0 or 1.
	Float func(x, y, z float64) float64

	// Int defines it on integers and Bool (0 or 1) of type d. The result is wrapped to d.
	// It is nil for an operation that takes floats alone.
	Int func(d DType, x, y, z int64) int64

	WGSL WGSL // how a shader computes it

	Tol Tol // how far from the definition a backend may be

	id int
}

// A Rule says which element types an operation takes and which it gives.
type Rule struct {
	Accept  Kinds // kinds of the promoted operand type
	ToFloat bool  // integers and bools are converted to DefaultFloat first
	ToBool  bool  // the result is Bool
	Cond    bool  // operand 0 is a Bool condition and takes no part in promotion
}

var table []*Op

func register(o *Op) *Op {
	o.id = len(table)
	table = append(table, o)
	return o
}

// All returns every elementwise operation, in a fixed order. The slice is the caller's.
func All() []*Op { return append([]*Op(nil), table...) }

// ByName returns the operation named name, or nil.
func ByName(name string) *Op {
	for _, o := range table {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// ID returns the position of o in [All]: a small number, good for indexing a table of kernels.
// It is the same within a program, not from one version to another.
func (o *Op) ID() int { return o.id }

// String returns the operation's name.
func (o *Op) String() string { return o.Name }

// Infer returns the element type that operands of types in are converted to before o is applied, and the
// type of its result. The error, of kind [ErrDType], says what o takes. With Rule.Cond the first operand
// must be Bool and arg is the type of the others.
func (o *Op) Infer(in ...DType) (arg, out DType, err error) {
	if len(in) != o.Arity {
		return 0, 0, fmt.Errorf("%d operands, want %d: %w", len(in), o.Arity, ErrDType)
	}
	rest := in
	if o.Rule.Cond {
		if in[0] != Bool {
			return 0, 0, fmt.Errorf("condition is %s, want bool: %w", in[0], ErrDType)
		}
		rest = in[1:]
	}
	arg = rest[0]
	for _, d := range rest[1:] {
		arg = Promote(arg, d)
	}
	if !arg.Valid() {
		return 0, 0, fmt.Errorf("operands of types %s: %w", typeNames(in), ErrDType)
	}
	if o.Rule.ToFloat && !arg.IsFloat() {
		arg = DefaultFloat
	}
	if !o.Rule.Accept.Has(arg.Kind()) {
		return 0, 0, fmt.Errorf("takes %s, not %s: %w", o.Rule.Accept, arg, ErrDType)
	}
	return arg, o.Returns(arg), nil
}

// Keeps reports whether op takes operands of type d, all of them, without converting them first.
func (o *Op) Keeps(d DType) bool {
	return !o.Rule.Cond && d.Valid() && o.Rule.Accept.Has(d.Kind()) && (!o.Rule.ToFloat || d.IsFloat())
}

// Returns returns the type of the result of operands of type d, which o keeps.
func (o *Op) Returns(d DType) DType {
	if o.Rule.ToBool {
		return Bool
	}
	return d
}

func typeNames(ds []DType) string {
	names := make([]string, len(ds))
	for i, d := range ds {
		names[i] = d.String()
	}
	return strings.Join(names, ", ")
}

// String returns the names of the kinds in k, such as "integers and floats".
func (k Kinds) String() string {
	var names []string
	for i, n := range [...]string{"bools", "integers", "floats"} {
		if k&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, " and ")
}

// Eval returns o of the operands by its definition. They are of the type [Op.Infer] calls arg (the first
// of Bool, with Rule.Cond).
func (o *Op) Eval(args ...Value) Value {
	var v [3]Value
	copy(v[:], args)
	d := args[len(args)-1].DType
	out := d
	if o.Rule.ToBool {
		out = Bool
	}
	if !d.IsFloat() {
		return IntValue(out, o.Int(d, v[0].I, v[1].I, v[2].I))
	}
	if o.Rule.Cond {
		v[0].F = float64(v[0].I)
	}
	f := o.Float(v[0].F, v[1].F, v[2].F)
	if out == Bool {
		return IntValue(Bool, int64(f))
	}
	return FloatValue(out, f)
}
