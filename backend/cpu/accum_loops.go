package cpu

type number interface {
	integer | float32 | float64
}

func plus[S number](a, b S) S  { return a + b }
func times[S number](a, b S) S { return a * b }
func same[T number](s T) T     { return s }
func wrap[T integer](s int64) T {
	return T(s)
}

// greater returns the greater of a and b, NaN if either is. It is for a running maximum, where it is a's
// turn most of the time and one comparison, foreseen, is enough.
func greater[T number](a, b T) T {
	if b <= a || a != a {
		return a
	}
	return b
}

// lesser returns the lesser of a and b, NaN if either is.
func lesser[T number](a, b T) T {
	if b >= a || a != a {
		return a
	}
	return b
}

// sum adds in pairs, and at the end in eight lanes, so that additions overlap and errors stay small.
func sum[T, S number](x []T) S {
	if len(x) > 256 {
		h := len(x) / 2 &^ 7
		return sum[T, S](x[:h]) + sum[T, S](x[h:])
	}
	var s0, s1, s2, s3, s4, s5, s6, s7 S
	for len(x) >= 8 {
		s0 += S(x[0])
		s1 += S(x[1])
		s2 += S(x[2])
		s3 += S(x[3])
		s4 += S(x[4])
		s5 += S(x[5])
		s6 += S(x[6])
		s7 += S(x[7])
		x = x[8:]
	}
	var tail S
	for _, v := range x {
		tail += S(v)
	}
	return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)) + tail
}

func sumLines[T, S number](state []S, x []T) {
	for r := len(state); len(x) >= r; x = x[r:] {
		line := x[:len(state)]
		for j := range state {
			state[j] += S(line[j])
		}
	}
}

// product multiplies in four lanes.
func product[T, S number](x []T) S {
	var p0, p1, p2, p3 S = 1, 1, 1, 1
	for len(x) >= 4 {
		p0 *= S(x[0])
		p1 *= S(x[1])
		p2 *= S(x[2])
		p3 *= S(x[3])
		x = x[4:]
	}
	p := (p0 * p1) * (p2 * p3)
	for _, v := range x {
		p *= S(v)
	}
	return p
}

func productLines[T, S number](state []S, x []T) {
	for r := len(state); len(x) >= r; x = x[r:] {
		line := x[:len(state)]
		for j := range state {
			state[j] *= S(line[j])
		}
	}
}

// shortRow is the length below which new maxima are too frequent for their branch to be foreseen.
const shortRow = 32

// greatest compares in four lanes. A lane that holds NaN keeps it, as nothing is greater.
func greatest[T number](x []T) T {
	m0 := x[0]
	if len(x) < shortRow {
		for _, v := range x {
			m0 = max(m0, v)
		}
		return m0
	}
	m1, m2, m3 := m0, m0, m0
	for len(x) >= 4 {
		m0 = greater(m0, x[0])
		m1 = greater(m1, x[1])
		m2 = greater(m2, x[2])
		m3 = greater(m3, x[3])
		x = x[4:]
	}
	for _, v := range x {
		m0 = greater(m0, v)
	}
	return greater(greater(m0, m1), greater(m2, m3))
}

func greatestLines[T number](state []T, x []T) {
	for r := len(state); len(x) >= r; x = x[r:] {
		line := x[:len(state)]
		for j, s := range state {
			state[j] = greater(s, line[j])
		}
	}
}

func least[T number](x []T) T {
	m0 := x[0]
	if len(x) < shortRow {
		for _, v := range x {
			m0 = min(m0, v)
		}
		return m0
	}
	m1, m2, m3 := m0, m0, m0
	for len(x) >= 4 {
		m0 = lesser(m0, x[0])
		m1 = lesser(m1, x[1])
		m2 = lesser(m2, x[2])
		m3 = lesser(m3, x[3])
		x = x[4:]
	}
	for _, v := range x {
		m0 = lesser(m0, v)
	}
	return lesser(lesser(m0, m1), lesser(m2, m3))
}

func leastLines[T number](state []T, x []T) {
	for r := len(state); len(x) >= r; x = x[r:] {
		line := x[:len(state)]
		for j, s := range state {
			state[j] = lesser(s, line[j])
		}
	}
}
