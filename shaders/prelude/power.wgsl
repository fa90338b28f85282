// Powers, roots, exponentials and logarithms. WGSL's own are far off by its rules: exp by 3 + 2|x| units in the
// last place, log near 1 by 2⁻²¹. The polynomials are printed by coefficients.py.

// ln 2 in two parts: multiples of the first by up to 2¹⁴ are exact.
const LN2_HIGH_: f32 = 0.693359375;
const LN2_LOW_: f32 = -2.12194440e-4;
const LN2_: f32 = 0.69314718;
const LOG2E_: f32 = 1.44269504;

// sqrt_ is √x rounded correctly, whatever the builtin does: its root of the significand, an integer, is put right
// by the exact remainder.
fn sqrt_(x: f32) -> f32 {
    let b = bitcast<u32>(x);
    if (b == 0x80000000u || b - 1u >= 0x7f7fffffu) { // zeros, infinities, NaN and what is negative
        return nan_if_(x, b > 0x80000000u);
    }
    let up = max(countLeadingZeros(b), 8u) - 8u; // of a subnormal
    let n = b << up;
    let m = (n & 0x7fffffu) | 0x800000u;
    let e = i32(n >> 23u) - i32(up) - 150; // x = m·2ᵉ
    let odd = u32(e & 1);
    // y = √(m·2²⁴), or √(m·2²³) if that leaves an even exponent
    let scaled = select(f32(m), f32(m) * 0.5, odd == 1u);
    let square = m << (24u - odd);
    var y = u32(sqrt(scaled) * 4096.0);
    let off = bitcast<i32>(square - y * y); // modulo 2³², which is enough
    y = y + bitcast<u32>(i32(round(f32(off) / (2.0 * f32(y)))));
    let rest = bitcast<i32>(square - y * y);
    y = y + select(0u, 1u, rest > i32(y)) - select(0u, 1u, rest <= -i32(y));
    let half = (e - 24 + i32(odd)) / 2; // even
    return bitcast<f32>((u32(half + 149) << 23u) + y);
}

// rsqrt_ is 1/√x, by a Newton step on the builtin.
fn rsqrt_(x: f32) -> f32 {
    let s = lift_(x);
    let r = inverseSqrt(s);
    let y = (r + r * (0.5 - 0.5 * (s * r) * r)) * select(1.0, 3.7778932e22, subnormal_(x)); // 2⁷⁵
    let b = bitcast<u32>(x);
    var o = bitcast<u32>(y);
    o = select(o, select(0x7fc00000u, 0u, b == 0x7f800000u), b >= 0x7f800000u); // 0 for ∞
    return bitcast<f32>(select(o, b | 0x7f800000u, !truth_(x)));
}

// cbrt_ takes Halley's steps from a third of the exponent.
fn cbrt_(x: f32) -> f32 {
    let big = abs(x) > 1e30;
    let small = abs(x) < 1e-25 && !subnormal_(x); // whose cubes would lose bits
    let a = lift_(x) * select(select(1.0, 1.1529215e18, small), 5.9604645e-8, big); // 2⁶⁰, 2⁻²⁴
    var t = bitcast<f32>(bitcast<u32>(a) / 3u + 709958130u);
    for (var i = 0u; i < 3u; i = i + 1u) {
        let r = t * t * t;
        t = t + t * ((a - r) / (a + r + r));
    }
    t = t * select(select(select(1.0, 8.8817842e-16, subnormal_(x)), 9.5367432e-7, small), 256.0, big); // 2⁻⁵⁰, 2⁻²⁰, 2⁸
    return select(x, copysign_(t, x), truth_(x) && isfinite_(x));
}

// pow2_ is 2ⁿ for n in [-126, 127].
fn pow2_(n: i32) -> f32 { return bitcast<f32>(u32(n + 127) << 23u); }

// scale_ is x·2ⁿ for n in [-252, 254], rounded once.
fn scale_(x: f32, n: i32) -> f32 {
    let half = n >> 1u;
    return (x * pow2_(half)) * pow2_(n - half);
}

// exp_tail_ is (eʳ - 1 - r)/r² for |r| <= ln(2)/2.
fn exp_tail_(r: f32) -> f32 {
    return (((0.0013862404 * r + 0.008366673) * r + 0.041667525) * r + 0.16666542) * r + 0.49999997;
}

// exp_rest_ is eˣ·2⁻ᵏ for k the whole number next to x/ln 2.
fn exp_rest_(x: f32, k: f32) -> f32 {
    let r = (x - k * LN2_HIGH_) - k * LN2_LOW_;
    return (exp_tail_(r) * r) * r + r + 1.0;
}

// exp_scale_ is eˣ·2ⁿ for n in [-35, 37].
fn exp_scale_(x: f32, n: i32) -> f32 {
    let c = clamp(x, -150.0, 150.0);
    let k = round(c * LOG2E_);
    return keep_nan_(scale_(exp_rest_(c, k), i32(k) + n), x);
}

// exp_normal_ is eˣ·2ⁿ where that is neither subnormal nor infinite, and of NaN anything.
fn exp_normal_(x: f32, n: i32) -> f32 {
    let k = round(x * LOG2E_);
    return bitcast<f32>(bitcast<i32>(exp_rest_(x, k)) + ((i32(k) + n) << 23u));
}

fn exp_(x: f32) -> f32 { return exp_scale_(x, 0); }

fn exp2_(x: f32) -> f32 {
    let c = clamp(x, -200.0, 200.0);
    let k = round(c);
    return keep_nan_(scale_(exp2_near_(c - k), i32(k)), x);
}

// exp2_near_ is 2ʳ for |r| <= 1/2.
fn exp2_near_(r: f32) -> f32 {
    let p = ((((0.00015238006 * r + 0.0013391137) * r + 0.009618841) * r + 0.055503592) * r + 0.24022645) * r;
    return (p + 0.6931472) * r + 1.0;
}

fn expm1_(x: f32) -> f32 {
    if (x > 17.0) {
        return exp_(x) - 1.0;
    }
    let c = clamp(x, -40.0, 17.0);
    let k = round(c * LOG2E_);
    let r = (c - k * LN2_HIGH_) - k * LN2_LOW_;
    let q = (exp_tail_(r) * r) * r + r;
    let t = pow2_(i32(k));
    return keep_nan_(select(t * q + (t - 1.0), x, abs(x) < 1e-8), x);
}

// split_ gives f and k of x = (1 + f)·2ᵏ, with 1 + f in [√½, √2), for positive x: subnormal ones too.
fn split_(x: f32) -> vec2<f32> {
    let b = bitcast<u32>(x);
    let up = max(countLeadingZeros(b), 8u) - 8u;
    let n = (b << up) + 0x004afb0du; // 1 less √½, as bits
    let m = bitcast<f32>((n & 0x7fffffu) + 0x3f3504f3u);
    return vec2<f32>(m - 1.0, f32(i32(n >> 23u) - 127 - i32(up)));
}

// log_tail_ is log(1 + f) - f for 1 + f in [√½, √2).
fn log_tail_(f: f32) -> f32 {
    var p = (0.06684156 * f - 0.11655146) * f + 0.11905413;
    p = ((p * f - 0.12409747) * f + 0.14217563) * f - 0.16667727;
    p = ((p * f + 0.20002227) * f - 0.25000015) * f + 0.3333331;
    return f * f * (p * f - 0.5);
}

// log_domain_ is r, and of the x that have no finite logarithm what they have.
fn log_domain_(r: f32, x: f32) -> f32 {
    let b = bitcast<u32>(x);
    let out = select(bitcast<u32>(r), select(0x7fc00000u, b, b == 0x7f800000u), b >= 0x7f800000u);
    return bitcast<f32>(select(out, 0xff800000u, !truth_(x)));
}

fn log_(x: f32) -> f32 {
    let s = split_(x);
    let tail = log_tail_(s.x) + s.y * LN2_LOW_;
    return log_domain_((s.x + tail) + s.y * LN2_HIGH_, x);
}

fn log2_(x: f32) -> f32 {
    let s = split_(x);
    let tail = log_tail_(s.x);
    let fraction = (tail + s.x) * 0.44269504 + tail; // log₂ e is 1 more
    return log_domain_((fraction + s.x) + s.y, x);
}

fn log10_(x: f32) -> f32 {
    let s = split_(x);
    let tail = log_tail_(s.x);
    // log₁₀ e and log₁₀ 2 in two parts
    let small = (s.x + tail) * 7.0073190e-4 + s.y * 2.4874566e-4;
    return log_domain_(((small + tail * 0.43359375) + s.x * 0.43359375) + s.y * 0.30078125, x);
}

fn log1p_(x: f32) -> f32 {
    if (x > -0.2928 && x < 0.4142) {
        return select(x + log_tail_(x), x, abs(x) < 1e-8);
    }
    return log_(1.0 + x);
}

fn logaddexp_(x: f32, y: f32) -> f32 {
    let m = maximum_(x, y);
    let d = select(abs(x - y), 0.0, x == y); // of infinities too, whose difference is NaN
    return keep_nan_(m + log1p_(exp_(-d)), m);
}

// hypot_ brings the exponent of the greater operand to 0, or to 1 if it is the greatest.
fn hypot_(x: f32, y: f32) -> f32 {
    let a = max(abs(x), abs(y));
    let e = clamp(i32(bitcast<u32>(a) >> 23u) - 127, -126, 126);
    let s = pow2_(-e);
    let u = x * s;
    let v = y * s;
    let h = sqrt_(u * u + v * v) * pow2_(e);
    if (isinf_(x) || isinf_(y)) {
        return bitcast<f32>((bitcast<u32>(h) & 0u) | 0x7f800000u);
    }
    return nan_if_(h, isnan_(x) || isnan_(y));
}

// upper_ is x with the lower half of its significand cut off: products of such numbers are exact.
fn upper_(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u); }

// log2_twice_ is log₂ x of positive finite x as the sum of two floats, the first of 12 bits: to some 33 bits,
// since pow multiplies it by up to 2³⁰.
fn log2_twice_(x: f32) -> vec2<f32> {
    let s = split_(x);
    let f = s.x;
    // u = f/(2 + f), in two parts; log(1 + f) = 2 atanh u
    let d = 2.0 + f;
    let u = f / d;
    let uh = upper_(u);
    let dh = upper_(d);
    let dl = f - (dh - 2.0);
    let ul = ((f - uh * dh) - uh * dl) / d;
    let w = u * u;
    let tail = ul + u * w * (((0.11709538 * w + 0.14273553) * w + 0.20000076) * w + 0.33333333);
    let h = upper_(uh + tail);
    let l = tail - (h - uh);
    // times 2/ln 2, and the exponent added
    let ph = h * 2.884765625;
    let pl = h * 6.2445679e-4 + l * 2.8853901;
    let z = upper_(s.y + (ph + pl));
    return vec2<f32>(z, pl - ((z - s.y) - ph));
}

// pow_ is 2^(y·log₂ x), and the rules of IEEE 754 around it.
fn pow_(x: f32, y: f32) -> f32 {
    let ax = magnitude_(x);
    let ay = abs(y);
    let whole = ay >= 16777216.0 || floor(y) == y;
    let odd = ay < 16777216.0 && whole && (i32(clamp(y, -16777216.0, 16777216.0)) & 1) == 1;
    let sign = select(0u, bitcast<u32>(x) & 0x80000000u, odd);
    let one = !truth_(y) || bitcast<u32>(x) == 0x3f800000u;
    if (one || isnan_(x) || isnan_(y)) {
        return bitcast<f32>(select(bitcast<u32>(x + y) | 0x7fc00000u, 0x3f800000u, one));
    }
    if (!truth_(x) || isinf_(x)) { // 0 or ∞
        let large = (bitcast<u32>(y) >> 31u == 1u) != isinf_(x);
        return bitcast<f32>(sign | select(0u, 0x7f800000u, large));
    }
    if (y == 2.0) {
        return x * x;
    }
    let l = log2_twice_(ax);
    let c = clamp(y, -4294967296.0, 4294967296.0); // beyond, the result is 0, 1 or ∞ as well
    let ch = upper_(c);
    let ph = ch * l.x;
    let pl = (c - ch) * l.x + c * l.y;
    let z = clamp(ph + pl, -200.0, 200.0);
    let k = round(z);
    let r = select((ph - k) + pl, 0.0, abs(z) == 200.0);
    let p = scale_(exp2_near_(r), i32(k));
    return nan_if_(bitcast<f32>(bitcast<u32>(p) | sign), bitcast<u32>(x) >> 31u == 1u && !whole);
}
