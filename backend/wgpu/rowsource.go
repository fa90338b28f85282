package wgpu

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/shaders"
)

// A rowWriter writes the text of a rowKernel. Values of whole rows are printed once, at the level of the function, and
// so are those of the elements of a held row. The others are printed in the loop of each phase that needs them.
type rowWriter struct {
	*rowKernel
	text
	row      *body    // prints the values of whole rows
	elements []*body  // by unit of those a thread has at once: prints the values of its elements
	fixedYet []bool   // values of whole rows that have been printed
	doneYet  [][]bool // by unit: values of elements that are in scope
	opened   []bool   // by unit: its coordinates are in scope
	placed   [][]bool // by unit: addresses of inputs that are in scope
	shared   int      // words of workgroup memory
	reused   bool     // threads may still read that memory
}

// source writes the kernel.
func (k *rowKernel) source() (source, error) {
	w := &rowWriter{rowKernel: k}
	if err := w.write(); err != nil {
		return source{}, err
	}
	args := blockSize(len(k.block.words))
	var t text
	declare(&t, k.slots, args)
	if w.shared > 0 {
		t.line("var<workgroup> shared_words: array<u32, %d>;", w.shared)
	}
	if err := k.declare(&t, k.subgroup > 0); err != nil {
		return source{}, err
	}
	t.WriteString(w.String())
	return source{
		label: label(k.family, opNames(k.Expr)), wgsl: shaders.Prelude(t.String()) + t.String(),
		slots: k.slots, args: args, shared: uint32(4 * w.shared),
	}, nil
}

// declare prints the functions of the program's reductions, and where asked those by which subgroups exchange states.
func (p *rowProgram) declare(t *text, exchange bool) error {
	seen := map[reduction]bool{}
	for i := range p.Code {
		if !p.combines(i) {
			continue
		}
		r := p.reduction(ops.Ref(i))
		if seen[r] {
			continue
		}
		seen[r] = true
		if err := r.declare(t); err != nil {
			return err
		}
		if exchange {
			r.declareExchange(t)
		}
	}
	return nil
}

// write prints the entry point.
func (w *rowWriter) write() error {
	w.bodies()
	w.line("@compute @workgroup_size(%d)", w.threads)
	if w.subgroup > 0 {
		w.line("fn main(@builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_id) place: u32, @builtin(workgroup_id) group: vec3<u32>) {")
		w.line("let thread = place * %du + lane;", w.subgroup)
	} else {
		w.line("fn main(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>) {")
	}
	w.begin()
	first, last := 1, w.phases+1
	switch {
	case w.stage > 0:
		first, last = w.stage, w.stage
		for phase := 1; phase < first; phase++ {
			if err := w.collect(phase); err != nil {
				return err
			}
		}
	case w.scan >= 0:
		first = last
		w.start(w.partials(1))
	}
	for phase := first; phase <= last; phase++ {
		step := w.reduce
		if phase > w.phases {
			step = w.finish
		}
		if err := step(phase); err != nil {
			return err
		}
	}
	w.line("}")
	return nil
}

// bodies prepares the printers of instructions.
func (w *rowWriter) bodies() {
	w.row = w.printer("v", "")
	w.fixedYet = make([]bool, len(w.Code))
	w.elements = make([]*body, w.copies)
	w.doneYet = make([][]bool, w.copies)
	w.placed = make([][]bool, w.copies)
	w.opened = make([]bool, w.copies)
	for u := range w.copies {
		w.elements[u] = w.printer(fmt.Sprintf("e%d_", u), tag(u))
		w.doneYet[u] = make([]bool, len(w.Code))
		w.placed[u] = make([]bool, len(w.in))
	}
}

func (w *rowWriter) printer(prefix, tag string) *body {
	r := w.reader(tag)
	b := newBody(w.Expr, 4, w.words.consts)
	b.prefix, b.load, b.index, b.same = prefix, r.load, r.index, r.same
	return b
}

func (w *rowWriter) reader(tag string) reader {
	return reader{domain: &w.domain, places: w.words.places, tag: tag}
}

// tag ends the names of what belongs to unit u of those a thread has at once.
func tag(u int) string { return fmt.Sprintf("_%d", u) }

// begin prints where a thread works: the part of the rows, the coordinates of its own, and where this starts in each operand.
func (w *rowWriter) begin() {
	p := &w.words
	teams := w.threads / w.team
	w.line("let number = group.y * %s + group.x;", word(p.columns))
	if w.stage > 0 && (w.stage <= w.phases || w.varies()) {
		w.line("let block = number / %s;\nlet piece = number - block * %s;", word(p.pieces), word(p.pieces))
		w.line("let start = piece * %s;\nlet end = min(start + %s, %s);", word(p.length), word(p.length), word(p.units))
	} else {
		w.line("let block = number;\nlet piece = 0u;\nlet start = 0u;\nlet end = %s;", word(p.units))
	}
	if w.columns {
		w.line("let member = thread / %du;\nlet team = thread %% %du;", teams, teams)
	} else {
		w.line("let member = thread %% %du;\nlet team = thread / %du;", w.team, w.team)
	}
	w.line("let own = block * %du + team;", teams)
	w.line("let live = own < %s;", word(p.groups))
	w.line("let row = min(own, %s - 1u);", word(p.groups)) // the teams too many repeat the work of the last
	w.coordinates("row", w.lines, "")
	for i := range w.layouts {
		w.address(w.addressOf(i), w.words.places[i].offset(), i, w.lines, "")
	}
}

// addressOf returns the name of the position of operand i: an input, or after those an output.
func (w *rowWriter) addressOf(i int) string {
	if n := len(w.in); i >= n {
		return fmt.Sprintf("o%d", i-n)
	}
	return fmt.Sprintf("i%d", i)
}

// coordinates prints the coordinates x<axis><tag> of element number from of the axes, the last of which counts quads if
// it is the last of all, and the number of the first of its elements as at<tag>.
func (w *rowWriter) coordinates(from string, axes []int, tag string) {
	if len(axes) == 0 {
		w.line("let at%s = 0u;", tag)
		return
	}
	last := axes[len(axes)-1]
	extent, scale := word(w.words.extents+last), ""
	if last == len(w.shape)-1 {
		extent, scale = word(w.words.quads), " * 4u"
	}
	if len(axes) == 1 {
		w.line("let x%d%s = %s%s;\nlet at%s = x%d%s;", last, tag, from, scale, tag, last, tag)
		return
	}
	w.line("var rest%s = %s / %s;", tag, from, extent)
	w.line("let x%d%s = (%s - rest%s * %s)%s;", last, tag, from, tag, extent, scale)
	w.line("let at%s = rest%s * %s + x%d%s;", tag, tag, word(w.words.extents+last), last, tag)
	for i := len(axes) - 2; i > 0; i-- {
		d := word(w.words.extents + axes[i])
		w.line("let x%d%s = rest%s %% %s;\nrest%s = rest%s / %s;", axes[i], tag, tag, d, tag, tag, d)
	}
	w.line("let x%d%s = rest%s;", axes[0], tag, tag)
}

// address prints the position, called name, that is from plus the coordinates along the axes times the strides of operand i.
func (w *rowWriter) address(name, from string, i int, axes []int, tag string) {
	terms := []string{from}
	m := w.access(i).mode
	for _, a := range axes {
		last := a == len(w.shape)-1
		if m == modeOne || m == modeSplat && last {
			continue
		}
		x := fmt.Sprintf("x%d%s", a, tag)
		if !(m == modeVector && last) { // whose stride is 1
			x += " * " + w.words.places[i].stride(a)
		}
		terms = append(terms, x)
	}
	w.line("let %s = %s;", name, strings.Join(terms, " + "))
}

// access returns the access of an input, or after those of an output.
func (w *rowWriter) access(i int) *access {
	if n := len(w.in); i >= n {
		return &w.out[i-n]
	}
	return &w.in[i]
}

// fix prints the values of whole rows among those needed.
func (w *rowWriter) fix(needed []bool) error {
	for i, need := range needed {
		if !need || !w.fixed[i] || w.fixedYet[i] {
			continue
		}
		if err := w.row.instruction(&w.text, i); err != nil {
			return err
		}
		w.publish(i)
	}
	return nil
}

// publish lets the bodies of elements know the value of a whole row that the row's has just printed.
func (w *rowWriter) publish(i int) {
	w.fixedYet[i] = true
	var names []string
	for lane := range w.row.width(ops.Ref(i)) {
		names = append(names, w.row.name(ops.Ref(i), lane))
	}
	for _, b := range w.elements {
		b.shared[i], b.names[i] = w.row.shared[i], names
	}
}

// each prints the needed values of the elements that a thread has, then what with prints for each unit: in a loop, unless
// the row is held.
func (w *rowWriter) each(needed []bool, with func() error) error {
	if w.held {
		if err := w.elementsOf(needed); err != nil {
			return err
		}
		return with()
	}
	for u := range w.copies {
		clear(w.doneYet[u])
		clear(w.placed[u])
		w.opened[u] = false
	}
	w.line("for (var trip = 0u; trip < %s; trip++) {", word(w.words.trips))
	if err := w.elementsOf(needed); err != nil {
		return err
	}
	if err := with(); err != nil {
		return err
	}
	w.line("}")
	return nil
}

func (w *rowWriter) elementsOf(needed []bool) error {
	for u := range w.copies {
		w.open(u)
		for i, need := range needed {
			if !need || w.fixed[i] || w.doneYet[u][i] {
				continue
			}
			w.doneYet[u][i] = true
			if k := w.Code[i].Kind; k == ops.Load || k == ops.Index {
				w.placeUnit(u, int(w.Code[i].Args[0]))
			}
			if err := w.elements[u].instruction(&w.text, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish prints the stores of the results.
func (w *rowWriter) finish(phase int) error {
	if err := w.storeRows(); err != nil {
		return err
	}
	var values []ops.Ref
	for _, v := range w.Out {
		if !w.Code[v].Row {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil
	}
	needed := w.needs(values)
	if err := w.fix(needed); err != nil {
		return err
	}
	stores := func() error {
		for u := range w.copies {
			w.storeUnit(u)
		}
		return nil
	}
	if w.scan >= 0 {
		return w.finishScan(needed, stores)
	}
	return w.each(needed, stores)
}

// storeRows prints the stores of the results that are one for a row.
func (w *rowWriter) storeRows() error {
	var values []ops.Ref
	for _, v := range w.Out {
		if w.Code[v].Row {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil
	}
	if err := w.fix(w.needs(values)); err != nil {
		return err
	}
	w.line("if (member == 0u && live && piece == 0u) {")
	r := w.reader("")
	for i, v := range w.Out {
		if !w.Code[v].Row {
			continue
		}
		bits := w.row.bits(v, w.out[i].dtype)
		if w.columns {
			w.store(r, i, fmt.Sprintf("o%d", i), bits)
		} else {
			r.storeElement(&w.text, &w.out[i], fmt.Sprintf("o%d", i), bits[0])
		}
	}
	w.line("}")
	return nil
}

// store prints the stores of the lanes of output i, the first at position at.
func (w *rowWriter) store(r reader, i int, at string, bits []string) {
	last := len(w.shape) - 1
	r.storeLanes(&w.text, &w.out[i], at, w.words.places[len(w.in)+i].stride(last), word(w.words.extents+last), bits)
}
