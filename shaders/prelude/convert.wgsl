// Conversions between the types that elements have in memory and those that hold them in a shader.

// f16_bits_ rounds x to the nearest float16, ties to even, and gives its bits. Overflow gives an infinity.
fn f16_bits_(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    let a = b & 0x7fffffffu;
    let sign = (b >> 16u) & 0x8000u;
    if (a > 0x7f800000u) {
        return sign | 0x7e00u | ((a >> 13u) & 0x1ffu);
    }
    if (a >= 0x477ff000u) { // from 65520 on
        return sign | 0x7c00u;
    }
    if (a >= 0x38800000u) {
        return sign | ((a - 0x38000000u + 0xfffu + ((a >> 13u) & 1u)) >> 13u);
    }
    // subnormal: in units of 2⁻²⁴
    let s = min(126u - (a >> 23u), 31u);
    let m = (a & 0x7fffffu) | 0x800000u;
    let q = m >> s;
    let rest = m & ((1u << s) - 1u);
    let half = 1u << (s - 1u);
    return sign | (q + select(0u, 1u, rest > half || (rest == half && (q & 1u) == 1u)));
}

// f16_value_ is the value of a float16, given its bits.
fn f16_value_(h: u32) -> f32 {
    let e = (h >> 10u) & 31u;
    let m = h & 0x3ffu;
    let sign = (h & 0x8000u) << 16u;
    let small = bitcast<u32>(f32(m) * 5.9604645e-8); // subnormal there, not here
    let wide = (h & 0x7fffu) << 13u;
    return bitcast<f32>(sign | select(select(wide + 0x38000000u, wide | 0x7f800000u, e == 31u), small, e == 0u));
}

// bf16_bits_ rounds x to the nearest bfloat16, ties to even, and gives its bits.
fn bf16_bits_(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    return select((b + 0x7fffu + ((b >> 16u) & 1u)) >> 16u, (b >> 16u) | 0x40u, isnan_(x));
}

// bf16_value_ is the value of a bfloat16, given its bits.
fn bf16_value_(h: u32) -> f32 { return bitcast<f32>(h << 16u); }

// round_f16_ and round_bf16_ are the nearest values of those types.
fn round_f16_(x: f32) -> f32 { return f16_value_(f16_bits_(x)); }

fn round_bf16_(x: f32) -> f32 { return bf16_value_(bf16_bits_(x)); }

// wrap_int8_ and wrap_uint8_ keep 8 bits.
fn wrap_int8_(x: i32) -> i32 { return (x << 24u) >> 24u; }

fn wrap_uint8_(x: u32) -> u32 { return x & 255u; }

// i32_of_f32_ converts toward zero, saturated to [lo, hi]; NaN gives 0.
fn i32_of_f32_(x: f32, lo: i32, hi: i32) -> i32 {
    if (isnan_(x)) {
        return 0;
    }
    if (x >= f32(hi)) { // 2³¹ for the greatest: it rounds up
        return hi;
    }
    return select(i32(max(x, f32(lo))), lo, x <= f32(lo));
}

// u32_of_f32_ converts toward zero, saturated to [0, hi]; NaN gives 0.
fn u32_of_f32_(x: f32, hi: u32) -> u32 {
    if (isnan_(x) || x <= 0.0) {
        return 0u;
    }
    if (x >= f32(hi)) {
        return hi;
    }
    return u32(x);
}

// i64_of_f32_ converts toward zero, saturated; NaN gives 0.
fn i64_of_f32_(x: f32) -> vec2<u32> {
    if (isnan_(x)) {
        return vec2<u32>();
    }
    let negative = bitcast<u32>(x) >> 31u == 1u;
    let a = abs(x);
    if (a >= 9223372036854775808.0) {
        return select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), negative);
    }
    let high = floor(a * 2.3283064e-10);
    let r = vec2<u32>(u32(a - high * 4294967296.0), u32(high));
    return select(r, neg64_(r), negative);
}

// i64_of_i32_ and i64_of_u32_ extend.
fn i64_of_i32_(x: i32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(x), bitcast<u32>(x >> 31u)); }

fn i64_of_u32_(x: u32) -> vec2<u32> { return vec2<u32>(x, 0u); }

// f32_of_i64_ is the nearest float, ties to even. With odd, what does not fit sets the last bit instead, so that
// a second rounding to 16 bits is right: bfloat16 needs it of 32-bit integers too.
fn f32_of_i64_(x: vec2<u32>, odd: bool) -> f32 {
    let a = abs64_(x);
    if (all(a == vec2<u32>())) {
        return 0.0;
    }
    let up = select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
    let n = shift_left64_(a, vec2<u32>(up, 0u)); // the top bit set
    let rest = (n.y & 255u) != 0u || n.x != 0u;
    let over = (n.y & 128u) != 0u && ((n.y & 0x17fu) != 0u || n.x != 0u); // above half, or half of an odd one
    let m = n.y >> 8u;
    let kept = select(m + select(0u, 1u, over), m | select(0u, 1u, rest), odd);
    return bitcast<f32>((x.y & 0x80000000u) | (((189u - up) << 23u) + kept));
}
