package cpu

import "math"

// The functions here compute in float64 what float32 results need: their relative error is below 1e-8, a
// tenth of a unit in the last place of a float32, before the result is rounded. The polynomials are
// Chebyshev fits (mpmath's chebyfit) over the stated intervals.

const (
	ln2   = math.Ln2
	log2e = math.Log2E

	// shifter is 1.5·2⁵²: adding it to a small x leaves the whole number nearest to x in the low bits.
	shifter = 0x1.8p52
)

// expParts returns p and s, a power of 2, with eˣ = s + s·p: p is e to the rest of x over ln 2, less 1. Beyond
// ±700 the result is that of ±700, which is infinite or zero in a float32.
func expParts(x float64) (p, s float64) {
	if x > 700 {
		x = 700
	} else if x < -700 {
		x = -700
	}
	t := float64(x*log2e) + shifter
	r := x - float64((t-shifter)*ln2)
	p = 0.00139412131000063345 + float64(r*0.000198993901836792308)
	p = 0.00833329834402309204 + float64(r*p)
	p = 0.0416663516384445757 + float64(r*p)
	p = 0.166666667193124809 + float64(r*p)
	p = 0.500000004740139344 + float64(r*p)
	p = r * (1 + float64(r*p))
	return p, math.Float64frombits((math.Float64bits(t) + 1023) << 52)
}

func expf(x float64) float64 {
	p, s := expParts(x)
	return s + float64(s*p)
}

// expm1f adds what is small first.
func expm1f(x float64) float64 {
	p, s := expParts(x)
	return float64(s*p) + (s - 1)
}

// logf splits x in a power of 2 and a fraction near 1, of which 2·artanh((f-1)/(f+1)) is the logarithm.
func logf(x float64) float64 {
	if x < 0 {
		return math.NaN()
	}
	e, l := logParts(x)
	if l != l {
		return math.Log(x)
	}
	return float64(e*ln2) + l
}

// logParts returns e and l with log x = e·ln 2 + l. For an x without a logarithm, or with an infinite one, l
// is NaN.
func logParts(x float64) (e, l float64) {
	if !(x > 0 && x <= math.MaxFloat64) {
		return 0, math.NaN()
	}
	b := math.Float64bits(x)
	k := int64(b-0x3fe6a09e667f3bcd) >> 52 // the exponent of x/√½
	f := math.Float64frombits(b - uint64(k)<<52)
	s := (f - 1) / (f + 1)
	w := s * s
	p := 0.285349762545869061 + float64(w*0.236178113589759186)
	p = 0.400003858508739204 + float64(w*p)
	p = 0.666666652417123906 + float64(w*p)
	return float64(k), s * (2.00000000000840193 + float64(w*p))
}

// log2f is exact for powers of 2, where the fraction's logarithm is 0.
func log2f(x float64) float64 {
	e, l := logParts(x)
	if l != l {
		return math.Log(x)
	}
	return e + float64(l*log2e)
}

func log10f(x float64) float64 { return logf(x) * (1 / math.Ln10) }

// log1pf corrects log(1+x) by what rounding 1+x has lost.
func log1pf(x float64) float64 {
	u := 1 + x
	if u > math.MaxFloat64 || !(u > 0) {
		return math.Log1p(x)
	}
	return logf(u) + (x-(u-1))/u
}

func exp2f(x float64) float64 { return expf(x * ln2) }

func tanhf(x float64) float64 {
	e := expm1f(2 * math.Abs(x))
	return math.Copysign(e/(e+2), x)
}

func sinhf(x float64) float64 {
	e := expm1f(math.Abs(x))
	return math.Copysign((e+e/(e+1))/2, x)
}

func coshf(x float64) float64 {
	e := expf(math.Abs(x))
	return (e + 1/e) / 2
}

func sigmoidf(x float64) float64 { return 1 / (1 + expf(-x)) }

// tail is where x·eˣ is zero in a float32.
const tail = -120

func siluf(x float64) float64 {
	if x < tail { // -∞·0 would be NaN
		return math.Copysign(0, -1)
	}
	return x / (1 + expf(-x))
}

func geluTanhf(x float64) float64 {
	if x < tail {
		return math.Copysign(0, -1)
	}
	u := 0.7978845608028654 * (x + float64(0.044715*x*x*x))
	return x / (1 + expf(-2*u))
}

func geluf(x float64) float64 {
	if x < tail {
		return math.Copysign(0, -1)
	}
	return 0.5 * x * erfcf(x*(-1/math.Sqrt2))
}

func softplusf(x float64) float64 { return max(x, 0) + log1pf(expf(-math.Abs(x))) }

// mishf is as the definition of Mish, see there.
func mishf(x float64) float64 {
	if x < tail {
		return math.Copysign(0, -1)
	}
	e := expf(-math.Abs(x))
	if x < 0 {
		n := e * (e + 2)
		return x * n / (n + 2)
	}
	return x * (1 + 2*e) / (1 + 2*e + float64(2*e*e))
}

func seluf(x float64) float64 {
	const scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
	if x > 0 {
		return scale * x
	}
	return scale * alpha * expm1f(x)
}

func eluf(x, alpha float64) float64 {
	if x > 0 {
		return x
	}
	return alpha * expm1f(x)
}

// erff is an odd polynomial near 0, and beyond 1 what erfcf leaves.
func erff(x float64) float64 {
	a := math.Abs(x)
	if !(a < 1) {
		return math.Copysign(1-erfcf(a), x)
	}
	w := x * x
	p := -0.000801686428716586953 + float64(w*0.0000787587506268548834)
	p = 0.00518908742343397399 + float64(w*p)
	p = -0.0268542120106264124 + float64(w*p)
	p = 0.112835947151602177 + float64(w*p)
	p = -0.37612626666720331 + float64(w*p)
	return x * (1.12837916584835095 + float64(w*p))
}

// erfcf is t·exp(P(t) - x²) with t = 2/(2+|x|), for |x| up to 11, where it is zero in a float32; the form is
// that of Press et al., "Numerical Recipes", 6.2.2.
func erfcf(x float64) float64 {
	z := min(math.Abs(x), 30)
	t := 2 / (2 + z)
	p := 0.352770713641018478 + float64(t*-0.0224215360755273982)
	p = -1.93283263094954685 + float64(t*p)
	p = 5.51237685295426075 + float64(t*p)
	p = -9.35471987423159009 + float64(t*p)
	p = 9.8990429201262048 + float64(t*p)
	p = -6.6537754536629335 + float64(t*p)
	p = 3.09466370629385872 + float64(t*p)
	p = -1.22157084552054914 + float64(t*p)
	p = 0.171938843599859456 + float64(t*p)
	p = 0.0407032236824130064 + float64(t*p)
	p = 0.379623002909160268 + float64(t*p)
	p = 0.999704811645785041 + float64(t*p)
	p = -1.26550373432590148 + float64(t*p)
	e := t * expf(p-float64(z*z))
	if x < 0 {
		return 2 - e
	}
	return e
}

// quarter splits x in a multiple k of π/2 and a rest within π/4. The first part of π/2 has 33 bits, so that its
// multiples are exact up to the limit of 2¹⁹.
func quarter(x float64) (k uint64, r float64) {
	const hi, lo = 0x1.921fb544p+0, 0x1.0b4611a626331p-34
	t := float64(x*(2/math.Pi)) + shifter
	n := t - shifter
	return math.Float64bits(t), (x - float64(n*hi)) - float64(n*lo)
}

const maxQuarter = 1 << 19

func sinf(x float64) float64 {
	if !(math.Abs(x) < maxQuarter) {
		return math.Sin(x)
	}
	k, r := quarter(x)
	if x == 0 {
		return x // of either sign
	}
	return sinQuarter(k, r)
}

func cosf(x float64) float64 {
	if !(math.Abs(x) < maxQuarter) {
		return math.Cos(x)
	}
	k, r := quarter(x)
	return sinQuarter(k+1, r)
}

// sinQuarter returns the sine of k·π/2 + r.
func sinQuarter(k uint64, r float64) float64 {
	w := r * r
	var y float64
	if k&1 == 0 {
		p := -0.000198391608315348035 + float64(w*2.71696430911018435e-6)
		p = 0.00833332864500319021 + float64(w*p)
		p = -0.166666666301705387 + float64(w*p)
		y = r * (0.99999999999545281 + float64(w*p))
	} else {
		p := -0.00138865725866984616 + float64(w*0.0000243756459871395891)
		p = 0.0416666151839830157 + float64(w*p)
		p = -0.49999999599265757 + float64(w*p)
		y = 0.999999999950071737 + float64(w*p)
	}
	if k&2 != 0 {
		return -y
	}
	return y
}

// powf is the general power; what is not a positive number to a finite power is left to math.Pow.
func powf(x, y float64) float64 {
	if !(x > 0 && x <= math.MaxFloat32 && math.Abs(y) <= math.MaxFloat32) || y == 0 {
		return math.Pow(x, y)
	}
	return expf(y * logf(x))
}
