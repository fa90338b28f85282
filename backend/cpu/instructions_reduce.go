package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
	"github.com/weft-go/weft/ops"
)

// shortAssembly is the number of elements below which Go's loop is as fast as a call of assembly.
const shortAssembly = 16

// loops is the assembly of the instruction set in use, or nil.
var loops = instructions.Loops()

// quicken makes a use assembly where l has it, for the reduction r of floats.
func quicken[T float32 | float64](a accumulator, r ops.ReduceOp, l *asm.Reductions[T]) {
	switch r {
	case ops.ReduceSum:
		f := a.(*fold[T, float64])
		f.row, f.lines = quickRow(l.Sum, f.row), quickLines[T, float64](l.SumLines)
	case ops.ReduceMax:
		f := a.(*fold[T, T])
		f.row, f.lines = quickRow(l.Max, f.row), quickLines[T, T](l.MaxLines)
	case ops.ReduceMin:
		f := a.(*fold[T, T])
		f.row, f.lines = quickRow(l.Min, f.row), quickLines[T, T](l.MinLines)
	case ops.ReduceArgMax:
		p := a.(*position[T])
		p.extreme, p.first = l.Max, l.First
	case ops.ReduceArgMin:
		p := a.(*position[T])
		p.extreme, p.first = l.Min, l.First
	}
}

func quickRow[T, S number](f func(x unsafe.Pointer, n int) S, short func(x []T) S) func(x []T) S {
	return func(x []T) S {
		if len(x) < shortAssembly {
			return short(x)
		}
		return f(unsafe.Pointer(&x[0]), len(x))
	}
}

func quickLines[T, S number](f func(state, x unsafe.Pointer, n, lines int)) func(state []S, x []T) {
	return func(state []S, x []T) {
		if lines := len(x) / len(state); lines > 0 {
			f(unsafe.Pointer(&state[0]), unsafe.Pointer(&x[0]), len(state), lines)
		}
	}
}

// quickScan is scanSumQuad in assembly.
func quickScan(z, x []float32, carry, local float64) float64 {
	if len(x) < shortAssembly {
		return scanSumQuad(z, x, carry, local)
	}
	c := [2]float64{carry, local}
	loops.ScanSum(unsafe.Pointer(&z[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&c), len(x))
	return c[1]
}
