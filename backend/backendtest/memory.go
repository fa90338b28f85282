package backendtest

import (
	"encoding/binary"

	"github.com/weft-go/weft/ops"
)

// poison is every byte of memory that nobody has written: NaN in each floating-point type.
const poison = 0xff

// load returns the element of type d at position at, counted in elements.
func load(d ops.DType, mem []byte, at int) ops.Value {
	if d.Quantized() {
		return ops.FloatValue(ops.Float32, float64(d.Dequantize(mem, at)))
	}
	n := d.Size()
	mem = mem[at*n : at*n+n]
	var bits uint64
	switch n {
	case 1:
		bits = uint64(mem[0])
	case 2:
		bits = uint64(binary.LittleEndian.Uint16(mem))
	case 4:
		bits = uint64(binary.LittleEndian.Uint32(mem))
	default:
		bits = binary.LittleEndian.Uint64(mem)
	}
	return ops.FromBits(d, bits)
}

// store writes v at position at, counted in elements.
func store(mem []byte, at int, v ops.Value) { storeBits(v.DType, mem, at, v.Bits()) }

// storeBits writes the low bits of b, as many as d has, at position at.
func storeBits(d ops.DType, mem []byte, at int, b uint64) {
	n := d.Size()
	mem = mem[at*n : at*n+n]
	switch n {
	case 1:
		mem[0] = byte(b)
	case 2:
		binary.LittleEndian.PutUint16(mem, uint16(b))
	case 4:
		binary.LittleEndian.PutUint32(mem, uint32(b))
	default:
		binary.LittleEndian.PutUint64(mem, b)
	}
}
