package cpu

import (
	"fmt"
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// defined returns the block function of o on operands of type d by the definition in its row.
func defined(o *ops.Op, d ops.DType) block {
	switch d {
	case ops.Float16, ops.BFloat16:
		return definedFloat(o, func(f float64) float32 { return float32(ops.RoundFloat(d, f)) })
	case ops.Float32:
		if o.Arity == 1 && !o.Rule.ToBool {
			return definedFunction[float32](o)
		}
		return definedFloat(o, func(f float64) float32 { return float32(f) })
	case ops.Float64:
		if o.Arity == 1 && !o.Rule.ToBool {
			return definedFunction[float64](o)
		}
		return definedFloat(o, func(f float64) float64 { return f })
	case ops.Bool:
		return definedInt(o, d, func(i int64) uint8 { return truth(i != 0) })
	case ops.Uint8:
		return definedInt(o, d, func(i int64) uint8 { return uint8(i) })
	case ops.Int8:
		return definedInt(o, d, func(i int64) int8 { return int8(i) })
	case ops.Int32:
		return definedInt(o, d, func(i int64) int32 { return int32(i) })
	case ops.Uint32:
		return definedInt(o, d, func(i int64) uint32 { return uint32(i) })
	case ops.Int64:
		return definedInt(o, d, func(i int64) int64 { return i })
	}
	panic(fmt.Sprintf("cpu: operation %s on %s", o.Name, d))
}

// definedFunction is definedFloat for the case that occurs most, with one call an element.
func definedFunction[T float32 | float64](o *ops.Op) block {
	return func(z, x, _, _ unsafe.Pointer, n int) {
		zs, xs := vec[T](z, n), vec[T](x, n)
		for i, v := range xs {
			zs[i] = T(o.Float(float64(v), 0, 0))
		}
	}
}

func definedFloat[T float32 | float64](o *ops.Op, round func(float64) T) block {
	switch {
	case o.Rule.ToBool:
		return elementwise(o, loadFloat[T], loadFloat[T], func(f float64) uint8 { return truth(f != 0) }, o.Float)
	case o.Rule.Cond:
		return elementwise(o, func(c uint8) float64 { return float64(c) }, loadFloat[T], round, o.Float)
	}
	return elementwise(o, loadFloat[T], loadFloat[T], round, o.Float)
}

func loadFloat[T float32 | float64](x T) float64 { return float64(x) }

func definedInt[T integer](o *ops.Op, d ops.DType, wrap func(int64) T) block {
	load := func(x T) int64 { return int64(x) }
	def := func(x, y, z int64) int64 { return o.Int(d, x, y, z) }
	switch {
	case o.Rule.ToBool:
		return elementwise(o, load, load, func(i int64) uint8 { return truth(i != 0) }, def)
	case o.Rule.Cond:
		return elementwise(o, func(c uint8) int64 { return int64(c) }, load, wrap, def)
	}
	return elementwise(o, load, load, wrap, def)
}

// elementwise returns the block function of o, defined by def on operands that first and rest load, the
// first and the others, and a result that store takes.
func elementwise[X, Y, Z any, V int64 | float64](o *ops.Op, first func(X) V, rest func(Y) V, store func(V) Z, def func(x, y, z V) V) block {
	switch o.Arity {
	case 1:
		return func(z, x, _, _ unsafe.Pointer, n int) {
			zs, xs := vec[Z](z, n), vec[X](x, n)
			for i := range zs {
				zs[i] = store(def(first(xs[i]), 0, 0))
			}
		}
	case 2:
		return func(z, x, y, _ unsafe.Pointer, n int) {
			zs, xs, ys := vec[Z](z, n), vec[X](x, n), vec[Y](y, n)
			for i := range zs {
				zs[i] = store(def(first(xs[i]), rest(ys[i]), 0))
			}
		}
	}
	return func(z, x, y, w unsafe.Pointer, n int) {
		zs, xs, ys, ws := vec[Z](z, n), vec[X](x, n), vec[Y](y, n), vec[Y](w, n)
		for i := range zs {
			zs[i] = store(def(first(xs[i]), rest(ys[i]), rest(ws[i])))
		}
	}
}

type integer interface {
	uint8 | int8 | int32 | uint32 | int64
}

func truth(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// putValue writes v, converted to type d by its definition, to the register at p.
func putValue(d ops.DType, p unsafe.Pointer, v ops.Value) {
	v = v.Convert(d)
	switch d {
	case ops.Float64:
		*(*float64)(p) = v.F
	case ops.Float32, ops.Float16, ops.BFloat16:
		*(*float32)(p) = float32(v.F)
	case ops.Bool, ops.Uint8, ops.Int8:
		*(*uint8)(p) = uint8(v.I)
	case ops.Int32, ops.Uint32:
		*(*uint32)(p) = uint32(v.I)
	case ops.Int64:
		*(*int64)(p) = v.I
	}
}

// getValue returns the element of type d in the register at p.
func getValue(d ops.DType, p unsafe.Pointer) ops.Value {
	switch d {
	case ops.Float64:
		return ops.Value{DType: d, F: *(*float64)(p)}
	case ops.Float32, ops.Float16, ops.BFloat16:
		return ops.Value{DType: d, F: float64(*(*float32)(p))}
	case ops.Int8:
		return ops.Value{DType: d, I: int64(*(*int8)(p))}
	case ops.Int32:
		return ops.Value{DType: d, I: int64(*(*int32)(p))}
	case ops.Uint32:
		return ops.Value{DType: d, I: int64(*(*uint32)(p))}
	case ops.Int64:
		return ops.Value{DType: d, I: *(*int64)(p)}
	}
	return ops.Value{DType: d, I: int64(*(*uint8)(p))}
}
