package main

import (
	"fmt"
	"go/token"
	"go/types"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A slot is an operand or the result of an elementwise kernel: how a lane of it lies in memory.
type slot struct {
	size int  // bytes of a lane
	lone bool // one element for all
	mask bool // truth values of a byte, a mask in the register
}

// A kernel is an elementwise function: z of n elements from x, y and w, any of which may be z.
type kernel struct {
	op, dtype string
	also      []string // other types for which it is the same
	in        []slot
	out       slot
	lane      int  // bytes of a lane in a full vector
	heavy     bool // the body is long: it is emitted once, with branches around loads and stores
	body      func(g *gen, x []val) val
}

// blockSignature is that of a block function of package cpu.
var blockSignature = signature([]string{"z", "x", "y", "w"}, []string{"n"}, nil)

// signature is that of a function of pointers and ints, with a result if there is one.
func signature(pointers, ints []string, result *types.Basic) *gotypes.Signature {
	var params []*types.Var
	for _, p := range pointers {
		params = append(params, types.NewParam(token.NoPos, nil, p, types.Typ[types.UnsafePointer]))
	}
	for _, p := range ints {
		params = append(params, types.NewParam(token.NoPos, nil, p, types.Typ[types.Int]))
	}
	var results *types.Tuple
	if result != nil {
		results = types.NewTuple(types.NewParam(token.NoPos, nil, "ret", result))
	}
	return gotypes.NewSignature(nil, types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), results, false))
}

// A loop emits the loop of a kernel.
type loop struct {
	*gen
	k     *kernel
	lanes int
	base  [4]reg.Register // of z, x, y, w
	lone  [3]val
	at    reg.GPVirtual // first element of this vector
	rest  reg.GPVirtual // elements of the last vector
	masks map[int]val   // of its lanes, by their size
	names [4]string

	parts []reg.Register // what a reduction reads side by side
	of    int            // and which of them this vector is of
}

// elementwise emits k, enters it in ks if that is not nil, and returns its name.
func (s *set) elementwise(ks *kernels, k kernel) string {
	lone := 0
	for i, in := range k.in {
		if in.lone {
			lone |= 1 << i
		}
	}
	name := camel(k.op+"_"+k.dtype) + s.suffix()
	if lone != 0 {
		name = fmt.Sprintf("%sLone%d%s", camel(k.op+"_"+k.dtype), lone, s.suffix())
	}
	doc := fmt.Sprintf("%s computes %s on %s.", name, k.op, k.dtype)
	s.function(name, doc, blockSignature, func(g *gen) {
		l := &loop{gen: g, k: &k, lanes: s.bytes() / k.lane, names: [4]string{"z", "x", "y", "w"}}
		l.emit()
	})
	if ks != nil {
		for _, d := range append([]string{k.dtype}, k.also...) {
			ks.list = append(ks.list, entry{set: s.name(), op: k.op, dtype: d, lone: lone, fn: name})
		}
	}
	return name
}

func (s *set) suffix() string {
	if s.wide {
		return "AVX512"
	}
	return "AVX2"
}

// camel makes a name of words joined by underscores.
func camel(name string) string {
	out, up := "", true
	for _, r := range name {
		switch {
		case r == '_':
			up = true
		case up && out == "":
			out, up = out+string(r), false
		case up && r >= 'a' && r <= 'z':
			out, up = out+string(r-32), false
		default:
			out, up = out+string(r), false
		}
	}
	return out
}

func (l *loop) emit() {
	l.base[0] = l.param("z")
	for i, in := range l.k.in {
		l.base[i+1] = l.param(l.names[i+1])
		if in.lone {
			l.lone[i] = l.spread(in, l.base[i+1])
		}
	}
	l.begin()
	if l.k.heavy {
		l.once()
	} else {
		l.twice()
	}
}

// begin puts the loop before the first vector.
func (l *loop) begin() {
	n := l.param("n")
	l.at, l.rest = l.GP64(), l.GP64()
	l.XORQ(l.at, l.at)
	l.MOVQ(n, l.rest)
	l.SUBQ(operand.U8(l.lanes), l.rest) // elements beyond this vector
}

// step goes to the label top if another full vector follows.
func (l *loop) step(top string) {
	l.ADDQ(operand.U8(l.lanes), l.at)
	l.SUBQ(operand.U8(l.lanes), l.rest)
	l.JGE(operand.LabelRef(top))
}

// once emits the body once: the last vector, which may not be full, branches in and out of it.
func (l *loop) once() {
	top, body, tail, last, end := l.label("loop"), l.label("body"), l.label("tail"), l.label("last"), l.label("end")
	x := make([]val, len(l.k.in))
	for i, in := range l.k.in {
		x[i] = l.register(in, i)
	}
	l.CMPQ(l.rest, operand.U8(0))
	l.JLT(operand.LabelRef(tail))
	l.Label(top)
	for i, in := range l.k.in {
		l.load(in, i, x[i], false)
	}
	l.Label(body)
	z := l.k.body(l.gen, x)
	l.CMPQ(l.rest, operand.U8(0))
	l.JLT(operand.LabelRef(last))
	l.store(z, false)
	l.step(top)
	l.Label(tail)
	l.ADDQ(operand.U8(l.lanes), l.rest)
	l.JLE(operand.LabelRef(end))
	l.setMask()
	for i, in := range l.k.in {
		l.load(in, i, x[i], true)
	}
	l.SUBQ(operand.U8(l.lanes), l.rest)
	l.JMP(operand.LabelRef(body))
	l.Label(last)
	l.ADDQ(operand.U8(l.lanes), l.rest)
	l.setMask() // made again: a register less while the body runs
	l.store(z, true)
	l.Label(end)
}

// twice emits the body for full vectors and for the last.
func (l *loop) twice() {
	top, tail, end := l.label("loop"), l.label("tail"), l.label("end")
	x := make([]val, len(l.k.in))
	vector := func(part bool) {
		for i, in := range l.k.in {
			x[i] = l.register(in, i)
			l.load(in, i, x[i], part)
		}
		l.store(l.k.body(l.gen, x), part)
	}
	l.JL(operand.LabelRef(tail))
	l.Label(top)
	vector(false)
	l.step(top)
	l.Label(tail)
	l.ADDQ(operand.U8(l.lanes), l.rest)
	l.JLE(operand.LabelRef(end))
	l.setMask()
	vector(true)
	l.Label(end)
}

// register returns a register for operand i.
func (l *loop) register(in slot, i int) val {
	switch {
	case in.lone:
		return l.lone[i]
	case in.mask && l.wide:
		return l.K()
	case in.mask:
		return l.vec()
	}
	return l.sized(in.size * l.lanes)
}

// setMask lets part loads and stores be of the first rest lanes.
func (l *loop) setMask() {
	l.masks = map[int]val{}
	if !l.wide {
		return
	}
	m, k := l.GP64(), l.K()
	l.MOVQ(operand.I32(-1), m)
	l.BZHIQ(l.rest, m, m)
	l.KMOVQ(m, k)
	l.masks[0] = k
}

// mask returns the mask of the first rest lanes, for lanes of size bytes.
func (l *loop) mask(size int) val {
	if l.wide {
		return l.masks[0]
	}
	if m, ok := l.masks[size]; ok {
		return m
	}
	// 32 bytes of ones and 32 of zeros, read where rest lanes of ones are left.
	at, back, m := l.GP64(), l.GP64(), l.sized(size*l.lanes)
	l.LEAQ(l.ones(), at)
	l.MOVQ(l.rest, back)
	l.NEGQ(back)
	l.VMOVUPS(operand.Mem{Base: at, Index: back, Scale: uint8(size), Disp: 32}, m)
	l.masks[size] = m
	return m
}

// ones is the memory of 32 bytes of ones and 32 of zeros.
func (g *gen) ones() operand.Mem {
	if m, ok := g.data["ones"]; ok {
		return m
	}
	m := g.StaticGlobal("ones")
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 8 {
		g.AppendDatum(operand.U64(^uint64(0) * uint64(1-i/4)))
	}
	if g.data == nil {
		g.data = map[string]operand.Mem{}
	}
	g.data["ones"] = m
	return m
}

// spread returns the element at p in all lanes.
func (l *loop) spread(in slot, p reg.Register) val {
	z := l.sized(in.size * l.lanes)
	m := operand.Mem{Base: p}
	switch in.size {
	case 8:
		l.VBROADCASTSD(m, z)
	case 4:
		l.VBROADCASTSS(m, z)
	case 1:
		l.VPBROADCASTB(m, z)
	default:
		panic("spread")
	}
	return z
}

func (l *loop) address(i, size int) operand.Mem {
	return operand.Mem{Base: l.base[i], Index: l.at, Scale: uint8(size)}
}

// load loads operand i of this vector to x, the last one with part.
func (l *loop) load(in slot, i int, x val, part bool) {
	switch {
	case in.lone:
	case in.mask:
		l.loadTruth(i, x, part)
	default:
		l.move(l.address(i+1, in.size), x, in.size, part, true)
	}
}

func (l *loop) store(z val, part bool) {
	if l.k.out.mask {
		l.storeTruth(z, part)
		return
	}
	l.move(l.address(0, l.k.out.size), z, l.k.out.size, part, false)
}

// move loads x from m, or stores it there, size bytes a lane.
func (l *loop) move(m operand.Mem, x val, size int, part, load bool) {
	a, b := val(m), x
	if !load {
		a, b = x, m
	}
	switch {
	case !part:
		l.whole(a, b, size*l.lanes)
	case l.wide:
		l.masked(a, b, size, load)
	case size < 4:
		l.bounce(m, x, size, load)
	case size == 4:
		l.VMASKMOVPS(a, l.mask(4), b)
	default:
		l.VMASKMOVPD(a, l.mask(8), b)
	}
}

// whole moves n bytes.
func (l *loop) whole(a, b val, n int) {
	switch n {
	case 4:
		l.VMOVD(a, b)
	case 8:
		l.VMOVQ(a, b)
	default:
		l.VMOVUPS(a, b)
	}
}

// masked moves the lanes in the mask.
func (l *loop) masked(a, b val, size int, load bool) {
	f := map[bool]map[int]func(a, k, b operand.Op){
		true: {1: l.VMOVDQU8_Z, 2: l.VMOVDQU16_Z, 4: l.VMOVUPS_Z, 8: l.VMOVUPD_Z},
		false: {
			1: func(a, k, b operand.Op) { l.VMOVDQU8(a, k, b) },
			2: func(a, k, b operand.Op) { l.VMOVDQU16(a, k, b) },
			4: func(a, k, b operand.Op) { l.VMOVUPS(a, k, b) },
			8: func(a, k, b operand.Op) { l.VMOVUPD(a, k, b) },
		},
	}
	f[load][size](a, l.mask(size), b)
}

// bounce moves rest lanes of the vector x by way of the stack, one by one, where no instruction masks them.
func (l *loop) bounce(m operand.Mem, x val, size int, load bool) {
	buf := l.AllocLocal(32)
	n := size * l.lanes
	local := func(i reg.Register) operand.Mem { b := buf; b.Index, b.Scale = i, uint8(size); return b }
	p, i, t := l.GP64(), l.GP64(), l.GP64()
	l.LEAQ(m, p)
	l.XORQ(i, i)
	there := func(i reg.Register) operand.Mem { return operand.Mem{Base: p, Index: i, Scale: uint8(size)} }
	if !load {
		l.whole(x, buf, n)
	}
	top := l.label("lane")
	l.Label(top)
	if load {
		l.lane(there(i), local(i), t, size)
	} else {
		l.lane(local(i), there(i), t, size)
	}
	l.INCQ(i)
	l.CMPQ(i, l.rest)
	l.JLT(operand.LabelRef(top))
	if load {
		l.whole(buf, x, n)
	}
}

// lane moves one element.
func (l *loop) lane(from, to operand.Mem, t reg.GPVirtual, size int) {
	switch size {
	case 1:
		l.MOVB(from, t.As8())
		l.MOVB(t.As8(), to)
	case 2:
		l.MOVW(from, t.As16())
		l.MOVW(t.As16(), to)
	case 4:
		l.MOVL(from, t.As32())
		l.MOVL(t.As32(), to)
	case 8:
		l.MOVQ(from, t)
		l.MOVQ(t, to)
	}
}
