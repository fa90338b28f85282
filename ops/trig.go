package ops

import "math"

// Trigonometric and hyperbolic functions, in radians. Integers are converted to [DefaultFloat].
var (
	// Sin is the sine of x, for any finite x; NaN for an infinity.
	Sin = function("sin", math.Sin, "sin_($x)", inFloat32(4))

	// Cos is the cosine of x, for any finite x; NaN for an infinity.
	Cos = function("cos", math.Cos, "cos_($x)", inFloat32(4))

	// Tan is the tangent of x, for any finite x; NaN for an infinity.
	Tan = function("tan", math.Tan, "tan_($x)", inFloat32(4))

	// Asin is the angle in [-π/2, π/2] whose sine is x; NaN outside [-1, 1].
	Asin = function("asin", math.Asin, "asin_($x)", inFloat32(4))

	// Acos is the angle in [0, π] whose cosine is x; NaN outside [-1, 1].
	Acos = function("acos", math.Acos, "acos_($x)", inFloat32(4))

	// Atan is the angle in [-π/2, π/2] whose tangent is x.
	Atan = function("atan", math.Atan, "atan_($x)", inFloat32(4))

	// Atan2 is the angle in [-π, π] of the point (y, x): note the order, Atan2(y, x) as in C. Signs of
	// zeros choose the quadrant.
	Atan2 = register(&Op{
		Name: "atan2", Arity: 2, Rule: Rule{Accept: Floats, ToFloat: true},
		Float: func(x, y, _ float64) float64 { return math.Atan2(x, y) },
		WGSL:  WGSL{Float: "atan2_($x, $y)"},
		Tol:   inFloat32(4),
	})

	// Sinh is the hyperbolic sine of x.
	Sinh = function("sinh", sinh, "sinh_($x)", inFloat32(4))

	// Cosh is the hyperbolic cosine of x.
	Cosh = function("cosh", cosh, "cosh_($x)", inFloat32(4))

	// Tanh is the hyperbolic tangent of x: ±1 at the infinities, and wherever it rounds to that.
	Tanh = function("tanh", math.Tanh, "tanh_($x)", inFloat32(4))

	// Asinh is the inverse of Sinh.
	Asinh = function("asinh", math.Asinh, "asinh_($x)", inFloat32(4))

	// Acosh is the inverse of Cosh, at least 0; NaN below 1.
	Acosh = function("acosh", math.Acosh, "acosh_($x)", inFloat32(4))

	// Atanh is the inverse of Tanh: infinite at ±1, NaN beyond.
	Atanh = function("atanh", math.Atanh, "atanh_($x)", inFloat32(4))
)

func sinh(x float64) float64 {
	if math.Abs(x) > 709 { // where eˣ overflows before eˣ/2
		return math.Copysign(cosh(x), x)
	}
	return math.Sinh(x)
}

func cosh(x float64) float64 {
	if math.Abs(x) > 709 {
		e := math.Exp(math.Abs(x) / 2)
		return e / 2 * e
	}
	return math.Cosh(x)
}
