package wgpu

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/ops"
)

// The sum of the distances of a row's elements from a value, and that of their squares, take a pass more than the value does: a
// variance takes two, for the mean and for these. Rows that are not held are read once for both. Each thread finds the number of
// its elements, their mean and the sum of their squared distances from it, all from a pivot, its first element, so that a mean that is
// large beside the distances does not round them away, and threads combine what they have. (Chan, Golub and LeVeque, "Updating
// formulae and a pairwise algorithm for computing sample variances", 1979.) Of n elements with the mean m, and the sum q of
// squared distances from it, the distances from any value c have the sum n·(m - c), their squares q + n·(m - c)². It is done where c
// is the row's mean alone: distances from others may be whole numbers, whose sums have to be exact.

// A moment is such a sum, as a reduction.
type moment struct {
	of, about ops.Ref // the elements, and the mean
	squared   bool
	state     ops.Ref // the first reduction of the same elements, whose state it shares
}

// reduceMoments is the operation of a reduction whose state is of moments: pivot, number, mean and squares.
const reduceMoments = ^ops.ReduceOp(0)

const joinMoments = `fn join_moments(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
if (a.y == 0.0) { return b; }
if (b.y == 0.0) { return a; }
let n = a.y + b.y;
let d = (b.x - a.x) + (b.z - a.z);
let part = b.y / n;
return vec4<f32>(a.x, n, a.z + d * part, (a.w + b.w) + d * d * (a.y * part));
}
`

// moment returns what reduction i sums, and whether that is distances of elements from their mean, which needs the phase that
// could sum them.
func (p *rowProgram) moment(i int) (m moment, ok bool) {
	in := &p.Code[i]
	if in.Kind != ops.Reduce || in.Red != ops.ReduceSum || in.DType != ops.Float32 {
		return m, false
	}
	d := in.Args[0]
	if s := &p.Code[d]; s.Kind == ops.Apply && (s.Op == ops.Square || s.Op == ops.Mul && s.Args[0] == s.Args[1]) {
		d, m.squared = s.Args[0], true
	}
	s := &p.Code[d]
	if s.Kind != ops.Apply || s.Op != ops.Sub {
		return m, false
	}
	m.of, m.about = s.Args[0], s.Args[1]
	return m, !p.fixed[m.of] && p.isMean(m.about, m.of) && p.phase[m.about] == p.phase[m.of]+1
}

// isMean reports whether value i is the sum of the elements of x divided by a number, or times one.
func (p *rowProgram) isMean(i, x ops.Ref) bool {
	m := &p.Code[i]
	if m.Kind != ops.Apply || m.Op != ops.Div && m.Op != ops.Mul {
		return false
	}
	sum := &p.Code[m.Args[0]]
	return sum.Kind == ops.Reduce && sum.Red == ops.ReduceSum && sum.Args[0] == x && p.Code[m.Args[1]].Kind == ops.Const
}

// addMoment makes reduction r one of the phase of the elements.
func (p *rowProgram) addMoment(r ops.Ref, m moment) {
	m.state = r
	for _, other := range p.moments {
		if other.of == m.of {
			m.state = other.state
		}
	}
	if p.moments == nil {
		p.moments = map[ops.Ref]moment{}
	}
	p.moments[r] = m
	p.phase[r] = p.phase[m.of]
}

// follows reports whether reduction i has no state of its own.
func (p *rowProgram) follows(i int) bool {
	m, ok := p.moments[ops.Ref(i)]
	return ok && m.state != ops.Ref(i)
}

// accumulateMoments prints the combination of a state with the elements a thread has at once.
func (w *rowWriter) accumulateMoments(p partial) {
	of := w.moments[p.value].of
	name := p.name()
	var terms, counts, places []string
	w.line("{")
	pivot := fmt.Sprintf("%s.x = %s;", name, seal(ops.Float32, w.elements[0].name(of, p.lane), 1))
	if !w.held {
		pivot = "if (trip == 0u) { " + pivot + " }"
	}
	w.line("%s", pivot)
	all := true // elements are there
	for u := range w.copies {
		for lane := range 4 {
			if w.columns && lane != p.lane {
				continue
			}
			t, there := fmt.Sprintf("t%d_%d", u, lane), "true"
			if !w.certain(u) {
				all, there = false, w.exists(u, lane)
			}
			w.line("let %s = %s;", t, only(there, fmt.Sprintf("%s - %s.x", w.elements[u].term(of, lane), name)))
			terms, places = append(terms, t), append(places, there)
			counts = append(counts, only(there, "1.0"))
		}
	}
	plus := func(a, b string) string { return a + " + " + b }
	if all {
		w.line("let count = %d.0;", len(terms))
	} else {
		w.line("let count = %s;", strings.Join(counts, " + "))
	}
	squares := make([]string, len(terms))
	for i, t := range terms {
		squares[i] = fmt.Sprintf("q%d_", i)
		counts[i] = t
	}
	w.line("let mean = %s / max(count, 1.0);", w.pairwise(counts, plus))
	for i, t := range terms {
		w.line("let d%d_ = %s;\nlet %s = d%d_ * d%d_;", i, only(places[i], t+" - mean"), squares[i], i, i)
	}
	w.line("%s = join_moments(%s, vec4<f32>(%s.x, count, mean, %s));\n}", name, name, name, w.pairwise(squares, plus))
}

// only returns the expression of a number where a condition holds, else 0.
func only(there, number string) string {
	if there == "true" {
		return number
	}
	return fmt.Sprintf("select(0.0, %s, %s)", number, there)
}

// defineMoments prints the values of the moments of a phase, after those of its other reductions.
func (w *rowWriter) defineMoments(phase int) error {
	for i := range w.Code {
		m, ok := w.moments[ops.Ref(i)]
		if !ok || w.phase[i] != phase {
			continue
		}
		if err := w.fix(w.needs([]ops.Ref{m.about})); err != nil {
			return err
		}
		w.row.shared[i] = !w.columns
		for lane := range w.lanes() {
			s := partial{value: m.state, lane: lane}
			state := s.name()
			from := fmt.Sprintf("((%s.x - %s) + %s.z)", state, w.row.term(m.about, lane), state)
			if m.squared {
				w.line("let %s = %s.w + %s.y * %s * %s;", w.row.name(ops.Ref(i), lane), state, state, from, from)
			} else {
				w.line("let %s = %s.y * %s;", w.row.name(ops.Ref(i), lane), state, from)
			}
		}
		w.publish(i)
	}
	return nil
}
