package ops

import "testing"

func TestDTypes(t *testing.T) {
	for _, tc := range []struct {
		d      DType
		name   string
		size   int
		kind   Kinds
		signed bool
	}{
		{Bool, "bool", 1, Bools, false},
		{Uint8, "uint8", 1, Ints, false},
		{Int8, "int8", 1, Ints, true},
		{Int32, "int32", 4, Ints, true},
		{Uint32, "uint32", 4, Ints, false},
		{Int64, "int64", 8, Ints, true},
		{Float16, "float16", 2, Floats, true},
		{BFloat16, "bfloat16", 2, Floats, true},
		{Float32, "float32", 4, Floats, true},
		{Float64, "float64", 8, Floats, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := tc.d
			if d.String() != tc.name || d.Size() != tc.size || d.Bits() != 8*tc.size || d.Kind() != tc.kind || d.Signed() != tc.signed {
				t.Errorf("%s: %d bytes, kind %s, signed %t", d, d.Size(), d.Kind(), d.Signed())
			}
			if p, err := ParseDType(tc.name); p != d || err != nil {
				t.Errorf("parsed as %s, %v", p, err)
			}
			if !d.Valid() || d.IsInt() != (tc.kind == Ints) || d.IsFloat() != (tc.kind == Floats) {
				t.Errorf("valid %t, integer %t, float %t", d.Valid(), d.IsInt(), d.IsFloat())
			}
		})
	}
	if n := len(DTypes()); n != 10 {
		t.Errorf("%d types", n)
	}
}

func TestInvalidDType(t *testing.T) {
	for _, d := range []DType{Invalid, numDTypes, 255} {
		if d.Valid() || d.Size() != 0 || d.Kind() != 0 || Promote(d, Float32).Valid() || Promote(Float32, d).Valid() {
			t.Errorf("%s passes for a type", d)
		}
	}
	for _, s := range []string{"", "float", "Float32", "invalid", "int16"} {
		if d, err := ParseDType(s); err == nil || d != Invalid {
			t.Errorf("%q is %s", s, d)
		}
	}
}

// TestPromote holds the rows that NumPy has no word on, and what makes a promotion one.
func TestPromote(t *testing.T) {
	for _, tc := range []struct{ a, b, want DType }{
		{BFloat16, Bool, BFloat16},
		{BFloat16, Uint8, BFloat16},
		{BFloat16, Int8, BFloat16},
		{BFloat16, Int32, Float64},
		{BFloat16, Uint32, Float64},
		{BFloat16, Int64, Float64},
		{BFloat16, Float16, Float32},
		{BFloat16, Float32, Float32},
		{BFloat16, Float64, Float64},
	} {
		if got := Promote(tc.a, tc.b); got != tc.want {
			t.Errorf("%s with %s gives %s, want %s", tc.a, tc.b, got, tc.want)
		}
	}
	for _, a := range DTypes() {
		if Promote(a, a) != a {
			t.Errorf("%s with itself gives %s", a, Promote(a, a))
		}
		for _, b := range DTypes() {
			p := Promote(a, b)
			if p != Promote(b, a) || Promote(p, a) != p || p.Kind() < max(a.Kind(), b.Kind()) {
				t.Errorf("%s with %s gives %s, the other way %s", a, b, p, Promote(b, a))
			}
		}
	}
	for _, w := range []Weak{WeakBool, WeakInt, WeakFloat} {
		if got := PromoteWeak(BFloat16, w); got != BFloat16 {
			t.Errorf("bfloat16 beside a weak %s gives %s", w.Default(), got)
		}
	}
}
