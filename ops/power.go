package ops

import "math"

// Powers, roots, exponentials and logarithms. All but Square and Pow convert integers to [DefaultFloat].
var (
	// Sqrt is √x; NaN for negative x, and -0 for -0.
	Sqrt = function("sqrt", math.Sqrt, "sqrt_($x)", Tol{})

	// Rsqrt is 1/√x: infinite at the zeros, with their sign.
	Rsqrt = function("rsqrt", func(x float64) float64 { return 1 / math.Sqrt(x) }, "rsqrt_($x)", inFloat32(3))

	// Cbrt is the real cube root of x, of either sign.
	Cbrt = function("cbrt", math.Cbrt, "cbrt_($x)", inFloat32(2))

	// Square is x·x.
	Square = register(&Op{
		Name: "square", Arity: 1, Rule: Rule{Accept: Any},
		Float: func(x, _, _ float64) float64 { return x * x },
		Int:   func(_ DType, x, _, _ int64) int64 { return x * x },
		WGSL:  WGSL{Float: "$x * $x", Bool: "$x", Int64: "mul64_($x, $x)"},
	})

	// Reciprocal is 1/x. Integers are converted to floats first, as Div does and NumPy does not.
	Reciprocal = function("reciprocal", func(x float64) float64 { return 1 / x }, "div_(1.0, $x)", Div.Tol)

	// Exp is eˣ.
	Exp = function("exp", exp, "exp_($x)", inFloat32(2))

	// Exp2 is 2ˣ.
	Exp2 = function("exp2", math.Exp2, "exp2_($x)", inFloat32(2))

	// Expm1 is eˣ - 1, accurate near 0; -0 for -0.
	Expm1 = function("expm1", math.Expm1, "expm1_($x)", inFloat32(4))

	// Log is the natural logarithm of x: -∞ at 0, NaN below.
	Log = function("log", log, "log_($x)", inFloat32(2))

	// Log2 is the logarithm of x to base 2, exact for powers of 2.
	Log2 = function("log2", log2, "log2_($x)", inFloat32(3))

	// Log10 is the logarithm of x to base 10, exact for the powers of 10 that are.
	Log10 = function("log10", log10, "log10_($x)", inFloat32(3))

	// Log1p is log(1 + x), accurate near 0: -∞ at -1, NaN below; -0 for -0.
	Log1p = function("log1p", math.Log1p, "log1p_($x)", inFloat32(4))

	// LogAddExp is log(eˣ + eʸ) without overflow. An infinity of x or y has its limit.
	LogAddExp = register(&Op{
		Name: "logaddexp", Arity: 2, Rule: Rule{Accept: Floats, ToFloat: true},
		Float: func(x, y, _ float64) float64 { return logAddExp(x, y) },
		WGSL:  WGSL{Float: "logaddexp_($x, $y)"},
		Tol: Tol{
			ULP: 4, Scale: func(x, y, _ float64) float64 { return logAddExpScale(x, y) },
			Reason: "x - y is rounded before it is an exponent, and both parts of the sum cancel near 0",
		},
	})

	// Pow is x to the power y, by the rules of IEEE 754: x⁰ and 1ʸ are 1, even for NaN; a negative x has
	// whole powers only. A negative power of an integer is 0, except of 1 and -1 (NumPy refuses it).
	Pow = register(&Op{
		Name: "pow", Arity: 2, Rule: Rule{Accept: Numbers},
		Float: func(x, y, _ float64) float64 { return pow(x, y) },
		Int:   func(_ DType, x, y, _ int64) int64 { return powInt(x, y) },
		WGSL:  WGSL{Float: "pow_($x, $y)", Int: "pow_$T_($x, $y)", Int64: "pow64_($x, $y)"},
		Tol:   Tol{ULP: 4, Reason: "a logarithm of two float32, and a polynomial"},
	})

	// Hypot is √(x² + y²) without overflow: ∞ if x or y is, even beside a NaN.
	Hypot = register(&Op{
		Name: "hypot", Arity: 2, Rule: Rule{Accept: Floats, ToFloat: true},
		Float: func(x, y, _ float64) float64 { return math.Hypot(x, y) },
		WGSL:  WGSL{Float: "hypot_($x, $y)"},
		Tol:   inFloat32(3),
	})
)

// exp is eˣ up to the greatest float64; math.Exp overflows before it on some processors.
func exp(x float64) float64 {
	if x > 709 {
		e := math.Exp(x / 2)
		return e * e
	}
	return math.Exp(x)
}

// Below least a float64 is subnormal, which math.Log and math.Pow take for normal on some processors.
const least = 0x1p-1022

func log(x float64) float64 {
	if 0 < x && x < least {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

func pow(x, y float64) float64 {
	if x != 0 && math.Abs(x) < least && math.Abs(y) <= 1 { // any other power is 0 or ∞
		return math.Pow(x*0x1p54, y) * math.Exp2(-54*y)
	}
	return math.Pow(x, y)
}

// log2 is math.Log2 where that does not cancel: near 1 its exponent and fraction do.
func log2(x float64) float64 {
	if 0.7 < x && x < 1.5 {
		return log(x) * math.Log2E
	}
	return math.Log2(x)
}

// log10 gives whole numbers for powers of 10, which a product with log₁₀ e may miss by a bit.
func log10(x float64) float64 {
	l := log(x) * math.Log10E
	if n := math.Round(l); n != l && math.Abs(n) < 309 && math.Pow10(int(n)) == x {
		return n
	}
	return l
}

func logAddExp(x, y float64) float64 {
	if x == y { // of infinities too, whose difference is NaN
		return x + math.Ln2
	}
	return max(x, y) + math.Log1p(math.Exp(-math.Abs(x-y)))
}

// logAddExpScale is the greater operand with the rest, log(1 + exp(-d)), magnified by the rounding of d.
func logAddExpScale(x, y float64) float64 {
	d := math.Abs(x - y)
	rest := 0.0
	if d < 750 { // else it is 0, times ∞ perhaps
		rest = math.Log1p(math.Exp(-d)) * (1 + d)
	}
	return math.Abs(max(x, y)) + rest
}

// powInt squares and multiplies, wrapping.
func powInt(x, y int64) int64 {
	if y < 0 {
		switch x {
		case 1:
			return 1
		case -1:
			return 1 - 2*(y&1)
		}
		return 0
	}
	p := int64(1)
	for ; y > 0; y >>= 1 {
		if y&1 != 0 {
			p *= x
		}
		x *= x
	}
	return p
}

// function makes the row of a function of one float. Integers and bools are converted first.
func function(name string, f func(float64) float64, wgsl string, tol Tol) *Op {
	return register(&Op{
		Name: name, Arity: 1, Rule: Rule{Accept: Floats, ToFloat: true},
		Float: func(x, _, _ float64) float64 { return f(x) },
		WGSL:  WGSL{Float: wgsl},
		Tol:   tol,
	})
}

// inFloat32 is the tolerance of what a device without float64 computes in float32 arithmetic, by range
// reduction and a polynomial.
func inFloat32(ulp float64) Tol {
	return Tol{ULP: ulp, Reason: "range reduction and a polynomial in float32"}
}
