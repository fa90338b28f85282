package cpu

import (
	"math"
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// apply makes the block function of f.
func apply[T, U any](f func(x T) U) blocks {
	return unary(func(z []U, x []T) {
		x = x[:len(z)]
		for i, v := range x {
			z[i] = f(v)
		}
	})
}

// apply32 makes the block function on float32 of f, which computes in float64.
func apply32(f func(x float64) float64) blocks {
	return blocks{v: func(z, x, _, _ unsafe.Pointer, n int) {
		zs, xs := vec[float32](z, n), vec[uint32](x, n)
		for i, b := range xs {
			zs[i] = float32(f(float64of(b)))
		}
	}}
}

// expBlock is apply32(expf) with one call an element.
func expBlock(z, x, _, _ unsafe.Pointer, n int) {
	zs, xs := vec[float32](z, n), vec[uint32](x, n)
	for i, b := range xs {
		p, s := expParts(float64of(b))
		zs[i] = float32(s + float64(s*p))
	}
}

// float64of returns the float32 of pattern b. Where Go's conversion becomes an instruction that keeps the
// upper half of its result (amd64's CVTSS2SD), an element's computation waits for the one before; this does
// not, and makes a function of 80 cycles several times as fast.
func float64of(b uint32) float64 {
	f := math.Float64frombits(uint64(b&0x7fffffff)<<29|uint64(b>>31)<<63) * 0x1p896
	if b&0x7f800000 == 0x7f800000 {
		f = float64(math.Float32frombits(b))
	}
	return f
}

// pairs32 makes the block functions on float32 of f, which computes in float64.
func pairs32(f func(x, y float64) float64) blocks {
	b := blocks{v: func(z, x, y, _ unsafe.Pointer, n int) {
		zs, xs, ys := vec[float32](z, n), vec[uint32](x, n), vec[uint32](y, n)
		for i, b := range xs {
			zs[i] = float32(f(float64of(b), float64of(ys[i])))
		}
	}}
	b.lone[loneY] = func(z, x, y, _ unsafe.Pointer, n int) {
		zs, xs, v := vec[float32](z, n), vec[uint32](x, n), float64(*(*float32)(y))
		for i, b := range xs {
			zs[i] = float32(f(float64of(b), v))
		}
	}
	return b
}

// addFunctions adds the functions on float32 that have a faster form than their definition.
func addFunctions(t tableOf) {
	for op, f := range map[string]func(float64) float64{
		"exp2": exp2f, "expm1": expm1f, "log": logf, "log2": log2f, "log10": log10f, "log1p": log1pf,
		"tanh": tanhf, "sinh": sinhf, "cosh": coshf, "sin": sinf, "cos": cosf, "erf": erff, "erfc": erfcf,
		"sigmoid": sigmoidf, "silu": siluf, "gelu": geluf, "gelu_tanh": geluTanhf, "softplus": softplusf,
		"mish": mishf, "selu": seluf,
	} {
		t.set(ops.Float32, op, apply32(f))
	}
	t.set(ops.Float32, "exp", blocks{v: expBlock})
	t.set(ops.Float32, "elu", pairs32(eluf))
	t.set(ops.Float32, "pow", power())
}

// power makes the block functions of Pow on float32, with the exponents that occur most on their own.
func power() blocks {
	b := pairs32(powf)
	general := b.lone[loneY]
	b.lone[loneY] = func(z, x, y, w unsafe.Pointer, n int) {
		zs, xs := vec[float32](z, n), vec[float32](x, n)
		switch *(*float32)(y) {
		case 1:
			copy(zs, xs)
		case 2:
			square(zs, xs)
		case 3:
			for i, v := range xs {
				d := float64(v)
				zs[i] = float32(d * d * d)
			}
		case -1:
			divR(zs, xs, 1)
		case 0.5:
			for i, v := range xs {
				zs[i] = float32(math.Sqrt(float64(v + 0))) // +0 for -0
				if v < -math.MaxFloat32 {
					zs[i] = -v
				}
			}
		default:
			general(z, x, y, w, n)
		}
	}
	return b
}

// addRandom adds RandBits for keys that are single elements. Successive positions share the words of a
// Philox block.
func addRandom(t tableOf) {
	addRandomOf[int32](t, ops.Int32)
	addRandomOf[uint32](t, ops.Uint32)
	addRandomOf[int64](t, ops.Int64)
}

func addRandomOf[T int32 | uint32 | int64](t tableOf, d ops.DType) {
	b := blocks{v: defined(ops.RandBits, d)}
	b.lone[loneY|loneW] = func(z, x, y, w unsafe.Pointer, n int) {
		key := [2]uint32{uint32(*(*T)(y)), uint32(*(*T)(w))}
		randBits(vec[T](z, n), vec[T](x, n), key, d == ops.Int64)
	}
	t.set(d, "rand_bits", b)
}

func randBits[T int32 | uint32 | int64](z, x []T, key [2]uint32, wide bool) {
	counter := uint64(math.MaxUint64) // of no position
	var words [4]uint32
	for i, v := range x {
		at := uint64(v)
		if !wide {
			at = uint64(uint32(v))
		}
		if at>>2 != counter {
			counter = at >> 2
			words = ops.Philox([4]uint32{uint32(counter), uint32(counter >> 32)}, key)
		}
		z[i] = T(words[at&3])
	}
}
