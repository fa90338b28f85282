// Trigonometric and hyperbolic functions. WGSL's own have errors of 2⁻¹¹ and are for [-π, π] alone. The polynomials
// are printed by coefficients.py.

const HALF_PI_: f32 = 1.57079633;
const QUARTER_PI_: f32 = 0.78539816;

// reduce_ is x less a multiple of π/2, in [-π/4, π/4], and that multiple, modulo 4.
fn reduce_(x: f32) -> vec2<f32> {
    if (abs(x) > 20000.0) {
        return reduce_large_(x);
    }
    // π/2 in four parts (Cody and Waite): the first three have 10 bits, so that their multiples are exact
    let k = round(x * 0.63661977);
    let r = ((x - k * 1.5703125) - k * 4.8351287841796875e-4) - k * 3.1385570764541626e-7;
    return vec2<f32>(r - k * 6.0771006e-11, f32(i32(k) & 3));
}

// reduce_large_ multiplies the significand of x by the 96 bits of 2/π that count: those above give multiples of 4
// (Payne and Hanek).
fn reduce_large_(x: f32) -> vec2<f32> {
    var bits = array<u32, 9>(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
        0xfe5163abu, 0xdebbc561u);
    let b = bitcast<u32>(x) & 0x7fffffffu;
    let m = (b & 0x7fffffu) | 0x800000u;
    let first = min(b >> 23u, 254u) - 120u; // the bit of weight 2, counted from the top of the array
    let word = first >> 5u;
    let s = first & 31u;
    let back = 31u - s;
    let w0 = (bits[word] << s) | ((bits[word + 1u] >> 1u) >> back);
    let w1 = (bits[word + 1u] << s) | ((bits[word + 2u] >> 1u) >> back);
    let w2 = (bits[word + 2u] << s) | ((bits[word + 3u] >> 1u) >> back);
    // the product modulo 4: two bits before the point, 94 after it
    let p2 = mul32_(m, w2);
    let p1 = add64_(mul32_(m, w1), vec2<u32>(p2.y, 0u));
    let p0 = m * w0 + p1.y;
    let low = (p1.x << 2u) | (p2.x >> 30u);
    let fraction = vec2<u32>(low, (p0 << 2u) | (p1.x >> 30u)); // in units of 2⁻⁶⁴, of which the top one is a sign
    let q = (p0 >> 30u) + (fraction.y >> 31u);
    let a = abs64_(fraction);
    let up = countLeadingZeros(a.y); // never 32: no float is that near to a multiple of π/2
    let top = shift_left64_(a, vec2<u32>(up, 0u));
    let r = f32(top.y >> 8u) * pow2_(-24 - i32(up)) + f32(((top.y & 255u) << 16u) | (top.x >> 16u)) * pow2_(-48 - i32(up));
    let turn = select(r, -r, negative64_(fraction)) * HALF_PI_;
    let flip = bitcast<u32>(x) >> 31u == 1u;
    return vec2<f32>(select(turn, -turn, flip), f32(select(q, 4u - (q & 3u), flip) & 3u));
}

fn sin_near_(r: f32) -> f32 {
    let w = r * r;
    return r + r * (w * ((-0.00019518622 * w + 0.008332191) * w - 0.16666655));
}

fn cos_near_(r: f32) -> f32 {
    let w = r * r;
    return (1.0 - 0.5 * w) + (w * w) * ((2.4432768e-5 * w - 0.0013887312) * w + 0.041666646);
}

// quarter_ is the sine of the angle that reduce_ gave, q quarter turns on.
fn quarter_(a: vec2<f32>, q: i32) -> f32 {
    let n = i32(a.y) + q;
    let s = select(sin_near_(a.x), cos_near_(a.x), (n & 1) == 1);
    return select(s, -s, (n & 2) == 2);
}

fn sin_(x: f32) -> f32 {
    return nan_if_(select(quarter_(reduce_(x), 0), x, abs(x) < 1e-4), !isfinite_(x));
}

fn cos_(x: f32) -> f32 { return nan_if_(quarter_(reduce_(x), 1), !isfinite_(x)); }

fn tan_(x: f32) -> f32 {
    let a = reduce_(x);
    let w = a.x * a.x;
    var p = (0.0043123807 * w + 0.00022720688) * w + 0.010719439;
    p = ((p * w + 0.021330824) * w + 0.054049555) * w + 0.13332766;
    let t = a.x + a.x * (w * (p * w + 0.33333346));
    let r = select(t, -1.0 / t, (i32(a.y) & 1) == 1);
    return nan_if_(select(r, x, abs(x) < 1e-4), !isfinite_(x));
}

// asin_near_ is asin x for |x| <= 1/2.
fn asin_near_(x: f32) -> f32 {
    let w = x * x;
    let p = (((0.041817795 * w + 0.024395505) * w + 0.04542394) * w + 0.07495695) * w + 0.16666742;
    return x + x * (w * p);
}

fn asin_(x: f32) -> f32 {
    let a = abs(x);
    if (a <= 0.5) {
        return asin_near_(x);
    }
    let r = HALF_PI_ - 2.0 * asin_near_(sqrt_(0.5 - 0.5 * a));
    return nan_if_(copysign_(r, x), !(a <= 1.0) || isnan_(x));
}

fn acos_(x: f32) -> f32 {
    let a = abs(x);
    if (a <= 0.5) {
        return HALF_PI_ - (asin_near_(x) + 4.3711388e-8); // the rest of π/2, negated
    }
    let r = 2.0 * asin_near_(sqrt_(0.5 - 0.5 * a));
    return nan_if_(select(r, 3.14159265 - r, x < 0.0), !(a <= 1.0) || isnan_(x));
}

// atan_quotient_ is atan(y/x) for positive y and x, in [0, π/2].
fn atan_quotient_(y: f32, x: f32) -> f32 {
    let swap = y > x;
    let q = div_(min(x, y), max(x, y));
    let half = q > 0.41421356; // then atan q = π/4 + atan((q - 1)/(q + 1))
    let t = select(q, (q - 1.0) / (q + 1.0), half);
    let w = t * t;
    let p = (((-0.060932487 * w + 0.106003985) * w - 0.14244543) * w + 0.19998534) * w - 0.33333316;
    let r = t + t * (w * p);
    let a = select(r, QUARTER_PI_ + r, half);
    return select(a, (HALF_PI_ - a) - 4.3711388e-8, swap);
}

fn atan_(x: f32) -> f32 {
    return keep_nan_(select(copysign_(atan_quotient_(abs(x), 1.0), x), x, abs(x) < 1e-4), x);
}

// atan2_ is the angle of the point (x, y).
fn atan2_(y: f32, x: f32) -> f32 {
    let far = isinf_(x) && isinf_(y);
    let near = subnormal_(x) && subnormal_(y); // zeros too: atan2(0, 0) is 0 or π
    let ax = select(select(abs(x), lift_(x), near), 1.0, far || (!truth_(x) && !truth_(y)));
    let a = atan_quotient_(select(select(abs(y), lift_(y), near), 1.0, far), ax);
    let r = select(a, (3.14159265 - a) - 8.7422777e-8, bitcast<u32>(x) >> 31u == 1u);
    return nan_if_(copysign_(r, y), isnan_(x) || isnan_(y));
}

fn sinh_(x: f32) -> f32 {
    let a = abs(x);
    if (a < 1.0) {
        let w = x * x;
        return x + x * (w * (((2.788461e-6 * w + 0.00019841909) * w + 0.008333314) * w + 0.16666667));
    }
    return copysign_(exp_scale_(a, -1) - exp_scale_(-a, -1), x);
}

fn cosh_(x: f32) -> f32 {
    let a = abs(x);
    return exp_scale_(a, -1) + exp_scale_(-a, -1);
}

// tanh_ is 1 beyond 9.1, to the last place. Builtins overflow on some devices: 0 from 43.7 on, NaN from 44.4.
fn tanh_(x: f32) -> f32 {
    let a = min(abs(x), 10.0);
    let w = a * a;
    let p = (((-0.0057249353 * w + 0.02065912) * w - 0.05374677) * w + 0.13331543) * w - 0.33333287;
    let r = select(1.0 - 2.0 / (exp_(a + a) + 1.0), a + a * (w * p), a < 0.625);
    return keep_nan_(copysign_(r, x), x);
}

fn asinh_(x: f32) -> f32 {
    let a = abs(x);
    if (a < 1.0) {
        let w = x * x;
        var p = (0.00067050825 * w - 0.0038254566) * w + 0.010411562;
        p = ((p * w - 0.019167643) * w + 0.02945064) * w - 0.044486806;
        return select(x + x * (w * ((p * w + 0.07498708) * w - 0.1666663)), x, a < 1e-4);
    }
    let big = a > 1e9;
    let l = log_(select(a + sqrt_(a * a + 1.0), a, big));
    return copysign_(select(l, l + LN2_, big), x);
}

fn acosh_(x: f32) -> f32 {
    if (x > 1e9) {
        return log_(x) + LN2_;
    }
    let t = x - 1.0;
    return nan_if_(log1p_(t + sqrt_(t * (t + 2.0))), !(x >= 1.0) || isnan_(x));
}

fn atanh_(x: f32) -> f32 {
    let a = abs(x);
    if (a < 0.5) {
        let w = x * x;
        var p = (0.17037494 * w + 0.029483138) * w + 0.101084754;
        p = ((p * w + 0.10997617) * w + 0.14292118) * w + 0.19999844;
        return x + x * (w * (p * w + 0.33333334));
    }
    return nan_if_(copysign_(0.5 * log1p_(div_(a + a, 1.0 - a)), x), a > 1.0 || isnan_(x));
}
