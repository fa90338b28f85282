package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// castBlock returns the block function that converts elements of type from to type to, as
// [ops.Value.Convert] does.
func castBlock(to, from ops.DType) block {
	if loops != nil {
		for _, c := range loops.Casts {
			if c.To == to.String() && c.From == from.String() {
				return c.Block
			}
		}
	}
	return castGo(to, from)
}

// castGo is castBlock in Go.
func castGo(to, from ops.DType) block {
	switch {
	case to == ops.Bool && from != ops.Bool:
		return castTruth(from)
	case to.IsHalf() && (from == ops.Float32 || from.IsHalf() || from.Size() == 1):
		f := castPlain(ops.Float32, from) // exact
		return func(z, x, y, w unsafe.Pointer, n int) {
			f(z, x, y, w, n)
			roundHalf(to, z, n)
		}
	case to.IsHalf(): // in one rounding, which float32 would make two
		return castSlow(to, from)
	case from.IsFloat() && !to.IsFloat():
		return castSaturated(to, from)
	}
	return castPlain(to, from)
}

// castSlow converts by the definition, element by element.
func castSlow(to, from ops.DType) block {
	zs, xs := regSize(to), regSize(from)
	return func(z, x, _, _ unsafe.Pointer, n int) {
		for i := range n {
			putValue(to, unsafe.Add(z, i*zs), getValue(from, unsafe.Add(x, i*xs)))
		}
	}
}

// castPlain converts by Go's conversion, which is the definition for all but floats to integers.
func castPlain(to, from ops.DType) block {
	switch to {
	case ops.Bool, ops.Uint8:
		return plainFrom[uint8](from)
	case ops.Int8:
		return plainFrom[int8](from)
	case ops.Int32:
		return plainFrom[int32](from)
	case ops.Uint32:
		return plainFrom[uint32](from)
	case ops.Int64:
		return plainFrom[int64](from)
	case ops.Float64:
		return plainFrom[float64](from)
	}
	return plainFrom[float32](from)
}

func plainFrom[U number](from ops.DType) block {
	switch from {
	case ops.Bool, ops.Uint8:
		return plain[U, uint8]()
	case ops.Int8:
		return plain[U, int8]()
	case ops.Int32:
		return plain[U, int32]()
	case ops.Uint32:
		return plain[U, uint32]()
	case ops.Int64:
		return plain[U, int64]()
	case ops.Float64:
		return plain[U, float64]()
	}
	return plain[U, float32]()
}

func plain[U, T number]() block {
	return func(z, x, _, _ unsafe.Pointer, n int) {
		zs, xs := vec[U](z, n), vec[T](x, n)
		for i, v := range xs {
			zs[i] = U(v)
		}
	}
}

// castTruth converts to Bool.
func castTruth(from ops.DType) block {
	switch from {
	case ops.Uint8, ops.Int8:
		return truthOf[uint8]()
	case ops.Int32, ops.Uint32:
		return truthOf[int32]()
	case ops.Int64:
		return truthOf[int64]()
	case ops.Float64:
		return truthOf[float64]()
	}
	return truthOf[float32]()
}

func truthOf[T number]() block {
	return func(z, x, _, _ unsafe.Pointer, n int) { notEqualS(vec[uint8](z, n), vec[T](x, n), 0) }
}

// castSaturated converts floats to the nearest integers toward zero that to has.
func castSaturated(to, from ops.DType) block {
	switch to {
	case ops.Uint8:
		return saturatedFrom[uint8](to, from)
	case ops.Int8:
		return saturatedFrom[int8](to, from)
	case ops.Int32:
		return saturatedFrom[int32](to, from)
	case ops.Uint32:
		return saturatedFrom[uint32](to, from)
	}
	return saturatedFrom[int64](to, from)
}

func saturatedFrom[U integer](to, from ops.DType) block {
	if from == ops.Float64 {
		return saturated[U, float64](to)
	}
	return saturated[U, float32](to)
}

func saturated[U integer, T float32 | float64](to ops.DType) block {
	lo, hi := ops.IntRange(to)
	least, most := float64(lo), float64(hi) // 2⁶³ for Int64: its maximum rounds up
	return func(z, x, _, _ unsafe.Pointer, n int) {
		zs, xs := vec[U](z, n), vec[T](x, n)
		for i, v := range xs {
			switch f := float64(v); {
			case f > least && f < most:
				zs[i] = U(int64(f))
			case f >= most:
				zs[i] = U(hi)
			case f <= least:
				zs[i] = U(lo)
			default: // NaN
				zs[i] = 0
			}
		}
	}
}
