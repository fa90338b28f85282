package ops

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// operandTypes returns the operand types an operation is defined on.
func operandTypes(o *Op) (ds []DType) {
	for _, d := range DTypes() {
		in := make([]DType, o.Arity)
		for i := range in {
			in[i] = d
		}
		if o.Rule.Cond {
			in[0] = Bool
		}
		if arg, _, err := o.Infer(in...); err == nil && arg == d {
			ds = append(ds, d)
		}
	}
	return ds
}

func TestRowsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for i, o := range All() {
		t.Run(o.Name, func(t *testing.T) {
			if o.ID() != i || ByName(o.Name) != o || seen[o.Name] {
				t.Errorf("id %d at %d, or the name is taken", o.ID(), i)
			}
			seen[o.Name] = true
			floats, ints := o.Rule.Accept.Has(Floats), o.Rule.Accept&(Ints|Bools) != 0
			if (o.Float != nil) != floats || (o.Int != nil) != ints {
				t.Errorf("accepts %s, defined on floats %t, on integers %t", o.Rule.Accept, o.Float != nil, o.Int != nil)
			}
			if exact := o.Tol.ULP == 0 && o.Tol.Abs == 0; exact != (o.Tol.Reason == "") {
				t.Error("a tolerance needs a reason, and only a tolerance")
			}
			for _, d := range operandTypes(o) {
				args := []Value{FromBits(d, 1), FromBits(d, 1), FromBits(d, 1)}[:o.Arity]
				if v := o.Eval(args...); !o.Within(v, args...) {
					t.Errorf("%s: its own result %v is not within its tolerance", d, v)
				}
			}
		})
	}
}

func TestWithinFlushing(t *testing.T) {
	f := func(x float64) Value { return FloatValue(Float32, x) }
	const tiny = 0x1p-130
	for _, tc := range []struct {
		name string
		op   *Op
		got  Value
		args []Value
		want bool
	}{
		{"kept", Mul, f(1), []Value{f(tiny), f(0x1p126), f(0)}, false},
		{"result lost", Mul, f(0), []Value{f(0x1p-70), f(0x1p-60)}, true},
		{"operand lost", Mul, f(0), []Value{f(tiny), f(0x1p126)}, true},
		{"operand kept", Mul, f(0x1p-4), []Value{f(tiny), f(0x1p126)}, true},
		{"normal result lost", Mul, f(0), []Value{f(0x1p-60), f(0x1p-60)}, false},
		{"result lost that rounds to normal", Mul, f(0), []Value{f(0x1p-126), f(1 - 0x1p-24)}, true},
		{"quotient of lost operands", Div, f(math.NaN()), []Value{f(tiny), f(0)}, true},
		{"infinity times a lost operand", Mul, f(math.NaN()), []Value{f(math.Inf(1)), f(tiny)}, true},
		{"NaN for a number", Mul, f(math.NaN()), []Value{f(2), f(tiny)}, false},
		{"comparison of lost operands", Less, IntValue(Bool, 0), []Value{f(-tiny), f(tiny)}, true},
		{"comparison of normal operands", Less, IntValue(Bool, 0), []Value{f(-1), f(tiny)}, false},
		{"float16 has no such", Mul, FloatValue(Float16, 0), []Value{FloatValue(Float16, 0x1p-20), FloatValue(Float16, 1)}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.op.WithinFlushing(tc.got, tc.args[:tc.op.Arity]...); got != tc.want {
				t.Errorf("%s%v within of %v: %t", tc.op, tc.args, tc.got, got)
			}
		})
	}
}

func TestWithin(t *testing.T) {
	f := func(x float64) Value { return FloatValue(Float32, x) }
	next := func(x float64, n int64) Value { return FromBits(Float32, uint64(int64(f(x).Bits())+n)) }
	for _, tc := range []struct {
		name string
		op   *Op
		got  Value
		args []Value
		want bool
	}{
		{"exact", Add, f(3), []Value{f(1), f(2)}, true},
		{"one off", Add, next(3, 1), []Value{f(1), f(2)}, false},
		{"nan", Add, f(math.NaN()), []Value{f(math.Inf(1)), f(math.Inf(-1))}, true},
		{"nan for a number", Add, f(math.NaN()), []Value{f(1), f(2)}, false},
		{"number for nan", Add, f(1), []Value{f(1), f(math.NaN())}, false},
		{"zero of the other sign", Neg, f(0), []Value{f(0)}, true},
		{"two off", Div, next(2, 2), []Value{f(6), f(3)}, true},
		{"three off", Div, next(2, 3), []Value{f(6), f(3)}, false},
		{"greatest for infinity", Exp, f(math.MaxFloat32), []Value{f(88.8)}, true},
		{"infinity far off", Exp, f(math.Inf(1)), []Value{f(88)}, false},
		{"rounded product", FMA, f(0), []Value{f(1 + 0x1p-12), f(1 + 0x1p-12), f(-1 - 0x1p-11)}, true},
		{"lost product", FMA, f(-1), []Value{f(1 + 0x1p-12), f(1 + 0x1p-12), f(-1 - 0x1p-11)}, false},
		{"other type", Add, FloatValue(Float64, 3), []Value{f(1), f(2)}, false},
		{"integer", Add, IntValue(Int8, 3), []Value{IntValue(Int8, 1), IntValue(Int8, 2)}, true},
		{"integer one off", Add, IntValue(Int8, 4), []Value{IntValue(Int8, 1), IntValue(Int8, 2)}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.op.Within(tc.got, tc.args...); got != tc.want {
				t.Errorf("%s%v within of %v: %t", tc.op, tc.args, tc.got, got)
			}
		})
	}
}

// TestNames holds every row to one name: the Go variable's, in lower case.
func TestNames(t *testing.T) {
	fset := token.NewFileSet()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range files {
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			name, ok := rowName(spec.Values[0])
			if !ok {
				return true
			}
			found++
			if ident := spec.Names[0].Name; strings.ReplaceAll(name, "_", "") != strings.ToLower(ident) {
				t.Errorf("%s is named %q", ident, name)
			}
			return true
		})
	}
	if found != len(All()) {
		t.Errorf("%d rows in the source, %d in the table", found, len(All()))
	}
}

// rowName returns the name in a call that makes a row: its first argument, or the field Name of that.
func rowName(e ast.Expr) (string, bool) {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	if _, local := call.Fun.(*ast.Ident); !local { // errors.New and the like
		return "", false
	}
	arg := call.Args[0]
	if ref, ok := arg.(*ast.UnaryExpr); ok {
		row, ok := ref.X.(*ast.CompositeLit)
		if !ok {
			return "", false
		}
		arg = row.Elts[0].(*ast.KeyValueExpr).Value
	}
	lit, ok := arg.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	return strings.Trim(lit.Value, `"`), true
}
