package cpu

import "unsafe"

func equalV[T number](z []uint8, x, y []T) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = truth(x[i] == y[i])
	}
}

func equalS[T number](z []uint8, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = truth(x[i] == y)
	}
}

func notEqualV[T number](z []uint8, x, y []T) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = truth(x[i] != y[i])
	}
}

func notEqualS[T number](z []uint8, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = truth(x[i] != y)
	}
}

func lessV[T number](z []uint8, x, y []T) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = truth(x[i] < y[i])
	}
}

func lessS[T number](z []uint8, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = truth(x[i] < y)
	}
}

func lessEqualV[T number](z []uint8, x, y []T) {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = truth(x[i] <= y[i])
	}
}

func lessEqualS[T number](z []uint8, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = truth(x[i] <= y)
	}
}

func greaterV[T number](z []uint8, x, y []T) { lessV(z, y, x) }

func greaterS[T number](z []uint8, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = truth(x[i] > y)
	}
}

func greaterEqualV[T number](z []uint8, x, y []T) { lessEqualV(z, y, x) }

func greaterEqualS[T number](z []uint8, x []T, y T) {
	x = x[:len(z)]
	for i := range z {
		z[i] = truth(x[i] >= y)
	}
}

// selection makes the block functions of Where, with either of the values a single element. T is an integer
// type as large as the elements: it selects among integers without a branch, which would be guessed wrong.
func selection[T uint8 | uint32 | uint64]() blocks {
	b := blocks{v: func(z, x, y, w unsafe.Pointer, n int) {
		selectV(vec[T](z, n), vec[uint8](x, n), vec[T](y, n), vec[T](w, n))
	}}
	b.lone[loneY] = func(z, x, y, w unsafe.Pointer, n int) {
		selectS(vec[T](z, n), vec[uint8](x, n), *(*T)(y), vec[T](w, n))
	}
	b.lone[loneW] = func(z, x, y, w unsafe.Pointer, n int) {
		selectR(vec[T](z, n), vec[uint8](x, n), vec[T](y, n), *(*T)(w))
	}
	return b
}

func selectV[T uint8 | uint32 | uint64](z []T, c []uint8, x, y []T) {
	c, x, y = c[:len(z)], x[:len(z)], y[:len(z)]
	for i := range z {
		v := y[i]
		if c[i] != 0 {
			v = x[i]
		}
		z[i] = v
	}
}

func selectS[T uint8 | uint32 | uint64](z []T, c []uint8, x T, y []T) {
	c, y = c[:len(z)], y[:len(z)]
	for i := range z {
		v := y[i]
		if c[i] != 0 {
			v = x
		}
		z[i] = v
	}
}

func selectR[T uint8 | uint32 | uint64](z []T, c []uint8, x []T, y T) {
	c, x = c[:len(z)], x[:len(z)]
	for i := range z {
		v := x[i]
		if c[i] == 0 {
			v = y
		}
		z[i] = v
	}
}
