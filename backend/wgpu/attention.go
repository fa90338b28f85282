package wgpu

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// An attending is an Attention under way.
type attending struct {
	temporaries
	kernel             *backend.Attention
	operands           []backend.Operand // queries, keys, values, and the mask if there is one
	batch              []backend.Layout  // of them, over the leading axes, of which neighbours are merged
	rows               int               // matrices
	m, n, depth, width int
	to                 backend.Operand // float32 [rows m width]
}

// operandNames are what the text of a kernel calls the operands.
var operandNames = [...]string{"query", "key", "value", "mask"}

// lowerAttention records an attention: a kernel writes the sums as float32, into the result itself where that is what the
// step wants, else for another that computes what comes after. Blocks of queries are computed by attendBlocks or
// attendTiles, a few queries by attendLines.
func (e *engine) lowerAttention(s *backend.Step, k *backend.Attention) error {
	if s.Shape.Len() == 0 {
		return nil
	}
	a := newAttending(e, s, k)
	defer a.release()
	plain := a.plain(s)
	if plain {
		a.to = s.Out[0]
	} else {
		sums, err := a.words(s.Shape.Len())
		if err != nil {
			return err
		}
		a.to = dense(sums, ops.Float32, s.Shape)
	}
	var err error
	if c := a.pickLine(); a.m < fewQueries && c.memory(a.depth) <= int(e.info.Limits.WorkgroupMemory) {
		err = a.attendLines(c)
	} else if c, ok := a.pickBlock(); ok {
		err = a.attendBlocks(c)
	} else {
		err = a.attendTiles(a.pickTile())
	}
	if err != nil || plain {
		return err
	}
	rest := backend.Step{Shape: s.Shape, In: append([]backend.Operand{a.to}, s.In[len(a.operands):]...), Out: s.Out}
	p := postKernel{mapKernel: mapKernel{domain: e.newDomain(&rest), body: &k.Post}}
	grid := e.spread(&p.mapKernel, s.Consts)
	r := reader{domain: &p.domain, places: p.places}
	p.found = func(t *text) { r.address(t, 0, "i0", &p.in[0]) }
	p.value = func(t *text, lane int) string { return rounded(k.DType, r.load(t, 0, ops.Float32, lane)) }
	pipe, err := e.pipeline(p.appendKey(k.AppendKey(nil)), func() (source, error) {
		return p.source("attention.post", "", p.write)
	})
	if err != nil {
		return err
	}
	return e.record(p.launch(pipe, grid, &p.block))
}

func newAttending(e *engine, s *backend.Step, k *backend.Attention) *attending {
	a := &attending{temporaries: temporaries{e: e}, kernel: k, operands: s.In[:3:3]}
	if k.Mask != 0 {
		a.operands = s.In[:4:4]
	}
	lead := len(s.Shape) - 2
	for _, o := range a.operands {
		a.batch = append(a.batch, backend.Layout{Shape: s.Shape[:lead], Strides: o.Layout.Strides[:lead], Offset: o.Layout.Offset})
	}
	a.batch, _ = backend.Collapse(a.batch, 0)
	a.rows = s.Shape[:lead].Len()
	a.m, a.width = s.Shape[lead], s.Shape[lead+1]
	a.depth, a.n = s.In[0].Layout.Shape[lead+1], s.In[1].Layout.Shape[lead]
	return a
}

// plain reports whether the sums are the result: float32, dense, and in memory that is none of the operands'.
func (a *attending) plain(s *backend.Step) bool {
	e := &a.kernel.Post
	if len(s.Out) != 1 || a.kernel.DType != ops.Float32 || e.Code[e.Out[0]].Kind != ops.Load || e.Code[e.Out[0]].Args[0] != 0 ||
		!s.Out[0].Layout.IsDense() {
		return false
	}
	for _, o := range a.operands {
		if o.Buf == s.Out[0].Buf {
			return false
		}
	}
	return true
}

// wordKernel begins a kernel that reads the operands.
func (a *attending) wordKernel(label string) (*wordKernel, error) {
	k := &wordKernel{e: a.e, label: label, threads: 256, trusted: true}
	for i, o := range a.operands {
		k.array(operandNames[i], o.Buf.(*buffer), false)
	}
	list, err := a.e.standIns(k.slots)
	a.list = append(a.list, list...)
	k.param("m", a.m)
	k.param("n", a.n)
	k.param("depth", a.depth)
	k.param("width", a.width)
	for axis, d := range a.batch[0].Shape {
		k.param(fmt.Sprintf("extent%d", axis), d)
	}
	for i, o := range a.operands {
		lead := len(o.Layout.Strides) - 2
		k.param(operandNames[i]+"_offset", a.batch[i].Offset)
		for axis, st := range a.batch[i].Strides {
			k.param(fmt.Sprintf("%s_stride%d", operandNames[i], axis), st)
		}
		k.param(operandNames[i]+"_row", o.Layout.Strides[lead])
		k.param(operandNames[i]+"_column", o.Layout.Strides[lead+1])
	}
	return k, err
}

// variant tells the texts of kernels of one label apart.
func (a *attending) variant() string {
	return fmt.Sprint(a.kernel.DType, a.kernel.Mask, a.kernel.Causal, a.kernel.Scale, len(a.batch[0].Shape))
}

// functions prints the functions that give an element of an operand, of which base is where its matrix begins.
func (a *attending) functions(k *wordKernel) string {
	var t text
	for i, o := range a.operands {
		name := operandNames[i]
		t.line("fn %s_at(base: u32, row: u32, column: u32) -> %s {", name, held(o.DType))
		t.line("let at = base + row * $%s_row. + column * $%s_column.;", name, name)
		t.line("return %s;\n}", k.element(i, o.DType, "at"))
	}
	return t.String()
}

// matrices prints where the matrices of the operands begin, for matrix b.
func (a *attending) matrices() string {
	var t text
	last := len(a.batch[0].Shape) - 1
	t.line("var rest = b;")
	for axis := last; axis > 0; axis-- {
		t.line("let b%d_ = rest %% $extent%d.;\nrest = rest / $extent%d.;", axis, axis, axis)
	}
	t.line("let b0_ = rest;")
	for i := range a.operands {
		name := operandNames[i]
		terms := []string{"$" + name + "_offset."}
		for axis := range last + 1 {
			terms = append(terms, fmt.Sprintf("b%d_ * $%s_stride%d.", axis, name, axis))
		}
		t.line("let %s_base = %s;", name, strings.Join(terms, " + "))
	}
	return t.String()
}

// masked prints what the mask does to a score, which is of a query and a key that there are, and counts so many units to one of
// the mask's.
func (a *attending) masked(units string) string {
	switch a.kernel.Mask {
	case 0:
		return ""
	case ops.Bool:
		return "if (!mask_at(mask_base, q, n)) { score = LOWEST; }"
	}
	return "let bias = mask_at(mask_base, q, n);\nscore = select(score + bias" + units + ", LOWEST, bitcast<u32>(bias) == 0xff800000u);"
}

// complete fills in what the texts of the kernels have in common. LOWEST is the least number: the score of what is excluded.
func (a *attending) complete(k *wordKernel, code string) string {
	code = strings.NewReplacer("FUNCTIONS", a.functions(k), "MATRICES", a.matrices()).Replace(code)
	return strings.NewReplacer("LOWEST", "-3.4028234e38", "SCALE", fmt.Sprintf("f32(%.9g)", a.kernel.Scale),
		"CAUSAL", fmt.Sprint(a.kernel.Causal)).Replace(code)
}
