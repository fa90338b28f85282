package wgpu

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/shaders"
)

// A factor is a side of a product as a kernel loads it: four elements at a time, side by side in memory where the layout
// has such.
type factor struct {
	name   string // "a" or "b"
	e      *ops.Expr
	first  int  // its inputs are those of the kernel from this number on
	lanes  int  // 4, or 1 where a kernel takes elements one by one
	across bool // the four lie along K, of one row of A or column of B; else they are of neighbouring rows or columns

	// raw says that a tile keeps what it has loaded as words until it stores it in workgroup memory. Converting waits for the
	// memory, and doubles what is kept.
	raw bool
}

// A productKernel is one variant of a product: for its programs, a number of batch axes, classes of operands and a choice.
// Coordinates are x0… along the batch axes and two more: of an operand the axis along which its loads lie is the last.
type productKernel struct {
	domain
	choice
	p      *product
	sum    ops.DType // what sums are held in
	mask   mask
	sliced bool // the last batch axis counts slices of K
	unpack bool // see reader
	sides  [2]factor

	// Words of the parameters.
	sizes                 [3]int // m, n, k
	sliceWord, extents    int
	gridColumns, total    int
	tileRows, tileColumns int
	places                []place // of the inputs, then of the outputs
	constWord, imageWord  int
	block                 block
}

// A mask says what of the last tile along K lies beyond it, and must be 0.
type mask uint8

const (
	maskNone mask = iota
	maskQuad      // fours of elements
	maskLane      // elements
)

// across reports whether an operand is best read along K, which is the last axis of A's inputs and the one before the last of
// B's.
func (p *product) across(list []backend.Operand, left bool) bool {
	if p.image != nil && !left {
		return false
	}
	for _, o := range list {
		nb := len(p.batch)
		side, deep := o.Layout.Strides[nb+1], o.Layout.Strides[nb]
		if left {
			side, deep = deep, side
		}
		if side != 0 || deep != 0 {
			return deep == 1 && (p.k > 1 || side != 1) || left && side != 1
		}
	}
	return left
}

// launchProduct records the kernel of a choice.
func (e *engine) launchProduct(p *product, c choice, key []byte) error {
	k := newProductKernel(p, c)
	k.unpack = e.unpacks
	for i := range k.slots {
		k.slots[i].unpack = e.unpacks
	}
	total := c.groups(p)
	grid := e.grid(total)
	k.parameters(total, int(grid[0]))
	pipe, err := e.pipeline(k.appendKey(key), k.source)
	if err != nil {
		return err
	}
	return e.record(k.launch(pipe, grid, &k.block))
}

func newProductKernel(p *product, c choice) *productKernel {
	k := &productKernel{p: p, choice: c, sum: summed(p.acc), sliced: c.slices > 1}
	k.sides[0] = factor{name: "a", e: p.a, lanes: 4, across: c.line.rows > 0 || c.packed.rows > 0 || p.across(p.left, true)}
	k.sides[1] = factor{name: "b", e: p.b, lanes: 4, first: len(p.left), across: p.across(p.right, false)}
	if c.direct > 0 {
		k.sides[0].across, k.sides[0].lanes, k.sides[1].across = true, 1, false
	}
	switch {
	case p.k%c.depth == 0:
	case p.k%4 == 0:
		k.mask = maskQuad
	default:
		k.mask = maskLane
	}
	s := backend.Step{Out: p.out}
	s.In = append(append(append(s.In, p.left...), p.right...), p.rest...)
	k.shape = append(p.batch.Clone(), p.m, p.n)
	for i, o := range s.In {
		l := o.Layout
		if right := i - len(p.left); right < 0 && !k.sides[0].across || right >= 0 && right < len(p.right) && k.sides[1].across {
			l = transposed(l)
		}
		k.layouts = append(k.layouts, l)
	}
	for _, o := range s.Out {
		k.layouts = append(k.layouts, o.Layout)
	}
	k.domain.plain = c.plain || len(p.out[0].Layout.Shape) > len(k.shape)
	k.reach(&s)
	if p.image != nil {
		k.single(len(p.left))
	}
	if c.direct == 0 {
		k.pairs()
	}
	if c.packed.rows > 0 {
		s := &k.slots[k.packedSlot()]
		s.wide = s.quant.Bytes(c.packed.unit())%16 == 0
	}
	for i := range k.sides {
		k.sides[i].raw = c.tile.rows > 0 && k.halves(&k.sides[i])
	}
	return k
}

// halves reports whether all inputs of a side are loaded as pairs of words.
func (k *productKernel) halves(f *factor) bool {
	for i := range f.e.In {
		if a := &k.in[f.first+i]; a.slot < 0 || !k.slots[a.slot].pair {
			return false
		}
	}
	return len(f.e.In) > 0
}

func (k *productKernel) parameters(total, columns int) {
	b := &k.block
	k.sizes = [3]int{b.add(k.p.m), b.add(k.p.n), b.add(k.p.k)}
	k.sliceWord = b.add(k.slice)
	k.gridColumns, k.total = b.add(columns), b.add(total)
	k.tileRows = b.add(ceil(k.p.m, k.height()))
	k.tileColumns = b.add(ceil(k.p.n, k.width()))
	k.extents = len(b.words)
	for _, d := range k.p.batch {
		b.add(d)
	}
	k.places = make([]place, len(k.layouts))
	for i, l := range k.layouts {
		k.places[i] = b.addLayout(l)
	}
	k.constWord = b.addConsts(k.p.consts)
	if im := k.p.image; im != nil {
		k.imageWord = len(b.words)
		for _, d := range append(append(im.result.Clone(), im.extents...), im.channels) {
			b.add(d)
		}
	}
}

// appendKey appends what tells variants of one MatMul apart.
func (k *productKernel) appendKey(b []byte) []byte {
	b = append(b, byte(len(k.p.batch)), byte(len(k.block.words)), byte(k.line.rows), byte(k.line.columns), byte(k.line.each), byte(k.line.steps), byte(k.mask), flag(k.sliced), byte(k.direct))
	for _, n := range []int{k.packed.rows, k.packed.columns, k.packed.along, k.packed.each, k.packed.blocks, k.tile.rows, k.tile.columns, k.depth, k.tile.m, k.tile.n} {
		b = append(b, byte(n), byte(n>>8))
	}
	b = append(b, byte(len(k.p.out[0].Layout.Shape)), byte(k.tile.loop), flag(k.tile.unroll), flag(k.sides[0].across), flag(k.sides[1].across))
	return k.domain.appendKey(b)
}

// source writes the kernel.
func (k *productKernel) source() (source, error) {
	var t text
	args := blockSize(len(k.block.words))
	declare(&t, k.slots, args)
	if err := k.writeFunctions(&t); err != nil {
		return source{}, err
	}
	shared := 0
	switch {
	case k.direct > 0:
		k.writeDirect(&t)
	case k.packed.rows > 0:
		shared = k.writePacked(&t)
	case k.line.rows > 0:
		shared = k.writeLine(&t)
	default:
		shared = k.writeTile(&t)
	}
	family := "matmul"
	if k.p.image != nil {
		family = "conv"
	}
	return source{
		label: label(family, opNames(k.p.post)), wgsl: shaders.Prelude(t.String()) + t.String(),
		slots: k.slots, args: args, shared: uint32(shared), trusted: true,
	}, nil
}

// writeFunctions prints the functions that load the factors and that finish a result.
func (k *productKernel) writeFunctions(t *text) error {
	if err := k.writeLoad(t, &k.sides[0]); err != nil {
		return err
	}
	if k.p.image != nil {
		k.writeImage(t)
	} else if err := k.writeLoad(t, &k.sides[1]); err != nil {
		return err
	}
	if len(k.p.out[0].Layout.Shape) > len(k.shape) {
		return k.writeScattered(t)
	}
	return k.writeFinish(t)
}

// formals are the parameters of a function of coordinates, arguments the batch coordinates a call of it begins with.
func (k *productKernel) formals() string {
	list := make([]string, len(k.shape))
	for i := range list {
		list[i] = fmt.Sprintf("x%d: u32", i)
	}
	return strings.Join(list, ", ")
}

func (k *productKernel) arguments() string {
	var s strings.Builder
	for i := range k.p.batch {
		fmt.Fprintf(&s, "x%d, ", i)
	}
	return s.String()
}

// writeLoad prints the functions that load four elements of a factor, or one: take_a or take_b, given the positions of its
// inputs in memory or their words, and where there is no tile load_a or load_b, given the batch coordinates and two more. They give 0 beyond
// K where a kernel reaches there.
func (k *productKernel) writeLoad(t *text, f *factor) error {
	of := quad(k.sum)
	if f.lanes == 1 {
		of = held(k.sum)
	}
	r := reader{domain: &k.domain, places: k.places, unpack: k.unpack, given: f.raw}
	var formals, found strings.Builder
	for i := range f.e.In {
		n := f.first + i
		t.line("fn at_%d(%s) -> u32 {", n, k.formals())
		r.address(t, n, "at", &k.in[n])
		t.line("return at;\n}")
		if f.raw {
			fmt.Fprintf(&formals, "w%d: vec2<u32>, ", n)
		} else {
			fmt.Fprintf(&formals, "i%d: u32, ", n)
		}
		fmt.Fprintf(&found, "at_%d(%s), ", n, k.coordinates())
	}
	if k.packed.rows > 0 && f == &k.sides[1] {
		return nil // its words are read as they are
	}
	t.line("fn take_%s(%sk: u32) -> %s {", f.name, &formals, of)
	b := newBody(f.e, f.lanes, k.constWord)
	b.load = func(t *text, i int, d ops.DType, lane int) string {
		if f.lanes == 1 {
			return r.element(k.in[f.first+i].slot, d, r.index(f.first+i, 0))
		}
		return r.load(t, f.first+i, d, lane)
	}
	b.index = func(i, lane int) string { return r.index(f.first+i, lane) }
	b.same = func(i int) bool { return r.same(f.first + i) }
	for i := range f.e.Code {
		if err := b.instruction(t, i); err != nil {
			return err
		}
	}
	lanes := make([]string, f.lanes)
	for j := range lanes {
		v := b.name(f.e.Out[0], j)
		if k.p.acc == ops.Bool {
			v = fmt.Sprintf("u32(%s)", v)
		}
		if inside := k.inside(f, j); inside != "" {
			v = fmt.Sprintf("select(%s(), %s, %s)", held(k.sum), v, inside)
		}
		lanes[j] = v
	}
	t.line("return %s(%s);\n}", of, strings.Join(lanes, ", "))
	if k.tile.rows > 0 {
		return nil
	}
	deep := len(k.p.batch)
	if f.across {
		deep++
	}
	t.line("fn load_%s(%s) -> %s {\nreturn take_%s(%sx%d);\n}", f.name, k.formals(), of, f.name, &found, deep)
	return nil
}

// coordinates are the arguments of a function whose parameters are formals, inside another.
func (k *productKernel) coordinates() string {
	list := make([]string, len(k.shape))
	for i := range list {
		list[i] = fmt.Sprintf("x%d", i)
	}
	return strings.Join(list, ", ")
}

// inside returns the condition under which a lane of a load at element k is not beyond K, or "" if none is.
func (k *productKernel) inside(f *factor, lane int) string {
	switch {
	case k.mask == maskNone:
		return ""
	case !f.across || k.mask == maskQuad:
		return fmt.Sprintf("k < %s", word(k.sizes[2]))
	}
	return fmt.Sprintf("k + %du < %s", lane, word(k.sizes[2]))
}

// writeFinish prints the function finish, which runs Post on four neighbouring sums of a row and stores the results.
func (k *productKernel) writeFinish(t *text) error {
	nb := len(k.p.batch)
	t.line("fn finish(%s, sum: %s) {", k.formals(), quad(k.sum))
	t.line("if (x%d >= %s || x%d >= %s) { return; }", nb, word(k.sizes[0]), nb+1, word(k.sizes[1]))
	return k.writePost(t, reader{domain: &k.domain, places: k.places}, 4, func(lane int) string { return fmt.Sprintf("sum[%d]", lane) })
}

// writePost prints the rest of a function that runs Post on the sums of some lanes, at coordinates x0…, and stores the results.
func (k *productKernel) writePost(t *text, r reader, lanes int, sum func(lane int) string) error {
	first := len(k.p.left) + len(k.p.right) - 1 // operand i of Post is input first+i
	for i := 1; i < len(k.p.post.In); i++ {
		r.address(t, first+i, fmt.Sprintf("i%d", first+i), &k.in[first+i])
	}
	b := newBody(k.p.post, lanes, k.constWord)
	b.load = func(t *text, i int, d ops.DType, lane int) string {
		switch {
		case i == 0:
			return sumValue(d, sum(lane))
		case lanes == 1:
			return r.element(k.in[first+i].slot, d, r.index(first+i, 0))
		}
		return r.load(t, first+i, d, lane)
	}
	b.index = func(i, lane int) string { return r.index(first+i, lane) }
	b.same = func(i int) bool { return i > 0 && r.same(first+i) }
	for i := range k.p.post.Code {
		if err := b.instruction(t, i); err != nil {
			return err
		}
	}
	for i := range k.out {
		at := fmt.Sprintf("o%d", i)
		n := len(k.in) + i
		r.address(t, n, at, &k.out[i])
		bits := make([]string, lanes)
		for lane := range bits {
			bits[lane] = encode(k.out[i].dtype, b.name(k.p.post.Out[i], lane))
		}
		if lanes == 1 {
			r.storeElement(t, &k.out[i], at, bits[0])
		} else {
			r.storeLanes(t, &k.out[i], at, r.places[n].stride(len(r.shape)-1), word(k.sizes[1]), bits)
		}
	}
	t.line("}")
	return nil
}

// sumValue returns the expression of a sum as a value of type d.
func sumValue(d ops.DType, sum string) string {
	if d == ops.Bool {
		return sum + " != 0u"
	}
	return rounded(d, sum)
}
