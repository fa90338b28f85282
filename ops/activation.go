package ops

import "math"

// The functions of neural networks. None gives NaN for a finite x, and all have their limit at the
// infinities: written so that no intermediate overflows and the small tail of a result keeps its
// relative accuracy. Integers are converted to [DefaultFloat], except by ReLU and ReLU6.
var (
	// Erf is the error function 2/√π ∫₀ˣ exp(-t²) dt.
	Erf = function("erf", math.Erf, "erf_($x)", inFloat32(4))

	// Erfc is 1 - Erf(x), accurate where that is tiny.
	Erfc = function("erfc", math.Erfc, "erfc_($x)", inTail(math.Erfc, func(x float64) float64 { return x * x }))

	// GELU is x·Φ(x) with Φ the normal distribution: x/2 · erfc(-x/√2).
	// (Hendrycks and Gimpel, "Gaussian error linear units", 2016.)
	GELU = function("gelu", gelu, "gelu_($x)", inTail(gelu, func(x float64) float64 { return x * x / 2 }))

	// GELUTanh is the approximation x/2 · (1 + tanh(√(2/π)·(x + 0.044715x³))) of GELU.
	GELUTanh = function("gelu_tanh", geluTanh, "gelu_tanh_($x)", inTail(geluTanh, func(x float64) float64 { return 2 * cubic(x) }))

	// Sigmoid is 1/(1 + e⁻ˣ).
	Sigmoid = function("sigmoid", sigmoid, "sigmoid_($x)", inFloat32(4))

	// SiLU is x·Sigmoid(x), also called swish.
	SiLU = function("silu", silu, "silu_($x)", inFloat32(4))

	// Softplus is log(1 + eˣ).
	Softplus = function("softplus", softplus, "softplus_($x)", inFloat32(4))

	// Mish is x·tanh(Softplus(x)).
	Mish = function("mish", mish, "mish_($x)", inFloat32(8))

	// ReLU is the greater of x and 0; NaN stays NaN.
	ReLU = register(&Op{
		Name: "relu", Arity: 1, Rule: Rule{Accept: Numbers},
		Float: func(x, _, _ float64) float64 { return max(x, 0) },
		Int:   func(_ DType, x, _, _ int64) int64 { return max(x, 0) },
		WGSL:  WGSL{Float: "maximum_($x, 0.0)", Int: "max($x, $T(0))", Int64: "max64_($x, vec2<u32>())"},
	})

	// ReLU6 is x limited to [0, 6]; NaN stays NaN.
	ReLU6 = register(&Op{
		Name: "relu6", Arity: 1, Rule: Rule{Accept: Numbers},
		Float: func(x, _, _ float64) float64 { return min(max(x, 0), 6) },
		Int:   func(_ DType, x, _, _ int64) int64 { return min(max(x, 0), 6) },
		WGSL: WGSL{
			Float: "minimum_(maximum_($x, 0.0), 6.0)",
			Int:   "min(max($x, $T(0)), $T(6))",
			Int64: "min64_(max64_($x, vec2<u32>()), vec2<u32>(6u, 0u))",
		},
	})

	// LeakyReLU is x where that is at least 0, and y·x elsewhere: y is the slope.
	LeakyReLU = register(&Op{
		Name: "leaky_relu", Arity: 2, Rule: Rule{Accept: Floats, ToFloat: true},
		Float: func(x, slope, _ float64) float64 {
			if x >= 0 {
				return x
			}
			return slope * x
		},
		WGSL: WGSL{Float: "select($y * $x, $x, $x >= 0.0)"},
	})

	// ELU is x where that is positive, and y·(eˣ - 1) elsewhere: y is the alpha.
	ELU = register(&Op{
		Name: "elu", Arity: 2, Rule: Rule{Accept: Floats, ToFloat: true},
		Float: func(x, alpha, _ float64) float64 {
			if x > 0 {
				return x
			}
			return alpha * math.Expm1(x)
		},
		WGSL: WGSL{Float: "select($y * expm1_($x), $x, $x > 0.0)"},
		Tol:  inFloat32(4),
	})

	// SELU is ELU with the scale and alpha that keep a network's activations normalised.
	// (Klambauer et al., "Self-normalizing neural networks", 2017.)
	SELU = function("selu", selu, "selu_($x)", inFloat32(4))

	// HardSwish is x·min(max(x + 3, 0), 6)/6: 0 below -3, x above 3.
	// (Howard et al., "Searching for MobileNetV3", 2019.)
	HardSwish = function("hard_swish", hardSwish, "hard_swish_($x)", inFloat32(3))
)

const (
	// Below vanish, x·eˣ and all that falls faster round to zero in any type.
	vanish = -760

	sqrt2OverPi = math.Sqrt2 / math.SqrtPi

	seluScale = 1.0507009873554804934193349852946
	seluAlpha = 1.6732632423543772848170429916717
)

var negZero = math.Copysign(0, -1)

func gelu(x float64) float64 {
	if x < vanish { // -∞·0 would be NaN
		return negZero
	}
	return 0.5 * x * math.Erfc(-x/math.Sqrt2)
}

// geluTanh uses (1 + tanh u)/2 = 1/(1 + exp(-2u)), which does not cancel in the negative tail.
func geluTanh(x float64) float64 {
	if x < vanish {
		return negZero
	}
	return x / (1 + exp(-2*cubic(x)))
}

func cubic(x float64) float64 { return sqrt2OverPi * (x + 0.044715*x*x*x) }

// inTail is the tolerance of a function f that falls as exp(-|g(x)|), which magnifies the rounding of g.
func inTail(f, g func(x float64) float64) Tol {
	return Tol{
		ULP: 6, Scale: func(x, _, _ float64) float64 { return f(x) * (1 + min(math.Abs(g(x)), 1000)) },
		Reason: "an exponential magnifies the rounding of its operand in the tail",
	}
}

func sigmoid(x float64) float64 {
	e := math.Exp(-math.Abs(x))
	if x < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}

func silu(x float64) float64 {
	if x < vanish {
		return negZero
	}
	return x * sigmoid(x)
}

func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// mish uses tanh(log(1 + n)) = n(n + 2)/(n(n + 2) + 2) for n = eˣ, divided through by n² for positive x.
func mish(x float64) float64 {
	if x < vanish {
		return negZero
	}
	e := math.Exp(-math.Abs(x))
	if x < 0 {
		n := e * (e + 2)
		return x * n / (n + 2)
	}
	return x * (1 + 2*e) / (1 + 2*e + 2*e*e)
}

func selu(x float64) float64 {
	if x > 0 {
		return seluScale * x
	}
	return seluScale * seluAlpha * math.Expm1(x)
}

func hardSwish(x float64) float64 {
	switch {
	case x <= -3:
		return negZero
	case x >= 3:
		return x
	}
	return x * (x + 3) / 6
}
