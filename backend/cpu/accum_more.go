package cpu

import (
	"math"
	"unsafe"
)

// position finds the first greatest (or with min, least) element of each row, or the first NaN.
type position[T number] struct {
	min  bool
	best []T

	// Assembly, or nil: the greatest or least element, and where the first of its value is.
	extreme func(x []T) T
	first   func(x, y unsafe.Pointer, n int) int

	at []int32 // -1 before the first element
}

func (a *position[T]) reset(n int) {
	a.best, a.at = resize(a.best, n), resize(a.at, n)
	fill(a.at, -1)
}

func (a *position[T]) rows(x unsafe.Pointer, n, pos, c int) {
	r := pos / c
	pos -= r * c
	for xs := vec[T](x, n); len(xs) > 0; {
		m := min(c-pos, len(xs))
		if a.extreme != nil && m >= shortAssembly {
			a.seek(r, xs[:m], pos)
		} else {
			i := 0
			if a.min {
				i = firstLeast(xs[:m])
			} else {
				i = firstGreatest(xs[:m])
			}
			a.offer(r, xs[i], int32(pos+i))
		}
		if xs, pos = xs[m:], pos+m; pos == c {
			r, pos = r+1, 0
		}
	}
}

// seek offers the extreme of x, elements of row r from pos on, and finds where it is if it is taken, in the part that has it, while
// the second-level cache still has it.
func (a *position[T]) seek(r int, x []T, pos int) {
	const part = partedRow
	best, at := x[0], 0
	for i := 0; i < len(x); i += part {
		p := x[i:min(i+part, len(x))]
		if v := a.extreme(p); i == 0 || a.before(v, best) {
			best, at = v, i
		}
	}
	if a.offer(r, best, -2); a.at[r] == -2 {
		p := x[at:min(at+part, len(x))]
		a.at[r] = int32(pos + at + a.first(unsafe.Pointer(&p[0]), unsafe.Pointer(&best), len(p)))
	}
}

func (a *position[T]) cols(x unsafe.Pointer, n, pos int) {
	r := len(a.best)
	for xs := vec[T](x, n); len(xs) > 0; xs = xs[r:] {
		for j, v := range xs[:r] {
			a.offer(j, v, int32(pos))
		}
		pos++
	}
}

// offer takes v, at position i of row r, if it comes before what is there.
func (a *position[T]) offer(r int, v T, i int32) {
	if a.at[r] < 0 || a.before(v, a.best[r]) {
		a.best[r], a.at[r] = v, i
	}
}

// before reports whether v is to be taken instead of best.
func (a *position[T]) before(v, best T) bool {
	return best == best && (v != v || !a.min && v > best || a.min && v < best)
}

func (a *position[T]) merge(o accumulator) {
	b := o.(*position[T])
	for r, at := range b.at {
		if at >= 0 {
			a.offer(r, b.best[r], at)
		}
	}
}

func (a *position[T]) put(z unsafe.Pointer) { copy(vec[int32](z, len(a.at)), a.at) }

func firstGreatest[T number](x []T) int {
	best, at := x[0], 0
	if best != best {
		return 0
	}
	for i, v := range x {
		if v <= best {
			continue
		}
		if v != v {
			return i
		}
		best, at = v, i
	}
	return at
}

func firstLeast[T number](x []T) int {
	best, at := x[0], 0
	if best != best {
		return 0
	}
	for i, v := range x {
		if v >= best {
			continue
		}
		if v != v {
			return i
		}
		best, at = v, i
	}
	return at
}

// logSum is log Σ exp: the greatest element so far, and the sum of the exponentials of the others' distances
// below it. No row overflows; one of -∞ alone, or of nothing, gives -∞.
type logSum[T float32 | float64] struct {
	out   func(float64) T
	top   []float64
	total []float64
}

func (a *logSum[T]) reset(n int) {
	a.top, a.total = resize(a.top, n), resize(a.total, n)
	fill(a.top, math.Inf(-1))
	fill(a.total, 0)
}

func (a *logSum[T]) rows(x unsafe.Pointer, n, pos, c int) {
	r := pos / c
	pos -= r * c
	for xs := vec[T](x, n); len(xs) > 0; r++ {
		m := min(c-pos, len(xs))
		top := float64(greatest(xs[:m]))
		var s float64
		if isFinite(top) {
			for _, v := range xs[:m] {
				s += math.Exp(float64(v) - top)
			}
		}
		a.combine(r, top, s)
		xs, pos = xs[m:], 0
	}
}

func (a *logSum[T]) cols(x unsafe.Pointer, n, _ int) {
	r := len(a.top)
	for xs := vec[T](x, n); len(xs) > 0; xs = xs[r:] {
		for j, v := range xs[:r] {
			a.combine(j, float64(v), 1)
		}
	}
}

// combine adds total·exp(top) to row r.
func (a *logSum[T]) combine(r int, top, total float64) {
	a.top[r], a.total[r] = logAdd(a.top[r], a.total[r], top, total)
}

// logAdd returns the sum of s·exp(a) and t·exp(b) in that form. The total is without meaning where the top
// is infinite or NaN.
func logAdd(a, s, b, t float64) (top, total float64) {
	switch {
	case a != a || math.IsInf(b, -1):
		return a, s
	case b != b || math.IsInf(a, -1) || math.IsInf(b, 1):
		return b, t
	case math.IsInf(a, 1):
		return a, s
	case a >= b:
		return a, s + t*math.Exp(b-a)
	}
	return b, t + s*math.Exp(a-b)
}

// logValue returns the logarithm of total·exp(top).
func logValue(top, total float64) float64 {
	if !isFinite(top) {
		return top
	}
	return top + math.Log(total)
}

func (a *logSum[T]) merge(o accumulator) {
	b := o.(*logSum[T])
	for r := range b.top {
		a.combine(r, b.top[r], b.total[r])
	}
}

func (a *logSum[T]) put(z unsafe.Pointer) {
	zs := vec[T](z, len(a.top))
	for r := range zs {
		zs[r] = a.out(logValue(a.top[r], a.total[r]))
	}
}

func isFinite(f float64) bool { return f-f == 0 }
