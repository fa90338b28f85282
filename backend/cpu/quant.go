package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu/internal/asm"
	"github.com/weft-go/weft/ops"
)

// dequantize writes the elements from pos on, of a quantised type, to z.
func (s *source) dequantize(z []float32, pos int) {
	if at, ok := s.view.run(pos, len(z)); ok {
		dequantize(s.dtype, z, s.mem, at)
		return
	}
	var w walk
	w.start(&s.view, pos, len(z))
	for w.next() {
		for r := range w.rows {
			row, at := z[:w.cols], w.at+r*w.rs
			z = z[w.cols:]
			switch w.cs {
			case 1:
				dequantize(s.dtype, row, s.mem, at)
			case 0:
				fill(row, s.dtype.Dequantize(s.mem, at))
			default:
				for i := range row {
					row[i] = s.dtype.Dequantize(s.mem, at+i*w.cs)
				}
			}
		}
	}
}

// dequantize writes the elements of type d from at on, which follow each other, to z.
func dequantize(d ops.DType, z []float32, mem []byte, at int) {
	size := d.Bytes(1)
	block := at / ops.QuantBlock
	if skip := at % ops.QuantBlock; skip > 0 || len(z) < ops.QuantBlock {
		n := min(ops.QuantBlock-skip, len(z))
		for i := range n {
			z[i] = d.Dequantize(mem, at+i)
		}
		z, block = z[n:], block+1
	}
	if n := len(z) / ops.QuantBlock; loops != nil && n > 0 {
		quantKernels(d).Dequantize(unsafe.Pointer(&z[0]), unsafe.Pointer(&mem[block*size:][:n*size][0]), n)
		z, block = z[n*ops.QuantBlock:], block+n
	}
	for ; len(z) >= ops.QuantBlock; z, block = z[ops.QuantBlock:], block+1 {
		to, b := (*[ops.QuantBlock]float32)(z), mem[block*size:][:size]
		scale := halfToFloat(uint16(b[0]) | uint16(b[1])<<8)
		switch d {
		case ops.Q8_0:
			for i, q := range (*[ops.QuantBlock]byte)(b[2:]) {
				to[i] = scale * float32(int8(q))
			}
		case ops.Q4_0:
			for i, q := range (*[ops.QuantBlock / 2]byte)(b[2:]) {
				to[i] = scale * float32(int(q&15)-8)
				to[i+16] = scale * float32(int(q>>4)-8)
			}
		case ops.Q4_1:
			base := halfToFloat(uint16(b[2]) | uint16(b[3])<<8)
			for i, q := range (*[ops.QuantBlock / 2]byte)(b[4:]) {
				to[i] = float32(scale*float32(q&15)) + base
				to[i+16] = float32(scale*float32(q>>4)) + base
			}
		}
	}
	for i := range z {
		z[i] = d.Dequantize(mem, block*ops.QuantBlock+i)
	}
}

// quantKernels returns the assembly for a quantised type.
func quantKernels(d ops.DType) *asm.Quant {
	switch d {
	case ops.Q8_0:
		return &loops.Q80
	case ops.Q4_0:
		return &loops.Q40
	}
	return &loops.Q41
}

// quantDot returns the dot product with rows of the last axis of l, or nil if there is none for d or rows do not begin and end
// with blocks.
func quantDot(d ops.DType, l backend.Layout) func(c, a, b unsafe.Pointer, n, add int) {
	last := len(l.Shape) - 1
	if loops == nil || !d.Quantized() || l.Offset%ops.QuantBlock != 0 || l.Shape[last]%ops.QuantBlock != 0 {
		return nil
	}
	for a, s := range l.Strides[:last] {
		if l.Shape[a] > 1 && s%ops.QuantBlock != 0 {
			return nil
		}
	}
	return quantKernels(d).Dot
}
