package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
)

// microKernel32 and microKernel64 are the kernels of an instruction set that has assembly for one tile alone, or nil.
var microKernel32, microKernel64 = microKernels(instructions)

func microKernels(s asm.Set) (*gemmKernel[float32], *gemmKernel[float64]) {
	f32, f64 := s.Micros()
	if f32 == nil {
		return nil, nil
	}
	return microKernel[float32](f32), microKernel[float64](f64)
}

// microKernel returns the kernel whose tiles m computes.
func microKernel[T float32 | float64](m *asm.Micro) *gemmKernel[T] {
	return &gemmKernel[T]{
		mr: m.Rows, nr: m.Columns, mulRows: mulRowsPortable[T], depth: 256,
		mul: func(rows, columns, k int, a []T, lda int, b []T, ldb int, c []T, ldc int) {
			var part [64]T // a tile of which c has a part
			for j := 0; j < columns; j += m.Columns {
				right := b[j/m.Columns*ldb:][:m.Columns*k]
				for i := 0; i < rows; i += m.Rows {
					left, to := a[i/m.Rows*lda:][:m.Rows*k], c[i*ldc+j:]
					tall, wide := min(m.Rows, rows-i), min(m.Columns, columns-j)
					if tall == m.Rows && wide == m.Columns {
						m.Mul(unsafe.Pointer(&to[0]), unsafe.Pointer(&left[0]), unsafe.Pointer(&right[0]), k, ldc)
						continue
					}
					m.Mul(unsafe.Pointer(&part[0]), unsafe.Pointer(&left[0]), unsafe.Pointer(&right[0]), k, m.Columns)
					for r := range tall {
						copy(to[r*ldc:][:wide], part[r*m.Columns:])
					}
				}
			}
		},
	}
}
