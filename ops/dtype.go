package ops

import (
	"errors"
	"fmt"
	"slices"
)

// ErrDType is the kind of error for operands whose element types do not suit an operation.
var ErrDType = errors.New("unsupported data type")

// A DType is the type of a tensor's elements.
type DType uint8

// The element types. Their order is the order of [DTypes].
const (
	Invalid  DType = iota
	Bool           // one byte, 0 or 1
	Uint8          // unsigned, 8 bits
	Int8           // two's complement, 8 bits
	Int32          // two's complement, 32 bits
	Uint32         // unsigned, 32 bits
	Int64          // two's complement, 64 bits
	Float16        // IEEE 754 binary16
	BFloat16       // the upper half of an IEEE 754 binary32
	Float32        // IEEE 754 binary32
	Float64        // IEEE 754 binary64
	numDTypes
)

// DefaultFloat is the type of a floating-point result whose operands are all integers or bools:
// of a true division, a mean, a square root. NumPy takes Float64; Float32 is what every device has.
const DefaultFloat = Float32

var dtypes = [numDTypes]struct {
	name string
	size int
	kind Kinds
}{
	Invalid:  {"invalid", 0, 0},
	Bool:     {"bool", 1, Bools},
	Uint8:    {"uint8", 1, Ints},
	Int8:     {"int8", 1, Ints},
	Int32:    {"int32", 4, Ints},
	Uint32:   {"uint32", 4, Ints},
	Int64:    {"int64", 8, Ints},
	Float16:  {"float16", 2, Floats},
	BFloat16: {"bfloat16", 2, Floats},
	Float32:  {"float32", 4, Floats},
	Float64:  {"float64", 8, Floats},
}

// DTypes returns every element type, in the order of their constants; the quantised types are none.
func DTypes() []DType {
	ds := make([]DType, 0, numDTypes-1)
	for d := Bool; d < numDTypes; d++ {
		ds = append(ds, d)
	}
	return ds
}

// ParseDType returns the type whose name is s, as [DType.String] prints it.
func ParseDType(s string) (DType, error) {
	for d := Bool; d < numDTypes; d++ {
		if dtypes[d].name == s {
			return d, nil
		}
	}
	if i := slices.Index(quantNames[:], s); i >= 0 {
		return Q8_0 + DType(i), nil
	}
	return Invalid, fmt.Errorf("ops: unknown data type %q: %w", s, ErrDType)
}

// Valid reports whether d is one of the element types.
func (d DType) Valid() bool { return d > Invalid && d < numDTypes }

// String returns NumPy's name of d, such as "float32", or GGML's of a quantised type, such as "q8_0".
func (d DType) String() string {
	if d.Quantized() {
		return quantNames[d-Q8_0]
	}
	if d >= numDTypes {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].name
}

// Size returns the size of an element in bytes, 0 for [Invalid] and for quantised types, of which [DType.Bytes] knows more.
func (d DType) Size() int {
	if d >= numDTypes {
		return 0
	}
	return dtypes[d].size
}

// Kind returns the kind d belongs to: exactly one bit, or 0 for [Invalid].
func (d DType) Kind() Kinds {
	if d >= numDTypes {
		return 0
	}
	return dtypes[d].kind
}

// IsFloat reports whether d is a floating-point type.
func (d DType) IsFloat() bool { return d.Kind() == Floats }

// IsInt reports whether d is an integer type, signed or not. Bool is none.
func (d DType) IsInt() bool { return d.Kind() == Ints }

// IsHalf reports whether d is one of the two 16-bit floating-point types.
func (d DType) IsHalf() bool { return d == Float16 || d == BFloat16 }

// Signed reports whether d has negative values.
func (d DType) Signed() bool { return d == Int8 || d == Int32 || d == Int64 || d.IsFloat() }

// Bits returns the width of an element in bits.
func (d DType) Bits() int { return 8 * d.Size() }

// Kinds is a set of kinds of element types.
type Kinds uint8

// The kinds of element types.
const (
	Bools Kinds = 1 << iota
	Ints
	Floats

	Numbers = Ints | Floats
	Any     = Bools | Ints | Floats
)

// Has reports whether k contains every kind of s.
func (k Kinds) Has(s Kinds) bool { return k&s == s && s != 0 }

// A Weak is the kind of a Go scalar used as an operand. It takes part in promotion without widening
// the array beside it, as a Python scalar does in NumPy 2.
type Weak uint8

// The kinds of weak scalars.
const (
	WeakBool Weak = iota
	WeakInt
	WeakFloat
)

// Default returns the element type of a weak scalar that stands alone.
func (w Weak) Default() DType { return [...]DType{Bool, Int64, DefaultFloat}[w] }

// PromoteWeak returns the element type of an operation between an array of type d and a weak scalar:
// d, unless the scalar is of a higher kind; then [Int64] for an integer beside bools, and
// [DefaultFloat] for a float beside integers or bools.
func PromoteWeak(d DType, w Weak) DType {
	switch {
	case w == WeakInt && d == Bool, w == WeakFloat && !d.IsFloat():
		return w.Default()
	}
	return d
}

// Promote returns the smallest element type that holds the values of both a and b by NumPy's rules
// (numpy.promote_types). Where NumPy's answer is a type weft lacks, the next wider one stands in:
// Int32 for int16 (Uint8 with Int8), and there is no Uint64 to need. BFloat16 follows the pattern of
// Float16; the two together give Float32.
func Promote(a, b DType) DType {
	if a >= numDTypes || b >= numDTypes {
		return Invalid
	}
	return promotion[a][b]
}

var promotion = promotionTable()

func promotionTable() (t [numDTypes][numDTypes]DType) {
	for a := Bool; a < numDTypes; a++ {
		for b := Bool; b < numDTypes; b++ {
			t[a][b] = promote(a, b)
		}
	}
	return t
}

func promote(a, b DType) DType {
	if a.Kind() > b.Kind() || a.Kind() == b.Kind() && a > b {
		a, b = b, a // now a is of the lower kind, or the earlier of two of a kind
	}
	switch {
	case a == b, a == Bool:
		return b
	case b.IsInt():
		return promoteInts(a, b)
	case a.IsInt():
		if b.IsHalf() && a.Size() > 1 || b == Float32 && a.Size() > 1 {
			return Float64 // 32-bit integers do not fit the 24-bit significand
		}
		return b
	case a == Float16 && b == BFloat16:
		return Float32
	}
	return b
}

// promoteInts takes two different integer types, the earlier constant first.
func promoteInts(a, b DType) DType {
	switch {
	case b == Int8: // with Uint8: NumPy's int16
		return Int32
	case a == Int32 && b == Uint32, a == Int8 && b == Uint32:
		return Int64
	}
	return b
}
