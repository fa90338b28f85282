package ops

import "math"

// Comparisons and predicates. The result is Bool. A comparison with NaN is false, but NotEqual is true;
// zeros of either sign are equal.
var (
	// Equal is x == y.
	Equal = comparison("equal",
		func(x, y float64) bool { return x == y }, func(x, y int64) bool { return x == y },
		WGSL{Float: "equal_($x, $y)", Int: "$x == $y", Bool: "$x == $y", Int64: "all($x == $y)"})

	// NotEqual is x != y.
	NotEqual = comparison("not_equal",
		func(x, y float64) bool { return x != y }, func(x, y int64) bool { return x != y },
		WGSL{Float: "!equal_($x, $y)", Int: "$x != $y", Bool: "$x != $y", Int64: "any($x != $y)"})

	// Less is x < y.
	Less = comparison("less",
		func(x, y float64) bool { return x < y }, func(x, y int64) bool { return x < y },
		WGSL{Float: "less_($x, $y)", Int: "$x < $y", Bool: "!$x && $y", Int64: "less64_($x, $y)"})

	// LessEqual is x <= y.
	LessEqual = comparison("less_equal",
		func(x, y float64) bool { return x <= y }, func(x, y int64) bool { return x <= y },
		WGSL{Float: "less_equal_($x, $y)", Int: "$x <= $y", Bool: "!$x || $y", Int64: "!less64_($y, $x)"})

	// Greater is x > y.
	Greater = comparison("greater",
		func(x, y float64) bool { return x > y }, func(x, y int64) bool { return x > y },
		WGSL{Float: "less_($y, $x)", Int: "$x > $y", Bool: "$x && !$y", Int64: "less64_($y, $x)"})

	// GreaterEqual is x >= y.
	GreaterEqual = comparison("greater_equal",
		func(x, y float64) bool { return x >= y }, func(x, y int64) bool { return x >= y },
		WGSL{Float: "less_equal_($y, $x)", Int: "$x >= $y", Bool: "$x || !$y", Int64: "!less64_($x, $y)"})

	// IsNaN reports whether x is NaN. No integer is.
	IsNaN = predicate("isnan", math.IsNaN, 0, "isnan_($x)", "false")

	// IsInf reports whether x is an infinity. No integer is.
	IsInf = predicate("isinf", func(x float64) bool { return math.IsInf(x, 0) }, 0, "isinf_($x)", "false")

	// IsFinite reports whether x is neither an infinity nor NaN. Every integer is finite.
	IsFinite = predicate("isfinite", func(x float64) bool { return x-x == 0 }, 1, "isfinite_($x)", "true")
)

func comparison(name string, f func(x, y float64) bool, i func(x, y int64) bool, wgsl WGSL) *Op {
	return register(&Op{
		Name: name, Arity: 2, Rule: Rule{Accept: Any, ToBool: true},
		Float: func(x, y, _ float64) float64 { return float64(bit(f(x, y))) },
		Int:   func(_ DType, x, y, _ int64) int64 { return bit(i(x, y)) },
		WGSL:  wgsl,
	})
}

// predicate makes the row of a question about floats whose answer for all integers is known.
func predicate(name string, f func(float64) bool, integer int64, wgsl, wgslInteger string) *Op {
	return register(&Op{
		Name: name, Arity: 1, Rule: Rule{Accept: Any, ToBool: true},
		Float: func(x, _, _ float64) float64 { return float64(bit(f(x))) },
		Int:   func(DType, int64, int64, int64) int64 { return integer },
		WGSL:  WGSL{Float: wgsl, Int: wgslInteger, Bool: wgslInteger, Int64: wgslInteger},
	})
}
