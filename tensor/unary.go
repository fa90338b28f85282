package tensor

import "github.com/weft-go/weft/ops"

// Elementwise operations of one operand: each method is a row of package ops. Those whose values are
// fractions take integers and Bool as Float32.

// Neg returns -t. The sign of a zero and of a NaN flips; the least integer stays itself. Not for Bool.
func (t *Tensor) Neg() *Tensor { return monadic(ops.Neg, t) }

// Abs returns |t|. The least integer stays itself.
func (t *Tensor) Abs() *Tensor { return monadic(ops.Abs, t) }

// Sign returns -1, 0 or 1 by the sign of t: 0 for a zero of either sign, NaN for NaN.
func (t *Tensor) Sign() *Tensor { return monadic(ops.Sign, t) }

// Sqrt returns √t: NaN for negative t, -0 for -0.
func (t *Tensor) Sqrt() *Tensor { return monadic(ops.Sqrt, t) }

// Rsqrt returns 1/√t: infinite at the zeros, with their sign.
func (t *Tensor) Rsqrt() *Tensor { return monadic(ops.Rsqrt, t) }

// Cbrt returns the real cube root of t, of either sign.
func (t *Tensor) Cbrt() *Tensor { return monadic(ops.Cbrt, t) }

// Square returns t·t.
func (t *Tensor) Square() *Tensor { return monadic(ops.Square, t) }

// Reciprocal returns 1/t. Integers are converted to Float32 first, as [Tensor.Div] does and NumPy does
// not.
func (t *Tensor) Reciprocal() *Tensor { return monadic(ops.Reciprocal, t) }

// Exp returns eᵗ.
func (t *Tensor) Exp() *Tensor { return monadic(ops.Exp, t) }

// Exp2 returns 2ᵗ.
func (t *Tensor) Exp2() *Tensor { return monadic(ops.Exp2, t) }

// Expm1 returns eᵗ − 1, accurate near 0.
func (t *Tensor) Expm1() *Tensor { return monadic(ops.Expm1, t) }

// Log returns the natural logarithm of t: -∞ at 0, NaN below.
func (t *Tensor) Log() *Tensor { return monadic(ops.Log, t) }

// Log2 returns the logarithm of t to base 2, exact for powers of 2.
func (t *Tensor) Log2() *Tensor { return monadic(ops.Log2, t) }

// Log10 returns the logarithm of t to base 10.
func (t *Tensor) Log10() *Tensor { return monadic(ops.Log10, t) }

// Log1p returns log(1 + t), accurate near 0: -∞ at -1, NaN below.
func (t *Tensor) Log1p() *Tensor { return monadic(ops.Log1p, t) }

// Sin returns the sine of t; NaN for an infinity.
func (t *Tensor) Sin() *Tensor { return monadic(ops.Sin, t) }

// Cos returns the cosine of t; NaN for an infinity.
func (t *Tensor) Cos() *Tensor { return monadic(ops.Cos, t) }

// Tan returns the tangent of t; NaN for an infinity.
func (t *Tensor) Tan() *Tensor { return monadic(ops.Tan, t) }

// Asin returns the angle in [-π/2, π/2] whose sine is t; NaN outside [-1, 1].
func (t *Tensor) Asin() *Tensor { return monadic(ops.Asin, t) }

// Acos returns the angle in [0, π] whose cosine is t; NaN outside [-1, 1].
func (t *Tensor) Acos() *Tensor { return monadic(ops.Acos, t) }

// Atan returns the angle in [-π/2, π/2] whose tangent is t.
func (t *Tensor) Atan() *Tensor { return monadic(ops.Atan, t) }

// Sinh returns the hyperbolic sine of t.
func (t *Tensor) Sinh() *Tensor { return monadic(ops.Sinh, t) }

// Cosh returns the hyperbolic cosine of t.
func (t *Tensor) Cosh() *Tensor { return monadic(ops.Cosh, t) }

// Tanh returns the hyperbolic tangent of t: ±1 at the infinities.
func (t *Tensor) Tanh() *Tensor { return monadic(ops.Tanh, t) }

// Asinh returns the inverse of [Tensor.Sinh].
func (t *Tensor) Asinh() *Tensor { return monadic(ops.Asinh, t) }

// Acosh returns the inverse of [Tensor.Cosh], at least 0; NaN below 1.
func (t *Tensor) Acosh() *Tensor { return monadic(ops.Acosh, t) }

// Atanh returns the inverse of [Tensor.Tanh]: infinite at ±1, NaN beyond.
func (t *Tensor) Atanh() *Tensor { return monadic(ops.Atanh, t) }

// Erf returns the error function 2/√π ∫₀ᵗ exp(-x²) dx.
func (t *Tensor) Erf() *Tensor { return monadic(ops.Erf, t) }

// Erfc returns 1 − Erf(t), accurate where that is tiny.
func (t *Tensor) Erfc() *Tensor { return monadic(ops.Erfc, t) }

// Floor returns the greatest whole number not above t. Integers are returned as they are.
func (t *Tensor) Floor() *Tensor { return monadic(ops.Floor, t) }

// Ceil returns the least whole number not below t.
func (t *Tensor) Ceil() *Tensor { return monadic(ops.Ceil, t) }

// Round returns the whole number nearest to t, the even one of two: 0.5 gives 0.
func (t *Tensor) Round() *Tensor { return monadic(ops.Round, t) }

// Trunc returns t without its fraction.
func (t *Tensor) Trunc() *Tensor { return monadic(ops.Trunc, t) }

// IsNaN reports whether t is NaN, as Bool. No integer is.
func (t *Tensor) IsNaN() *Tensor { return monadic(ops.IsNaN, t) }

// IsInf reports whether t is an infinity of either sign, as Bool. No integer is.
func (t *Tensor) IsInf() *Tensor { return monadic(ops.IsInf, t) }

// IsFinite reports whether t is neither an infinity nor NaN, as Bool.
func (t *Tensor) IsFinite() *Tensor { return monadic(ops.IsFinite, t) }

// LogicalNot reports whether t is zero, as Bool.
func (t *Tensor) LogicalNot() *Tensor { return monadic(ops.LogicalNot, t) }

// BitwiseNot returns t with its bits flipped. Integers, and Bool, of which it is the logical not.
func (t *Tensor) BitwiseNot() *Tensor { return monadic(ops.BitwiseNot, t) }
