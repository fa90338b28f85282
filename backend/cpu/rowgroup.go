package cpu

import (
	"context"
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A rowGroup works on groups of rows, one after the other. Its memory serves them all.
type rowGroup struct {
	*rowWork
	first, n int // rows of the group now in work
	base     int // its first element

	values  [][]byte          // of each row value: n elements
	spread  [][]byte          // row values once for each element of a block, where a group has several rows
	kept    [][]byte          // elements for later phases
	sums    [][][]accumulator // of each phase, reduction and segment
	scratch []backend.Buffer

	rowFrames []*frame // of the rows program of each phase, and of the results, or nil

	own quickOperands // of a goroutine that works on the group alone
}

// group returns a group, new or used before, with memory for what phases keep.
func (w *rowWork) group() (*rowGroup, error) {
	g, ok := w.idle.Get().(*rowGroup)
	if !ok {
		g = w.newGroup()
	}
	for v, i := range w.kernel.kept {
		buf, err := w.memory.alloc(w.r * w.c * regSize(w.body.Code[v].DType))
		if err != nil {
			g.free()
			return nil, err
		}
		g.scratch = append(g.scratch, buf)
		g.kept[i] = buf.data
	}
	for ph := range w.kernel.phases {
		if len(w.kernel.phases[ph].rows.vals) > 0 {
			g.rowFrames[ph] = g.rowFrame(&w.rowly[ph])
		}
	}
	if len(w.kernel.outs) > 0 {
		g.rowFrames[len(w.kernel.phases)] = g.rowFrame(&w.results)
	}
	return g, nil
}

func (w *rowWork) newGroup() *rowGroup {
	g := &rowGroup{rowWork: w, values: make([][]byte, len(w.kernel.rows)), kept: make([][]byte, len(w.kernel.kept))}
	g.spread = make([][]byte, len(g.values))
	g.rowFrames = make([]*frame, len(w.kernel.phases)+1)
	for v, i := range w.kernel.rows {
		size := regSize(w.body.Code[v].DType)
		g.values[i] = make([]byte, w.r*size)
		if !w.single {
			g.spread[i] = make([]byte, w.block*size)
		}
	}
	for i := range w.kernel.phases {
		var sums [][]accumulator
		for _, r := range w.kernel.phases[i].reduces {
			in := &w.body.Code[r]
			segs := make([]accumulator, w.segs)
			for s := range segs {
				if s%1024 == 1023 {
					look(w.ctx)
				}
				segs[s] = newAccumulator(in.Red, w.body.Code[in.Args[0]].DType)
			}
			sums = append(sums, segs)
		}
		g.sums = append(g.sums, sums)
	}
	return g
}

// free gives back the memory and leaves the group for others.
func (g *rowGroup) free() {
	for _, b := range g.scratch {
		b.Release()
	}
	for i, f := range g.rowFrames {
		if f != nil {
			f.free()
		}
		g.rowFrames[i] = nil
	}
	clear(g.kept)
	g.own = quickOperands{}
	g.scratch = g.scratch[:0]
	g.idle.Put(g)
}

// run works on group i, on segments of it as parallel runs them.
func (g *rowGroup) run(i int, parallel runner) error {
	g.first, g.n = g.rowsOf(i)
	g.base = g.first * g.c
	for ph := range g.kernel.phases {
		if f := g.rowFrames[ph]; f != nil {
			f.run(g.first, g.n)
		}
		if err := g.phase(ph, parallel); err != nil {
			return err
		}
	}
	if f := g.rowFrames[len(g.kernel.phases)]; f != nil {
		f.run(g.first, g.n)
	}
	return nil
}

// rowFrame returns a frame for b, a part that runs over the rows of groups. Its results are row values, or outputs.
func (g *rowGroup) rowFrame(b *bound) *frame {
	f := b.frame()
	for k, a := range b.part.args {
		if a.input < 0 {
			f.give(k, unsafe.Pointer(&g.values[g.kernel.rows[a.value]][0]))
		}
	}
	for k, v := range b.part.vals {
		if len(b.outs) == 0 {
			f.take(k, unsafe.Pointer(&g.values[g.kernel.rows[v]][0]))
		}
	}
	f.begin(g.r)
	return f
}

// phase runs the elements program of phase ph, and the reductions of what it makes.
func (g *rowGroup) phase(ph int, parallel runner) error {
	p := &g.kernel.phases[ph]
	if len(p.elems.vals) == 0 {
		return nil
	}
	if !g.single {
		g.spreadValues(&p.elems)
	}
	if g.segs == 1 { // no closure to allocate
		g.segments(ph, 0, 1, &g.own)
	} else if err := parallel(g.segs, 1, func(lo, hi int) { g.segments(ph, lo, hi, new(quickOperands)) }); err != nil {
		return err
	}
	for i, v := range p.reduced {
		total := combine(g.ctx, g.sums[ph][i])
		total.put(unsafe.Pointer(&g.values[v][0]))
	}
	return nil
}

// combine merges the accumulators of successive segments in pairs, into the first.
func combine(ctx context.Context, segs []accumulator) accumulator {
	for step := 1; step < len(segs); step *= 2 {
		piecewise(ctx, (len(segs)+step-1)/(2*step), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				segs[2*step*i].merge(segs[2*step*i+step])
			}
		})
	}
	return segs[0]
}

// segments runs phase ph over segments lo to hi of the group, with o to work with.
func (g *rowGroup) segments(ph, lo, hi int, o *quickOperands) {
	for s := lo; s < hi; s++ {
		if s > lo {
			look(g.ctx)
		}
		for _, a := range g.sums[ph] {
			a[s].reset(g.n)
		}
		from := s * g.segLen
		to := min(from+g.segLen, g.n*g.c)
		switch {
		case from >= to || g.quickly(o, ph, s, from, to) || g.fromMemory(ph, s, from, to):
		case !g.single:
			g.elements(ph, s, 0, from, to)
		default:
			for row := from / g.c; from < to; row++ {
				end := min((row+1)*g.c, to)
				if !g.quickly(o, ph, s, from, end) && !g.fromMemory(ph, s, from, end) {
					g.elements(ph, s, row, from, end)
				}
				from = end
			}
		}
	}
}

// elements runs phase ph over elements lo to hi of the group, for segment s: those of one row, or if row values are repeated
// for each element of several.
func (g *rowGroup) elements(ph, s, row, lo, hi int) {
	f := g.elems[ph].frame()
	defer f.free()
	p := &g.kernel.phases[ph]
	sums := g.sums[ph]
	for k, a := range p.elems.args {
		if n, ok := g.kernel.rows[a.value]; a.input < 0 && ok {
			f.give(k, g.rowValue(n, row, regSize(p.elems.expr.In[k])))
		}
	}
	f.begin(min(g.block, hi-lo))
	for at := lo; at < hi; at += g.block {
		n := min(g.block, hi-at)
		for k, a := range p.elems.args {
			if i, ok := g.kernel.kept[a.value]; a.input < 0 && ok {
				f.give(k, g.keptAt(i, a.value, at))
			}
		}
		for k, v := range p.kept {
			f.take(len(p.reduces)+k, g.keptAt(g.kernel.kept[v], v, at))
		}
		f.run(g.base+at, n)
		for i := range sums {
			if g.cols {
				sums[i][s].cols(f.held(i), n, at/g.n)
			} else {
				sums[i][s].rows(f.held(i), n, at, g.c)
			}
		}
	}
}

// rowValue returns row value i, of size bytes, as an operand of elements: of all rows, or with single of one.
func (g *rowGroup) rowValue(i, row, size int) unsafe.Pointer {
	if g.single {
		return unsafe.Pointer(&g.values[i][row*size])
	}
	return unsafe.Pointer(&g.spread[i][0])
}

// keptAt returns where element at of kept value i, which is v, is.
func (g *rowGroup) keptAt(i int, v ops.Ref, at int) unsafe.Pointer {
	return unsafe.Pointer(&g.kept[i][at*regSize(g.body.Code[v].DType)])
}

// spreadValues repeats the row values that p needs for each element of a block.
func (g *rowGroup) spreadValues(p *part) {
	for _, a := range p.args {
		i, ok := g.kernel.rows[a.value]
		if a.input >= 0 || !ok {
			continue
		}
		z, x := unsafe.Pointer(&g.spread[i][0]), unsafe.Pointer(&g.values[i][0])
		switch regSize(g.body.Code[a.value].DType) {
		case 1:
			spread[uint8](g, z, x)
		case 4:
			spread[uint32](g, z, x)
		case 8:
			spread[uint64](g, z, x)
		}
	}
}

// spread repeats each of the row values at x for the elements of its row.
func spread[T any](g *rowGroup, z, x unsafe.Pointer) {
	zs, xs := vec[T](z, g.block), vec[T](x, g.n)
	if g.cols {
		for len(zs) > 0 {
			zs = zs[copy(zs, xs):]
		}
		return
	}
	for i, v := range xs {
		fill(zs[i*g.c:(i+1)*g.c], v)
	}
}
