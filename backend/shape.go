package backend

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// A Shape is the extent of each axis. A scalar has an empty shape; an extent may be 0.
type Shape []int

// Len returns the number of elements.
func (s Shape) Len() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Rank returns the number of axes.
func (s Shape) Rank() int { return len(s) }

// Equal reports whether s and t have the same extents.
func (s Shape) Equal(t Shape) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range s {
		if s[i] != t[i] {
			return false
		}
	}
	return true
}

// Clone returns a copy of s.
func (s Shape) Clone() Shape { return append(Shape(nil), s...) }

// String prints s as "[2 3]".
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range s {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprint(&b, d)
	}
	b.WriteByte(']')
	return b.String()
}

// Check returns an error of kind [ErrShape] if an extent is negative or the number of elements, or of
// their bytes at the widest element type, does not fit an int.
func (s Shape) Check() error {
	const widest = 8
	n := 1
	for i, d := range s {
		switch {
		case d < 0:
			return fmt.Errorf("shape %v: extent %d of axis %d: %w", s, d, i, ErrShape)
		case d == 0: // does not excuse the others: strides are products of them
		default:
			hi, lo := bits.Mul(uint(n), uint(d)) // a division would take longer, for each operand of each kernel
			if hi != 0 || lo > math.MaxInt/widest {
				return fmt.Errorf("shape %v: more elements than an int counts: %w", s, ErrShape)
			}
			n = int(lo)
		}
	}
	return nil
}

// Strides returns the row-major strides of a dense tensor of shape s, in elements.
func (s Shape) Strides() []int {
	st := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		st[i] = n
		n *= s[i]
	}
	return st
}

// Axis returns the axis that a names, counted from the end if it is negative, or an error of kind
// [ErrAxis].
func (s Shape) Axis(a int) (int, error) {
	if a < -len(s) || a >= len(s) {
		return 0, fmt.Errorf("axis %d of a tensor of %d axes: %w", a, len(s), ErrAxis)
	}
	if a < 0 {
		a += len(s)
	}
	return a, nil
}

// Broadcast returns the shape that all of shapes broadcast to by NumPy's rule: aligned at the last axis,
// an extent of 1 stretches to the other. Otherwise the error, of kind [ErrShape], names the two.
func Broadcast(shapes ...Shape) (Shape, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := make(Shape, rank)
	for i := range out {
		out[i] = 1
	}
	for _, s := range shapes {
		off := rank - len(s)
		for i, d := range s {
			switch at := &out[off+i]; {
			case *at == d || d == 1:
			case *at == 1:
				*at = d
			default:
				return nil, fmt.Errorf("shapes %v do not broadcast: extents %d and %d: %w", shapes, *at, d, ErrShape)
			}
		}
	}
	return out, nil
}
