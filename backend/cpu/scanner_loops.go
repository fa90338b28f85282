package cpu

func scanSum[T, S number](z, x []T, carry, local S) S {
	z = z[:len(x)]
	for i, v := range x {
		local += S(v)
		z[i] = T(carry + local)
	}
	return local
}

// scanSumQuad sums four elements before it adds them to the rest: one addition in four waits for the one
// before.
func scanSumQuad(z, x []float32, carry, local float64) float64 {
	z = z[:len(x)]
	for len(x) >= 4 && len(z) >= 4 {
		base := carry + local
		l0 := float64(x[0])
		l1 := l0 + float64(x[1])
		l2 := l1 + float64(x[2])
		l3 := l2 + float64(x[3])
		z[0] = float32(base + l0)
		z[1] = float32(base + l1)
		z[2] = float32(base + l2)
		z[3] = float32(base + l3)
		local += l3
		x, z = x[4:], z[4:]
	}
	return scanSum(z, x, carry, local)
}

func scanProduct[T, S number](z, x []T, state S) S {
	z = z[:len(x)]
	for i, v := range x {
		state *= S(v)
		z[i] = T(state)
	}
	return state
}

func scanGreatest[T number](z, x []T, state T) T {
	z = z[:len(x)]
	for i, v := range x {
		state = greater(state, v)
		z[i] = state
	}
	return state
}

func scanLeast[T number](z, x []T, state T) T {
	z = z[:len(x)]
	for i, v := range x {
		state = lesser(state, v)
		z[i] = state
	}
	return state
}
