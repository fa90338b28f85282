package backendtest

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

var quantizedTypes = []ops.DType{ops.Q8_0, ops.Q4_0, ops.Q4_1}

// A block is the parts of a block of a quantised type; base is nil if it has none.
type block struct{ scale, base, quants []byte }

// blocksOf returns the blocks in mem.
func blocksOf(d ops.DType, mem []byte) []block {
	var list []block
	size := d.Bytes(1)
	for ; len(mem) >= size; mem = mem[size:] {
		b := block{scale: mem[:2], quants: mem[2:size]}
		if d == ops.Q4_1 {
			b.base, b.quants = mem[2:4], mem[4:size]
		}
		list = append(list, b)
	}
	return list
}

// blocks fills mem with blocks of type d: of small whole numbers, or of any bits and special scales.
func (in *inputs) blocks(d ops.DType, mem []byte, any bool) {
	half := func(b []byte, f float64) {
		binary.LittleEndian.PutUint16(b, uint16(ops.FloatValue(ops.Float16, f).Bits()))
	}
	for _, b := range blocksOf(d, mem) {
		half(b.scale, float64(int(1)<<in.IntN(2)))
		if b.base != nil {
			half(b.base, float64(-in.IntN(9)))
		}
		for i := range b.quants {
			if b.quants[i] = byte(in.Uint64()); d == ops.Q8_0 {
				b.quants[i] = byte(in.IntN(15) - 7)
			}
		}
		if !any {
			continue
		}
		binary.LittleEndian.PutUint16(b.scale, uint16(in.any(ops.Float16, 0)))
		if b.base != nil {
			binary.LittleEndian.PutUint16(b.base, uint16(in.any(ops.Float16, 0)))
		}
		for i := range b.quants {
			b.quants[i] = byte(in.Uint64())
		}
	}
}

// absoluteBlocks returns blocks whose elements are not less than the magnitudes of those of mem, or by an eighth.
func absoluteBlocks(d ops.DType, mem []byte) []byte {
	mem = slices.Clone(mem)
	for _, b := range blocksOf(d, mem) {
		b.scale[1] &= 0x7f
		if b.base != nil {
			b.base[1] &= 0x7f
		}
		for i, q := range b.quants {
			switch d {
			case ops.Q8_0:
				b.quants[i] = byte(min(max(int8(q), -int8(q)), 127) & 127)
			case ops.Q4_0:
				b.quants[i] = farFrom8(q&15) | farFrom8(q>>4)<<4
			}
		}
	}
	return mem
}

// farFrom8 returns q or what lies as far above 8 as q lies below, 15 at most.
func farFrom8(q byte) byte {
	if q < 8 {
		return min(16-q, 15)
	}
	return q
}

// testQuantized tests maps that load quantised operands: blocks of any bits, in any arrangement, alone and beside others.
func (s *suite) testQuantized(t tb) {
	for _, d := range quantizedTypes {
		s.leaf(t, d.String(), func(t tb) {
			in := s.draw(t)
			var trials []*trial
			for i, how := range readable {
				for _, shape := range []backend.Shape{{}, {1}, {7}, {33}, {64}, {3, 70}, {5, 4, 32}, {700}} {
					to := []ops.DType{ops.Float32, ops.Float16, ops.Int32}[i%3]
					o := in.tensor(d, how, shape, in.any)
					if to.IsFloat() {
						in.blocks(d, o.mem, true)
					}
					trials = append(trials, &trial{
						name: fmt.Sprintf("%s as %s, %s %v", d, to, how, shape), kernel: &backend.Map{Body: load1(d, to)}, shape: shape,
						in: []operand{o}, out: []operand{in.blank(to, writable[i%len(writable)], shape)},
					})
				}
				var b ops.Builder
				x, y := b.Load(b.Operand(d), false), b.Load(b.Operand(ops.Float32), false)
				b.Result(b.Apply(ops.Mul, b.Apply(ops.Add, x, y), b.Load(b.Operand(quantizedTypes[i%3]), false)))
				shape := backend.Shape{9, 100}
				trials = append(trials, &trial{
					name: fmt.Sprintf("sum and product with %s, %s", d, how), kernel: &backend.Map{Body: b.Expr()}, shape: shape,
					in: []operand{
						in.tensor(d, how, shape, nil), in.tensor(ops.Float32, "dense", shape, in.whole),
						in.tensor(quantizedTypes[i%3], "transposed", shape, nil),
					},
					out: []operand{in.blank(ops.Float32, "dense", shape)},
				})
			}
			s.check(t, trials...)
		})
	}
}
