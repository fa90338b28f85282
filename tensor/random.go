package tensor

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// Rand returns random numbers evenly distributed over [0, 1): multiples of 2⁻²⁴ for Float32, 2⁻¹¹ for
// Float16, 2⁻⁸ for BFloat16 and 2⁻⁵³ for Float64. The same seed gives the same numbers. Element i is the
// upper bits of word i; of Float64, the upper 27 bits of word 2i and the upper 26 of word 2i+1.
func Rand(t DType, seed uint64, shape ...int) *Tensor {
	s, bad := newStream("rand", 1, seed, t.IsFloat(), t, shape)
	if bad != nil {
		return bad
	}
	words := 1
	if t == Float64 {
		words = 2
	}
	return s.shaped(s.uniform(t, words, 0))
}

// Randn returns random numbers of the normal distribution with mean 0 and variance 1, by the method of
// Box and Muller: √(-2·log(1−u))·cos(2πv), with u and v as [Rand] makes them of words 2i and 2i+1 (4i to
// 4i+3 for Float64). 16-bit types are rounded from Float32. The same seed gives the same numbers.
func Randn(t DType, seed uint64, shape ...int) *Tensor {
	s, bad := newStream("randn", 2, seed, t.IsFloat(), t, shape)
	if bad != nil {
		return bad
	}
	c, words := accumulator(t), 2
	if t == Float64 {
		words = 4
	}
	u, v := s.uniform(c, words, 0), s.uniform(c, words, words/2)
	r := u.Neg().Log1p().MulScalar(-2.0).Sqrt()
	return s.shaped(r.Mul(v.MulScalar(2 * math.Pi).Cos()).Cast(t))
}

// RandInt returns random integers evenly distributed over lo…hi−1, at most 2³¹ of them. The same seed
// gives the same numbers. Element i is lo + ⌊w·(hi−lo)/2⁶⁴⌋, where the 64 bits of w are word 2i, the
// upper half, and word 2i+1; no number is likelier than another by more than a part in 2³³.
func RandInt(t DType, seed uint64, lo, hi int64, shape ...int) *Tensor {
	s, bad := newStream("randint", 3, seed, t.IsInt(), t, shape)
	if bad != nil {
		return bad
	}
	least, most := ops.IntRange(t)
	reason := ""
	switch {
	case lo >= hi:
		reason = "is empty: want lo < hi"
	case lo < least || hi-1 > most:
		reason = fmt.Sprintf("is not within %s, which holds %d to %d", t, least, most)
	case uint64(hi)-uint64(lo) > 1<<31:
		reason = "has more than 2³¹ integers"
	}
	if reason != "" {
		return fail("randint", ErrDType, fmt.Sprintf("range %d to %d %s", lo, hi, reason))
	}
	n, half := Scalar(hi-lo), Scalar(32)
	upper := s.bits(2, 0).Cast(Int64).Mul(n)
	lower := s.bits(2, 1).Cast(Int64).Mul(n).ShiftRight(half)
	return s.shaped(upper.Add(lower).ShiftRight(half).AddScalar(lo).Cast(t))
}

// A stream is the words of one key, a number of them for each element of a shape. (The package comment says
// how they are made.)
type stream struct {
	dev   *Device
	key   [4]uint32
	shape []int
	n     int
}

func newStream(op string, purpose uint32, seed uint64, suits bool, t DType, shape []int) (stream, *Tensor) {
	if !suits {
		return stream{}, fail(op, ErrDType, "does not make "+t.String())
	}
	d, sh, err := place(shape)
	if err != nil {
		return stream{}, failWith(op, err)
	}
	key := ops.Philox([4]uint32{purpose}, [2]uint32{uint32(seed), uint32(seed >> 32)})
	return stream{d, key, sh, sh.Len()}, nil
}

// bits returns word words·i + first for each element i, as Uint32; as Int64 if there are more than 2³²
// words.
func (s stream) bits(words, first int) *Tensor {
	t := Uint32
	if int64(s.n)*int64(words) > math.MaxUint32 {
		t = Int64
	}
	at := whole(s.dev, graph.Index(s.dev.g, Int64, s.n))
	if s.n <= math.MaxInt32 {
		at = index(s.dev, s.n)
	}
	at = at.Cast(t)
	if words > 1 {
		at = at.MulScalar(words)
	}
	if first > 0 {
		at = at.AddScalar(first)
	}
	return triadic(ops.RandBits, at, Scalar(s.key[0]), Scalar(s.key[1]))
}

// uniform returns numbers of type t in [0, 1) made from word first (for Float64 also the next) of the
// words of each element.
func (s stream) uniform(t DType, words, first int) *Tensor {
	w := s.bits(words, first)
	if t == Float64 {
		upper := w.ShiftRight(Scalar(5)).Cast(t).MulScalar(0x1p-27)
		lower := s.bits(words, first+1).ShiftRight(Scalar(6)).Cast(t).MulScalar(0x1p-53)
		return upper.Add(lower)
	}
	digits := significand(t)
	return w.ShiftRight(Scalar(32 - digits)).Cast(t).MulScalar(math.Ldexp(1, -digits))
}

func (s stream) shaped(t *Tensor) *Tensor { return t.Reshape(s.shape...) }

// significand returns the number of binary digits that a floating-point type keeps.
func significand(t DType) int {
	switch t {
	case Float16:
		return 11
	case BFloat16:
		return 8
	case Float32:
		return 24
	default:
		return 53
	}
}
