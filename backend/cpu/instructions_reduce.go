package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
	"github.com/weft-go/weft/ops"
)

// shortAssembly is the number of elements below which Go's loop is as fast as a call of assembly.
const shortAssembly = 16

// loops is the assembly of the instruction set in use, or nil.
var loops = instructions.Loops()

// partedRow is the number of elements from which a row is read in four parts, side by side, each of several pages.
const partedRow = 16 * blockLen

// quicken makes a use assembly where l has it, for the reduction r of floats of type d.
func quicken[T float32 | float64](a accumulator, r ops.ReduceOp, d ops.DType, l *asm.Reductions[T]) {
	switch r {
	case ops.ReduceSum:
		f := a.(*fold[T, float64])
		q := &quickReduction[T, float64]{one: l.Sum, parts: l.Sums, short: f.row, add: f.add, most: partedRow}
		if d == ops.Float64 { // the state has no more digits than the elements
			q.most = blockLen
		}
		f.row, f.four, f.lines, f.strided, f.joined = q.row, q.four, quickLines[T, float64](l.SumLines), l.SumLines, loops.Float64.SumLines
	case ops.ReduceMax:
		f := a.(*fold[T, T])
		q := &quickReduction[T, T]{one: l.Max, parts: l.Maxes, short: f.row, add: f.add, most: partedRow}
		f.row, f.four, f.lines, f.strided, f.joined = q.row, q.four, quickLines[T, T](l.MaxLines), l.MaxLines, l.MaxLines
	case ops.ReduceMin:
		f := a.(*fold[T, T])
		q := &quickReduction[T, T]{one: l.Min, parts: l.Mins, short: f.row, add: f.add, most: partedRow}
		f.row, f.four, f.lines, f.strided, f.joined = q.row, q.four, quickLines[T, T](l.MinLines), l.MinLines, l.MinLines
	case ops.ReduceArgMax:
		q := &quickReduction[T, T]{one: l.Max, parts: l.Maxes, short: greatest[T], add: greater[T], most: partedRow}
		p := a.(*position[T])
		p.extreme, p.first = q.row, l.First
	case ops.ReduceArgMin:
		q := &quickReduction[T, T]{one: l.Min, parts: l.Mins, short: least[T], add: lesser[T], most: partedRow}
		p := a.(*position[T])
		p.extreme, p.first = q.row, l.First
	}
}

// A quickReduction reduces rows in assembly.
type quickReduction[T, S number] struct {
	one   func(x unsafe.Pointer, n int) S
	parts func(z, x unsafe.Pointer, n, stride int)
	short func(x []T) S
	add   func(a, b S) S
	most  int // elements reduced at once: more are in pairs of halves, so that what is off does not grow with their number
	z     [4]S
}

// row reduces x.
func (q *quickReduction[T, S]) row(x []T) S {
	n := len(x)
	switch {
	case n < shortAssembly:
		return q.short(x)
	case n >= partedRow:
		part := n / 4 &^ (shortAssembly - 1)
		z := q.four(unsafe.Pointer(&x[0]), part, part)
		all := q.add(q.add(z[0], z[1]), q.add(z[2], z[3]))
		if 4*part < n {
			all = q.add(all, q.row(x[4*part:]))
		}
		return all
	case n > q.most:
		h := n / 2 &^ (shortAssembly - 1)
		return q.add(q.row(x[:h]), q.row(x[h:]))
	}
	return q.one(unsafe.Pointer(&x[0]), n)
}

// four reduces four rows of n elements, stride elements apart, each as row does if it is shorter than partedRow.
func (q *quickReduction[T, S]) four(x unsafe.Pointer, n, stride int) [4]S {
	if n > q.most {
		h := n / 2 &^ (shortAssembly - 1)
		a, b := q.four(x, h, stride), q.four(unsafe.Add(x, h*int(unsafe.Sizeof(*new(T)))), n-h, stride)
		for i := range a {
			a[i] = q.add(a[i], b[i])
		}
		return a
	}
	q.parts(unsafe.Pointer(&q.z[0]), x, n, stride)
	return q.z
}

func quickLines[T, S number](f func(state, x unsafe.Pointer, n, lines, stride int)) func(state []S, x []T) {
	return func(state []S, x []T) {
		if lines := len(x) / len(state); lines > 0 {
			f(unsafe.Pointer(&state[0]), unsafe.Pointer(&x[0]), len(state), lines, len(state))
		}
	}
}

// quickScan returns scanSumQuad in assembly, for one scanner.
func quickScan() func(z, x []float32, carry, local float64) float64 {
	c := new([2]float64)
	return func(z, x []float32, carry, local float64) float64 {
		if len(x) < shortAssembly {
			return scanSumQuad(z, x, carry, local)
		}
		c[0], c[1] = carry, local
		loops.ScanSum(unsafe.Pointer(&z[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(c), len(x))
		return c[1]
	}
}
