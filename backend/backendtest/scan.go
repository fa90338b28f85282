package backendtest

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// testScan tests every scan on every type, inclusive and exclusive, from both ends.
func (s *suite) testScan(t tb) {
	for _, r := range ops.ReduceOps() {
		if !r.Scans() {
			continue
		}
		for _, d := range ops.DTypes() {
			if r.Accepts().Has(d.Kind()) {
				s.leaf(t, r.String()+"/"+d.String(), func(t tb) { s.testScanOn(t, r, d) })
			}
		}
	}
	t.Run("program", s.testScanPrograms)
}

func (s *suite) testScanOn(t tb, r ops.ReduceOp, d ops.DType) {
	in := s.draw(t)
	var trials []*trial
	for mode := range 4 {
		lengths := rowLengths
		if s.short {
			lengths = sample(in, lengths, 4)
		}
		if mode == int(s.seed)%4 && (d == ops.Float32 || !s.short) {
			lengths = append(lengths[:len(lengths):len(lengths)], longRow)
		}
		for _, n := range lengths {
			rows := 1 + in.IntN(4)
			if n >= 1000 {
				rows = 1 + in.IntN(2)
			}
			fills := in.fills(r, d, n)
			how := sample(in, writable, 1)[0]
			trials = append(trials, in.scan(r, d, mode, backend.Shape{rows, n}, how, fills[in.IntN(len(fills))]))
		}
		for _, how := range readable {
			shapes := []backend.Shape{{4, 5, 6}, {2, 3, 33}, {19}, {33, 4}}
			if s.short {
				shapes = sample(in, shapes, 1)
			}
			for _, shape := range shapes {
				fills := in.fills(r, d, shape[len(shape)-1])
				trials = append(trials, in.scan(r, d, mode, shape, how, fills[in.IntN(len(fills))]))
			}
		}
		for _, shape := range []backend.Shape{{1}, {0}, {0, 4}, {4, 0}, {1031, 3}} {
			trials = append(trials, in.scan(r, d, mode, shape, "dense", in.fills(r, d, 3)[0]))
		}
	}
	s.check(t, trials...)
}

// scan returns a trial of r along the last axis of a tensor. Bit 0 of mode makes it exclusive, bit 1 reverse.
func (in *inputs) scan(r ops.ReduceOp, d ops.DType, mode int, shape backend.Shape, how string, c content) *trial {
	var b ops.Builder
	exclusive, reverse := mode&1 != 0, mode&2 != 0
	b.Result(b.Scan(r, b.Load(b.Operand(d), false), exclusive, reverse))
	n := shape[len(shape)-1]
	tr := &trial{
		name:   fmt.Sprintf("scan by %s (exclusive %v, reverse %v) of %v of %s, %s", r, exclusive, reverse, shape, c.name, how),
		kernel: &backend.Scan{Body: b.Expr()}, shape: shape,
		in:  []operand{in.tensor(d, how, shape, c.fill)},
		out: []operand{in.blank(d, sample(in, writable, 1)[0], shape)},
		ulp: c.ulp, bound: c.bound,
	}
	if c.bound > 0 {
		tr.bound = roundings(n, how) + 16
	}
	return tr
}

// testScanPrograms tests scans with elementwise work before and after them.
func (s *suite) testScanPrograms(t tb) {
	for _, how := range readable {
		t.Run(how, func(t tb) {
			in := s.draw(t)
			var trials []*trial
			for _, shape := range []backend.Shape{{3, 4, 5}, {2, 1025}, {7}, {0, 3}} {
				to := sample(in, writable, 1)[0]
				trials = append(trials, countTrue(in, shape, how, to), shifted(in, shape, how, to))
			}
			s.check(t, trials...)
		})
	}
}

// countTrue numbers the true elements: the sum of the mask so far where it is true, else -1.
func countTrue(in *inputs, shape backend.Shape, how, to string) *trial {
	var b ops.Builder
	mask := b.Load(b.Operand(ops.Bool), false)
	sum := b.Scan(ops.ReduceSum, b.Cast(ops.Int64, mask), true, false)
	b.Result(b.Apply(ops.Where, mask, sum, b.Const(0, ops.Int64)))
	return &trial{
		name: "numbers of the true elements, " + how, kernel: &backend.Scan{Body: b.Expr()}, shape: shape,
		in: []operand{in.tensor(ops.Bool, how, shape, in.ordinary)}, out: []operand{in.blank(ops.Int64, to, shape)},
		consts: []ops.Value{ops.IntValue(ops.Int64, -1)},
	}
}

// shifted scans the products of two operands, and gives the sums both as they are and beside a third.
func shifted(in *inputs, shape backend.Shape, how, to string) *trial {
	var b ops.Builder
	x, y, z := b.Load(b.Operand(ops.Float32), false), b.Load(b.Operand(ops.Float32), false), b.Load(b.Operand(ops.Float32), false)
	sum := b.Scan(ops.ReduceSum, b.Apply(ops.Mul, x, y), false, true)
	b.Result(sum)
	b.Result(b.Apply(ops.Less, z, b.Apply(ops.Add, sum, x)))
	return &trial{
		name: "sums of products beside a third, " + how, kernel: &backend.Scan{Body: b.Expr()}, shape: shape,
		in:  []operand{in.tensor(ops.Float32, how, shape, in.whole), in.tensor(ops.Float32, "dense", shape, in.whole), in.tensor(ops.Float32, how, shape, in.whole)},
		out: []operand{in.blank(ops.Float32, to, shape), in.blank(ops.Bool, "dense", shape)},
	}
}

// roundings bounds the roundings that add up along n elements, of the given arrangement, taken one after the other, as NumPy
// takes them. They go both ways: their sum is rarely over three times the root of n, and here two such sums are compared. Of
// elements that are all the same they go one way for long.
func roundings(n int, how string) float64 {
	if how == "broadcast column" || how == "broadcast scalar" {
		return float64(n)
	}
	return min(float64(n), 6*math.Sqrt(float64(n)))
}
