package ops

import "math"

// A Tol is how far a floating-point result may be from the definition, with the reason. The zero Tol asks
// for the exact value. Zeros of either sign are equal, and any NaN equals any NaN. Integers and bools are
// always exact.
type Tol struct {
	ULP    float64 // in units in the last place of the result's type
	Abs    float64 // and this much anyway
	Reason string

	// Scale is for operations whose rounded intermediates cancel: ULP counts units in the last place of
	// Scale of the operands where that is greater than the result. Where it overflows the result's type,
	// any result will do.
	Scale func(x, y, z float64) float64
}

// Within reports whether got, of the type that [Op.Eval] gives, is as close to o of args as o.Tol asks.
func (o *Op) Within(got Value, args ...Value) bool {
	want := o.Eval(args...)
	if got.DType != want.DType {
		return false
	}
	if !want.DType.IsFloat() {
		return got.I == want.I
	}
	if got.F == want.F || ULPs(got, want) <= o.Tol.ULP {
		return true
	}
	limit := o.Tol.Abs
	if o.Tol.Scale != nil {
		var v [3]Value
		copy(v[:], args)
		limit = max(limit, o.Tol.ULP*ulp(want.DType, o.Tol.Scale(v[0].F, v[1].F, v[2].F)))
	}
	return math.IsInf(limit, 1) || math.Abs(got.F-want.F) <= limit // which NaN is not
}

// WithinFlushing is [Op.Within] for a device that takes subnormal numbers of 32 bits for 0, as many GPUs do. It
// lets each operand count as 0, and a difference of no more than the least normal number pass, which the result
// or an intermediate may have lost.
func (o *Op) WithinFlushing(got Value, args ...Value) bool {
	d := args[len(args)-1].DType
	if d != Float32 && d != BFloat16 {
		return o.Within(got, args...)
	}
	for subset := range 1 << len(args) { // of the operands, those that are flushed
		flushed := append([]Value(nil), args...)
		for i := range flushed {
			if subset>>i&1 != 0 && math.Abs(flushed[i].F) < leastNormal {
				flushed[i].F = math.Copysign(0, flushed[i].F)
			}
		}
		want := o.Eval(flushed...)
		if o.Within(got, flushed...) || want.DType.IsFloat() && math.Abs(got.F-want.F) <= leastNormal {
			return true
		}
	}
	return false
}

const leastNormal = 0x1p-126 // of Float32 and BFloat16

// ULPs returns the number of elements of their floating-point type between a and b, an infinity counting
// as the next after the greatest number, and the zeros as one. It is infinite if one of them is NaN, and
// 0 if both are.
func ULPs(a, b Value) float64 {
	if math.IsNaN(a.F) || math.IsNaN(b.F) {
		if math.IsNaN(a.F) && math.IsNaN(b.F) {
			return 0
		}
		return math.Inf(1)
	}
	x, y := ordinal(a), ordinal(b)
	if x < y {
		x, y = y, x
	}
	return float64(uint64(x) - uint64(y)) // which may be beyond an int64
}

// ordinal numbers the elements of a floating-point type in their order.
func ordinal(v Value) int64 {
	sign := uint64(1) << (v.DType.Bits() - 1)
	b := v.Bits()
	if b&sign != 0 {
		return -int64(b &^ sign)
	}
	return int64(b)
}

// ulp returns the unit in the last place of the floating-point type d at x, and an infinity beyond its
// range.
func ulp(d DType, x float64) float64 {
	v := FloatValue(d, math.Abs(x))
	if !(v.F <= math.MaxFloat64) {
		return math.Inf(1)
	}
	bits := v.Bits()
	next := FromBits(d, bits+1)
	if math.IsInf(next.F, 1) {
		return v.F - FromBits(d, bits-1).F
	}
	return next.F - v.F
}
