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
		if !k.combines(i) {
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
			w.accumulate(p)
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
	w.define(list)
	return nil
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

// accumulate prints the combination of a state with the elements a thread has at once, which are combined in pairs.
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
				at = fmt.Sprintf("%s + %du", at, lane)
			}
			s := fmt.Sprintf("s%d_%d", u, lane)
			w.line("let %s = select(%s, %s, %s);", s, w.none(p.reduction), p.lift(w.elements[u].term(v, lane), at), w.exists(u, lane))
			states = append(states, s)
		}
	}
	for len(states) > 1 {
		n := len(states) / 2
		for i := range n {
			s := fmt.Sprintf("s%d", len(states)*16+i) // unlike all before
			w.line("let %s = %s;", s, p.join(states[2*i], states[2*i+1]))
			states[i] = s
		}
		states = append(states[:n], states[2*n:]...)
	}
	w.line("%s = %s;\n}", p.name(), p.join(p.name(), states[0]))
}

// sharedWords is how many words of workgroup memory a thread may use: half of what WebGPU promises.
const sharedWords = 8

// fold prints the combination of the states that the threads of a team have, after which each has that of all.
func (w *rowWriter) fold(list []partial) {
	if w.team == 1 {
		return
	}
	for len(list) > 0 {
		n, words := 0, 0
		for n < len(list) && (n == 0 || words+list[n].words() <= sharedWords) {
			words += list[n].words()
			n++
		}
		w.shared = max(w.shared, words)
		w.foldSome(list[:n])
		list = list[n:]
	}
}

// foldSome folds states that fit workgroup memory. The threads of a large team combine in two steps: some of them, as
// many as the square root of all, those a multiple of that number apart; and then each what these have found.
func (w *rowWriter) foldSome(list []partial) {
	some := map[int]int{8: 8, 64: 8, 256: 16}[w.team]
	if w.reused {
		w.line("workgroupBarrier();")
	}
	w.reused = true
	w.share(list, "member")
	w.line("workgroupBarrier();")
	if some < w.team {
		w.line("if (member < %du) {", some)
		w.joinShared(list, "member", some, w.team/some)
		w.share(list, "member")
		w.line("}\nworkgroupBarrier();")
	}
	w.joinShared(list, "0u", 1, some)
}

// share prints the stores of states in the place of a member of the team.
func (w *rowWriter) share(list []partial, member string) {
	at := 0
	for _, p := range list {
		for _, bits := range p.pack(p.name()) {
			w.line("shared_words[%s] = %s;", w.sharedAt(at, member), bits)
			at++
		}
	}
}

// joinShared prints the loads of the states of n members of the team, step apart from first on, and their combination.
func (w *rowWriter) joinShared(list []partial, first string, step, n int) {
	for i, get := range []string{first, fmt.Sprintf("(%s + k * %du)", first, step)} {
		if i == 1 {
			w.line("for (var k = 1u; k < %du; k++) {", n)
		}
		at := 0
		for _, p := range list {
			words := make([]string, p.words())
			for j := range words {
				words[j] = fmt.Sprintf("shared_words[%s]", w.sharedAt(at, get))
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

// sharedAt returns the index of a word of a member of the team.
func (w *rowWriter) sharedAt(word int, member string) string {
	if w.columns {
		return fmt.Sprintf("%du + %s * %du + team", word*rowThreads, member, rowThreads/w.team)
	}
	return fmt.Sprintf("%du + team * %du + %s", word*rowThreads, w.team, member)
}

// define prints the values of states.
func (w *rowWriter) define(list []partial) {
	for _, p := range list {
		w.row.shared[p.value] = !w.columns
		w.line("let %s = %s;", w.row.name(p.value, p.lane), p.result(p.name()))
		w.publish(int(p.value))
	}
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
func (w *rowWriter) collect(phase int) {
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
	if w.scan < 0 {
		w.define(list)
	}
}

// scratchAt returns the index of a word of a piece's states.
func (w *rowWriter) scratchAt(n int, piece string) string {
	return fmt.Sprintf("(%du * %s + row) * %s + %s", n, word(w.words.groups), word(w.words.pieces), piece)
}
