package wgpu

import (
	"fmt"

	"github.com/weft-go/weft/ops"
)

// A partial is a state that a thread has of a reduction: the only one, or where lanes are rows that of one of them.
type partial struct {
	reduction
	value ops.Ref
	lane  int
	first int // word, of those of all partials of a thread
}

// name returns the name of the variable that holds the state.
func (p *partial) name() string { return fmt.Sprintf("a%d_%d", p.value, p.lane) }

// partials returns the states of a phase.
func (k *rowKernel) partials(phase int) []partial {
	var list []partial
	first := 0
	for i := range k.Code {
		if !k.combines(i) || k.follows(i) {
			continue
		}
		r := k.reduction(ops.Ref(i))
		for lane := range k.lanes() {
			if k.phase[i] == phase {
				list = append(list, partial{r, ops.Ref(i), lane, first})
			}
			first += r.words()
		}
	}
	return list
}

// reduce prints a phase: each thread combines its elements, then a team combines the states of its threads.
func (w *rowWriter) reduce(phase int) error {
	needed := w.needs(w.wanted(phase))
	if err := w.fix(needed); err != nil {
		return err
	}
	list := w.partials(phase)
	w.start(list)
	if err := w.each(needed, func() error {
		for _, p := range list {
			if p.op == reduceMoments {
				w.accumulateMoments(p)
			} else {
				w.accumulate(p)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	w.fold(list)
	if w.stage > 0 {
		w.save(list)
		return nil
	}
	return w.define(phase, list)
}

// start prints the variables of states, of no elements yet.
func (w *rowWriter) start(list []partial) {
	for _, p := range list {
		w.line("var %s: %s = %s;", p.name(), p.state(), w.none(p.reduction))
	}
}

// none returns the state of no elements.
func (w *rowWriter) none(r reduction) string {
	return r.none(fmt.Sprintf("bitcast<f32>(%s)", word(w.words.infinity)))
}

// accumulate prints the combination of a state with the elements a thread has at once, which are combined in pairs; or where
// the first of the best is looked for, one after the other.
func (w *rowWriter) accumulate(p partial) {
	var states []string
	v := w.Code[p.value].Args[0]
	w.line("{")
	for u := range w.copies {
		for lane := range 4 {
			if w.columns && lane != p.lane {
				continue
			}
			at := "at" + tag(u)
			if !w.columns {
				at = fmt.Sprintf("%s + %du", at, w.lane(lane))
			}
			s, lifted := fmt.Sprintf("s%d_%d", u, lane), p.lift(w.elements[u].term(v, lane), at)
			if better := p.beaten(p.name(), s); better != "" {
				if w.ragged && !w.certain(u) {
					better += " && " + w.exists(u, lane)
				}
				w.line("let %s = %s;\n%s = select(%s, %s, %s);", s, lifted, p.name(), p.name(), s, better)
				continue
			}
			w.line("let %s = %s;", s, w.kept(p.reduction, u, lane, lifted))
			states = append(states, s)
		}
	}
	if len(states) > 0 {
		w.line("%s = %s;", p.name(), p.join(p.name(), w.pairwise(states, p.join)))
	}
	w.line("}")
}

// pairwise prints the combination of states, whose names begin with the same letter, in pairs and returns the name of the last.
func (w *rowWriter) pairwise(states []string, join func(a, b string) string) string {
	for len(states) > 1 {
		n := len(states) / 2
		for i := range n {
			s := fmt.Sprintf("%c%d", states[0][0], len(states)*16+i) // unlike all before
			w.line("let %s = %s;", s, join(states[2*i], states[2*i+1]))
			states[i] = s
		}
		states = append(states[:n], states[2*n:]...)
	}
	return states[0]
}

// sharedWords is how many words of workgroup memory states may take at once: half of what WebGPU promises.
const sharedWords = 2048

// A crew is how the members of a team stand in subgroups: some of them in each, step threads apart.
type crew struct {
	some, step int
	rest       int // subgroups of a team, or where subgroups are not used its members
}

func (k *rowKernel) crew() crew {
	c := crew{some: 1, step: 1}
	if k.columns {
		c.step = k.threads / k.team
	}
	if n := k.subgroup / c.step; n > 1 {
		c.some = min(n, k.team)
	}
	c.rest = k.team / c.some
	return c
}

// fold prints the combination of the states that the threads of a team have, after which each has that of all.
func (w *rowWriter) fold(list []partial) {
	c := w.crew()
	for by := 1; by < c.some; by *= 2 {
		for _, p := range list {
			w.line("%s = %s;", p.name(), p.join(p.name(), p.cross(p.name(), by*c.step)))
		}
	}
	if c.rest == 1 {
		return
	}
	room := w.threads / c.some
	for len(list) > 0 {
		n, words := 0, 0
		for n < len(list) && (n == 0 || (words+list[n].words())*room <= sharedWords) {
			words += list[n].words()
			n++
		}
		w.shared = max(w.shared, words*room)
		w.foldSome(list[:n], c)
		list = list[n:]
	}
}

// foldSome folds, in workgroup memory that has room for them, states of which one member in each subgroup has that of its
// members. Many are combined in two steps: some threads combine as many as the square root of all, those a multiple of that
// number apart; and then each what these have found.
func (w *rowWriter) foldSome(list []partial, c crew) {
	if w.reused {
		w.line("workgroupBarrier();")
	}
	w.reused = true
	number := "member"
	if c.some > 1 {
		number = fmt.Sprintf("(member / %du)", c.some)
		w.line("if (member %% %du == 0u) {", c.some)
	}
	w.share(list, c, number)
	if c.some > 1 {
		w.line("}")
	}
	w.line("workgroupBarrier();")
	some := c.rest
	if c.rest > 8 {
		for some = 8; some*some < c.rest; some *= 2 {
		}
		w.line("if (member < %du) {", some)
		w.joinShared(list, c, "member", some, c.rest/some)
		w.share(list, c, "member")
		w.line("}\nworkgroupBarrier();")
	}
	w.joinShared(list, c, "0u", 1, some)
}

// share prints the stores of states in place number of the team's.
func (w *rowWriter) share(list []partial, c crew, number string) {
	at := 0
	for _, p := range list {
		for _, bits := range p.pack(p.name()) {
			w.line("shared_words[%s] = %s;", w.sharedAt(c, at, number), bits)
			at++
		}
	}
}

// joinShared prints the loads of n states of the team's, step apart from place first on, and their combination.
func (w *rowWriter) joinShared(list []partial, c crew, first string, step, n int) {
	for i, get := range []string{first, fmt.Sprintf("(%s + k * %du)", first, step)} {
		if i == 1 {
			w.line("for (var k = 1u; k < %du; k++) {", n)
		}
		at := 0
		for _, p := range list {
			words := make([]string, p.words())
			for j := range words {
				words[j] = fmt.Sprintf("shared_words[%s]", w.sharedAt(c, at, get))
				at++
			}
			state := p.unpack(words)
			if i == 1 {
				state = p.join(p.name(), state)
			}
			w.line("%s = %s;", p.name(), state)
		}
	}
	w.line("}")
}

// sharedAt returns the index of a word in place number of the team's.
func (w *rowWriter) sharedAt(c crew, word int, number string) string {
	room := w.threads / c.some
	if w.columns {
		return fmt.Sprintf("%du + %s * %du + team", word*room, number, w.threads/w.team)
	}
	return fmt.Sprintf("%du + team * %du + %s", word*room, c.rest, number)
}

// define prints the values of the reductions of a phase from their states.
func (w *rowWriter) define(phase int, list []partial) error {
	for _, p := range list {
		if p.op == reduceMoments {
			continue
		}
		w.row.shared[p.value] = !w.columns
		w.line("let %s = %s;", w.row.name(p.value, p.lane), p.result(p.name()))
		w.publish(int(p.value))
	}
	return w.defineMoments(phase)
}

// save prints the stores of the states of a piece for the kernels of later phases.
func (w *rowWriter) save(list []partial) {
	w.line("if (member == 0u && live) {")
	for _, p := range list {
		for i, bits := range p.pack(p.name()) {
			w.line("b%d[%s] = %s;", len(w.slots)-1, w.scratchAt(p.first+i, "piece"), bits)
		}
	}
	w.line("}")
}

// collect prints how a team finds the values of an earlier phase from the states of all pieces, or of a scan the state from
// those before its own.
func (w *rowWriter) collect(phase int) error {
	list := w.partials(phase)
	w.start(list)
	pieces := word(w.words.pieces)
	if w.scan >= 0 {
		pieces = "piece"
	}
	w.line("for (var k = member; k < %s; k += %du) {", pieces, w.team)
	for _, p := range list {
		words := make([]string, p.words())
		for i := range words {
			words[i] = fmt.Sprintf("b%d[%s]", len(w.slots)-1, w.scratchAt(p.first+i, "k"))
		}
		w.line("%s = %s;", p.name(), p.join(p.name(), p.unpack(words)))
	}
	w.line("}")
	w.fold(list)
	if w.scan >= 0 {
		return nil
	}
	return w.define(phase, list)
}

// scratchAt returns the index of a word of a piece's states.
func (w *rowWriter) scratchAt(n int, piece string) string {
	return fmt.Sprintf("(%du * %s + row) * %s + %s", n, word(w.words.groups), word(w.words.pieces), piece)
}
