package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
)

var tileKernel32, tileKernel64 = tileKernels(instructions)

// tileKernels returns the kernels for products of matrices of an instruction set, nil if it has none.
func tileKernels(s asm.Set) (*gemmKernel[float32], *gemmKernel[float64]) {
	l := s.Loops()
	if l == nil {
		return nil, nil
	}
	return inTiles[float32](&l.ProductFloat32), inTiles[float64](&l.ProductFloat64)
}

func inTiles[T float32 | float64](p *asm.Product) *gemmKernel[T] {
	line := p.Tiles[0].Columns * int(unsafe.Sizeof(T(0)))
	at := make([]int, stripBytes/line)
	for l := range at {
		at[l] = l * line
	}
	return &gemmKernel[T]{tiles: p, packedAt: at}
}

// productKernel returns the kernel for products of k terms.
func productKernel[T term](k int) *gemmKernel[T] {
	for _, kern := range [...]any{tileKernel32, tileKernel64} {
		if k, _ := kern.(*gemmKernel[T]); k != nil {
			return k
		}
	}
	return kernelFor[T](k)
}

// addTo adds a block's sums, of a type not wider than S, to those of the blocks before.
func addTo[T, S term](sums []S, c []T) {
	if l := instructions.Loops(); l != nil && len(c) > 0 {
		switch s := any(sums).(type) {
		case []float64:
			to := unsafe.Pointer(unsafe.SliceData(s))
			switch c := any(c).(type) {
			case []float32:
				l.Float32.SumLines(to, unsafe.Pointer(unsafe.SliceData(c)), len(c), 1, len(c))
				return
			case []float64:
				l.Float64.SumLines(to, unsafe.Pointer(unsafe.SliceData(c)), len(c), 1, len(c))
				return
			}
		}
	}
	for i, v := range c {
		sums[i] += S(v)
	}
}
