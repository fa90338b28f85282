// Integers of 32 bits, and the narrower ones held in them. A division by 0, and that of the least integer by
// -1, trap or give anything on some devices: neither is ever done. Nor is a % of negative numbers, which Vulkan leaves
// undefined and NVIDIA's compiler takes for unsigned.

fn divisor_i32_(x: i32, y: i32) -> i32 {
    return select(y, 1, y == 0 || (y == -1 && x == bitcast<i32>(0x80000000u)));
}

fn fmod_i32_(x: i32, y: i32) -> i32 {
    let d = divisor_i32_(x, y);
    return select(x - (x / d) * d, 0, y == 0);
}

fn fmod_u32_(x: u32, y: u32) -> u32 {
    return select(x % max(y, 1u), 0u, y == 0u);
}

fn mod_i32_(x: i32, y: i32) -> i32 {
    let r = fmod_i32_(x, y);
    return select(r, r + y, r != 0 && (r ^ y) < 0);
}

fn mod_u32_(x: u32, y: u32) -> u32 { return fmod_u32_(x, y); }

fn floor_div_i32_(x: i32, y: i32) -> i32 {
    let d = divisor_i32_(x, y);
    let q = x / d;
    return select(select(q, q - 1, q * d != x && (x ^ d) < 0), 0, y == 0);
}

fn floor_div_u32_(x: u32, y: u32) -> u32 {
    return select(x / max(y, 1u), 0u, y == 0u);
}

// pow_i32_ squares and multiplies. A negative power is 0, except of 1 and -1.
fn pow_i32_(x: i32, y: i32) -> i32 {
    if (y < 0) {
        return select(select(0, 1 - 2 * (y & 1), x == -1), 1, x == 1);
    }
    return bitcast<i32>(pow_u32_(bitcast<u32>(x), u32(y)));
}

fn pow_u32_(x: u32, y: u32) -> u32 {
    var p = 1u;
    var b = x;
    var n = y;
    while (n > 0u) {
        p = p * select(1u, b, (n & 1u) == 1u);
        b = b * b;
        n = n >> 1u;
    }
    return p;
}

// A shift by the width or more shifts all bits out, and so does a negative one, which is a large u32.
fn shift_left_u32_(x: u32, y: u32) -> u32 { return select(x << (y & 31u), 0u, y > 31u); }

fn shift_left_i32_(x: i32, y: i32) -> i32 {
    return bitcast<i32>(shift_left_u32_(bitcast<u32>(x), bitcast<u32>(y)));
}

fn shift_right_u32_(x: u32, y: u32) -> u32 { return select(x >> (y & 31u), 0u, y > 31u); }

fn shift_right_i32_(x: i32, y: i32) -> i32 { return x >> min(bitcast<u32>(y), 31u); }
