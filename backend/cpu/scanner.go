package cpu

import (
	"math"
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// A scanner reduces each prefix of several rows, of which it gets a block at a time, as an accumulator
// does.
type scanner interface {
	// reset begins n rows.
	reset(n int)
	// rows scans n elements of rows of c elements into z; the first is element pos of row 0. A row begins
	// anew at its element 0.
	rows(z, x unsafe.Pointer, n, pos, c int)
	// cols scans n elements, a multiple of the number of rows, into z.
	cols(z, x unsafe.Pointer, n int)
	// follow begins where rows whose beginning start has seen, and whose next part total, end. A
	// scanner may follow itself.
	follow(start, total scanner)
}

// newScanner returns a scanner for r over elements of type d. With exclusive a result leaves its own
// element out.
func newScanner(r ops.ReduceOp, d ops.DType, exclusive bool) scanner {
	switch d {
	case ops.Bool, ops.Uint8:
		return newIntScanner[uint8](r, d, exclusive)
	case ops.Int8:
		return newIntScanner[int8](r, d, exclusive)
	case ops.Int32:
		return newIntScanner[int32](r, d, exclusive)
	case ops.Uint32:
		return newIntScanner[uint32](r, d, exclusive)
	case ops.Int64:
		return newIntScanner[int64](r, d, exclusive)
	case ops.Float64:
		return newFloatScanner(r, scanSum[float64, float64], exclusive)
	}
	if loops != nil {
		return newFloatScanner(r, quickScan(), exclusive)
	}
	return newFloatScanner(r, scanSumQuad, exclusive)
}

func newIntScanner[T integer](r ops.ReduceOp, d ops.DType, exclusive bool) scanner {
	lo, hi := ops.IntRange(d)
	switch r {
	case ops.ReduceSum:
		return &prefixSum[T, int64]{row: scanSum[T, int64], exclusive: exclusive}
	case ops.ReduceProd:
		return &prefix[T, int64]{row: scanProduct[T, int64], add: times[int64], one: 1, exclusive: exclusive}
	case ops.ReduceMax:
		return &prefix[T, T]{row: scanGreatest[T], add: greater[T], one: T(lo), exclusive: exclusive}
	case ops.ReduceMin:
		return &prefix[T, T]{row: scanLeast[T], add: lesser[T], one: T(hi), exclusive: exclusive}
	}
	return nil
}

func newFloatScanner[T float32 | float64](r ops.ReduceOp, row func(z, x []T, carry, local float64) float64, exclusive bool) scanner {
	inf := T(math.Inf(1))
	switch r {
	case ops.ReduceSum:
		return &prefixSum[T, float64]{row: row, exclusive: exclusive}
	case ops.ReduceProd:
		return &prefix[T, float64]{row: scanProduct[T, float64], add: times[float64], one: 1, exclusive: exclusive}
	case ops.ReduceMax:
		return &prefix[T, T]{row: scanGreatest[T], add: greater[T], one: -inf, exclusive: exclusive}
	case ops.ReduceMin:
		return &prefix[T, T]{row: scanLeast[T], add: lesser[T], one: inf, exclusive: exclusive}
	case ops.ReduceLogAddExp:
		return &prefixLogSum[T]{exclusive: exclusive}
	}
	return nil
}

// prefixSum sums in two parts, the sum of the segments before and that of this one, so that segments can be
// summed at the same time with the same result.
type prefixSum[T, S number] struct {
	row          func(z, x []T, carry, local S) S // returns the new local
	exclusive    bool
	carry, local []S
}

func (p *prefixSum[T, S]) reset(n int) {
	p.carry, p.local = resize(p.carry, n), resize(p.local, n)
	clear(p.carry)
	clear(p.local)
}

func (p *prefixSum[T, S]) rows(z, x unsafe.Pointer, n, pos, c int) {
	pos %= c
	for zs, xs := vec[T](z, n), vec[T](x, n); len(xs) > 0; {
		if pos == 0 {
			p.carry[0], p.local[0] = 0, 0
		}
		m := min(c-pos, len(xs))
		carry, local := p.carry[0], p.local[0]
		if p.exclusive {
			zs[0] = T(carry + local)
			local = p.row(zs[1:m], xs[:m-1], carry, local) + S(xs[m-1])
		} else {
			local = p.row(zs[:m], xs[:m], carry, local)
		}
		p.local[0] = local
		zs, xs, pos = zs[m:], xs[m:], 0
	}
}

func (p *prefixSum[T, S]) cols(z, x unsafe.Pointer, n int) {
	r := len(p.local)
	carry, local := p.carry[:r], p.local[:r]
	for zs, xs := vec[T](z, n), vec[T](x, n); len(xs) > 0; zs, xs = zs[r:], xs[r:] {
		z, x := zs[:r], xs[:r]
		if p.exclusive {
			for j, l := range local {
				v := S(x[j]) // z may be x
				z[j] = T(carry[j] + l)
				local[j] = l + v
			}
			continue
		}
		for j, l := range local {
			l += S(x[j])
			local[j] = l
			z[j] = T(carry[j] + l)
		}
	}
}

func (p *prefixSum[T, S]) follow(start, total scanner) {
	s, t := start.(*prefixSum[T, S]), total.(*prefixSum[T, S])
	p.carry, p.local = resize(p.carry, len(s.carry)), resize(p.local, len(s.carry))
	for j := range p.carry {
		p.carry[j] = s.carry[j] + t.local[j]
		p.local[j] = 0
	}
}

// prefix scans by a function for which it is the same in how many parts a row comes.
type prefix[T, S number] struct {
	row       func(z, x []T, state S) S // returns the new state
	add       func(a, b S) S
	one       S
	exclusive bool
	state     []S
}

func (p *prefix[T, S]) reset(n int) {
	p.state = resize(p.state, n)
	fill(p.state, p.one)
}

func (p *prefix[T, S]) rows(z, x unsafe.Pointer, n, pos, c int) {
	pos %= c
	for zs, xs := vec[T](z, n), vec[T](x, n); len(xs) > 0; {
		if pos == 0 {
			p.state[0] = p.one
		}
		m := min(c-pos, len(xs))
		if p.exclusive {
			zs[0] = T(p.state[0])
			p.state[0] = p.add(p.row(zs[1:m], xs[:m-1], p.state[0]), S(xs[m-1]))
		} else {
			p.state[0] = p.row(zs[:m], xs[:m], p.state[0])
		}
		zs, xs, pos = zs[m:], xs[m:], 0
	}
}

func (p *prefix[T, S]) cols(z, x unsafe.Pointer, n int) {
	r := len(p.state)
	for zs, xs := vec[T](z, n), vec[T](x, n); len(xs) > 0; zs, xs = zs[r:], xs[r:] {
		for j, s := range p.state {
			next := p.add(s, S(xs[j]))
			if !p.exclusive {
				s = next
			}
			zs[j] = T(s)
			p.state[j] = next
		}
	}
}

func (p *prefix[T, S]) follow(start, total scanner) {
	s, t := start.(*prefix[T, S]), total.(*prefix[T, S])
	if s == p && t == p {
		return
	}
	p.state = resize(p.state, len(s.state))
	for j := range p.state {
		p.state[j] = p.add(s.state[j], t.state[j])
	}
}

// prefixLogSum scans log Σ exp.
type prefixLogSum[T float32 | float64] struct {
	exclusive  bool
	top, total []float64
}

func (p *prefixLogSum[T]) reset(n int) {
	p.top, p.total = resize(p.top, n), resize(p.total, n)
	fill(p.top, math.Inf(-1))
	clear(p.total)
}

func (p *prefixLogSum[T]) rows(z, x unsafe.Pointer, n, pos, c int) {
	zs, xs := vec[T](z, n), vec[T](x, n)
	for i := range xs {
		if (pos+i)%c == 0 {
			p.top[0], p.total[0] = math.Inf(-1), 0
		}
		zs[i] = p.next(0, xs[i])
	}
}

func (p *prefixLogSum[T]) cols(z, x unsafe.Pointer, n int) {
	r := len(p.top)
	for zs, xs := vec[T](z, n), vec[T](x, n); len(xs) > 0; zs, xs = zs[r:], xs[r:] {
		for j := range r {
			zs[j] = p.next(j, xs[j])
		}
	}
}

// next adds v to row j and returns the result at v.
func (p *prefixLogSum[T]) next(j int, v T) T {
	top, total := logAdd(p.top[j], p.total[j], float64(v), 1)
	if p.exclusive {
		v = T(logValue(p.top[j], p.total[j]))
	} else {
		v = T(logValue(top, total))
	}
	p.top[j], p.total[j] = top, total
	return v
}

func (p *prefixLogSum[T]) follow(start, total scanner) {
	s, t := start.(*prefixLogSum[T]), total.(*prefixLogSum[T])
	if s == p && t == p {
		return
	}
	p.top, p.total = resize(p.top, len(s.top)), resize(p.total, len(s.top))
	for j := range p.top {
		p.top[j], p.total[j] = logAdd(s.top[j], s.total[j], t.top[j], t.total[j])
	}
}
