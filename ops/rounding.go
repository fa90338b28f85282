package ops

import "math"

// Rounding to whole numbers. Integers and bools are returned as they are.
var (
	// Floor is the greatest whole number not above x.
	Floor = rounding("floor", math.Floor, "floor($x)")

	// Ceil is the least whole number not below x.
	Ceil = rounding("ceil", math.Ceil, "ceil_($x)")

	// Round is the whole number nearest to x, the even one of two: 0.5 gives 0 and -0.5 gives -0.
	Round = rounding("round", math.RoundToEven, "round_($x)")

	// Trunc is x without its fraction.
	Trunc = rounding("trunc", math.Trunc, "trunc_($x)")
)

func rounding(name string, f func(float64) float64, wgsl string) *Op {
	return register(&Op{
		Name: name, Arity: 1, Rule: Rule{Accept: Any},
		Float: func(x, _, _ float64) float64 { return f(x) },
		Int:   func(_ DType, x, _, _ int64) int64 { return x },
		WGSL:  WGSL{Float: wgsl, Int: "$x", Bool: "$x", Int64: "$x"},
	})
}
