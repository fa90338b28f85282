package ops

// Logic on truth values, and on bits. A logical operation takes any type, sees all but zero as true (NaN
// too) and gives Bool. A bitwise one takes integers, or bools as single bits.
var (
	// LogicalNot is true where x is zero.
	LogicalNot = register(&Op{
		Name: "logical_not", Arity: 1, Rule: Rule{Accept: Any, ToBool: true},
		Float: func(x, _, _ float64) float64 { return float64(bit(x == 0)) },
		Int:   func(_ DType, x, _, _ int64) int64 { return bit(x == 0) },
		WGSL:  WGSL{Float: "!truth_($x)", Int: "$x == $T(0)", Bool: "!$x", Int64: "!any($x != vec2<u32>())"},
	})

	// LogicalAnd is true where neither x nor y is zero.
	LogicalAnd = logical("logical_and", "&&", func(x, y bool) bool { return x && y })

	// LogicalOr is true where x or y is not zero.
	LogicalOr = logical("logical_or", "||", func(x, y bool) bool { return x || y })

	// LogicalXor is true where just one of x and y is zero.
	LogicalXor = logical("logical_xor", "!=", func(x, y bool) bool { return x != y })

	// BitwiseNot flips the bits of x; of Bool it is not.
	BitwiseNot = register(&Op{
		Name: "bitwise_not", Arity: 1, Rule: Rule{Accept: Bools | Ints},
		Int: func(d DType, x, _, _ int64) int64 {
			if d == Bool {
				return 1 - x
			}
			return ^x
		},
		WGSL: WGSL{Int: "~$x", Bool: "!$x", Int64: "~$x"},
	})

	// BitwiseAnd is the bits set in both x and y.
	BitwiseAnd = bitwise("bitwise_and", WGSL{Int: "$x & $y", Bool: "$x && $y", Int64: "$x & $y"},
		func(x, y int64) int64 { return x & y })

	// BitwiseOr is the bits set in x or y.
	BitwiseOr = bitwise("bitwise_or", WGSL{Int: "$x | $y", Bool: "$x || $y", Int64: "$x | $y"},
		func(x, y int64) int64 { return x | y })

	// BitwiseXor is the bits set in just one of x and y.
	BitwiseXor = bitwise("bitwise_xor", WGSL{Int: "$x ^ $y", Bool: "$x != $y", Int64: "$x ^ $y"},
		func(x, y int64) int64 { return x ^ y })

	// ShiftLeft is x·2ʸ, wrapping. A count y that is negative, or not less than the width of the type, shifts
	// all bits out: the result is 0.
	ShiftLeft = register(&Op{
		Name: "shift_left", Arity: 2, Rule: Rule{Accept: Ints},
		Int: func(d DType, x, y, _ int64) int64 {
			if y < 0 || y >= int64(d.Bits()) {
				return 0
			}
			return x << y
		},
		WGSL: WGSL{Int: "shift_left_$T_($x, $y)", Int64: "shift_left64_($x, $y)"},
	})

	// ShiftRight is x/2ʸ rounded down: the sign comes in from the left. A count y that is negative, or not
	// less than the width of the type, shifts all bits out: the result is 0, or -1 for negative x.
	ShiftRight = register(&Op{
		Name: "shift_right", Arity: 2, Rule: Rule{Accept: Ints},
		Int: func(d DType, x, y, _ int64) int64 {
			if y < 0 || y >= int64(d.Bits()) {
				y = 63
			}
			return x >> y
		},
		WGSL: WGSL{Int: "shift_right_$T_($x, $y)", Int64: "shift_right64_($x, $y)"},
	})
)

func logical(name, operator string, f func(x, y bool) bool) *Op {
	return register(&Op{
		Name: name, Arity: 2, Rule: Rule{Accept: Any, ToBool: true},
		Float: func(x, y, _ float64) float64 { return float64(bit(f(x != 0, y != 0))) },
		Int:   func(_ DType, x, y, _ int64) int64 { return bit(f(x != 0, y != 0)) },
		WGSL: WGSL{
			Float: "truth_($x) " + operator + " truth_($y)",
			Int:   "($x != $T(0)) " + operator + " ($y != $T(0))",
			Bool:  "$x " + operator + " $y",
			Int64: "any($x != vec2<u32>()) " + operator + " any($y != vec2<u32>())",
		},
	})
}

func bitwise(name string, wgsl WGSL, f func(x, y int64) int64) *Op {
	return register(&Op{
		Name: name, Arity: 2, Rule: Rule{Accept: Bools | Ints},
		Int:  func(_ DType, x, y, _ int64) int64 { return f(x, y) },
		WGSL: wgsl,
	})
}
