package wgpu

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A packed is how a workgroup of a product with few rows shares out its threads where B is quantised and its columns lie in memory,
// block after block: among columns, and for each of these along K. A thread reads all the words of some blocks, a unit, and makes
// numbers of them in its registers. A is in workgroup memory.
type packed struct {
	rows    int // that every thread sums: 1, 2, 4, 8…
	columns int // threads side by side; a multiple of 4
	along   int // threads along K
	each    int // columns of a thread
	blocks  int // of a unit
}

func (c packed) threads() int { return c.columns * c.along }
func (c packed) width() int   { return c.columns * c.each }
func (c packed) unit() int    { return c.blocks * ops.QuantBlock }

// memory returns the bytes of workgroup memory.
func (c packed) memory() int {
	return 4 * c.rows * (c.along*c.unit() + c.each*c.threads())
}

// The presets for one row, for one whose units are small, for two, and for more. They were the fastest of some on an NVIDIA H200.
var (
	packedOne   = packed{columns: 16, along: 16, each: 1, blocks: 8}
	packedShort = packed{columns: 4, along: 32, each: 2, blocks: 2}
	packedTwo   = packed{columns: 8, along: 32, each: 2, blocks: 2}
	packedMany  = packed{columns: 16, along: 16, each: 2, blocks: 2}
)

// pickPacked chooses how a product with few rows shares out its threads; ok is false if B is not quantised, or does not lie so.
func (e *engine) pickPacked(p *product) (c packed, ok bool) {
	blocks := p.packable()
	switch {
	case blocks == 0:
		return c, false
	case p.m == 1 && blocks == packedOne.blocks:
		c = packedOne
	case p.m == 1:
		c = packedShort
	case p.m == 2:
		c = packedTwo
	default:
		c = packedMany
	}
	c.rows = 1
	for c.rows < p.m {
		c.rows *= 2
	}
	for c.along > 1 && c.memory() > int(e.info.Limits.WorkgroupMemory) {
		c.along /= 2
	}
	return c, true
}

// packable returns of how many blocks units may be, or 0 if B is not to be read in units: they must not cross columns, and begin at
// whole words, of which four are read at a time where they can.
func (p *product) packable() int {
	if p.image != nil || len(p.right) != 1 || !p.right[0].DType.Quantized() || len(p.b.Code) != 1 || p.acc != ops.Float32 || !p.across(p.right, false) {
		return 0
	}
	o := &p.right[0]
	for _, list := range [][]backend.Operand{p.left, p.rest, p.out} {
		for i := range list {
			if list[i].Buf == o.Buf { // others read its elements
				return 0
			}
		}
	}
	common := p.k | o.Layout.Offset
	for i, st := range o.Layout.Strides {
		if i != len(p.batch) && o.Layout.Shape[i] > 1 {
			common |= st
		}
	}
	for _, blocks := range []int{packedOne.blocks, packedMany.blocks} {
		if common%(blocks*ops.QuantBlock) == 0 {
			return blocks
		}
	}
	return 0
}

// writePacked prints the kernel, and returns the bytes of its workgroup memory.
func (k *productKernel) writePacked(t *text) int {
	c := k.packed
	threads, quads := c.threads(), c.unit()/4
	t.line("var<workgroup> factors: array<array<vec4<f32>, %d>, %d>;", quads, c.rows*c.along)
	t.line("var<workgroup> parts: array<f32, %d>;", c.rows*c.each*threads)
	k.open(t, threads)
	t.line("let across = thread %% %du;\nlet along = thread / %du;", c.columns, c.columns)
	kind := "f32"
	if c.rows*c.each <= 4 {
		kind = "vec4<f32>"
	}
	for i := range c.rows * c.each {
		t.line("var c%d = %s();", i, kind)
	}
	t.line("for (var k = begin; k < end; k += %du) {\nworkgroupBarrier();", k.depth)
	k.loadUnits(t)
	all := c.rows * c.along * quads
	for i := 0; i < all; i += threads {
		if i+threads > all {
			t.line("if (thread + %du < %du) {", i, all)
		} else {
			t.line("{")
		}
		t.line("let at = thread + %du;", i)
		t.line("factors[at / %du][at %% %du] = load_a(%sat / %du, k + at %% %du * 4u);\n}", quads, quads, k.arguments(), c.along*quads, c.along*quads)
	}
	t.line("workgroupBarrier();\nif (k + along * %du < end) {", c.unit())
	k.sumUnits(t, kind)
	t.line("}\n}")
	for i := range c.rows * c.each {
		sum := fmt.Sprintf("c%d", i)
		if kind != "f32" {
			sum = fmt.Sprintf("c%d[0] + c%d[1] + (c%d[2] + c%d[3])", i, i, i, i)
		}
		t.line("parts[thread + %du] = %s;", i*threads, sum)
	}
	t.line("workgroupBarrier();")
	k.combine(t, "thread", threads, c.columns, c.rows*c.each, threads)
	t.line("for (var i = thread; i < %du; i += %du) {", c.rows*c.width()/4, threads)
	t.line("let row = i / %du;\nlet at = i %% %du * 4u;", c.width()/4, c.width()/4)
	t.line("let base = (row * %du + at / %du) * %du + at %% %du;", c.each, c.columns, threads, c.columns)
	t.line("finish(%srow, tile * %du + at, vec4<f32>(parts[base], parts[base + 1u], parts[base + 2u], parts[base + 3u]));\n}\n}", k.arguments(), c.width())
	return c.memory()
}

// packedSlot returns the slot of B.
func (k *productKernel) packedSlot() int { return k.in[k.sides[1].first].slot }

// loadUnits prints the loads of the words of a thread's units, four at a time where units are whole fours of words.
func (k *productKernel) loadUnits(t *text) {
	c, n := k.packed, k.packedSlot()
	words := k.slots[n].quant.Bytes(c.unit()) / 4
	if k.slots[n].wide {
		words /= 4
	}
	for j := range c.each {
		t.line("let at%d = at_%d(%stile * %du + across + %du, k + along * %du) / %du * %du;",
			j, k.sides[1].first, k.arguments(), c.width(), j*c.columns, c.unit(), c.unit(), words)
		for i := range words {
			t.line("let w%d_%d = b%d[at%d + %du];", j, i, n, j, i)
		}
	}
}

// sumUnits prints the products of a thread's units.
func (k *productKernel) sumUnits(t *text, kind string) {
	c := k.packed
	s := &k.slots[k.packedSlot()]
	d := s.quant
	size, quants := d.Bytes(1), quantBytes(d)
	// half is a word whose lower half is the two bytes at an even place of unit j.
	half := func(j, at int) string {
		w := fmt.Sprintf("w%d_%d", j, at/4)
		if s.wide {
			w = fmt.Sprintf("w%d_%d[%d]", j, at/16, at/4%4)
		}
		if at%4 == 2 {
			w = fmt.Sprintf("(%s >> 16u)", w)
		}
		return w
	}
	for b := range c.blocks {
		t.line("{")
		for j := range c.each {
			t.line("let scale%d = %s;", j, s.half(half(j, b*size)))
			if d == ops.Q4_1 {
				t.line("let low%d = %s;", j, s.half(half(j, b*size+2)))
			}
		}
		for quad := range ops.QuantBlock / 4 {
			at := b*size + size - quants + 4*quad%quants
			t.line("{")
			for j := range c.each {
				t.line("let b%d_ = %s;", j, quadOf(d, 4*quad >= quants).value(d, half(j, at), half(j, at+2), fmt.Sprintf("scale%d", j), fmt.Sprintf("low%d", j)))
			}
			for i := range c.rows {
				t.line("let a%d = factors[along + %du][%d];", i, i*c.along, b*ops.QuantBlock/4+quad)
				for j := range c.each {
					sum := fmt.Sprintf("c%d", i*c.each+j)
					if kind != "f32" {
						t.line("%s = fma(a%d, b%d_, %s);", sum, i, j, sum)
						continue
					}
					expr := sum
					for l := range 4 {
						expr = fmt.Sprintf("fma(a%d[%d], b%d_[%d], %s)", i, l, j, l, expr)
					}
					t.line("%s = %s;", sum, expr)
				}
			}
			t.line("}")
		}
		t.line("}")
	}
}
