package main

import "math"

// The functions on float32 compute in float32 with fused multiplications. Their polynomials are fits of least
// greatest error, of relative error below 2e-8 on the stated intervals; coefficients were rounded to float32
// one after the other, each time fitting the rest anew. internal/asm's tests hold them to the definitions.

var one32 = slot{size: 4}

func mathKernels(s *set, ks *kernels) {
	for _, f := range []struct {
		op   string
		body func(g *gen, x val) val
	}{
		{"exp", exp},
		{"exp2", exp2},
		{"expm1", expm1},
		{"log", func(g *gen, x val) val { return logarithm(g, x, natural) }},
		{"log2", func(g *gen, x val) val { return logarithm(g, x, binary) }},
		{"log1p", log1p},
		{"tanh", tanh},
		{"sigmoid", sigmoid},
		{"silu", silu},
		{"gelu", gelu},
		{"gelu_tanh", geluTanh},
		{"softplus", softplus},
		{"erf", erf},
		{"erfc", erfc},
		{"selu", selu},
		{"sinh", sinh},
		{"cosh", cosh},
		{"mish", mish},
		{"sin", func(g *gen, x val) val { return trig(g, x, 0) }},
		{"cos", func(g *gen, x val) val { return trig(g, x, 1) }},
	} {
		s.elementwise(ks, kernel{
			op: f.op, dtype: "float32", in: []slot{one32}, out: one32, lane: 4, heavy: true,
			body: func(g *gen, x []val) val { return f.body(g, x[0]) },
		})
	}
	for _, lone := range []bool{false, true} {
		s.elementwise(ks, kernel{
			op: "elu", dtype: "float32", in: []slot{one32, {size: 4, lone: lone}}, out: one32, lane: 4, heavy: true,
			body: func(g *gen, x []val) val { return elu(g, x[0], x[1], nil) },
		})
	}
}

const (
	// ln2Hi has 15 bits, so that its multiples by exponents are exact.
	ln2Hi = 0x1.62e4p-1
	ln2Lo = math.Ln2 - ln2Hi
)

// power is e to some x: p·2ⁿ, n a whole number.
type power struct{ p, n val }

// expParts returns eˣ in parts. Beyond lo and hi the result is that at the limit; NaN stays.
func expParts(g *gen, x val, lo, hi float64) power {
	x = g.lesser(g.f(hi), x)
	x = g.greater(g.f(lo), x)
	n := g.round(g.mul(x, g.f(math.Log2E)), toNearest)
	r := g.fnma(n, g.f(ln2Hi), x)
	r = g.fnma(n, g.f(ln2Lo), r)
	// |r| ≤ ½ ln 2
	q := g.poly(r, 0.4999999403953552, 0.16666512191295624, 0.041668299585580826, 0.008369827643036842, 0.0013820641906931996)
	p := g.fma(q, g.mul(r, r), r)
	return power{g.add(p, g.f(1)), n}
}

// scale returns x·2ⁿ, rounded once, for whole n from -252 to 254.
func (g *gen) scale(x, n val) val {
	if g.wide {
		return g.op2(g.VSCALEFPS, x, n)
	}
	i := g.toInt(n)
	h := g.sar(i, 1) // in two steps: 2ⁿ may be beyond a float32 where the result is not
	x = g.mul(x, g.shl(g.addI(h, g.u(127)), 23))
	return g.mul(x, g.shl(g.addI(g.subI(i, h), g.u(127)), 23))
}

// Where eˣ is 0 and ∞ in a float32, even if multiplied by some hundreds.
const (
	expLo = -115
	expHi = 95
)

func exp(g *gen, x val) val {
	e := expParts(g, x, expLo, expHi)
	return g.scale(e.p, e.n)
}

func exp2(g *gen, x val) val {
	x = g.lesser(g.f(140), x)
	x = g.greater(g.f(-160), x)
	n := g.round(x, toNearest)
	r := g.sub(x, n) // exact, |r| ≤ ½
	q := g.poly(r, 0.6931471824645996, 0.24022647738456726, 0.055503565818071365, 0.009618507698178291, 0.0013392806285992265, 0.0001532889436930418)
	return g.scale(g.fma(q, r, g.f(1)), n)
}

// expm1Parts returns p and n with eˣ = 2ⁿ + 2ⁿ·p.
func expm1Parts(g *gen, x val) power {
	n := g.round(g.mul(x, g.f(math.Log2E)), toNearest)
	r := g.fnma(n, g.f(ln2Hi), x)
	r = g.fnma(n, g.f(ln2Lo), r)
	q := g.poly(r, 0.5, 0.1666666567325592, 0.04166647791862488, 0.008333537727594376, 0.001393412472680211, 0.00019771314691752195)
	return power{g.fma(q, g.mul(r, r), r), n}
}

// expm1Of returns eˣ - 1 for an x from -20 to 88, where 2ⁿ is a float32.
func expm1Of(g *gen, x val) val {
	e := expm1Parts(g, x)
	two := g.shl(g.addI(g.toInt(e.n), g.u(127)), 23)
	return g.fma(e.p, two, g.sub(two, g.f(1)))
}

// expm1 halves 2ⁿ, which may be 2¹²⁸, and doubles the result.
func expm1(g *gen, x val) val {
	c := g.greater(g.f(-20), g.lesser(g.f(89), x))
	e := expm1Parts(g, c)
	half := g.shl(g.addI(g.toInt(e.n), g.u(126)), 23)
	y := g.fma(e.p, half, g.sub(half, g.f(0.5)))
	y = g.add(y, y)
	return g.sel(g.cmp(less, g.abs(x), g.f(0x1p-26)), x, y) // also the sign of a zero
}

// A base says which logarithm.
type base int

const (
	natural base = iota
	binary
)

// logParts returns k and f with x = 2ᵏ·(1+f), f from √½-1 to √2-1, for positive x.
func logParts(g *gen, x val) (k, f val) {
	small := g.cmp(less, x, g.f(0x1p-126))
	x = g.sel(small, g.mul(x, g.f(0x1p23)), x)
	// The bits less those of √½ have in their upper part the exponent that leaves a fraction of at least √½.
	b := g.subI(x, g.u(math.Float32bits(math.Sqrt2/2)))
	i := g.sar(b, 23)
	m := g.subI(x, g.shl(i, 23))
	k = g.toFloat(i)
	k = g.sel(small, g.sub(k, g.f(23)), k)
	return k, g.sub(m, g.f(1))
}

// logPoly returns y with log(1+f) = f + y.
func logPoly(g *gen, f val) val {
	p := g.poly(f, 0.3333333134651184, -0.2500081956386566, 0.2000124156475067, -0.166234090924263,
		0.14201581478118896, -0.1315961331129074, 0.12762199342250824, -0.07636399567127228)
	u := g.mul(f, f)
	t := g.fms(f, p, g.f(0.5))
	return g.mul(u, t)
}

// logEdges gives log its values where x is not a positive number.
func logEdges(g *gen, x, y val) val {
	y = g.sel(g.cmp(less, x, g.f(math.Inf(1))), y, x)           // ∞ and NaN stay
	y = g.sel(g.cmp(notEqual, x, g.f(0)), y, g.f(math.Inf(-1))) // either zero
	return g.or(y, g.negative(x))                               // NaN below 0
}

// negative is all ones, a NaN, where x is below 0, and 0 elsewhere.
func (g *gen) negative(x val) val {
	m := g.cmp(less, x, g.f(0))
	if !g.wide {
		return m
	}
	z := g.vec()
	g.VPMOVM2D(m, z)
	return z
}

func logarithm(g *gen, x val, b base) val {
	k, f := logParts(g, x)
	y := logPoly(g, f)
	if b == binary {
		return logEdges(g, x, g.add(k, log2Of(g, f, y)))
	}
	y = g.fma(k, g.f(ln2Lo), y)
	return logEdges(g, x, g.fma(k, g.f(ln2Hi), g.add(f, y)))
}

// log2Of returns (f + y)·log₂e.
func log2Of(g *gen, f, y val) val {
	return g.fma(f, g.f(math.Log2E), g.mul(y, g.f(math.Log2E)))
}

// log1pOf is log(1+x) for x above -1: what rounding 1+x has lost is added to the fraction.
func log1pOf(g *gen, x val) val {
	u := g.add(x, g.f(1))
	lost := g.sub(x, g.sub(u, g.f(1)))
	b := g.subI(u, g.u(math.Float32bits(math.Sqrt2/2)))
	i := g.sar(b, 23)
	f := g.sub(g.subI(u, g.shl(i, 23)), g.f(1))
	inverse := g.subI(g.u(math.Float32bits(1)), g.shl(g.leastI(i, g.u(126)), 23)) // 2⁻ᵏ, where it matters
	f = g.fma(lost, inverse, f)
	k := g.toFloat(i)
	y := g.fma(k, g.f(ln2Lo), logPoly(g, f))
	return g.fma(k, g.f(ln2Hi), g.add(f, y))
}

func log1p(g *gen, x val) val {
	y := log1pOf(g, x)
	y = g.sel(g.cmp(less, x, g.f(math.Inf(1))), y, x)
	y = g.sel(g.cmp(notEqual, x, g.f(-1)), y, g.f(math.Inf(-1)))
	y = g.sel(g.cmp(less, g.abs(x), g.f(0x1p-26)), x, y)
	return g.or(y, g.negative(g.add(x, g.f(1))))
}

// tanh is (e²ˣ-1)/(e²ˣ+1) of |x|.
func tanh(g *gen, x val) val {
	a := g.abs(x)
	e := expm1Of(g, g.lesser(g.f(20), g.add(a, a)))
	y := g.div(e, g.add(e, g.f(2)))
	y = g.sel(g.cmp(less, a, g.f(0x1p-13)), a, y)
	return g.or(y, g.sign(x))
}

// sigmoid is 1/(1+e⁻ˣ), and for negative x eˣ/(1+eˣ).
func sigmoid(g *gen, x val) val {
	e := exp(g, g.or(x, g.u(1<<31)))
	top := g.sel(g.cmp(less, x, g.f(0)), e, g.f(1))
	return g.div(top, g.add(e, g.f(1)))
}

// times is x·sigmoid(u), where u has x's sign: e to the negative u is multiplied by x before it is scaled, as it
// may be subnormal where the product is not.
func times(g *gen, x, u val) val {
	e := expParts(g, g.or(u, g.u(1<<31)), expLo, expHi)
	below := g.cmp(less, u, g.f(0))
	d := g.add(g.scale(e.p, e.n), g.f(1))
	tail := g.scale(g.div(g.mul(x, e.p), d), e.n)
	return g.sel(below, tail, g.div(x, d))
}

func silu(g *gen, x val) val { return times(g, g.greater(g.f(-150), x), x) }

func geluTanh(g *gen, x val) val {
	c := g.greater(g.f(-30), x)
	u := g.mul(c, g.f(2*0.7978845608028654))
	u = g.fma(g.mul(u, g.f(0.044715)), g.mul(c, c), u)
	return times(g, c, u)
}

// erfcParts returns erfc z, for z from 0 to 11, as q·p·2ⁿ: q is (1+2z)·erfc z·exp z² over 1+2z. Its square is
// s and what rounding that has lost.
func erfcParts(g *gen, z, s, lost val) (q val, e power) {
	w := g.fma(z, g.f(2), g.f(1))
	v := g.add(z, g.f(2))
	d := g.div(g.f(1), g.mul(w, v))
	t := g.mul(g.mul(g.sub(z, g.f(2)), w), d) // (z-2)/(z+2)
	q = g.poly(t, 1.2769783735275269, -0.09276392310857773, -0.16603097319602966, 0.1640547215938568, -0.05420723184943199,
		-0.008058423176407814, 0.008639145642518997, 0.001314261113293469, -0.0012365104630589485, -0.0004038166953250766)
	q = g.mul(g.mul(q, v), d)
	e = expParts(g, g.xor(s, g.u(1<<31)), -130, 0)
	return g.fnma(q, lost, q), e // exp(-lost) is 1 - lost
}

func erfc(g *gen, x val) val {
	z := g.lesser(g.f(11), g.abs(x))
	s := g.mul(z, z)
	q, e := erfcParts(g, z, s, g.fms(z, z, s))
	y := g.scale(g.mul(q, e.p), e.n)
	return g.sel(g.cmp(less, x, g.f(0)), g.sub(g.f(2), y), y)
}

// gelu is x·erfc(-x/√2)/2.
func gelu(g *gen, x val) val {
	c := g.greater(g.f(-15), x)
	c = g.lesser(g.f(15), c)
	h := g.mul(c, g.f(0.5))
	s := g.mul(h, c)
	q, e := erfcParts(g, g.abs(g.mul(c, g.f(math.Sqrt2/2))), s, g.fms(h, c, s))
	y := g.scale(g.mul(g.mul(h, q), e.p), e.n)
	return g.sel(g.cmp(lessEqual, x, g.f(0)), y, g.sub(x, y))
}

func softplus(g *gen, x val) val {
	y := log1pOf(g, exp(g, g.or(x, g.u(1<<31))))
	return g.add(y, g.greater(g.f(0), x))
}

// erf is an odd polynomial up to 1, and beyond it 1 - exp(-P(|x|)).
func erf(g *gen, x val) val {
	a := g.lesser(g.f(4), g.abs(x))
	u := g.mul(x, x)
	near := g.poly(u, 0.12837916612625122, -0.3761262595653534, 0.11283578723669052, -0.026853347197175026,
		0.005187162198126316, -0.0007997853099368513, 7.806903158780187e-05)
	near = g.fma(near, x, x)
	l := g.poly(a, -0.0003124696668237448, -1.1272022724151611, -0.6379650235176086, -0.10325615853071213,
		0.02190644107758999, -0.0029639932326972485, 0.00018796991207636893)
	e := expParts(g, l, -20, 0)
	two := g.shl(g.addI(g.toInt(e.n), g.u(127)), 23)
	far := g.or(g.fnma(e.p, two, g.f(1)), g.sign(x))
	return g.sel(g.cmp(less, a, g.f(1)), near, far)
}

// trig is the sine of x, moved by quarter turns, for |x| below 1e5: a multiple of π/2 is subtracted in three
// parts, of which the first is exact.
func trig(g *gen, x val, quarters uint32) val {
	const p1, p2, p3 = 0x1.921fb6p0, -0x1.777a5cp-25, -0x1.ee59dap-50
	n := g.round(g.mul(x, g.f(2/math.Pi)), toNearest)
	r := g.fnma(n, g.f(p1), x)
	r = g.fnma(n, g.f(p2), r)
	r = g.fnma(n, g.f(p3), r)
	k := g.toInt(n)
	if quarters > 0 {
		k = g.addI(k, g.u(quarters))
	}
	w := g.mul(r, r)
	sin := g.poly(w, -0.16666655242443085, 0.008332190103828907, -0.0001951840822584927)
	sin = g.fma(g.mul(sin, w), r, r)
	cos := g.poly(w, 0.04166664555668831, -0.0013887309469282627, 2.4432327336398885e-05)
	cos = g.fma(cos, w, g.f(-0.5))
	cos = g.fma(cos, w, g.f(1))
	y := g.sel(g.bitMask(k, 0), cos, sin)
	y = g.xor(y, g.shl(g.and(k, g.u(2)), 30))
	if quarters == 0 {
		y = g.sel(g.cmp(notEqual, x, g.f(0)), y, x) // of either sign
	}
	return y
}

const (
	seluScale = 1.0507009873554804934193349852946
	seluAlpha = 1.6732632423543772848170429916717
)

func selu(g *gen, x val) val { return elu(g, x, g.f(seluScale*seluAlpha), g.f(seluScale)) }

// elu is x, times slope if there is one, above 0 and alpha·(eˣ-1) below.
func elu(g *gen, x, alpha, slope val) val {
	y := expm1Of(g, g.greater(g.f(-20), g.lesser(g.f(1), x)))
	y = g.sel(g.cmp(less, g.abs(x), g.f(0x1p-26)), x, y)
	y = g.mul(y, alpha)
	right := x
	if slope != nil {
		right = g.mul(x, slope)
	}
	return g.sel(g.cmp(greaterThan, x, g.f(0)), right, y)
}

// sinh is (e + e/(e+1))/2 with e = e^|x| - 1, of which a quarter is computed, as e may be ∞ where sinh is not.
func sinh(g *gen, x val) val {
	a := g.lesser(g.f(89.7), g.abs(x))
	e := expm1Parts(g, a)
	quarter := g.shl(g.addI(g.toInt(e.n), g.u(125)), 23)
	h := g.fma(e.p, quarter, g.sub(quarter, g.f(0.25)))
	q := g.div(g.add(h, h), g.fma(h, g.f(4), g.f(1)))
	// For great x the divisor may be ∞: the quotient is then ½, and lost beside the rest.
	y := g.fma(h, g.f(2), g.sel(g.cmp(less, a, g.f(30)), q, g.f(0.5)))
	y = g.sel(g.cmp(less, a, g.f(0x1p-13)), a, y)
	return g.or(y, g.sign(x))
}

// cosh is e/2 + 1/(2e).
func cosh(g *gen, x val) val {
	e := expParts(g, g.abs(x), 0, 91)
	h := g.scale(g.mul(e.p, g.f(0.5)), e.n)
	return g.add(h, g.div(g.f(0.25), h))
}

// mish is x·n/(n+2) with n = e(e+2), e = eˣ; for positive x both are divided by e².
func mish(g *gen, x val) val {
	c := g.greater(g.f(-150), x)
	parts := expParts(g, g.or(x, g.u(1<<31)), expLo, expHi)
	e := g.scale(parts.p, parts.n)
	m := g.add(e, g.f(2))
	lower := g.mul(g.mul(c, parts.p), m)
	lower = g.scale(g.div(lower, g.fma(e, m, g.f(2))), parts.n)
	t := g.fma(e, g.f(2), g.f(1))
	upper := g.div(g.mul(x, t), g.fma(g.mul(e, e), g.f(2), t))
	return g.sel(g.cmp(less, x, g.f(0)), lower, upper)
}
