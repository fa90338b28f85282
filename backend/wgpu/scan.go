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
		s := w.kept(r, u, lane, r.lift(w.elements[u].term(v, lane), "0u"))
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
	if last := w.copies - 1; !w.follow() || p.number == last {
		w.line("%s = %s;", p.carry, r.join(p.carry, fmt.Sprintf("all%d", p.number)))
	}
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

// follow reports whether scanTeam finds what is before a part with all parts before it: they are a row's, whose team is of several
// subgroups.
func (w *rowWriter) follow() bool { return !w.columns && w.crew().rest > 1 }

// scanTeam prints how the threads of a team find, for each part, the state of the runs of the members before them, and that of
// all; or where the parts are a row's, which follow each other, first that of all runs before and after the last part that
// of all parts. In workgroup memory threads or subgroups of them leave their states, a part after the other. The state of these
// follows theirs there.
func (w *rowWriter) scanTeam(parts []scanPart) {
	c := w.crew()
	for _, p := range parts {
		w.scanCrew(p, c)
	}
	if c.rest == 1 {
		return
	}
	if !w.held {
		w.line("workgroupBarrier();") // the threads of a loop's last trip may still read
	}
	w.line("let mine = member / %du;", c.some)
	s := w.scanRoom(parts, c)
	if c.some > 1 {
		w.line("if (member %% %du == %du) {", c.some, c.some-1)
	}
	for _, p := range parts {
		s.store(p, "mine", fmt.Sprintf("own%d", p.number))
	}
	if c.some > 1 {
		w.line("}")
	}
	w.line("workgroupBarrier();")
	if w.columns {
		w.scanColumns(parts, s)
	} else {
		w.scanRow(parts, s)
	}
}

// scanCrew prints the scan in subgroups: own<part> is the state of the runs of the members up to a thread, before<part> that of
// those before it, and all<part>, where a subgroup holds the team, that of all.
func (w *rowWriter) scanCrew(p scanPart, c crew) {
	r, own, before := w.reduction(w.scan), fmt.Sprintf("own%d", p.number), fmt.Sprintf("before%d", p.number)
	w.line("var %s = %s;\nvar %s: %s = %s;", own, p.run(len(p.places)-1), before, r.state(), w.none(r))
	for by := 1; by < c.some; by *= 2 {
		back := r.join(r.back(own, by*c.step), own)
		w.line("%s = select(%s, %s, member %% %du >= %du);", own, own, back, c.some, by)
	}
	if c.some > 1 {
		w.line("%s = select(%s, %s, member %% %du > 0u);", before, before, r.back(own, c.step), c.some)
	}
	if c.rest == 1 {
		all := own
		if c.some > 1 {
			all = r.from(own, fmt.Sprintf("(thread %% %du) | %du", w.subgroup, (c.some-1)*c.step))
		}
		w.line("let all%d = %s;", p.number, all)
	}
}

// A scanRoom is where in workgroup memory the states of a scan are: of each word of a state those of all teams, of a team those
// of all parts, of a part those of the subgroups.
type scanRoom struct {
	w      *rowWriter
	r      reduction
	rest   int // subgroups of a team
	states int // of a team
	some   int // threads of a team that scan those of a row
	words  int // of one word of the states
}

func (w *rowWriter) scanRoom(parts []scanPart, c crew) scanRoom {
	s := scanRoom{w: w, r: w.reduction(w.scan), rest: c.rest, states: len(parts) * c.rest, some: w.subgroup}
	places := s.states
	switch {
	case w.columns:
	case w.subgroup > 0:
		places++
	default:
		for s.some = 8; s.some*s.some < s.states; s.some *= 2 {
		}
		s.some = min(s.some, w.team)
		places += s.some
	}
	s.words = w.threads / w.team * places
	w.shared = max(w.shared, s.words*s.r.words())
	return s
}

// at returns the index of a state, numbered over the parts of a team.
func (s scanRoom) at(number string) string {
	teams := s.w.threads / s.w.team
	return fmt.Sprintf("(%s) * %du + team", number, teams)
}

// of returns the number of the state of a subgroup in a part.
func (s scanRoom) of(p scanPart, k string) string { return fmt.Sprintf("%du + %s", p.number*s.rest, k) }

func (s scanRoom) store(p scanPart, k, state string) { s.put(s.of(p, k), state) }

func (s scanRoom) put(number, state string) {
	for i, bits := range s.r.pack(state) {
		s.w.line("shared_words[%s + %du] = %s;", s.at(number), i*s.words, bits)
	}
}

func (s scanRoom) get(number string) string {
	words := make([]string, s.r.words())
	for i := range words {
		words[i] = fmt.Sprintf("shared_words[%s + %du]", s.at(number), i*s.words)
	}
	return s.r.unpack(words)
}

// scanColumns prints how each thread combines, for each part, the states of the subgroups before its own, and of all.
func (w *rowWriter) scanColumns(parts []scanPart, s scanRoom) {
	r := s.r
	for _, p := range parts {
		before, all := fmt.Sprintf("before%d", p.number), fmt.Sprintf("all%d", p.number)
		w.line("var %s: %s = %s;\nvar left%d = %s;", all, r.state(), w.none(r), p.number, all)
		w.line("for (var k = 0u; k < %du; k++) {\nif (k == mine) { left%d = %s; }", s.rest, p.number, all)
		w.line("%s = %s;\n}", all, r.join(all, s.get(s.of(p, "k"))))
		w.line("%s = %s;", before, r.join(fmt.Sprintf("left%d", p.number), before))
	}
}

// scanRow prints how the states of all parts of a row are scanned: some threads of the team scan a number of them each, a subgroup
// or as many threads as there are states to one. What these have found follows the states in workgroup memory, of a
// subgroup only the state of all.
func (w *rowWriter) scanRow(parts []scanPart, s scanRoom) {
	r, n := s.r, s.states
	each := (n + s.some - 1) / s.some
	mine := fmt.Sprintf("for (var k = member * %du; k < min((member + 1u) * %du, %du); k++) {", each, each, n)
	w.line("if (member < %du) {\nvar sum: %s = %s;\n%s\nlet old = %s;", s.some, r.state(), w.none(r), mine, s.get("k"))
	s.put("k", "sum")
	w.line("sum = %s;\n}", r.join("sum", "old"))
	all := fmt.Sprintf("all%d", len(parts)-1)
	if w.subgroup > 0 {
		w.line("var up = sum;")
		for by := 1; by < s.some; by *= 2 {
			w.line("up = select(up, %s, member >= %du);", r.join(r.back("up", by), "up"), by)
		}
		w.line("let left = select(%s, %s, member > 0u);\n%s", w.none(r), r.back("up", 1), mine)
		w.line("let old = %s;", r.join("left", s.get("k")))
		s.put("k", "old")
		w.line("}\nif (member == %du) {", s.some-1)
		s.put(fmt.Sprintf("%du", n), "up")
		w.line("}\n}\nworkgroupBarrier();\nlet %s = %s;", all, s.get(fmt.Sprintf("%du", n)))
		for _, p := range parts {
			before := fmt.Sprintf("before%d", p.number)
			w.line("%s = %s;", before, r.join(s.get(s.of(p, "mine")), before))
		}
		return
	}
	s.put(fmt.Sprintf("%du + member", n), "sum")
	w.line("}\nworkgroupBarrier();\nvar %s: %s = %s;", all, r.state(), w.none(r))
	w.line("for (var k = 0u; k < %du; k++) {", s.some)
	for _, p := range parts {
		w.line("if (k == (%s) / %du) { before%d = %s; }", s.of(p, "mine"), each, p.number, all)
	}
	w.line("%s = %s;\n}", all, r.join(all, s.get(fmt.Sprintf("%du + k", n))))
	for _, p := range parts {
		before := fmt.Sprintf("before%d", p.number)
		w.line("%s = %s;", before, r.join(before, s.get(s.of(p, "mine"))))
	}
}
