package cpu

import (
	"math"
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// addFloats adds the operations on floats that are a few instructions.
func addFloats[T float32 | float64](t tableOf, d ops.DType) {
	addNumbers[T](t, d)
	t.set(d, "div", binary(divV[T], divS[T], divR[T]))
	t.set(d, "sqrt", apply(func(x T) T { return T(math.Sqrt(float64(x))) }))
	t.set(d, "rsqrt", apply(func(x T) T { return T(1 / math.Sqrt(float64(x))) }))
	t.set(d, "reciprocal", apply(func(x T) T { return 1 / x }))
	t.set(d, "floor", apply(func(x T) T { return T(math.Floor(float64(x))) }))
	t.set(d, "ceil", apply(func(x T) T { return T(math.Ceil(float64(x))) }))
	t.set(d, "trunc", apply(func(x T) T { return T(math.Trunc(float64(x))) }))
	t.set(d, "round", apply(func(x T) T { return T(math.RoundToEven(float64(x))) }))
	t.set(d, "relu6", apply(func(x T) T { return min(max(x, 0), 6) }))
	t.set(d, "isnan", unary(func(z []uint8, x []T) {
		for i, v := range x {
			z[i] = truth(v != v)
		}
	}))
	t.set(d, "isfinite", unary(func(z []uint8, x []T) {
		for i, v := range x {
			z[i] = truth(v-v == 0)
		}
	}))
	t.set(d, "clip", blocks{v: func(z, x, y, w unsafe.Pointer, n int) {
		clip(vec[T](z, n), vec[T](x, n), vec[T](y, n), vec[T](w, n))
	}})
	t.set(d, "fma", blocks{v: func(z, x, y, w unsafe.Pointer, n int) {
		fma(vec[T](z, n), vec[T](x, n), vec[T](y, n), vec[T](w, n))
	}})
}

func clip[T number](z, x, lo, hi []T) {
	x, lo, hi = x[:len(z)], lo[:len(z)], hi[:len(z)]
	for i := range z {
		z[i] = min(max(x[i], lo[i]), hi[i])
	}
}

func fma[T float32 | float64](z, x, y, w []T) {
	x, y, w = x[:len(z)], y[:len(z)], w[:len(z)]
	for i := range z {
		z[i] = T(math.FMA(float64(x[i]), float64(y[i]), float64(w[i])))
	}
}

// masked makes the block function that keeps the bits of mask.
func masked[T uint32 | uint64](mask T) blocks {
	return unary(func(z, x []T) {
		x = x[:len(z)]
		for i, v := range x {
			z[i] = v & mask
		}
	})
}
