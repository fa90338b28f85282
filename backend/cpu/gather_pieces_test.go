package cpu

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
)

// TestGatherPieces copies pieces of every length of a few cache lines, by every set.
func TestGatherPieces(t *testing.T) {
	loopSets(t, func(t *testing.T, s asm.Set) {
		const n, ahead = 7, 3
		r := rand.New(rand.NewPCG(15, 16))
		x := make([]byte, 4096)
		for i := range x {
			x[i] = byte(r.Uint32())
		}
		k := &s.Loops().Gather
		for size := leastPiece; size < 5*leastPiece; size++ {
			at := make([]int, n+ahead)
			var want []byte
			for i := range at {
				at[i] = r.IntN(len(x) - size + 1)
				if i < n {
					want = append(want, x[at[i]:at[i]+size]...)
				}
			}
			kernels := []func(z, x, at unsafe.Pointer, n, size, ahead int){k.Copy}
			if size%leastPiece == 0 {
				kernels = append(kernels, k.Stream)
			}
			for _, f := range kernels {
				z := newBlock(n*size + 1).data
				z[n*size] = 77
				f(unsafe.Pointer(&z[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&at[0]), n, size, ahead)
				if !bytes.Equal(z[:n*size], want) || z[n*size] != 77 {
					t.Errorf("pieces of %d bytes: wrong, or one beyond was written", size)
				}
			}
		}
	})
}
