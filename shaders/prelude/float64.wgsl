// Float64, held as f64 by the devices that have it and u64. A kernel on Float64 calls name_f64_ where one on Float32 calls
// name_; where there is none the device lacks the operation. Compilers take f64 for as free of NaN and infinity as f32,
// so what these are is asked of the bits: vec2<u32>, the low word first, as Int64 is held.

fn bits_f64_(x: f64) -> vec2<u32> {
    let u = bitcast<u64>(x);
    return vec2<u32>(u32(u), u32(u >> 32u));
}

fn value_f64_(low: u32, high: u32) -> f64 { return bitcast<f64>((u64(high) << 32u) | u64(low)); }

fn seal_f64_(x: f64, zero: u32) -> f64 {
    let b = bits_f64_(x);
    return value_f64_(b.x | zero, b.y);
}

// magnitude_bits_f64_ are the bits of |x|, order_f64_ an Int64 that numbers the floats in their order, both zeros as 0.
fn magnitude_bits_f64_(x: f64) -> vec2<u32> { return bits_f64_(x) & vec2<u32>(0xffffffffu, 0x7fffffffu); }

fn order_f64_(x: f64) -> vec2<u32> {
    let m = magnitude_bits_f64_(x);
    return select(m, neg64_(m), negative_f64_(x));
}

fn negative_f64_(x: f64) -> bool { return bits_f64_(x).y >> 31u == 1u; }

fn isnan_f64_(x: f64) -> bool {
    let m = magnitude_bits_f64_(x);
    return m.y > 0x7ff00000u || (m.y == 0x7ff00000u && m.x != 0u);
}

fn isinf_f64_(x: f64) -> bool { return all(magnitude_bits_f64_(x) == vec2<u32>(0u, 0x7ff00000u)); }

fn isfinite_f64_(x: f64) -> bool { return magnitude_bits_f64_(x).y < 0x7ff00000u; }

fn truth_f64_(x: f64) -> bool { return any(magnitude_bits_f64_(x) != vec2<u32>()); }

// nan_if_f64_ is r, and NaN where bad; keep_nan_f64_ is r, and NaN where x is.
fn nan_if_f64_(r: f64, bad: bool) -> f64 {
    let b = select(bits_f64_(r), vec2<u32>(0u, 0x7ff80000u), bad);
    return value_f64_(b.x, b.y);
}

fn keep_nan_f64_(r: f64, x: f64) -> f64 {
    let b = select(bits_f64_(r), bits_f64_(x), isnan_f64_(x));
    return value_f64_(b.x, b.y);
}

fn same_f64_(x: f64, y: f64) -> bool { return all(bits_f64_(x) == bits_f64_(y)); }

fn equal_f64_(x: f64, y: f64) -> bool { return all(order_f64_(x) == order_f64_(y)) && !isnan_f64_(x); }

fn less_f64_(x: f64, y: f64) -> bool {
    return less64_(order_f64_(x), order_f64_(y)) && !isnan_f64_(x) && !isnan_f64_(y);
}

fn less_equal_f64_(x: f64, y: f64) -> bool {
    return !less64_(order_f64_(y), order_f64_(x)) && !isnan_f64_(x) && !isnan_f64_(y);
}

fn maximum_f64_(x: f64, y: f64) -> f64 { return select(y, x, isnan_f64_(x) || less_f64_(y, x)); }

fn minimum_f64_(x: f64, y: f64) -> f64 { return select(y, x, isnan_f64_(x) || less_f64_(x, y)); }

fn fmax_f64_(x: f64, y: f64) -> f64 { return select(y, x, isnan_f64_(y) || less_f64_(y, x)); }

fn fmin_f64_(x: f64, y: f64) -> f64 { return select(y, x, isnan_f64_(y) || less_f64_(x, y)); }

fn sign_f64_(x: f64) -> f64 {
    let s = select(1.0lf, -1.0lf, negative_f64_(x));
    return keep_nan_f64_(select(0.0lf, s, truth_f64_(x)), x);
}

fn copysign_f64_(x: f64, y: f64) -> f64 {
    let m = magnitude_bits_f64_(x);
    return value_f64_(m.x, m.y | (bits_f64_(y).y & 0x80000000u));
}

fn ceil_f64_(x: f64) -> f64 { return copysign_f64_(ceil(x), x); }
fn round_f64_(x: f64) -> f64 { return copysign_f64_(round(x), x); }
fn trunc_f64_(x: f64) -> f64 { return copysign_f64_(trunc(x), x); }

fn sub_f64_(x: f64, y: f64) -> f64 { return nan_if_f64_(x - y, !isfinite_f64_(x) && same_f64_(x, y)); }

fn div_f64_(x: f64, y: f64) -> f64 {
    return nan_if_f64_(x / y, same_f64_(x, y) && (!isfinite_f64_(x) || !truth_f64_(x)));
}

// sqrt_f64_ is rounded correctly, whatever the builtin and the arithmetic around it do: of x brought to m in [1, 4), y is near the
// root. As integers of 53 bits, or one more, that is the y for which y² - y < s <= y² + y, where s is m·2¹⁰⁴. The low 64 bits of
// the difference s - y² say how far it is off.
fn sqrt_f64_(x: f64) -> f64 {
    if (!truth_f64_(x) || !isfinite_f64_(x) || negative_f64_(x)) {
        return nan_if_f64_(x, isnan_f64_(x) || (negative_f64_(x) && truth_f64_(x)));
    }
    let small = bits_f64_(x).y < 0x00100000u;
    let b = bits_f64_(select(x, x * 18014398509481984.0lf, small)); // 2⁵⁴
    let n = i32(b.y >> 20u) - 1023 - select(0, 54, small);
    let odd = n & 1;
    let m = value_f64_(b.x, (b.y & 0xfffffu) | ((1023u + u32(odd)) << 20u));
    var near = sqrt(m);
    near = near + square_rest_f64_(m, near) / (near + near);
    let c = bits_f64_(clamp(near, 1.0lf, 1.9999999999999998lf));
    var y = vec2<u32>(c.x, (c.y & 0xfffffu) | 0x100000u);
    var off = sub64_(vec2<u32>(0u, (b.x << u32(odd)) << 20u), mul64_(y, y));
    for (var k = 0; k < 8; k++) {
        if (less64_(y, off)) {
            off = sub64_(off, add64_(add64_(y, y), vec2<u32>(1u, 0u)));
            y = add64_(y, vec2<u32>(1u, 0u));
        } else if (!less64_(neg64_(y), off)) {
            y = sub64_(y, vec2<u32>(1u, 0u));
            off = add64_(off, add64_(add64_(y, y), vec2<u32>(1u, 0u)));
        }
    }
    return value_f64_(y.x, (y.y & 0xfffffu) | 0x3ff00000u) * pow2_f64_((n - odd) / 2);
}

// square_rest_f64_ is m - y², exactly, for y near √m: fma is not fused everywhere. The halves of y have 26 bits or one more.
fn square_rest_f64_(m: f64, y: f64) -> f64 {
    let b = bits_f64_(y);
    let h = value_f64_(b.x & 0xf8000000u, b.y);
    let l = y - h;
    return ((m - h * h) - (h + h) * l) - l * l;
}

fn rsqrt_f64_(x: f64) -> f64 { return div_f64_(1.0lf, sqrt_f64_(x)); }

// pow2_f64_ is 2ⁿ for n in [-1022, 1023], scale_f64_ x·2ⁿ for n in [-2044, 2046], rounded once.
fn pow2_f64_(n: i32) -> f64 { return value_f64_(0u, u32(n + 1023) << 20u); }

fn scale_f64_(x: f64, n: i32) -> f64 {
    let half = n >> 1u;
    return (x * pow2_f64_(half)) * pow2_f64_(n - half);
}

// split_f64_ gives f and k of x = (1 + f)·2ᵏ, with 1 + f in [√½, √2), for positive finite x.
fn split_f64_(x: f64) -> vec2<f64> {
    let small = bits_f64_(x).y < 0x00100000u;
    let b = bits_f64_(select(x, x * 18014398509481984.0lf, small)); // 2⁵⁴
    let up = select(0u, 1u, (b.y & 0xfffffu) >= 0x6a09eu); // √2 and more
    let k = i32(b.y >> 20u) - 1023 + i32(up) - select(0, 54, small);
    let m = value_f64_(b.x, (b.y & 0xfffffu) | ((1023u - up) << 20u));
    return vec2<f64>(m - 1.0lf, f64(k));
}

// exp_part_f64_ is eʳ - 1 for |r| <= ln(2)/2: its Taylor series, whose 14th term is below 2⁻⁵⁷.
fn exp_part_f64_(r: f64) -> f64 {
    var p = 1.6059043836821613e-10lf;
    p = fma(p, r, 2.08767569878681e-9lf);
    p = fma(p, r, 2.505210838544172e-8lf);
    p = fma(p, r, 2.755731922398589e-7lf);
    p = fma(p, r, 2.7557319223985893e-6lf);
    p = fma(p, r, 2.48015873015873e-5lf);
    p = fma(p, r, 1.984126984126984e-4lf);
    p = fma(p, r, 1.388888888888889e-3lf);
    p = fma(p, r, 8.333333333333333e-3lf);
    p = fma(p, r, 4.1666666666666664e-2lf);
    p = fma(p, r, 1.6666666666666666e-1lf);
    p = fma(p, r, 0.5lf);
    return fma(p * r, r, r);
}

// exp_split_f64_ gives r and k of x = r + k·ln 2. The first part of ln 2 has 32 bits: its multiples are exact.
fn exp_split_f64_(x: f64) -> vec2<f64> {
    let k = round(x * 1.4426950408889634lf);
    let r = fma(-k, 0.6931471803691238lf, x);
    return vec2<f64>(fma(-k, 1.9082149292705877e-10lf, r), k);
}

fn exp_f64_(x: f64) -> f64 {
    let s = exp_split_f64_(clamp(x, -760.0lf, 760.0lf));
    return keep_nan_f64_(scale_f64_(1.0lf + exp_part_f64_(s.x), i32(s.y)), x);
}

fn expm1_f64_(x: f64) -> f64 {
    let s = exp_split_f64_(clamp(x, -60.0lf, 760.0lf));
    let k = i32(s.y);
    let part = exp_part_f64_(s.x);
    if (k > 60) {
        return keep_nan_f64_(scale_f64_(1.0lf + part, k), x);
    }
    let t = pow2_f64_(max(k, -100));
    let small = bits_f64_(abs(x)).y < 0x3c900000u; // below 2⁻⁵⁴ it is x, a negative zero too
    return keep_nan_f64_(select(fma(t, part, t - 1.0lf), x, small), x);
}

// log_tail_f64_ is log(1 + f) - f for 1 + f in [√½, √2): of 2 atanh s with s = f/(2 + f), less f.
fn log_tail_f64_(f: f64) -> f64 {
    let s = f / (2.0lf + f);
    let z = s * s;
    var p = 0.08695652173913043lf;
    p = fma(p, z, 0.09523809523809523lf);
    p = fma(p, z, 0.10526315789473684lf);
    p = fma(p, z, 0.11764705882352941lf);
    p = fma(p, z, 0.13333333333333333lf);
    p = fma(p, z, 0.15384615384615385lf);
    p = fma(p, z, 0.18181818181818182lf);
    p = fma(p, z, 0.2222222222222222lf);
    p = fma(p, z, 0.2857142857142857lf);
    p = fma(p, z, 0.4lf);
    p = fma(p, z, 0.6666666666666666lf);
    let half = 0.5lf * f * f;
    return s * fma(p, z, half) - half;
}

// log_domain_f64_ is r, and of the x that have no finite logarithm what they have.
fn log_domain_f64_(r: f64, x: f64) -> f64 {
    var b = bits_f64_(r);
    if (!isfinite_f64_(x) || negative_f64_(x)) {
        b = select(vec2<u32>(0u, 0x7ff80000u), bits_f64_(x), same_f64_(x, value_f64_(0u, 0x7ff00000u)));
    }
    b = select(vec2<u32>(0u, 0xfff00000u), b, truth_f64_(x));
    return value_f64_(b.x, b.y);
}

fn log_f64_(x: f64) -> f64 {
    let s = split_f64_(x);
    let low = fma(s.y, 1.9082149292705877e-10lf, log_tail_f64_(s.x));
    return log_domain_f64_(fma(s.y, 0.6931471803691238lf, s.x + low), x);
}

// log1p_f64_ puts back what 1 + x lost to rounding.
fn log1p_f64_(x: f64) -> f64 {
    if (!isfinite_f64_(x) || bits_f64_(abs(x)).y < 0x3c900000u) {
        return select(x, nan_if_f64_(x, true), negative_f64_(x) && !isfinite_f64_(x));
    }
    if (x > -0.29lf && x < 0.41lf) {
        return x + log_tail_f64_(x);
    }
    let u = 1.0lf + x;
    let lost = select(x - (u - 1.0lf), 1.0lf - (u - x), abs(x) > 1.0lf);
    let r = log_f64_(u);
    return select(r + lost / u, r, !truth_f64_(u));
}

// logistic_f64_ is 1/(1 + exp(-x)).
fn logistic_f64_(x: f64) -> f64 {
    let e = exp_f64_(-abs(x));
    return select(1.0lf, e, negative_f64_(x)) / (1.0lf + e);
}

fn sigmoid_f64_(x: f64) -> f64 { return keep_nan_f64_(logistic_f64_(x), x); }

fn silu_f64_(x: f64) -> f64 {
    let c = max(x, -760.0lf);
    return keep_nan_f64_(c * logistic_f64_(c), x);
}

fn softplus_f64_(x: f64) -> f64 { return keep_nan_f64_(max(x, 0.0lf) + log1p_f64_(exp_f64_(-abs(x))), x); }

fn logaddexp_f64_(x: f64, y: f64) -> f64 {
    let m = maximum_f64_(x, y);
    let d = select(abs(x - y), 0.0lf, equal_f64_(x, y)); // of infinities too, whose difference is NaN
    return keep_nan_f64_(m + log1p_f64_(exp_f64_(-d)), m);
}

// tanh_f64_ is -expm1(-2|x|)/(2 + expm1(-2|x|)).
fn tanh_f64_(x: f64) -> f64 {
    let t = expm1_f64_(-2.0lf * min(abs(x), 30.0lf));
    let small = bits_f64_(abs(x)).y < 0x3e300000u; // below 2⁻²⁸ it is x
    return keep_nan_f64_(select(copysign_f64_(-t / (t + 2.0lf), x), x, small), x);
}

// f64_of_f32_ converts a subnormal number by its bits: a device may take it for 0.
fn f64_of_f32_(x: f32) -> f64 {
    let b = bitcast<u32>(x);
    if ((b & 0x7f800000u) == 0u) {
        return copysign_f64_(f64(b & 0x7fffffu) * 1.401298464324817e-45lf, select(1.0lf, -1.0lf, b >> 31u == 1u));
    }
    let m = vec2<u32>(b << 29u, ((b >> 3u) & 0x0fffffffu) + 0x38000000u);
    let top = select(m.y, ((b >> 3u) & 0xfffffu) | 0x7ff00000u, (b & 0x7f800000u) == 0x7f800000u);
    return value_f64_(m.x, top | (b & 0x80000000u));
}

// f32_of_f64_ rounds to nearest, ties to even. With odd, what does not fit sets the last bit instead, so that a second
// rounding to 16 bits is right.
fn f32_of_f64_(x: f64, odd: bool) -> f32 {
    let b = bits_f64_(x);
    let sign = b.y & 0x80000000u;
    let e = i32((b.y >> 20u) & 0x7ffu) - 896; // of a float32
    if (isnan_f64_(x)) {
        return bitcast<f32>(sign | 0x7fc00000u | ((b.y & 0x7ffffu) << 3u));
    }
    if (e >= 255) {
        return bitcast<f32>(sign | select(0x7f800000u, 0x7f7fffffu, odd && isfinite_f64_(x)));
    }
    // 26 bits of the significand, the last for what is below
    var m = ((b.y & 0xfffffu) << 5u) | (b.x >> 27u) | select(0u, 1u, (b.x << 5u) != 0u) | 0x2000000u;
    var exponent = u32(max(e, 1));
    if (e < 1) {
        let s = min(u32(1 - e), 31u);
        m = (m >> s) | select(0u, 1u, (m & ((1u << s) - 1u)) != 0u);
    }
    let rest = m & 3u;
    let kept = m >> 2u;
    let up = select(u32(rest == 3u || (rest == 2u && (kept & 1u) == 1u)), 0u, odd);
    let last = select(0u, u32(rest != 0u), odd);
    return bitcast<f32>(sign | (((exponent - 1u) << 23u) + ((kept + up) | last)));
}

// Conversions toward zero, saturated; NaN gives 0.
fn i32_of_f64_(x: f64, lo: i32, hi: i32) -> i32 {
    return select(i32(clamp(select(x, 0.0lf, isnan_f64_(x)), f64(lo), f64(hi))), 0, isnan_f64_(x));
}

fn u32_of_f64_(x: f64, hi: u32) -> u32 {
    return u32(clamp(select(x, 0.0lf, isnan_f64_(x)), 0.0lf, f64(hi)));
}

fn i64_of_f64_(x: f64) -> vec2<u32> {
    if (isnan_f64_(x)) {
        return vec2<u32>();
    }
    let a = abs(x);
    if (a >= 9223372036854775808.0lf) {
        return select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), negative_f64_(x));
    }
    let high = floor(a * 2.3283064365386963e-10lf);
    let r = vec2<u32>(u32(a - high * 4294967296.0lf), u32(high));
    return select(r, neg64_(r), negative_f64_(x));
}

fn f64_of_i64_(x: vec2<u32>) -> f64 { return fma(f64(bitcast<i32>(x.y)), 4294967296.0lf, f64(x.x)); }
