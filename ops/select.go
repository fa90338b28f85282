package ops

// Selection.
var (
	// Where is y where the condition x is true, and z elsewhere. What it does not choose leaves no trace,
	// be it NaN or an infinity.
	Where = register(&Op{
		Name: "where", Arity: 3, Rule: Rule{Accept: Any, Cond: true},
		Float: func(cond, x, y float64) float64 {
			if cond != 0 {
				return x
			}
			return y
		},
		Int: func(_ DType, cond, x, y int64) int64 {
			if cond != 0 {
				return x
			}
			return y
		},
		WGSL: WGSL{Float: "select($z, $y, $x)", Int: "select($z, $y, $x)", Bool: "select($z, $y, $x)", Int64: "select($z, $y, $x)"},
	})

	// Clip is x limited to [y, z]: Minimum(Maximum(x, y), z), so that the upper bound wins if it is the
	// lower, and NaN in any of the three gives NaN.
	Clip = register(&Op{
		Name: "clip", Arity: 3, Rule: Rule{Accept: Any},
		Float: func(x, lo, hi float64) float64 { return min(max(x, lo), hi) },
		Int:   func(_ DType, x, lo, hi int64) int64 { return min(max(x, lo), hi) },
		WGSL: WGSL{
			Float: "minimum_(maximum_($x, $y), $z)",
			Int:   "min(max($x, $y), $z)",
			Bool:  "($x || $y) && $z",
			Int64: "min64_(max64_($x, $y), $z)",
		},
	})
)
