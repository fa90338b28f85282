package tensor

import (
	"math"
	"strconv"
	"strings"

	"github.com/weft-go/weft/ops"
)

// A floatFormat prints floats aligned at the point. (After FloatingFormat in NumPy's arrayprint.py.)
type floatFormat struct {
	scientific  bool
	left, right int // characters before and after the point; right without the exponent
	exp         int // digits of the exponent
}

const formatDigits = 8 // at most, after the point

func newFloatFormat(values []ops.Value) floatFormat {
	var f floatFormat
	least, most := math.Inf(1), 0.0
	for _, v := range values {
		if a := math.Abs(v.F); a != 0 && !math.IsInf(a, 0) && a == a {
			least, most = min(least, a), max(most, a)
		}
	}
	f.scientific = most >= 1e8 || most > 0 && (least < 1e-4 || most/least > 1000)
	special := 0 // width of the widest infinity or NaN
	for _, v := range values {
		if v.F-v.F != 0 {
			special = max(special, len(specialText(v.F)))
			continue
		}
		whole, fraction, exp := f.parts(v)
		f.left, f.right, f.exp = max(f.left, len(whole)), max(f.right, len(fraction)), max(f.exp, len(exp))
	}
	f.left = max(f.left, special-f.tail())
	return f
}

// tail returns the number of characters from the point on.
func (f *floatFormat) tail() int {
	if f.scientific {
		return 1 + f.right + 2 + f.exp // e and sign
	}
	return 1 + f.right
}

// parts returns the text of v before and after the point, without trailing zeros, and the digits of the
// exponent.
func (f *floatFormat) parts(v ops.Value) (whole, fraction, exp string) {
	format := byte('f')
	if f.scientific {
		format = 'e'
	}
	s := shortest(v, format)
	if mantissa, _, _ := strings.Cut(s, "e"); len(mantissa)-strings.IndexByte(mantissa+".", '.')-1 > formatDigits {
		s = strconv.FormatFloat(v.F, format, formatDigits, 64)
	}
	s, exp, _ = strings.Cut(s, "e")
	whole, fraction, _ = strings.Cut(s, ".")
	return whole, strings.TrimRight(fraction, "0"), strings.TrimLeft(exp, "+-")
}

// text returns v as wide as all.
func (f *floatFormat) text(v ops.Value) string {
	if v.F-v.F != 0 {
		s := specialText(v.F)
		return strings.Repeat(" ", f.left+f.tail()-len(s)) + s
	}
	whole, fraction, exp := f.parts(v)
	s := strings.Repeat(" ", f.left-len(whole)) + whole + "." + fraction
	if !f.scientific {
		return s + strings.Repeat(" ", f.right-len(fraction))
	}
	sign := "+"
	if a := math.Abs(v.F); a != 0 && a < 1 {
		sign = "-"
	}
	return s + strings.Repeat("0", f.right-len(fraction)) + "e" + sign + strings.Repeat("0", f.exp-len(exp)) + exp
}

// specialText returns the text of an infinity or NaN.
func specialText(v float64) string {
	switch {
	case v > 0:
		return "inf"
	case v < 0:
		return "-inf"
	}
	return "nan"
}

// shortest returns the shortest decimal, in format 'e' or 'f', that rounds to v in its type.
func shortest(v ops.Value, format byte) string {
	if !v.DType.IsHalf() {
		return strconv.FormatFloat(v.F, format, -1, v.DType.Bits())
	}
	for digits := range 5 { // five digits tell any two 16-bit floats apart
		s := strconv.FormatFloat(v.F, 'e', digits, 64)
		if back, err := strconv.ParseFloat(s, 64); err == nil && ops.RoundFloat(v.DType, back) == v.F {
			return strconv.FormatFloat(back, format, -1, 64)
		}
	}
	return strconv.FormatFloat(v.F, format, -1, 64)
}
