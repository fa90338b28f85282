package main

import (
	"fmt"
	"io"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemmKernels emits products of matrices. A tile of c stays in registers: rows of some vectors each. A step takes these
// vectors of a row of b, and multiplies them by a number of each row of a.
func gemmKernels(s *set, ks *kernels) {
	for _, t := range []struct {
		name string
		size int
	}{{"Float32", 4}, {"Float64", 8}} {
		for _, k := range s.tiles() {
			for _, rows := range k.rows {
				ks.tiles = append(ks.tiles, tileEntry{
					set: s.name(), list: k.list, dtype: t.name, rows: rows, columns: k.vectors * s.bytes() / t.size,
					fn: s.product(t.name, t.size, rows, k),
				})
			}
		}
	}
}

const tileVectors = 2 // of a row of the tiles that most of a product is made of

// A tileKind is tiles of a number of vectors.
type tileKind struct {
	list    string // of asm.Product
	vectors int
	part    bool // for fewer columns than fill the vectors
	unit    bool // for rows of a whose numbers follow each other
	rows    []int
}

// tiles returns those of the set. With 32 registers, 24 of 27 are sums in the greatest, with 16 they are 12 of 15.
func (s *set) tiles() []tileKind {
	if s.wide {
		return []tileKind{
			{"Tiles", tileVectors, false, false, []int{12, 8, 4, 2, 1}},
			{"Unit", tileVectors, false, true, []int{12}},
			{"Part", tileVectors, true, false, []int{12, 8, 4, 2, 1}},
			{"Narrow", 1, true, false, []int{12, 8, 4, 2, 1}},
			{"Wide", 4, false, false, []int{4}},
			{"Wide", 8, false, false, []int{2}},
			{"Wide", 16, false, false, []int{1}},
		}
	}
	return []tileKind{
		{"Tiles", tileVectors, false, false, []int{6, 4, 2, 1}},
		{"Unit", tileVectors, false, true, []int{6}},
		{"Part", tileVectors, true, false, []int{4, 2, 1}},
		{"Narrow", 1, true, false, []int{6, 4, 2, 1}},
		{"Wide", 4, false, false, []int{2}},
		{"Wide", 8, false, false, []int{1}},
	}
}

// A tileEntry is a tile in a list of an asm.Product.
type tileEntry struct {
	set, list, dtype string
	rows, columns    int
	fn               string
}

// writeProducts writes the tables of the tiles of a set.
func (ks *kernels) writeProducts(w io.Writer, set string) {
	list := ""
	for _, t := range ks.tiles {
		if t.set != set {
			continue
		}
		if name := t.dtype + t.list; name != list {
			if list != "" {
				fmt.Fprint(w, "}\n\n")
			}
			list = name
			fmt.Fprintf(w, "var %s%s = []%s{\n", set, name, map[bool]string{false: "Tile", true: "Dot"}[t.list == "Dots"])
		}
		fmt.Fprintf(w, "{%d, %d, %s},\n", t.rows, t.columns, t.fn)
	}
	fmt.Fprint(w, "}\n\n")
}

// product emits the function for tiles of a number of rows, and returns its name.
func (s *set) product(t string, size, rows int, kind tileKind) string {
	name, columns := fmt.Sprintf("Product%dx%d", rows, kind.vectors), fmt.Sprint(kind.vectors*s.bytes()/size)
	switch {
	case kind.part:
		name, columns = name+"Part", fmt.Sprintf("n ≤ %s", columns)
	case kind.unit:
		name += "Unit"
	}
	name += t + s.suffix()
	doc := fmt.Sprintf("%s multiplies %d rows and %s columns.", name, rows, columns)
	sig := signature([]string{"c", "a", "b", "at"}, []string{"k", "row", "col", "ldc", "n", "add"}, nil)
	s.function(name, doc, sig, func(g *gen) {
		p := product{gen: g, size: size, acc: make([][]val, rows), masks: make([]val, kind.vectors), part: kind.part}
		p.emit(kind.unit)
	})
	return name
}

// A product emits one tile.
type product struct {
	*gen
	size     int
	acc      [][]val
	part     bool
	masks    []val           // of the vectors of a row, of part
	rows     []reg.GPVirtual // of a, every third
	row, col reg.GPVirtual
	b, at    reg.GPVirtual
	ahead    reg.GPVirtual // of b, where it is fetched
}

// fetches reports whether rows of b are fetched that other tiles will take, n bytes on: by the tiles that most of a product is
// made of, which leave room for it between their sums.
func (p *product) fetches() bool {
	return !p.part && len(p.masks) == tileVectors && len(p.acc) == map[bool]int{false: 6, true: 12}[p.wide]
}

func (p *product) emit(unit bool) {
	p.addresses(unit)
	p.setMasks()
	p.expect()
	for i := range p.acc {
		p.acc[i] = make([]val, len(p.masks))
		for j := range p.acc[i] {
			p.acc[i][j] = p.zero()
		}
	}
	if p.fetches() {
		p.ahead = p.param("n")
		p.ADDQ(p.b, p.ahead)
	}
	if unit {
		p.unitSteps()
	} else {
		k := p.param("k")
		loop := p.label("loop")
		p.Label(loop)
		p.step()
		p.DECQ(k)
		p.JNE(operand.LabelRef(loop))
	}
	p.store()
}

// unitSteps adds the products of all rows of b, some in a turn, so that few instructions are neither products nor loads: what
// another thread of the processor's core does takes the place of others first.
func (p *product) unitSteps() {
	const turn = 4
	k, end, plain := p.param("k"), p.label("end"), p.label("plain")
	turns := func(fetch bool) {
		loop, rest, one := p.label("loop"), p.label("rest"), p.label("one")
		p.SUBQ(operand.U8(turn), k)
		p.JLT(operand.LabelRef(rest))
		p.Label(loop)
		for l := range turn {
			p.add(l, fetch)
		}
		p.skip(turn)
		p.SUBQ(operand.U8(turn), k)
		p.JGE(operand.LabelRef(loop))
		p.Label(rest)
		p.ADDQ(operand.U8(turn), k)
		p.JEQ(operand.LabelRef(end))
		p.Label(one)
		p.add(0, fetch)
		p.skip(1)
		p.DECQ(k)
		p.JNE(operand.LabelRef(one))
	}
	p.CMPQ(p.ahead, p.b)
	p.JEQ(operand.LabelRef(plain))
	turns(true)
	p.JMP(operand.LabelRef(end))
	p.Label(plain)
	turns(false)
	p.Label(end)
}

// skip goes n rows of b on, of unit steps.
func (p *product) skip(n int) {
	for _, r := range p.rows {
		p.ADDQ(operand.U8(n*p.size), r)
	}
	p.ADDQ(operand.U8(n*8), p.at)
}

// stride returns a parameter that counts elements, in bytes.
func (p *product) stride(name string) reg.GPVirtual {
	r := p.param(name)
	p.SHLQ(operand.U8(map[int]int{4: 2, 8: 3}[p.size]), r)
	return r
}

func (p *product) addresses(unit bool) {
	p.b, p.at = p.param("b"), p.param("at")
	if !unit {
		p.col = p.stride("col")
	}
	first := p.param("a")
	if len(p.acc) > 1 {
		p.row = p.stride("row")
	}
	p.rows = p.everyThird(first, p.row, len(p.acc))
}

// setMasks makes the masks of n columns.
func (p *product) setMasks() {
	if !p.part {
		return
	}
	p.maskFirst(p.param("n"))
}

// maskFirst makes masks of the first n lanes of vectors.
func (p *product) maskFirst(n reg.GPVirtual) {
	if p.wide {
		m := p.GP64()
		p.MOVQ(operand.I32(-1), m)
		p.BZHIQ(n, m, m)
		for j := range p.masks {
			if j > 0 {
				p.SHRQ(operand.U8(p.bytes()/p.size), m)
			}
			p.masks[j] = p.K()
			p.KMOVQ(m, p.masks[j])
		}
		return
	}
	// Two vectors of ones and two of zeros, read where n ones are left.
	at := p.GP64()
	p.LEAQ(p.twoOnes(), at)
	p.NEGQ(n)
	for j := range p.masks {
		p.masks[j] = p.vec()
		p.VMOVUPS(operand.Mem{Base: at, Index: n, Scale: uint8(p.size), Disp: (2 + j) * p.bytes()}, p.masks[j])
	}
}

// twoOnes is the memory of two vectors of ones and two of zeros.
func (p *product) twoOnes() operand.Mem {
	const name = "twoOnes"
	if m, ok := p.data[name]; ok {
		return m
	}
	m := p.StaticGlobal(name)
	p.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range p.bytes() / 2 {
		p.AppendDatum(operand.U64(^uint64(0) * uint64(1-i/(p.bytes()/4))))
	}
	if p.data == nil {
		p.data = map[string]operand.Mem{}
	}
	p.data[name] = m
	return m
}

// expect asks for the lines of c, which are needed at the end.
func (p *product) expect() {
	if len(p.acc) < 4 {
		return
	}
	c, ldc := p.param("c"), p.stride("ldc")
	for i := range p.acc {
		if i > 0 {
			p.ADDQ(ldc, c)
		}
		for at := 0; at < len(p.masks)*p.bytes(); at += 64 {
			p.PREFETCHT0(operand.Mem{Base: c, Disp: at})
		}
	}
}

// step adds the products of one row of b, and goes to the next.
func (p *product) step() {
	p.add(0, p.fetches())
	p.ADDQ(operand.U8(8), p.at)
	for _, r := range p.rows {
		p.ADDQ(p.col, r)
	}
}

// add adds the products of the row of b that is l rows on, with unit steps if l > 0.
func (p *product) add(l int, fetch bool) {
	off := p.GP64()
	p.MOVQ(operand.Mem{Base: p.at, Disp: l * 8}, off)
	for at := 0; fetch && at < len(p.masks)*p.bytes(); at += 64 {
		p.PREFETCHT1(operand.Mem{Base: p.ahead, Index: off, Scale: 1, Disp: at})
	}
	number := func(i int) val {
		m := third(p.rows, p.row, i)
		m.Disp = l * p.size
		return p.broadcast(m)
	}
	column := func(j int) val {
		y := p.vec()
		p.load(operand.Mem{Base: p.b, Index: off, Scale: 1, Disp: j * p.bytes()}, y, j)
		return y
	}
	if len(p.acc) <= 4 { // few numbers of a are kept, else the vectors of b
		x := make([]val, len(p.acc))
		for i := range x {
			x[i] = number(i)
		}
		for j := range p.masks {
			y := column(j)
			for i := range x {
				p.add231(x[i], y, p.acc[i][j])
			}
		}
		return
	}
	y := make([]val, len(p.masks))
	for j := range y {
		y[j] = column(j)
	}
	for i := range p.acc {
		x := number(i)
		for j := range y {
			p.add231(y[j], x, p.acc[i][j])
		}
	}
}

// broadcast returns the number at m, in all lanes.
func (p *product) broadcast(m operand.Mem) val {
	x := p.vec()
	if p.size == 4 {
		p.VBROADCASTSS(m, x)
	} else {
		p.VBROADCASTSD(m, x)
	}
	return x
}

func (p *product) add231(x, y, sum val) {
	if p.size == 4 {
		p.VFMADD231PS(x, y, sum)
	} else {
		p.VFMADD231PD(x, y, sum)
	}
}

// load loads vector j of a row.
func (p *product) load(m operand.Mem, y val, j int) {
	switch {
	case !p.part:
		p.VMOVUPS(m, y)
	case p.wide && p.size == 4:
		p.VMOVUPS_Z(m, p.masks[j], y)
	case p.wide:
		p.VMOVUPD_Z(m, p.masks[j], y)
	case p.size == 4:
		p.VMASKMOVPS(m, p.masks[j], y)
	default:
		p.VMASKMOVPD(m, p.masks[j], y)
	}
}

// save stores vector j of a row.
func (p *product) save(y val, m operand.Mem, j int) {
	switch {
	case !p.part:
		p.VMOVUPS(y, m)
	case p.wide && p.size == 4:
		p.VMOVUPS(y, p.masks[j], m)
	case p.wide:
		p.VMOVUPD(y, p.masks[j], m)
	case p.size == 4:
		p.VMASKMOVPS(y, p.masks[j], m)
	default:
		p.VMASKMOVPD(y, p.masks[j], m)
	}
}

// store writes the sums to c, or adds them to what it holds.
func (p *product) store() {
	set, end := p.label("set"), p.label("end")
	add := p.param("add")
	p.TESTQ(add, add)
	p.JEQ(operand.LabelRef(set))
	p.eachOfC(func(i, j int, m operand.Mem) {
		y := p.vec()
		p.load(m, y, j)
		if p.size == 4 {
			p.VADDPS(p.acc[i][j], y, y)
		} else {
			p.VADDPD(p.acc[i][j], y, y)
		}
		p.save(y, m, j)
	})
	p.JMP(operand.LabelRef(end))
	p.Label(set)
	p.eachOfC(func(i, j int, m operand.Mem) { p.save(p.acc[i][j], m, j) })
	p.Label(end)
}

func (p *product) eachOfC(f func(i, j int, m operand.Mem)) {
	c, ldc := p.param("c"), p.stride("ldc")
	for i := range p.acc {
		if i > 0 {
			p.ADDQ(ldc, c)
		}
		for j := range p.acc[i] {
			f(i, j, operand.Mem{Base: c, Disp: j * p.bytes()})
		}
	}
}
