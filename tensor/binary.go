package tensor

import "github.com/weft-go/weft/ops"

// Elementwise operations of two operands: each method is a row of package ops. The operands broadcast
// and are promoted as [Apply] says. A method whose name ends in Scalar takes a Go bool, integer or float
// on the right, weakly typed as [Scalar] says; Scalar(v).Sub(x) has it on the left.

// Add returns t + y; of Bool it is the logical or, as in NumPy.
func (t *Tensor) Add(y *Tensor) *Tensor { return dyadic(ops.Add, t, y) }

// AddScalar is [Tensor.Add] with a Go number.
func (t *Tensor) AddScalar(v any) *Tensor { return dyadicScalar(ops.Add, t, v) }

// Sub returns t − y. Not for Bool.
func (t *Tensor) Sub(y *Tensor) *Tensor { return dyadic(ops.Sub, t, y) }

// SubScalar is [Tensor.Sub] with a Go number.
func (t *Tensor) SubScalar(v any) *Tensor { return dyadicScalar(ops.Sub, t, v) }

// Mul returns t · y; of Bool it is the logical and.
func (t *Tensor) Mul(y *Tensor) *Tensor { return dyadic(ops.Mul, t, y) }

// MulScalar is [Tensor.Mul] with a Go number.
func (t *Tensor) MulScalar(v any) *Tensor { return dyadicScalar(ops.Mul, t, v) }

// Div returns t / y, a float: integers are converted to Float32 first. t/0 is an infinity, 0/0 NaN.
func (t *Tensor) Div(y *Tensor) *Tensor { return dyadic(ops.Div, t, y) }

// DivScalar is [Tensor.Div] with a Go number.
func (t *Tensor) DivScalar(v any) *Tensor { return dyadicScalar(ops.Div, t, v) }

// FloorDiv returns t / y rounded down. Of integers t/0 is 0, and the least divided by -1 is itself.
func (t *Tensor) FloorDiv(y *Tensor) *Tensor { return dyadic(ops.FloorDiv, t, y) }

// FloorDivScalar is [Tensor.FloorDiv] with a Go number.
func (t *Tensor) FloorDivScalar(v any) *Tensor { return dyadicScalar(ops.FloorDiv, t, v) }

// Mod returns the remainder of [Tensor.FloorDiv], with the sign of the divisor. Of integers t%0 is 0, of
// floats NaN.
func (t *Tensor) Mod(y *Tensor) *Tensor { return dyadic(ops.Mod, t, y) }

// ModScalar is [Tensor.Mod] with a Go number.
func (t *Tensor) ModScalar(v any) *Tensor { return dyadicScalar(ops.Mod, t, v) }

// Fmod returns the remainder of the quotient rounded toward zero, with the sign of the dividend, as in
// C.
func (t *Tensor) Fmod(y *Tensor) *Tensor { return dyadic(ops.Fmod, t, y) }

// Pow returns t to the power y, by the rules of IEEE 754: t⁰ and 1ʸ are 1, even for NaN. A negative
// power of an integer is 0, except of 1 and -1.
func (t *Tensor) Pow(y *Tensor) *Tensor { return dyadic(ops.Pow, t, y) }

// PowScalar is [Tensor.Pow] with a Go number. The power 2 is [Tensor.Square].
func (t *Tensor) PowScalar(v any) *Tensor {
	if s, err := weak(v); err == nil && (s.i == 2 || s.f == 2) && (t.DType().IsFloat() || t.DType().IsInt() && s.i == 2) {
		return t.Square()
	}
	return dyadicScalar(ops.Pow, t, v)
}

// Maximum returns the greater of t and y, NaN if either is.
func (t *Tensor) Maximum(y *Tensor) *Tensor { return dyadic(ops.Maximum, t, y) }

// MaximumScalar is [Tensor.Maximum] with a Go number.
func (t *Tensor) MaximumScalar(v any) *Tensor { return dyadicScalar(ops.Maximum, t, v) }

// Minimum returns the lesser of t and y, NaN if either is.
func (t *Tensor) Minimum(y *Tensor) *Tensor { return dyadic(ops.Minimum, t, y) }

// MinimumScalar is [Tensor.Minimum] with a Go number.
func (t *Tensor) MinimumScalar(v any) *Tensor { return dyadicScalar(ops.Minimum, t, v) }

// Fmax returns the greater of t and y, or the one that is a number if the other is NaN.
func (t *Tensor) Fmax(y *Tensor) *Tensor { return dyadic(ops.Fmax, t, y) }

// Fmin returns the lesser of t and y, or the one that is a number if the other is NaN.
func (t *Tensor) Fmin(y *Tensor) *Tensor { return dyadic(ops.Fmin, t, y) }

// Atan2 returns the angle in [-π, π] of the point (y, t): t is the ordinate, as in C and NumPy.
func (t *Tensor) Atan2(y *Tensor) *Tensor { return dyadic(ops.Atan2, t, y) }

// Hypot returns √(t² + y²) without overflow.
func (t *Tensor) Hypot(y *Tensor) *Tensor { return dyadic(ops.Hypot, t, y) }

// Copysign returns |t| with the sign of y.
func (t *Tensor) Copysign(y *Tensor) *Tensor { return dyadic(ops.Copysign, t, y) }

// LogAddExp returns log(eᵗ + eʸ) without overflow.
func (t *Tensor) LogAddExp(y *Tensor) *Tensor { return dyadic(ops.LogAddExp, t, y) }

// LogicalAnd reports whether neither t nor y is zero, as Bool.
func (t *Tensor) LogicalAnd(y *Tensor) *Tensor { return dyadic(ops.LogicalAnd, t, y) }

// LogicalOr reports whether t or y is not zero, as Bool.
func (t *Tensor) LogicalOr(y *Tensor) *Tensor { return dyadic(ops.LogicalOr, t, y) }

// LogicalXor reports whether just one of t and y is zero, as Bool.
func (t *Tensor) LogicalXor(y *Tensor) *Tensor { return dyadic(ops.LogicalXor, t, y) }

// BitwiseAnd returns the bits set in both t and y. Integers and Bool.
func (t *Tensor) BitwiseAnd(y *Tensor) *Tensor { return dyadic(ops.BitwiseAnd, t, y) }

// BitwiseOr returns the bits set in t or y. Integers and Bool.
func (t *Tensor) BitwiseOr(y *Tensor) *Tensor { return dyadic(ops.BitwiseOr, t, y) }

// BitwiseXor returns the bits set in just one of t and y. Integers and Bool.
func (t *Tensor) BitwiseXor(y *Tensor) *Tensor { return dyadic(ops.BitwiseXor, t, y) }

// ShiftLeft returns t·2ʸ, wrapping. A count y that is negative or not less than the width of the type
// gives 0.
func (t *Tensor) ShiftLeft(y *Tensor) *Tensor { return dyadic(ops.ShiftLeft, t, y) }

// ShiftRight returns t/2ʸ rounded down. A count y that is negative or not less than the width of the
// type gives 0, or -1 for negative t.
func (t *Tensor) ShiftRight(y *Tensor) *Tensor { return dyadic(ops.ShiftRight, t, y) }

// Equal reports whether t = y, as Bool. NaN equals nothing.
func (t *Tensor) Equal(y *Tensor) *Tensor { return dyadic(ops.Equal, t, y) }

// EqualScalar is [Tensor.Equal] with a Go number.
func (t *Tensor) EqualScalar(v any) *Tensor { return dyadicScalar(ops.Equal, t, v) }

// NotEqual reports whether t ≠ y, as Bool. NaN differs from everything.
func (t *Tensor) NotEqual(y *Tensor) *Tensor { return dyadic(ops.NotEqual, t, y) }

// NotEqualScalar is [Tensor.NotEqual] with a Go number.
func (t *Tensor) NotEqualScalar(v any) *Tensor { return dyadicScalar(ops.NotEqual, t, v) }

// Less reports whether t < y, as Bool; false beside NaN.
func (t *Tensor) Less(y *Tensor) *Tensor { return dyadic(ops.Less, t, y) }

// LessScalar is [Tensor.Less] with a Go number.
func (t *Tensor) LessScalar(v any) *Tensor { return dyadicScalar(ops.Less, t, v) }

// LessEqual reports whether t ≤ y, as Bool; false beside NaN.
func (t *Tensor) LessEqual(y *Tensor) *Tensor { return dyadic(ops.LessEqual, t, y) }

// LessEqualScalar is [Tensor.LessEqual] with a Go number.
func (t *Tensor) LessEqualScalar(v any) *Tensor { return dyadicScalar(ops.LessEqual, t, v) }

// Greater reports whether t > y, as Bool; false beside NaN.
func (t *Tensor) Greater(y *Tensor) *Tensor { return dyadic(ops.Greater, t, y) }

// GreaterScalar is [Tensor.Greater] with a Go number.
func (t *Tensor) GreaterScalar(v any) *Tensor { return dyadicScalar(ops.Greater, t, v) }

// GreaterEqual reports whether t ≥ y, as Bool; false beside NaN.
func (t *Tensor) GreaterEqual(y *Tensor) *Tensor { return dyadic(ops.GreaterEqual, t, y) }

// GreaterEqualScalar is [Tensor.GreaterEqual] with a Go number.
func (t *Tensor) GreaterEqualScalar(v any) *Tensor { return dyadicScalar(ops.GreaterEqual, t, v) }
