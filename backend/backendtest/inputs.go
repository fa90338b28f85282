package backendtest

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// inputs draws the content of tensors.
type inputs struct {
	*rand.Rand
	flush bool // 0 in place of subnormal numbers
}

// A fill gives the bit pattern of element i of a tensor of type d.
type fill func(d ops.DType, i int) uint64

// any draws edge values, random bits and ordinary numbers.
func (in *inputs) any(d ops.DType, _ int) uint64 {
	switch in.IntN(4) {
	case 0:
		return in.edge(d, 0)
	case 1:
		return in.flushed(d, ops.FromBits(d, in.Uint64()).Bits())
	}
	return in.ordinary(d, 0)
}

// edge draws edge values.
func (in *inputs) edge(d ops.DType, _ int) uint64 {
	e := edges(d)
	return in.flushed(d, e[in.IntN(len(e))])
}

// flushed returns b, or 0 for a subnormal number that the backend may take for it.
func (in *inputs) flushed(d ops.DType, b uint64) uint64 {
	if v := ops.FromBits(d, b); in.flush && flushes(d) && math.Abs(v.F) < leastNormal {
		return ops.Value{DType: d}.Bits()
	}
	return b
}

// leastNormal is the least normal number of the types that devices flush: what they lose is less.
const leastNormal = 0x1p-126

// flushes reports whether a device may take subnormal numbers of type d for 0.
func flushes(d ops.DType) bool { return d == ops.Float32 || d == ops.BFloat16 }

// ordinary draws numbers as programs have them: normal floats of some magnitude, small integers.
func (in *inputs) ordinary(d ops.DType, _ int) uint64 {
	switch {
	case d == ops.Bool:
		return in.Uint64() & 1
	case d.IsFloat():
		return ops.FloatValue(d, in.NormFloat64()*math.Pow(10, 2*in.Float64()-1)).Bits()
	}
	return ops.IntValue(d, int64(in.NormFloat64()*30)).Bits()
}

// normal draws floats of mean 0 and deviation 1.
func (in *inputs) normal(d ops.DType, i int) uint64 {
	if !d.IsFloat() {
		return in.ordinary(d, i)
	}
	return ops.FloatValue(d, in.NormFloat64()).Bits()
}

// whole draws whole numbers of -3…3: sums and products of a few thousand are exact in float32, in any order.
func (in *inputs) whole(d ops.DType, _ int) uint64 { return number(d, float64(in.IntN(7)-3)) }

// bits draws random bits.
func (in *inputs) bits(d ops.DType, _ int) uint64 { return ops.FromBits(d, in.Uint64()).Bits() }

// number returns the bits of x, converted to d.
func number(d ops.DType, x float64) uint64 {
	return ops.Value{DType: ops.Float64, F: x}.Convert(d).Bits()
}

// edges returns the bit patterns of the values of type d at which kernels go wrong.
func edges(d ops.DType) []uint64 { return edgeTable()[d] }

var edgeTable = sync.OnceValue(func() map[ops.DType][]uint64 {
	table := map[ops.DType][]uint64{ops.Bool: {0, 1}}
	for _, d := range ops.DTypes() {
		switch {
		case d.IsFloat():
			table[d] = floatEdges(d)
		case d.IsInt():
			table[d] = intEdges(d)
		}
	}
	return table
})

func floatEdges(d ops.DType) []uint64 {
	// Significand and exponent bits; the rest is the sign.
	sig := map[ops.DType]int{ops.Float16: 10, ops.BFloat16: 7, ops.Float32: 23, ops.Float64: 52}[d]
	sign := uint64(1) << (d.Bits() - 1)
	inf := (sign - 1) &^ (1<<sig - 1)
	quiet := uint64(1) << (sig - 1)
	es := []uint64{
		0, 1, 2, 1<<sig - 1, 1 << sig, 1<<sig + 1, // zero, subnormals, the least normals
		inf - 1, inf, inf | quiet, inf | 1, inf | quiet | 5, sign - 1, // the greatest, infinity, NaN: quiet, signalling, payloads
	}
	for _, x := range []float64{
		1, 0.5, 1.5, 2.5, 2, 3, 3.5, 7, 10, 0.1, 1.0 / 3, math.Pi, math.Pi / 2, math.E, 6, 44, 88.8, 104, 1e-3, 1e-30, 1e30,
		127, 128, 255.5, 256, 1 << 15, 65504, 1 << 24, 1<<24 + 1, 1 << 31, 1 << 32, 1<<53 + 1, 1 << 63, 1 << 62 * 3,
	} {
		b := ops.FloatValue(d, x).Bits()
		es = append(es, b, b-1) // and the number below: 0.5 less a bit rounds to 0
	}
	for _, e := range es {
		es = append(es, e|sign)
	}
	return es
}

func intEdges(d ops.DType) []uint64 {
	lo, hi := ops.IntRange(d)
	var es []uint64
	for _, x := range []int64{
		0, 1, 2, 3, 5, 7, 8, 10, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128, 255, 256, 1 << 15, 1<<24 + 1, 1 << 31, 1 << 32, 1<<53 + 1,
		lo, hi, lo + 1, hi - 1,
	} {
		es = append(es, ops.IntValue(d, x).Bits())
		if d.Signed() {
			es = append(es, ops.IntValue(d, -x).Bits())
		}
	}
	return es
}

// tensor returns an operand of the given arrangement whose elements are drawn by f, or are small whole numbers in blocks of a
// quantised type.
func (in *inputs) tensor(d ops.DType, how string, shape backend.Shape, f fill) operand {
	o := in.blank(d, how, shape)
	if d.Quantized() {
		in.blocks(d, o.mem, false)
		return o
	}
	for i, at := range o.layout.All() {
		storeBits(d, o.mem, at, f(d, i))
	}
	return o
}

// blank returns an operand of the given arrangement in poisoned memory, with some more of it beyond the end.
func (in *inputs) blank(d ops.DType, how string, shape backend.Shape) operand {
	l := arrange(how, shape)
	_, hi := l.Bounds()
	beyond := in.IntN(6)
	return operand{dtype: d, how: how, layout: l, cells: l, mem: poisoned(d.Bytes(hi + 1 + beyond))}
}

// value returns the value of element i of an operand.
func (o *operand) value(i int) ops.Value {
	return load(o.dtype, o.mem, o.layout.At(unravel(o.layout.Shape, i)...))
}
