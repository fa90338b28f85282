// Keys for sorting: unsigned integers in the order of the elements. Both zeros have one key, and every NaN the greatest, in
// descending order too.

// key_f32_ is the key of a float32.
fn key_f32_(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    if (!truth_(x)) { return 0x80000000u; }
    return select(select(b | 0x80000000u, ~b, b > 0x7fffffffu), 0xffffffffu, isnan_(x));
}

// key_half_ is the key of a 16-bit float of the given bits, whose infinity has the bits inf.
fn key_half_(b: u32, inf: u32) -> u32 {
    let magnitude = b & 0x7fffu;
    if (magnitude == 0u) { return 0x8000u; }
    return select(select(b | 0x8000u, b ^ 0xffffu, b > 0x7fffu), 0xffffu, magnitude > inf);
}

// descending_ is the key in the opposite order, of a key of as many bits as mask; NaN stays the greatest.
fn descending_(key: u32, mask: u32) -> u32 { return select(key ^ mask, key, key == mask); }
