package ops

import (
	"math"
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

func TestPhilox(t *testing.T) {
	const all = math.MaxUint32
	for _, tc := range []struct { // the known answers of the Random123 library
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{all, all, all, all}, [2]uint32{all, all}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		if got := Philox(tc.counter, tc.key); got != tc.want {
			t.Errorf("Philox(%x, %x) = %x, want %x", tc.counter, tc.key, got, tc.want)
		}
	}
}
