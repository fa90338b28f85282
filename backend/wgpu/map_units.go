package wgpu

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/shaders"
)

// A mapWriter writes the text of a Map. A thread takes several units, of four lanes each: quads that are a workgroup apart, or
// where inputs lie in memory with another axis last (they are turned), a patch of four by four elements, whose units are
// neighbours along that axis. Such an input is read four elements at once too, one for each unit, and nothing is
// exchanged between threads. All that is read is read before anything is stored: a compiler cannot bring it forward itself,
// as for all it knows the memory is the same.
type mapWriter struct {
	*mapKernel
	text
	units []*body
}

// Bounds of patches.
const (
	patchFew  = 1 << 14 // elements below which no patches are taken
	patchCode = 48      // instructions above which a patch is too much text
)

// turn decides whether the map takes patches, and of which axis beside the last: the one along which most of what is not
// in order along the last lies in order.
func (m *mapKernel) turn(s *backend.Step) {
	last := len(m.shape) - 1
	if last == 0 || m.shape[last] < 4 || m.shape.Len() < patchFew || len(m.body.Code) > patchCode {
		return
	}
	for i := range s.Out {
		if m.layouts[len(s.In)+i].Strides[last] != 1 {
			return
		}
	}
	weights := make([]int, last)
	for i, o := range s.In {
		l := m.layouts[i]
		if o.Buf == nil || o.DType.Quantized() || l.Strides[last] == 0 || one(l, last) {
			continue
		}
		for a := range last {
			if one(l, a) && m.shape[a] >= 4 {
				weights[a] += span(l) * o.DType.Size()
			}
		}
	}
	most := 0
	for a, weight := range weights {
		if weight > most {
			m.turned, most = a+1, weight
		}
	}
}

// planMap chooses the variant for a step.
func (e *engine) planMap(s *backend.Step, body *ops.Expr) (m mapKernel, grid [3]uint32) {
	m.body = body
	m.merge(s, 0)
	m.turn(s)
	m.reach(s)
	if m.turned == 0 && !m.plain {
		m.loosen()
	}
	m.pairs()
	return m, e.spreadUnits(&m, s)
}

// loosen disperses the lanes where the outputs are not written as whole words: as far as does not leave many lanes beyond the end
// of a row.
func (m *mapKernel) loosen() {
	for i := range m.out {
		if !m.loose(len(m.in) + i) {
			return
		}
	}
	for apart := mapThreads; apart >= 8; apart /= 2 {
		n := m.shape[len(m.shape)-1]
		if idle := dispersed(n, apart)*4 - n; n >= 4*apart && idle*8 <= n {
			m.disperse(apart)
			return
		}
	}
}

// dispersed returns how many threads take a row of n elements if their lanes are apart.
func dispersed(n, apart int) int { return (n + 4*apart - 1) / (4 * apart) * apart }

// spreadUnits decides which units a thread takes, fills the parameters, and returns the grid.
func (e *engine) spreadUnits(m *mapKernel, s *backend.Step) [3]uint32 {
	last := len(m.shape) - 1
	rowQuads := (m.shape[last] + 3) / 4
	if m.apart > 1 {
		rowQuads = dispersed(m.shape[last], m.apart)
	}
	quads := m.shape[:last].Len() * rowQuads
	if m.turned > 0 {
		down := (m.shape[m.turned-1] + 3) / 4
		m.across = patchAcross(down, rowQuads)
		patches := (down + m.across - 1) / m.across
		tiles := (rowQuads*m.across + mapThreads - 1) / mapThreads
		grid := e.grid(m.shape[:last].Len() / m.shape[m.turned-1] * patches * tiles)
		m.parameters(s.Consts, quads, rowQuads, int(grid[0]))
		m.tiles, m.patches = m.block.add(tiles), m.block.add(patches)
		return grid
	}
	m.unroll = 1
	if quads >= mapFew {
		m.unroll = mapUnits(s)
	}
	grid := e.grid((quads + mapThreads*m.unroll - 1) / (mapThreads * m.unroll))
	m.parameters(s.Consts, quads, rowQuads, int(grid[0]))
	return grid
}

// mapUnits returns how many units a thread takes of a large map: as many as keep enough bytes under way, and not so many that
// their registers leave few threads.
func mapUnits(s *backend.Step) int {
	bytes := 0
	for _, o := range s.In {
		if o.Buf != nil {
			bytes += o.DType.Size()
		}
	}
	switch {
	case bytes <= 4:
		return 4
	case bytes <= 16:
		return 2
	}
	return 1
}

// patchAcross returns how many threads of a workgroup take patches side by side along the turned axis, of down quads, the others
// along the last, of rowQuads. Eight read and 32 write whole lines of memory.
func patchAcross(down, rowQuads int) int {
	across := 8
	for across < 32 && mapThreads/across > rowQuads {
		across *= 2
	}
	for across > 2 && across > down {
		across /= 2
	}
	return across
}

// unitSource writes the kernel.
func (m *mapKernel) unitSource() (source, error) {
	w := &mapWriter{mapKernel: m}
	args := blockSize(len(m.block.words))
	declare(&w.text, m.slots, args)
	w.line("@compute @workgroup_size(%d)", mapThreads)
	w.line("fn main(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>) {")
	w.line("let number = group.y * %s + group.x;", word(m.columns))
	if m.turned > 0 {
		w.inPatches()
	} else {
		w.inQuads()
	}
	if err := w.write(); err != nil {
		return source{}, err
	}
	w.line("}\n}")
	wgsl := w.String()
	return source{label: label("map", opNames(m.body)), wgsl: shaders.Prelude(wgsl) + wgsl, slots: m.slots, args: args}, nil
}

// inQuads prints the coordinates of units that are quads: x<axis>_<unit>. Those beyond the last repeat it.
func (w *mapWriter) inQuads() {
	w.units = make([]*body, w.unroll)
	w.line("let first = number * %du + thread;", mapThreads*w.unroll)
	w.line("if (first < %s) {", word(w.quads))
	for u := range w.units {
		w.line("let quad%s = min(first + %du, %s - 1u);", tag(u), u*mapThreads, word(w.quads))
		w.coordinates(&w.text, "quad"+tag(u), tag(u))
	}
}

// inPatches prints the coordinates of the units of a patch.
func (w *mapWriter) inPatches() {
	last, axis := len(w.shape)-1, w.turned-1
	w.units = make([]*body, 4)
	w.line("let strip = number / %s;", word(w.tiles))
	w.line("let quad = (number - strip * %s) * %du + thread / %du;", word(w.tiles), mapThreads/w.across, w.across)
	w.line("let x%d_0 = quad * 4u;", last)
	w.line("var rest = strip / %s;", word(w.patches))
	w.line("let x%d_0 = ((strip - rest * %s) * %du + thread %% %du) * 4u;", axis, word(w.patches), w.across, w.across)
	for a := last - 1; a >= 0; a-- {
		if a != axis {
			w.line("let x%d_0 = rest %% %s; rest = rest / %s;", a, word(w.extents+a), word(w.extents+a))
		}
	}
	w.line("if (x%d_0 < %s && x%d_0 < %s) {", last, word(w.extents+last), axis, word(w.extents+axis))
	for u := 1; u < len(w.units); u++ {
		for a := range w.shape {
			if a == axis {
				w.line("let x%d%s = x%d_0 + %du;", a, tag(u), a, u)
			} else {
				w.line("let x%d%s = x%d_0;", a, tag(u), a)
			}
		}
	}
}

// write prints the loads of all units, then the rest of the body, then the stores.
func (w *mapWriter) write() error {
	turned := make([]reader, 4)
	for j := range turned {
		turned[j] = reader{domain: &w.domain, places: w.places, tag: fmt.Sprintf("_t%d", j)}
	}
	for i := range w.in {
		if w.in[i].mode == modeTurned {
			w.turnedAddresses(i, turned)
		}
	}
	for u := range w.units {
		r := reader{domain: &w.domain, places: w.places, tag: tag(u)}
		for i := range w.in {
			if w.in[i].mode != modeTurned {
				r.address(&w.text, i, r.at(i), &w.in[i])
			}
		}
		b := newBody(w.body, 4, w.consts)
		b.prefix, b.index, b.same = fmt.Sprintf("e%d_", u), r.index, r.same
		b.load = func(t *text, k int, d ops.DType, lane int) string {
			if w.in[k].mode == modeTurned {
				return turned[lane].load(t, k, d, u)
			}
			return r.load(t, k, d, lane)
		}
		w.units[u] = b
	}
	for _, loads := range []bool{true, false} {
		for _, b := range w.units {
			for i := range w.body.Code {
				if (w.body.Code[i].Kind == ops.Load) != loads {
					continue
				}
				if err := b.instruction(&w.text, i); err != nil {
					return err
				}
			}
		}
	}
	for u := range w.units {
		w.storeUnit(u)
	}
	return nil
}

// turnedAddresses prints where the fours of an input that is turned begin: one for each lane.
func (w *mapWriter) turnedAddresses(i int, lanes []reader) {
	last, p := len(w.shape)-1, w.places[i]
	for j, r := range lanes {
		terms := []string{p.offset(), fmt.Sprintf("(x%d_0 + %du) * %s", last, j, p.stride(last)), fmt.Sprintf("x%d_0", w.turned-1)}
		for a := range last {
			if a != w.turned-1 {
				terms = append(terms, fmt.Sprintf("x%d_0 * %s", a, p.stride(a)))
			}
		}
		w.line("let %s = %s;", r.at(i), strings.Join(terms, " + "))
	}
}

// storeUnit prints the stores of a unit, if it is not beyond the last.
func (w *mapWriter) storeUnit(u int) {
	last := len(w.shape) - 1
	switch {
	case u == 0:
		w.line("{")
	case w.turned > 0:
		w.line("if (x%d%s < %s) {", w.turned-1, tag(u), word(w.extents+w.turned-1))
	default:
		w.line("if (first + %du < %s) {", u*mapThreads, word(w.quads))
	}
	r := reader{domain: &w.domain, places: w.places, tag: tag(u)}
	for i := range w.out {
		o, n := fmt.Sprintf("o%d%s", i, tag(u)), len(w.in)+i
		r.address(&w.text, n, o, &w.out[i])
		r.storeLanes(&w.text, &w.out[i], o, w.places[n].stride(last), word(w.extents+last), w.units[u].bits(w.body.Out[i], w.out[i].dtype))
	}
	w.line("}")
}
