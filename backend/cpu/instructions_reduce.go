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
		f.row, f.lines, f.strided = quickSum(l.Sum, f.row), quickLines[T, float64](l.SumLines), l.SumLines
	case ops.ReduceMax:
		f := a.(*fold[T, T])
		f.row, f.lines, f.strided = quickRow(l.Max, f.row), quickLines[T, T](l.MaxLines), l.MaxLines
	case ops.ReduceMin:
		f := a.(*fold[T, T])
		f.row, f.lines, f.strided = quickRow(l.Min, f.row), quickLines[T, T](l.MinLines), l.MinLines
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

// quickSum adds long rows in pairs of parts, so that what is off does not grow with their length.
func quickSum[T float32 | float64](f func(x unsafe.Pointer, n int) float64, short func(x []T) float64) func(x []T) float64 {
	row := quickRow(f, short)
	var sum func(x []T) float64
	sum = func(x []T) float64 {
		if len(x) > 4*blockLen {
			h := len(x) / 2 &^ (blockLen - 1)
			return sum(x[:h]) + sum(x[h:])
		}
		return row(x)
	}
	return sum
}

func quickLines[T, S number](f func(state, x unsafe.Pointer, n, lines, stride int)) func(state []S, x []T) {
	return func(state []S, x []T) {
		if lines := len(x) / len(state); lines > 0 {
			f(unsafe.Pointer(&state[0]), unsafe.Pointer(&x[0]), len(state), lines, len(state))
		}
	}
}

// quickScan returns scanSumQuad in assembly, for one scanner.
func quickScan() func(z, x []float32, carry, local float64) float64 {
	c := new([2]float64)
	return func(z, x []float32, carry, local float64) float64 {
		if len(x) < shortAssembly {
			return scanSumQuad(z, x, carry, local)
		}
		c[0], c[1] = carry, local
		loops.ScanSum(unsafe.Pointer(&z[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(c), len(x))
		return c[1]
	}
}
