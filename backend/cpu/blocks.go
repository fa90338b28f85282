package cpu

import "unsafe"

// unary makes the block functions of an operation on one operand.
func unary[T, U any](f func(z []U, x []T)) blocks {
	return blocks{v: func(z, x, _, _ unsafe.Pointer, n int) { f(vec[U](z, n), vec[T](x, n)) }}
}

// binary makes those of an operation on two: both several elements, the second a single one, the first a
// single one (whose function takes them the other way round).
func binary[T, U any](v func(z []U, x, y []T), s, r func(z []U, x []T, y T)) blocks {
	b := blocks{v: func(z, x, y, _ unsafe.Pointer, n int) { v(vec[U](z, n), vec[T](x, n), vec[T](y, n)) }}
	b.lone[loneY] = func(z, x, y, _ unsafe.Pointer, n int) { s(vec[U](z, n), vec[T](x, n), *(*T)(y)) }
	b.lone[loneX] = func(z, x, y, _ unsafe.Pointer, n int) { r(vec[U](z, n), vec[T](y, n), *(*T)(x)) }
	return b
}

// commutative makes those of an operation whose operands may change places.
func commutative[T, U any](v func(z []U, x, y []T), s func(z []U, x []T, y T)) blocks {
	return binary(v, s, s)
}

func addV[T number](z, x, y []T) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = x[i] + y[i]
	}
}

func addS[T number](z, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = x[i] + y
	}
}

func subV[T number](z, x, y []T) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = x[i] - y[i]
	}
}

func subS[T number](z, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = x[i] - y
	}
}

func subR[T number](z, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = y - x[i]
	}
}

func mulV[T number](z, x, y []T) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = x[i] * y[i]
	}
}

func mulS[T number](z, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = x[i] * y
	}
}

func divV[T float32 | float64](z, x, y []T) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = x[i] / y[i]
	}
}

func divS[T float32 | float64](z, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = x[i] / y
	}
}

func divR[T float32 | float64](z, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = y / x[i]
	}
}

func square[T number](z, x []T) {
	x = x[:len(z)]
	for i, v := range x {
		z[i] = v * v
	}
}

func neg[T number](z, x []T) {
	x = x[:len(z)]
	for i, v := range x {
		z[i] = -v
	}
}

func relu[T number](z, x []T) {
	x = x[:len(z)]
	for i, v := range x {
		z[i] = max(v, 0)
	}
}

func maximumV[T number](z, x, y []T) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = max(x[i], y[i])
	}
}

func maximumS[T number](z, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = max(x[i], y)
	}
}

func minimumV[T number](z, x, y []T) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = min(x[i], y[i])
	}
}

func minimumS[T number](z, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = min(x[i], y)
	}
}

func orV[T integer](z, x, y []T) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = x[i] | y[i]
	}
}

func orS[T integer](z, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = x[i] | y
	}
}

func andV[T integer](z, x, y []T) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = x[i] & y[i]
	}
}

func andS[T integer](z, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = x[i] & y
	}
}

func xorV[T integer](z, x, y []T) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = x[i] ^ y[i]
	}
}

func xorS[T integer](z, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = x[i] ^ y
	}
}
