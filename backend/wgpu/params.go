package wgpu

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A block is the parameters of a dispatch: 32-bit words in a uniform buffer, p.v in WGSL. Code and data are written by the
// same calls, so that they agree: a kernel's text names word n, and the same walk over the step appends its value.
type block struct {
	words  []uint32
	consts int // 1 + the word at which the constants of the step begin, if it has some
}

// add appends a word and returns its number. Negative values wrap: index arithmetic in WGSL does too.
func (b *block) add(v int) int {
	b.words = append(b.words, uint32(v))
	return len(b.words) - 1
}

// word returns the expression of word n.
func word(n int) string { return fmt.Sprintf("p.v[%d].%c", n/4, "xyzw"[n%4]) }

// bytes returns the block as the uniform buffer holds it, size bytes long.
func (b *block) bytes(size int) []byte {
	out := make([]byte, 0, size)
	for _, w := range b.words {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	return out[:size]
}

// blockSize returns the size of the Params binding for n words and four zeros at the end, for seals: a multiple of 256, so
// that few kernels differ in it.
func blockSize(n int) int { return (4*(n+4) + 255) &^ 255 }

// A place is where the parameters of one operand begin: its offset, then a stride for each axis.
type place int

func (p place) offset() string         { return word(int(p)) }
func (p place) stride(axis int) string { return word(int(p) + 1 + axis) }

// addLayout appends the parameters of an operand.
func (b *block) addLayout(l backend.Layout) place {
	at := b.add(l.Offset)
	for _, st := range l.Strides {
		b.add(st)
	}
	return place(at)
}

// addConsts appends the constants of a step, two words each, and returns the number of the first.
func (b *block) addConsts(consts []uint64) int {
	at := len(b.words)
	if len(consts) > 0 {
		b.consts = 1 + at
	}
	for _, c := range consts {
		b.words = append(b.words, uint32(c), uint32(c>>32))
	}
	return at
}

// constant returns the expression of constant number slot, of type d, of those that begin at word first.
func constant(d ops.DType, first, slot int) string {
	return decode(d, word(first+2*slot), word(first+2*slot+1))
}
