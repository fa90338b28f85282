// Floats by their bits. A compiler of WGSL may assume that there is no NaN and no infinity, a builtin may lose
// them, and a device may take subnormal numbers for 0. What is asked of the bits is right everywhere.

fn isnan_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn isinf_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }

fn isfinite_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u; }

// truth_ is false of the two zeros alone.
fn truth_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) != 0u; }

// keep_nan_ is r, and NaN where x is.
fn keep_nan_(r: f32, x: f32) -> f32 {
    return bitcast<f32>(select(bitcast<u32>(r), bitcast<u32>(x), isnan_(x)));
}

// nan_if_ is r, and NaN where bad.
fn nan_if_(r: f32, bad: bool) -> f32 {
    return bitcast<f32>(select(bitcast<u32>(r), 0x7fc00000u, bad));
}

// lift_ is |x|, and of a subnormal x |x|·2¹⁵⁰: from its bits, since as a number it may count as 0.
fn lift_(x: f32) -> f32 {
    let b = bitcast<u32>(x) & 0x7fffffffu;
    return select(bitcast<f32>(b), f32(b << 1u), b < 0x800000u);
}

// magnitude_ is |x|. The builtin would take a subnormal number for 0 where the device does.
fn magnitude_(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu); }

fn subnormal_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) == 0u; }

// copysign_ is |x| with the sign of y.
fn copysign_(x: f32, y: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(y) & 0x80000000u));
}

// order_ numbers the floats in their order, both zeros as 0.
fn order_(x: f32) -> i32 {
    let b = bitcast<i32>(x);
    return select(b, -(b & 0x7fffffff), b < 0);
}

fn equal_(x: f32, y: f32) -> bool { return order_(x) == order_(y) && !isnan_(x); }

fn less_(x: f32, y: f32) -> bool { return order_(x) < order_(y) && !isnan_(x) && !isnan_(y); }

fn less_equal_(x: f32, y: f32) -> bool { return order_(x) <= order_(y) && !isnan_(x) && !isnan_(y); }

// Some drivers round by way of integers, which have one zero.
fn ceil_(x: f32) -> f32 { return copysign_(ceil(x), x); }
fn round_(x: f32) -> f32 { return copysign_(round(x), x); }
fn trunc_(x: f32) -> f32 { return copysign_(trunc(x), x); }

fn sign_(x: f32) -> f32 { return keep_nan_(f32(clamp(order_(x), -1, 1)), x); }

// maximum_ and minimum_ are NaN if an operand is; fmax_ and fmin_ only if both are.
fn maximum_(x: f32, y: f32) -> f32 {
    return select(y, x, isnan_(x) || (!isnan_(y) && order_(x) > order_(y)));
}

fn minimum_(x: f32, y: f32) -> f32 {
    return select(y, x, isnan_(x) || (!isnan_(y) && order_(x) < order_(y)));
}

fn fmax_(x: f32, y: f32) -> f32 {
    return select(y, x, isnan_(y) || (!isnan_(x) && order_(x) > order_(y)));
}

fn fmin_(x: f32, y: f32) -> f32 {
    return select(y, x, isnan_(y) || (!isnan_(x) && order_(x) < order_(y)));
}

// seal_ is x, of which a compiler knows nothing if it does not know that zero is 0.
fn seal_(x: f32, zero: u32) -> f32 { return bitcast<f32>(bitcast<u32>(x) | zero); }

// div_ is x / y. WGSL asks nothing of a division by more than 2¹²⁶ or less than 2⁻¹²⁶: both are scaled.
fn div_(x: f32, y: f32) -> f32 {
    let a = abs(y);
    let s = select(select(1.0, 16777216.0, a < 1.1754944e-38), 0.25, a > 8.5070592e37);
    return (x * s) / (y * s);
}

// fmod_ is the exact remainder with the sign of x, by long division of the significands in base 256: x % y
// of WGSL is off by the rounding of x / y.
fn fmod_(x: f32, y: f32) -> f32 {
    let a = bitcast<u32>(x) & 0x7fffffffu;
    let b = bitcast<u32>(y) & 0x7fffffffu;
    if (a >= 0x7f800000u || b == 0u || b > 0x7f800000u) {
        return nan_if_(x, true);
    }
    if (a < b) {
        return x;
    }
    let r = divide_(a, b).x;
    let sign = bitcast<u32>(x) & 0x80000000u;
    if (r == 0u) {
        return bitcast<f32>(sign);
    }
    // r·2^(e-150) with e the exponent of y, and of no less than a subnormal
    let e = max(b >> 23u, 1u);
    let up = min(countLeadingZeros(r) - 8u, e - 1u);
    return bitcast<f32>(sign | (((e - up - 1u) << 23u) + (r << up)));
}

// divide_ divides positive floats, a no less than b, given by their bits: it returns the remainder in units of the
// last place of b, and the bits of the quotient rounded toward zero, itself rounded to a float.
fn divide_(a: u32, b: u32) -> vec2<u32> {
    let m = significand_(b);
    var n = max(a >> 23u, 1u) - max(b >> 23u, 1u);
    var r = significand_(a);
    var q = f32(r / m);
    r = r % m;
    while (n > 0u) { // at most 32 times
        let s = min(n, 8u);
        r = r << s;
        q = q * f32(1u << s) + f32(r / m);
        r = r % m;
        n = n - s;
    }
    return vec2<u32>(r, bitcast<u32>(q));
}

fn significand_(b: u32) -> u32 {
    return select((b & 0x7fffffu) | 0x800000u, b, b < 0x800000u);
}

// mod_ is the remainder with the sign of y, a zero too.
fn mod_(x: f32, y: f32) -> f32 {
    let r = fmod_(x, y);
    if (!truth_(r)) {
        return copysign_(r, y);
    }
    return select(r, r + y, ((bitcast<u32>(r) ^ bitcast<u32>(y)) >> 31u) == 1u && !isnan_(r));
}

// floor_div_ is x / y rounded down.
fn floor_div_(x: f32, y: f32) -> f32 {
    let a = bitcast<u32>(x) & 0x7fffffffu;
    let b = bitcast<u32>(y) & 0x7fffffffu;
    let sign = (bitcast<u32>(x) ^ bitcast<u32>(y)) & 0x80000000u;
    if (b == 0u && a <= 0x7f800000u) { // ±∞, and NaN for 0/0
        return bitcast<f32>(select(0x7f800000u | sign, 0x7fc00000u, a == 0u));
    }
    if (a >= 0x7f800000u || b > 0x7f800000u) {
        return nan_if_(x, true);
    }
    var d = vec2<u32>(a, 0u);
    if (a >= b) {
        d = divide_(a, b);
    }
    let q = bitcast<f32>(d.y);
    if (sign == 0u) {
        return q;
    }
    return -select(q, q + 1.0, d.x != 0u);
}
