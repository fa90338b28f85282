package wgpu

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/shaders"
)

// Threads of a Map, and of kernels like it, which take mapUnroll quads each.
const (
	mapThreads = 256
	mapUnroll  = 4
	mapFew     = 1 << 18 // quads below which a thread takes only one, so that there are enough threads
)

// Supports implements [backend.Backend].
func (e *engine) Supports(k backend.Kernel) bool {
	float64 := e.info.Features.Has(driver.F64 | driver.I64)
	for _, b := range k.Bodies() {
		if !supported(b, float64) {
			return false
		}
	}
	switch k := k.(type) {
	case *backend.Map, *backend.Reduce, *backend.Row, *backend.Scan, *backend.MatMul, *backend.Conv, *backend.Gather:
		return true
	case *backend.Scatter:
		return k.DType != ops.Float64
	case *backend.Attention:
		return k.DType != ops.Float64 && k.Mask != ops.Float64 && math.Abs(k.Scale) <= math.MaxFloat32 // a literal
	case *backend.Sort:
		return k.DType != ops.Float64
	case *backend.Pool:
		return pools(k)
	}
	return false
}

// lower records the dispatches of a step.
func (e *engine) lower(s *backend.Step) error {
	switch k := s.Kernel.(type) {
	case *backend.Map:
		return e.lowerMap(s, k)
	case *backend.Reduce:
		return e.lowerReduce(s, k)
	case *backend.Row:
		return e.lowerRow(s, k)
	case *backend.Scan:
		return e.lowerScan(s, k)
	case *backend.MatMul:
		return e.lowerMatMul(s, k)
	case *backend.Conv:
		return e.lowerConv(s, k)
	case *backend.Pool:
		return e.lowerPool(s, k)
	case *backend.Gather:
		return e.lowerGather(s, k)
	case *backend.Scatter:
		return e.lowerScatter(s, k)
	case *backend.Sort:
		return e.lowerSort(s, k)
	case *backend.Attention:
		return e.lowerAttention(s, k)
	}
	return fmt.Errorf("kernel of family %s: %w", s.Kernel.Family(), backend.ErrUnsupported)
}

// A mapKernel is one variant of a Map: for a body, a number of axes and a class of operands.
type mapKernel struct {
	domain
	body   *ops.Expr
	unroll int // units of a thread, where they are quads a workgroup apart
	across int // threads of a workgroup along the turned axis, where they are patches

	// Words of the parameters.
	quads, columns, rowQuads int
	tiles, patches           int // workgroups along the last axis and the turned
	extents                  int
	places                   []place // of the inputs, then of the outputs
	consts                   int
	block                    block
}

func (e *engine) lowerMap(s *backend.Step, k *backend.Map) error {
	if s.Shape.Len() == 0 {
		return nil
	}
	m, grid := e.planMap(s, &k.Body)
	key := m.appendKey(k.AppendKey(e.kernels.key[:0]))
	e.kernels.key = key
	p, err := e.pipeline(key, m.unitSource)
	if err != nil {
		return err
	}
	return e.record(m.launch(p, grid, &m.block))
}

// spread decides how many elements a thread takes, fills the parameters, and returns the grid.
func (e *engine) spread(m *mapKernel, consts []uint64) [3]uint32 {
	last := len(m.shape) - 1
	rowQuads := (m.shape[last] + 3) / 4
	quads := m.shape[:last].Len() * rowQuads
	m.unroll = 1
	if quads >= mapFew {
		m.unroll = mapUnroll
	}
	grid := e.grid((quads + mapThreads*m.unroll - 1) / (mapThreads * m.unroll))
	m.parameters(consts, quads, rowQuads, int(grid[0]))
	return grid
}

// grid spreads n workgroups over two dimensions where one does not hold them.
func (e *engine) grid(n int) [3]uint32 {
	most := int(e.info.Limits.Groups)
	if n <= most {
		return [3]uint32{uint32(n), 1, 1}
	}
	rows := (n + most - 1) / most
	return [3]uint32{uint32((n + rows - 1) / rows), uint32(rows), 1}
}

// parameters fills the block.
func (m *mapKernel) parameters(consts []uint64, quads, rowQuads, columns int) {
	b := &m.block
	m.quads, m.columns, m.rowQuads = b.add(quads), b.add(columns), b.add(rowQuads)
	m.extents = len(b.words)
	for _, d := range m.shape {
		b.add(d)
	}
	m.places = make([]place, len(m.layouts))
	for i, l := range m.layouts {
		m.places[i] = b.addLayout(l)
	}
	m.consts = b.addConsts(consts)
}

// appendKey appends what tells variants of one body apart.
func (m *mapKernel) appendKey(b []byte) []byte {
	b = append(b, byte(len(m.shape)), byte(m.unroll), byte(len(m.block.words)), byte(m.turned), byte(m.across), byte(m.apart/8))
	return m.domain.appendKey(b)
}

// appendKey appends the classes of the operands and slots.
func (d *domain) appendKey(b []byte) []byte {
	for _, list := range [][]access{d.in, d.out} {
		for _, a := range list {
			b = append(b, byte(a.dtype), byte(a.mode)<<1|flag(a.atomic), byte(a.slot))
		}
	}
	for _, s := range d.slots {
		b = append(b, flag(s.wide)|flag(s.write)<<1|flag(s.atomic)<<2|flag(s.pair)<<3)
	}
	return b
}

func flag(f bool) byte {
	if f {
		return 1
	}
	return 0
}

// launch makes the dispatch of a kernel over the domain's slots.
func (d *domain) launch(p *pipeline, grid [3]uint32, b *block) launch {
	l := launch{pipeline: p, args: b.bytes(p.args), consts: b.consts, grid: grid}
	for _, s := range d.slots {
		l.buffers = append(l.buffers, s.buffer)
		l.bytes += s.buffer.size
		if s.write {
			l.writes = append(l.writes, s.buffer)
		}
	}
	return l
}

// source writes the kernel of a family, whose threads do for a quad what write prints, with the help of some functions.
func (m *mapKernel) source(family, functions string, write func(*text) error) (source, error) {
	args := blockSize(len(m.block.words))
	var t text
	declare(&t, m.slots, args)
	t.WriteString(functions)
	t.line("@compute @workgroup_size(%d)", mapThreads)
	t.line("fn main(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>) {")
	t.line("let first = (group.y * %s + group.x) * %du + thread;", word(m.columns), mapThreads*m.unroll)
	if m.unroll > 1 {
		t.line("for (var u = 0u; u < %du; u++) {", m.unroll)
		t.line("let quad = first + u * %du;", mapThreads)
	} else {
		t.line("{\nlet quad = first;")
	}
	t.line("if (quad < %s) {", word(m.quads))
	if err := write(&t); err != nil {
		return source{}, err
	}
	t.line("}\n}\n}")
	return source{label: label(family, opNames(m.body)), wgsl: shaders.Prelude(t.String()) + t.String(), slots: m.slots, args: args}, nil
}

// coordinates prints where in the domain a quad begins: x<axis><tag>.
func (m *mapKernel) coordinates(t *text, quad, tag string) {
	last := len(m.shape) - 1
	first := func(quad string) string { // of the elements of a quad of a row
		if m.apart > 1 {
			return fmt.Sprintf("(%s - %s %% %du) * 4u + %s %% %du", quad, quad, m.apart, quad, m.apart)
		}
		return quad + " * 4u"
	}
	if last == 0 {
		t.line("let x%d%s = %s;", last, tag, first(quad))
		return
	}
	t.line("var rest%s = %s / %s;\nlet q%s = %s - rest%s * %s;", tag, quad, word(m.rowQuads), tag, quad, tag, word(m.rowQuads))
	t.line("let x%d%s = %s;", last, tag, first("q"+tag))
	for a := last - 1; a > 0; a-- {
		t.line("let x%d%s = rest%s %% %s; rest%s = rest%s / %s;", a, tag, tag, word(m.extents+a), tag, tag, word(m.extents+a))
	}
	t.line("let x0%s = rest%s;", tag, tag)
}

// compute prints the body and the stores of its results.
func (m *mapKernel) compute(t *text, b *body) error {
	for i := range m.body.Code {
		if err := b.instruction(t, i); err != nil {
			return err
		}
	}
	n, last := len(m.in), len(m.shape)-1
	r := reader{domain: &m.domain, places: m.places}
	for i := range m.out {
		at := fmt.Sprintf("o%d", i)
		r.address(t, n+i, at, &m.out[i])
		m.store(t, b, i, at, r.places[n+i].stride(last))
	}
	return nil
}

// opNames lists the operations of a body.
func opNames(e *ops.Expr) []string {
	var names []string
	for i := range e.Code {
		switch in := &e.Code[i]; in.Kind {
		case ops.Apply:
			names = append(names, in.Op.Name)
		case ops.Cast:
			names = append(names, "to_"+in.DType.String())
		case ops.Reduce, ops.Scan:
			names = append(names, in.Red.String())
		}
	}
	if names == nil {
		names = append(names, noOps)
	}
	return names
}

// noOps is the name of a body without operations.
const noOps = "copy"
