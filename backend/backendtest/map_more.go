package backendtest

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// load1 returns the program that gives its only operand, converted to type to.
func load1(from, to ops.DType) ops.Expr {
	var b ops.Builder
	b.Result(b.Cast(to, b.Load(b.Operand(from), false)))
	return b.Expr()
}

// testCast tests conversions between all pairs of types. All are exact.
func (s *suite) testCast(t tb) {
	for _, from := range ops.DTypes() {
		for _, to := range ops.DTypes() {
			if from == to {
				continue
			}
			s.leaf(t, fmt.Sprintf("%s to %s", from, to), func(t tb) {
				in := s.draw(t)
				kernel := &backend.Map{Body: load1(from, to)}
				es := edges(from)
				if from.Bits() <= 16 && !s.short {
					for x := range uint64(1) << from.Bits() {
						es = append(es, ops.FromBits(from, x).Bits())
					}
				}
				values := func(d ops.DType, i int) uint64 {
					if i < len(es) {
						return in.flushed(d, es[i])
					}
					return in.any(d, i)
				}
				trials := []*trial{{
					name: "cast of edge and random values", kernel: kernel, shape: backend.Shape{len(es) + 1000},
					in: []operand{in.tensor(from, "dense", backend.Shape{len(es) + 1000}, values)},
				}}
				for _, how := range readable {
					shape := backend.Shape{3, 2, 5}
					trials = append(trials, &trial{
						name: "cast of " + how, kernel: kernel, shape: shape,
						in: []operand{in.tensor(from, how, shape, in.any)},
					})
				}
				for i, tr := range trials {
					tr.out = []operand{in.blank(to, writable[i%len(writable)], tr.shape)}
				}
				s.check(t, trials...)
			})
		}
	}
}

// testCopy tests maps that only move elements: between any arrangements, and into parts of one buffer as a
// concatenation does.
func (s *suite) testCopy(t tb) {
	for _, d := range ops.DTypes() {
		s.leaf(t, d.String(), func(t tb) {
			in := s.draw(t)
			kernel := &backend.Map{Body: load1(d, d)}
			var trials []*trial
			shapes := []backend.Shape{{}, {0}, {7, 5}, {2, 3, 4}, {3, 33, 35}, {64, 64}, {4, 1, 257}, {2, 2, 1, 3, 2, 3}}
			for i, from := range readable {
				for j, to := range writable {
					shape := shapes[(i+j)%len(shapes)]
					trials = append(trials, &trial{
						name: "copy of " + from + " to " + to, kernel: kernel, shape: shape,
						in: []operand{in.tensor(d, from, shape, in.ordinary)}, out: []operand{in.blank(d, to, shape)},
					})
				}
			}
			s.check(t, trials...)
			s.concat(t, in, kernel, d)
		})
	}
}

// concat copies three matrices side by side into one buffer, in one run.
func (s *suite) concat(t tb, in *inputs, kernel *backend.Map, d ops.DType) {
	widths := []int{3, 1, 5}
	const rows, total = 4, 9
	whole := in.blank(d, "offset", backend.Shape{rows, total})
	want := append([]byte(nil), whole.mem...)
	trials := make([]*trial, len(widths))
	at := 0
	for i, w := range widths {
		l, err := whole.layout.Slice(1, at, 1, w)
		if err != nil {
			t.Fatalf("%v", err)
		}
		part := operand{dtype: d, how: "part", layout: l, cells: l, mem: whole.mem}
		x := in.tensor(d, "transposed", l.Shape, in.ordinary)
		trials[i] = &trial{name: "concat", kernel: kernel, shape: l.Shape, in: []operand{x}, out: []operand{part}}
		for j, to := range l.All() {
			store(want, to, x.value(j))
		}
		at += w
	}
	if !s.b.Supports(kernel) {
		s.skip(t, trials[0])
		return
	}
	var buffers pile
	defer buffers.release()
	out := s.upload(t, &buffers, []operand{whole})
	steps := make([]backend.Step, len(trials))
	for i, tr := range trials {
		steps[i] = tr.step(s.upload(t, &buffers, tr.in), out)
	}
	got := s.runAndRead(t, "concat", steps, out[0])
	if i := differs(got, want); i >= 0 {
		t.Errorf("concat of %s: byte %d is %#x, want %#x", d, i, got[i], want[i])
	}
}

// testIndex tests the positions of elements in layouts without memory: what an arange, an eye or a mask is
// made of.
func (s *suite) testIndex(t tb) {
	for _, d := range []ops.DType{ops.Uint8, ops.Int8, ops.Int32, ops.Uint32, ops.Int64} {
		s.leaf(t, d.String(), func(t tb) {
			in := s.draw(t)
			var b ops.Builder
			b.Result(b.Index(b.Operand(d), d, false))
			kernel := &backend.Map{Body: b.Expr()}
			var two ops.Builder // the sum of two positions and an element
			i, j, x := two.Operand(d), two.Operand(d), two.Operand(d)
			two.Result(two.Apply(ops.Add, two.Apply(ops.Add, two.Index(i, d, false), two.Load(x, false)), two.Index(j, d, false)))
			sum := &backend.Map{Body: two.Expr()}
			var trials []*trial
			for k, how := range readable {
				for _, shape := range []backend.Shape{{}, {3, 4, 5}, {4097}, {2, 0}} {
					at, other := arrange(how, shape), arrange(readable[(k+1)%len(readable)], shape)
					trials = append(trials, &trial{
						name: "index of " + how, kernel: kernel, shape: shape,
						in: []operand{{dtype: d, how: how, layout: at}}, out: []operand{in.blank(d, "dense", shape)},
					})
					trials = append(trials, &trial{
						name: "sum of index of " + how, kernel: sum, shape: shape,
						in:  []operand{{dtype: d, how: how, layout: at}, {dtype: d, how: how, layout: other}, in.tensor(d, "sliced", shape, in.any)},
						out: []operand{in.blank(d, "offset", shape)},
					})
				}
			}
			s.check(t, trials...)
		})
	}
}

// testSignedZero tests the operations that keep the sign of a zero, which the tolerances of rows do not see, and those that round
// to a zero with the sign of what they round.
func (s *suite) testSignedZero(t tb) {
	for _, d := range ops.DTypes() {
		if !d.IsFloat() {
			continue
		}
		in := s.draw(t)
		numbers := []float64{math.Copysign(0, -1), 0, -0.25, 0.25}
		for _, o := range []*ops.Op{ops.Floor, ops.Ceil, ops.Trunc, ops.Round, ops.Neg, ops.Abs, ops.Sqrt} {
			if o == ops.Neg {
				numbers = numbers[:2]
			}
			shape := backend.Shape{len(numbers)}
			x := in.tensor(d, "dense", shape, func(d ops.DType, i int) uint64 { return ops.FloatValue(d, numbers[i]).Bits() })
			// Copysign brings the sign out as a number.
			var b ops.Builder
			one := b.Const(0, d)
			b.Result(b.Apply(ops.Copysign, one, b.Apply(o, b.Load(b.Operand(d), false))))
			s.check(t, &trial{
				name: "sign of " + o.Name, kernel: &backend.Map{Body: b.Expr()}, shape: shape,
				in: []operand{x}, out: []operand{in.blank(d, "dense", shape)}, consts: []ops.Value{ops.FloatValue(d, 1)},
			})
		}
	}
}

// testOutputs tests programs with more than one result, of different types and arrangements.
func (s *suite) testOutputs(t tb) {
	in := s.draw(t)
	var b ops.Builder
	x, y := b.Load(b.Operand(ops.Float32), false), b.Load(b.Operand(ops.Int32), false)
	sum := b.Apply(ops.Add, x, b.Cast(ops.Float32, y))
	b.Result(sum)
	b.Result(b.Apply(ops.Less, x, sum))
	b.Result(y)
	b.Result(b.Cast(ops.Int64, x))
	b.Result(sum)
	kernel := &backend.Map{Body: b.Expr()}
	var trials []*trial
	for i, how := range readable {
		shape := backend.Shape{3, 1 + 300*(i%2), 4}
		w := func(k int) string { return writable[(i+k)%len(writable)] }
		trials = append(trials, &trial{
			name: "five outputs", kernel: kernel, shape: shape,
			in: []operand{in.tensor(ops.Float32, how, shape, in.ordinary), in.tensor(ops.Int32, readable[(i+1)%len(readable)], shape, in.ordinary)},
			out: []operand{
				in.blank(ops.Float32, w(0), shape), in.blank(ops.Bool, w(1), shape), in.blank(ops.Int32, w(2), shape),
				in.blank(ops.Int64, w(3), shape), in.blank(ops.Float32, w(4), shape),
			},
		})
	}
	s.check(t, trials...)
}

// testLarge tests tensors that are split among many workers, or need more than one dimension of a grid.
func (s *suite) testLarge(t tb) {
	if s.short {
		return
	}
	m := mapper{s: s, in: s.draw(t), op: ops.Add, types: operandTypes(ops.Add, ops.Float32)}
	for _, shape := range []backend.Shape{{1<<20 + 3}, {1031, 1, 517}} {
		s.check(t, m.trial("of "+shape.String(), shape, "dense", m.tensors(shape, m.in.bits, "dense"), nil),
			m.trial("of "+shape.String(), shape, "transposed", m.tensors(shape, m.in.bits, "broadcast row", "reversed"), nil))
	}
}
