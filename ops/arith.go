package ops

import "math"

// Arithmetic. Integers wrap, as two's complement does; Bool takes or for a sum and and for a product,
// and has no difference, quotient or remainder.
var (
	// Neg is -x. The sign of a zero and of a NaN flips; the least integer stays itself.
	Neg = register(&Op{
		Name: "neg", Arity: 1, Rule: Rule{Accept: Numbers},
		Float: func(x, _, _ float64) float64 { return -x },
		Int:   func(_ DType, x, _, _ int64) int64 { return -x },
		WGSL:  WGSL{Float: "-$x", Int: "$T(0) - $x", Int64: "neg64_($x)"},
	})

	// Abs is |x|. The least integer stays itself.
	Abs = register(&Op{
		Name: "abs", Arity: 1, Rule: Rule{Accept: Any},
		Float: func(x, _, _ float64) float64 { return math.Abs(x) },
		Int:   func(_ DType, x, _, _ int64) int64 { return max(x, -x) },
		WGSL:  WGSL{Float: "abs($x)", Bool: "$x", Int64: "abs64_($x)"},
	})

	// Sign is -1, 0 or 1 by the sign of x, 0 for a zero of either sign and NaN for NaN.
	Sign = register(&Op{
		Name: "sign", Arity: 1, Rule: Rule{Accept: Numbers},
		Float: func(x, _, _ float64) float64 {
			switch {
			case x > 0:
				return 1
			case x < 0:
				return -1
			}
			return x + 0 // -0 becomes 0
		},
		Int:  func(_ DType, x, _, _ int64) int64 { return bit(x > 0) - bit(x < 0) },
		WGSL: WGSL{Float: "sign_($x)", Int: "$T($x > $T(0)) - $T($x < $T(0))", Int64: "sign64_($x)"},
	})

	// Add is x + y.
	Add = register(&Op{
		Name: "add", Arity: 2, Rule: Rule{Accept: Any},
		Float: func(x, y, _ float64) float64 { return x + y },
		Int:   func(_ DType, x, y, _ int64) int64 { return x + y },
		WGSL:  WGSL{Float: "$x + $y", Bool: "$x || $y", Int64: "add64_($x, $y)"},
	})

	// Sub is x - y.
	Sub = register(&Op{
		Name: "sub", Arity: 2, Rule: Rule{Accept: Numbers},
		Float: func(x, y, _ float64) float64 { return x - y },
		Int:   func(_ DType, x, y, _ int64) int64 { return x - y },
		WGSL:  WGSL{Float: "$x - $y", Int64: "sub64_($x, $y)"},
	})

	// Mul is x · y.
	Mul = register(&Op{
		Name: "mul", Arity: 2, Rule: Rule{Accept: Any},
		Float: func(x, y, _ float64) float64 { return x * y },
		Int:   func(_ DType, x, y, _ int64) int64 { return x * y },
		WGSL:  WGSL{Float: "$x * $y", Bool: "$x && $y", Int64: "mul64_($x, $y)"},
	})

	// Div is the quotient x / y of floats; integers are converted first. x/0 is an infinity, 0/0 NaN.
	Div = register(&Op{
		Name: "div", Arity: 2, Rule: Rule{Accept: Floats, ToFloat: true},
		Float: func(x, y, _ float64) float64 { return x / y },
		WGSL:  WGSL{Float: "div_($x, $y)"},
		Tol:   Tol{ULP: 2.5, Reason: "the accuracy WGSL asks of a division"},
	})

	// FloorDiv is x / y rounded down. Of integers x/0 is 0 and the least divided by -1 is itself; of floats
	// x/0 is the infinity or NaN that Div gives, and infinities follow NumPy: ∞ over anything is NaN.
	FloorDiv = register(&Op{
		Name: "floor_div", Arity: 2, Rule: Rule{Accept: Numbers},
		Float: func(x, y, _ float64) float64 { return floorDiv(x, y) },
		Int:   func(_ DType, x, y, _ int64) int64 { return floorDivInt(x, y) },
		WGSL:  WGSL{Float: "floor_div_($x, $y)", Int: "floor_div_$T_($x, $y)", Int64: "floor_div64_($x, $y)"},
		Tol:   Tol{ULP: 1, Reason: "a quotient beyond 2²⁴ is rounded twice in float32"},
	})

	// Mod is the remainder of FloorDiv: it has the sign of the divisor, as in Python. Of integers x%0 is
	// 0, of floats NaN. A zero takes the sign of the divisor; x % ±∞ is x, or the infinity if their signs
	// differ.
	Mod = register(&Op{
		Name: "mod", Arity: 2, Rule: Rule{Accept: Numbers},
		Float: func(x, y, _ float64) float64 { return mod(x, y) },
		Int:   func(_ DType, x, y, _ int64) int64 { return modInt(x, y) },
		WGSL:  WGSL{Float: "mod_($x, $y)", Int: "mod_$T_($x, $y)", Int64: "mod64_($x, $y)"},
	})

	// Fmod is the remainder of the quotient rounded toward zero: it has the sign of the dividend, as in C.
	// Of integers x%0 is 0, of floats NaN.
	Fmod = register(&Op{
		Name: "fmod", Arity: 2, Rule: Rule{Accept: Numbers},
		Float: func(x, y, _ float64) float64 { return math.Mod(x, y) },
		Int:   func(_ DType, x, y, _ int64) int64 { return fmodInt(x, y) },
		WGSL:  WGSL{Float: "fmod_($x, $y)", Int: "fmod_$T_($x, $y)", Int64: "fmod64_($x, $y)"},
	})

	// FMA is x·y + z, rounded once; of integers it wraps.
	FMA = register(&Op{
		Name: "fma", Arity: 3, Rule: Rule{Accept: Numbers},
		Float: math.FMA,
		Int:   func(_ DType, x, y, z int64) int64 { return x*y + z },
		WGSL:  WGSL{Float: "fma($x, $y, $z)", Int: "$x * $y + $z", Int64: "add64_(mul64_($x, $y), $z)"},
		Tol: Tol{
			ULP: 1, Scale: func(x, y, _ float64) float64 { return x * y },
			Reason: "WGSL lets fma round the product",
		},
	})

	// Lerp is x + z·(y - x), the point at fraction z of the way from x to y: exactly x at 0 and y at 1.
	Lerp = register(&Op{
		Name: "lerp", Arity: 3, Rule: Rule{Accept: Floats, ToFloat: true},
		Float: func(x, y, z float64) float64 { return math.FMA(z, y, math.FMA(-z, x, x)) },
		WGSL:  WGSL{Float: "fma($z, $y, fma(-$z, $x, $x))"},
		Tol: Tol{
			ULP: 3, Scale: func(x, y, z float64) float64 { return math.Abs(x) + math.Abs(x*z) + math.Abs(y*z) },
			Reason: "both products are rounded before they cancel",
		},
	})

	// Copysign is |x| with the sign of y, be it zero or NaN.
	Copysign = register(&Op{
		Name: "copysign", Arity: 2, Rule: Rule{Accept: Floats, ToFloat: true},
		Float: func(x, y, _ float64) float64 { return math.Copysign(x, y) },
		WGSL:  WGSL{Float: "copysign_($x, $y)"},
	})

	// Maximum is the greater of x and y, NaN if either is.
	Maximum = register(&Op{
		Name: "maximum", Arity: 2, Rule: Rule{Accept: Any},
		Float: func(x, y, _ float64) float64 { return max(x, y) },
		Int:   func(_ DType, x, y, _ int64) int64 { return max(x, y) },
		WGSL:  WGSL{Float: "maximum_($x, $y)", Int: "max($x, $y)", Bool: "$x || $y", Int64: "max64_($x, $y)"},
	})

	// Minimum is the lesser of x and y, NaN if either is.
	Minimum = register(&Op{
		Name: "minimum", Arity: 2, Rule: Rule{Accept: Any},
		Float: func(x, y, _ float64) float64 { return min(x, y) },
		Int:   func(_ DType, x, y, _ int64) int64 { return min(x, y) },
		WGSL:  WGSL{Float: "minimum_($x, $y)", Int: "min($x, $y)", Bool: "$x && $y", Int64: "min64_($x, $y)"},
	})

	// Fmax is the greater of x and y, or the one that is a number if the other is NaN.
	Fmax = register(&Op{
		Name: "fmax", Arity: 2, Rule: Rule{Accept: Any},
		Float: func(x, y, _ float64) float64 { x, y = numbers(x, y); return max(x, y) },
		Int:   Maximum.Int,
		WGSL:  WGSL{Float: "fmax_($x, $y)", Int: "max($x, $y)", Bool: "$x || $y", Int64: "max64_($x, $y)"},
	})

	// Fmin is the lesser of x and y, or the one that is a number if the other is NaN.
	Fmin = register(&Op{
		Name: "fmin", Arity: 2, Rule: Rule{Accept: Any},
		Float: func(x, y, _ float64) float64 { x, y = numbers(x, y); return min(x, y) },
		Int:   Minimum.Int,
		WGSL:  WGSL{Float: "fmin_($x, $y)", Int: "min($x, $y)", Bool: "$x && $y", Int64: "min64_($x, $y)"},
	})
)

// numbers returns x and y, with a NaN replaced by the other.
func numbers(x, y float64) (float64, float64) {
	switch {
	case math.IsNaN(x):
		return y, y
	case math.IsNaN(y):
		return x, x
	}
	return x, y
}

// floorDiv subtracts the remainder first, as NumPy does, so that the quotient is a whole number before
// it is rounded down: the floor of a rounded x/y would be off by one where x/y rounds up to an integer.
func floorDiv(x, y float64) float64 {
	if y == 0 {
		return x / y
	}
	r := math.Mod(x, y)
	q := (x - r) / y
	if r != 0 && (r < 0) != (y < 0) {
		q--
	}
	if q == 0 {
		return math.Copysign(0, x/y)
	}
	return math.RoundToEven(q)
}

func mod(x, y float64) float64 {
	r := math.Mod(x, y)
	switch {
	case r == 0:
		return math.Copysign(0, y)
	case (r < 0) != (y < 0):
		return r + y
	}
	return r
}

func floorDivInt(x, y int64) int64 {
	if y == 0 {
		return 0
	}
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

func modInt(x, y int64) int64 {
	r := fmodInt(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

func fmodInt(x, y int64) int64 {
	if y == 0 {
		return 0
	}
	return x % y
}

// bit returns 1 for true.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
