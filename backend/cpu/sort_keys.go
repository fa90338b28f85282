package cpu

import (
	"sort"

	"github.com/weft-go/weft/ops"
)

// A sortKey is an unsigned integer that stands for an element: keys are in the order that the elements are to have, and
// equal where those are.
type sortKey interface{ uint32 | uint64 }

// stored are the integers that elements are stored as.
type stored interface {
	uint8 | uint16 | uint32 | uint64
}

// An ordering says how the elements of a type become keys of as many bits.
type ordering struct {
	bits       int
	sign       uint64 // the bit to flip; 0 for what is not signed
	inf        uint64 // of a float: the bits of infinity; else 0
	mask       uint64 // all bits
	descending bool
}

// orderOf returns the ordering of type d. Of floats both zeros have one key, and every NaN the greatest, also in descending
// order.
func orderOf(d ops.DType, descending bool) ordering {
	o := ordering{bits: d.Size() * 8, descending: descending}
	o.mask = 1<<o.bits - 1
	if d.Signed() || d.IsFloat() {
		o.sign = 1 << (o.bits - 1)
	}
	switch d {
	case ops.Float16:
		o.inf = 0x7c00
	case ops.BFloat16:
		o.inf = 0x7f80
	case ops.Float32:
		o.inf = 0x7f800000
	case ops.Float64:
		o.inf = 0x7ff0000000000000
	}
	return o
}

// orderKeys writes the keys of row. It reports whether elementsOf cannot give every element back.
func orderKeys[K sortKey, E stored](o *ordering, keys []K, row []E) (odd bool) {
	keys = keys[:len(row)]
	sign, mask := K(o.sign), K(o.mask)
	if o.inf == 0 {
		flip := sign
		if o.descending {
			flip ^= mask
		}
		for i, x := range row {
			keys[i] = K(x) ^ flip
		}
		return false
	}
	inf, flip := K(o.inf), K(0)
	if o.descending {
		flip = mask
	}
	for i, x := range row {
		k := K(x)
		switch {
		case k&^sign > inf:
			keys[i] = mask
			odd = true
			continue
		case k == sign:
			odd = true
		case k&sign == 0:
			k ^= sign
		default:
			k ^= mask
		}
		keys[i] = k ^ flip
	}
	return odd
}

// elementsOf writes the elements that have the given keys: 0 for both zeros, and any NaN for all.
func elementsOf[K sortKey, E stored](o *ordering, row []E, keys []K) {
	row = row[:len(keys)]
	sign, mask := K(o.sign), K(o.mask)
	flip := K(0)
	if o.descending {
		flip = mask
	}
	if o.inf == 0 {
		for i, k := range keys {
			row[i] = E(k ^ flip ^ sign)
		}
		return
	}
	for i, k := range keys {
		if k == mask { // no number has this key, in either order
			row[i] = E(mask)
			continue
		}
		k ^= flip
		if k&sign != 0 {
			k ^= sign
		} else {
			k ^= mask
		}
		row[i] = E(k)
	}
}

// restore puts the zeros and the NaN of row, in their order there, to their places among the sorted elements.
func restore[K sortKey, E stored](s *sorter, sorted []E, keys []K, row []E) {
	o := &s.order
	zero := K(o.sign)
	if o.descending {
		zero ^= K(o.mask)
	}
	z := sort.Search(len(keys), func(i int) bool { return keys[i] >= zero })
	n := sort.Search(len(keys), func(i int) bool { return keys[i] >= K(o.mask) })
	putOdd(s, sorted, row, z, n)
}

// putOdd puts the zeros of row to sorted from z on, and the NaN from n on.
func putOdd[E stored](s *sorter, sorted, row []E, z, n int) {
	sign, inf := E(s.order.sign), E(s.order.inf)
	piecewise(s.ctx, len(row), func(lo, hi int) {
		for _, x := range row[lo:hi] {
			switch k := x &^ sign; {
			case k == 0:
				sorted[z] = x
				z++
			case k > inf:
				sorted[n] = x
				n++
			}
		}
	})
}
