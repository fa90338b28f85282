package wgpu

import (
	"fmt"

	"github.com/weft-go/weft/backend"
)

// lowerScan records a scan, which is a kernel of rows too: a team sweeps its row or rows and carries the state of what
// it has passed along. Where several workgroups share a row, a first kernel finds the states of its pieces, from which
// the workgroups of a second begin. Elements are counted from the end of the row where the scan is reverse.
func (e *engine) lowerScan(s *backend.Step, k *backend.Scan) error {
	if s.Shape.Len() == 0 {
		return nil
	}
	return e.lowerRows(s, k, &k.Body, 1)
}

// A scanPart is a run of elements that a thread has at once: a quad, or where lanes are rows a few elements of one. The
// runs of the threads of a team follow each other.
type scanPart struct {
	number int
	carry  string   // the variable that holds the state before the team's runs
	places [][2]int // unit and lane of each element, in the order of the scan
}

// scanParts returns the parts of a thread.
func (w *rowWriter) scanParts() []scanPart {
	parts := make([]scanPart, w.copies)
	carries := w.partials(1)
	if w.columns {
		parts = make([]scanPart, len(carries))
	}
	for i := range parts {
		parts[i].number = i
		parts[i].carry = carries[min(i, len(carries)-1)].name()
	}
	for u := range w.copies {
		for j := range 4 {
			lane := j
			if w.Code[w.scan].Reverse && !w.columns {
				lane = 3 - j
			}
			i := u
			if w.columns {
				i = lane
			}
			parts[i].places = append(parts[i].places, [2]int{u, lane})
		}
	}
	return parts
}

// finishScan prints the sweep: the elementwise part before the scan, the scan of the team's elements, the part after it.
func (w *rowWriter) finishScan(needed []bool, stores func() error) error {
	before := w.needs(w.wanted(1))
	if err := w.fix(before); err != nil {
		return err
	}
	return w.each(before, func() error {
		parts := w.scanParts()
		for _, p := range parts {
			w.scanPart(p)
		}
		w.scanTeam(parts)
		for _, p := range parts {
			w.scanResults(p)
		}
		for u := range w.copies {
			w.doneYet[u][w.scan] = true
		}
		if err := w.elementsOf(needed); err != nil {
			return err
		}
		return stores()
	})
}

// run returns the name of the state of the first elements of a part, up to number i.
func (p *scanPart) run(i int) string { return fmt.Sprintf("run%d_%d", p.number, i) }

// scanPart prints the states of a part's beginnings.
func (w *rowWriter) scanPart(p scanPart) {
	r := w.reduction(w.scan)
	v := w.Code[w.scan].Args[0]
	for i, place := range p.places {
		u, lane := place[0], place[1]
		s := fmt.Sprintf("select(%s, %s, %s)", w.none(r), r.lift(w.elements[u].term(v, lane), "0u"), w.exists(u, lane))
		if i > 0 {
			s = r.join(p.run(i-1), s)
		}
		w.line("let %s = %s;", p.run(i), s)
	}
}

// scanResults prints the results of a part, and moves its carry on.
func (w *rowWriter) scanResults(p scanPart) {
	r := w.reduction(w.scan)
	in := &w.Code[w.scan]
	base := fmt.Sprintf("base%d", p.number)
	w.line("let %s = %s;", base, r.join(p.carry, fmt.Sprintf("before%d", p.number)))
	w.line("%s = %s;", p.carry, r.join(p.carry, fmt.Sprintf("all%d", p.number)))
	for i, place := range p.places {
		state := base
		switch {
		case !in.Exclusive:
			state = r.join(base, p.run(i))
		case i > 0:
			state = r.join(base, p.run(i-1))
		}
		w.line("let %s = %s;", w.elements[place[0]].name(w.scan, place[1]), r.result(state))
	}
}

// scanTeam prints how the threads of a team find, for each part, the state of the runs of the members before them, and that of all.
// In a large team one thread first scans the states of a number of members, the square root of all; the state of these
// follows theirs in workgroup memory.
func (w *rowWriter) scanTeam(parts []scanPart) {
	r := w.reduction(w.scan)
	last := len(parts[0].places) - 1
	if w.team == 1 {
		for _, p := range parts {
			w.line("let before%d = %s;\nlet all%d = %s;", p.number, w.none(r), p.number, p.run(last))
		}
		return
	}
	some := map[int]int{8: 8, 64: 8, 256: 16}[w.team]
	groups := w.team / some
	room := rowThreads / w.team * groups * (some + 1)
	w.shared = max(w.shared, (len(parts)*r.words()*room+rowThreads-1)/rowThreads)
	at := func(part, position string) string {
		teams := rowThreads / w.team
		if w.columns {
			return fmt.Sprintf("%s * %du + (%s) * %du + team", part, r.words()*room, position, teams)
		}
		return fmt.Sprintf("%s * %du + team * %du + %s", part, r.words()*room, room/teams, position)
	}
	store := func(at, state string) {
		for i, bits := range r.pack(state) {
			w.line("shared_words[%s + %du] = %s;", at, i*room, bits)
		}
	}
	load := func(at string) string {
		words := make([]string, r.words())
		for i := range words {
			words[i] = fmt.Sprintf("shared_words[%s + %du]", at, i*room)
		}
		return r.unpack(words)
	}
	// The threads of a loop's last trip may still read.
	w.line("workgroupBarrier();")
	w.line("let mine = member + member / %du;", some)
	for _, p := range parts {
		store(at(fmt.Sprintf("%du", p.number), "mine"), p.run(last))
	}
	w.line("workgroupBarrier();")
	if groups > 1 {
		w.line("if (member < %du) {", groups*len(parts))
		w.line("let part = member / %du;\nlet first = (member %% %du) * %du;", groups, groups, some+1)
		w.line("var sum: %s = %s;", r.state(), w.none(r))
		w.line("for (var k = 0u; k < %du; k++) {\nlet old = %s;", some, load(at("part", "first + k")))
		store(at("part", "first + k"), "sum")
		w.line("sum = %s;\n}", r.join("sum", "old"))
		store(at("part", fmt.Sprintf("first + %du", some)), "sum")
		w.line("}\nworkgroupBarrier();")
	}
	for _, p := range parts {
		part := fmt.Sprintf("%du", p.number)
		b, a := fmt.Sprintf("before%d", p.number), fmt.Sprintf("all%d", p.number)
		w.line("var %s: %s = %s;\nvar %s = %s;", b, r.state(), w.none(r), a, b)
		if groups > 1 {
			w.line("for (var k = 0u; k < %du; k++) {\nif (k == member / %du) { %s = %s; }", groups, some, b, a)
			w.line("%s = %s;\n}", a, r.join(a, load(at(part, fmt.Sprintf("k * %du + %du", some+1, some)))))
			w.line("%s = %s;", b, r.join(b, load(at(part, "mine"))))
		} else {
			w.line("for (var k = 0u; k < %du; k++) {\nif (k == member) { %s = %s; }", some, b, a)
			w.line("%s = %s;\n}", a, r.join(a, load(at(part, "k"))))
		}
	}
}
