package cpu

import (
	"math"
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// An accumulator reduces the elements of several rows, of which it gets a block at a time. Elements come
// row by row (rows) or, where that is how they are in memory, the first of all rows, then the second of
// all rows (cols). Accumulators of successive parts of the same rows merge.
type accumulator interface {
	// reset begins n rows.
	reset(n int)
	// rows takes n elements of rows of c elements; the first is element pos of row 0.
	rows(x unsafe.Pointer, n, pos, c int)
	// cols takes n elements, a multiple of the number of rows; the first are element pos of their row.
	cols(x unsafe.Pointer, n, pos int)
	// merge adds what o, of the same kind, has seen, after what this one has.
	merge(o accumulator)
	// put writes the results, one a row, in a register's form.
	put(z unsafe.Pointer)
}

// newAccumulator returns an accumulator for r over elements of type d.
func newAccumulator(r ops.ReduceOp, d ops.DType) accumulator {
	switch d {
	case ops.Bool, ops.Uint8:
		return newIntAccumulator[uint8](r, d)
	case ops.Int8:
		return newIntAccumulator[int8](r, d)
	case ops.Int32:
		return newIntAccumulator[int32](r, d)
	case ops.Uint32:
		return newIntAccumulator[uint32](r, d)
	case ops.Int64:
		return newIntAccumulator[int64](r, d)
	case ops.Float64:
		a := newFloatAccumulator[float64](r, d)
		if loops != nil {
			quicken(a, r, d, &loops.Float64)
		}
		return a
	}
	a := newFloatAccumulator[float32](r, d)
	if loops != nil {
		quicken(a, r, d, &loops.Float32)
	}
	return a
}

func newIntAccumulator[T integer](r ops.ReduceOp, d ops.DType) accumulator {
	lo, hi := ops.IntRange(d)
	switch r {
	case ops.ReduceSum:
		return &fold[T, int64]{row: sum[T, int64], lines: sumLines[T, int64], add: plus[int64], out: wrap[T]}
	case ops.ReduceProd:
		return &fold[T, int64]{row: product[T, int64], lines: productLines[T, int64], add: times[int64], one: 1, out: wrap[T]}
	case ops.ReduceMax, ops.ReduceAny:
		return &fold[T, T]{row: greatest[T], lines: greatestLines[T], add: greater[T], one: T(lo), out: same[T]}
	case ops.ReduceMin, ops.ReduceAll:
		return &fold[T, T]{row: least[T], lines: leastLines[T], add: lesser[T], one: T(hi), out: same[T]}
	case ops.ReduceArgMax:
		return &position[T]{}
	case ops.ReduceArgMin:
		return &position[T]{min: true}
	}
	return nil
}

func newFloatAccumulator[T float32 | float64](r ops.ReduceOp, d ops.DType) accumulator {
	inf := T(math.Inf(1))
	switch r {
	case ops.ReduceSum:
		return &fold[T, float64]{row: sum[T, float64], lines: sumLines[T, float64], add: plus[float64], out: rounder[T](d)}
	case ops.ReduceProd:
		return &fold[T, float64]{row: product[T, float64], lines: productLines[T, float64], add: times[float64], one: 1, out: rounder[T](d)}
	case ops.ReduceMax:
		return &fold[T, T]{row: greatest[T], lines: greatestLines[T], add: greater[T], one: -inf, out: same[T]}
	case ops.ReduceMin:
		return &fold[T, T]{row: least[T], lines: leastLines[T], add: lesser[T], one: inf, out: same[T]}
	case ops.ReduceArgMax:
		return &position[T]{}
	case ops.ReduceArgMin:
		return &position[T]{min: true}
	case ops.ReduceLogAddExp:
		return &logSum[T]{out: rounder[T](d)}
	}
	return nil
}

// rounder returns the function that rounds a result to type d.
func rounder[T float32 | float64](d ops.DType) func(float64) T {
	if d.IsHalf() {
		return func(f float64) T { return T(ops.RoundFloat(d, f)) }
	}
	return func(f float64) T { return T(f) }
}

// A fold reduces elements of type T to a state of type S by an associative function.
type fold[T, S number] struct {
	row   func(x []T) S          // of several elements, at least one
	lines func(state []S, x []T) // adds lines of elements, one a state
	add   func(a, b S) S         // of two states
	one   S                      // the identity of add
	out   func(s S) T            // the result
	state []S
	block []S // of one block: see cols

	// strided is lines, for lines of n elements that are stride elements apart, joined that for lines of states, or nil.
	strided, joined func(state, x unsafe.Pointer, n, lines, stride int)

	// four is row, for four rows of n elements that are stride elements apart, or nil.
	four func(x unsafe.Pointer, n, stride int) [4]S
}

func (a *fold[T, S]) reset(n int) {
	a.state = resize(a.state, n)
	fill(a.state, a.one)
}

func (a *fold[T, S]) rows(x unsafe.Pointer, n, pos, c int) {
	r := pos / c
	pos -= r * c
	for xs := vec[T](x, n); len(xs) > 0; r++ {
		if a.four != nil && pos == 0 && len(xs) >= 4*c && c >= shortAssembly && c < partedRow {
			for i, s := range a.four(unsafe.Pointer(&xs[0]), c, c) {
				a.state[r+i] = a.add(a.state[r+i], s)
			}
			xs, r = xs[4*c:], r+3
			continue
		}
		m := min(c-pos, len(xs))
		a.state[r] = a.add(a.state[r], a.row(xs[:m]))
		xs, pos = xs[m:], 0
	}
}

// cols reduces the columns of a block before it adds them to the state, unless they are short: the error
// of a long sum then grows with the number of blocks, not of elements.
func (a *fold[T, S]) cols(x unsafe.Pointer, n, _ int) {
	r := len(a.state)
	if n < 8*r {
		a.lines(a.state, vec[T](x, n))
		return
	}
	a.block = resize(a.block, r)
	fill(a.block, a.one)
	a.lines(a.block, vec[T](x, n))
	a.join(a.block)
}

// linesAt takes lines of elements, one a row, that are stride elements apart.
func (a *fold[T, S]) linesAt(x unsafe.Pointer, lines, stride int) {
	var t T
	batch := 64 // as in cols
	if unsafe.Sizeof(t) < unsafe.Sizeof(a.one) {
		batch *= 4 // no error to speak of
	}
	r := len(a.state)
	a.block = resize(a.block, r)
	for lines > 0 {
		n := min(lines, batch)
		fill(a.block, a.one)
		a.strided(unsafe.Pointer(&a.block[0]), x, r, n, stride)
		a.join(a.block)
		if lines -= n; lines > 0 { // else x would point beyond the memory, by the rest of the stride
			x = unsafe.Add(x, n*stride*int(unsafe.Sizeof(t)))
		}
	}
}

func (a *fold[T, S]) takesLines() bool { return a.strided != nil }

func (a *fold[T, S]) merge(o accumulator) { a.join(o.(*fold[T, S]).state) }

// join adds states to those here.
func (a *fold[T, S]) join(states []S) {
	if a.joined != nil && len(states) >= shortAssembly {
		a.joined(unsafe.Pointer(&a.state[0]), unsafe.Pointer(&states[0]), len(states), 1, len(states))
		return
	}
	for i, s := range states {
		a.state[i] = a.add(a.state[i], s)
	}
}

func (a *fold[T, S]) put(z unsafe.Pointer) {
	zs := vec[T](z, len(a.state))
	for i, s := range a.state {
		zs[i] = a.out(s)
	}
}

// resize returns a slice of n elements, of any value, in the memory of s if that is enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
