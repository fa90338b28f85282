// Int64 as two words, the low one first.

// mul32_ is the full product of two words.
fn mul32_(x: u32, y: u32) -> vec2<u32> {
    let xl = x & 0xffffu;
    let xh = x >> 16u;
    let yl = y & 0xffffu;
    let yh = y >> 16u;
    let ll = xl * yl;
    let lh = xl * yh + (ll >> 16u);
    let hl = xh * yl + (lh & 0xffffu);
    return vec2<u32>((hl << 16u) | (ll & 0xffffu), xh * yh + (lh >> 16u) + (hl >> 16u));
}

fn add64_(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let lo = x.x + y.x;
    return vec2<u32>(lo, x.y + y.y + select(0u, 1u, lo < x.x));
}

fn neg64_(x: vec2<u32>) -> vec2<u32> { return add64_(~x, vec2<u32>(1u, 0u)); }

fn sub64_(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(x.x - y.x, x.y - y.y - select(0u, 1u, x.x < y.x));
}

fn mul64_(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let p = mul32_(x.x, y.x);
    return vec2<u32>(p.x, p.y + x.x * y.y + x.y * y.x);
}

fn negative64_(x: vec2<u32>) -> bool { return (x.y >> 31u) == 1u; }

fn abs64_(x: vec2<u32>) -> vec2<u32> { return select(x, neg64_(x), negative64_(x)); }

fn sign64_(x: vec2<u32>) -> vec2<u32> {
    return select(vec2<u32>(select(0u, 1u, any(x != vec2<u32>())), 0u), vec2<u32>(0xffffffffu), negative64_(x));
}

fn less64_(x: vec2<u32>, y: vec2<u32>) -> bool {
    return select(bitcast<i32>(x.y) < bitcast<i32>(y.y), x.x < y.x, x.y == y.y);
}

fn max64_(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return select(x, y, less64_(x, y)); }

fn min64_(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> { return select(x, y, less64_(y, x)); }

fn shift_left64_(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let s = y.x & 31u;
    let carry = (x.x >> 1u) >> (31u - s);
    let wide = vec2<u32>(x.x << s, (x.y << s) | carry);
    return select(select(wide, vec2<u32>(0u, x.x << s), y.x > 31u), vec2<u32>(), y.y != 0u || y.x > 63u);
}

fn shift_right64_(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let s = y.x & 31u;
    let fill = bitcast<u32>(bitcast<i32>(x.y) >> 31u);
    let high = bitcast<u32>(bitcast<i32>(x.y) >> s);
    let wide = vec2<u32>((x.x >> s) | ((x.y << 1u) << (31u - s)), high);
    return select(select(wide, vec2<u32>(high, fill), y.x > 31u), vec2<u32>(fill), y.y != 0u || y.x > 63u);
}

// divide64_ divides unsigned numbers, y not 0, bit by bit: x = y·(xy of the result) + zw.
fn divide64_(x: vec2<u32>, y: vec2<u32>) -> vec4<u32> {
    var q = x;
    var r = vec2<u32>();
    for (var i = 0u; i < 64u; i = i + 1u) {
        let out = r.y >> 31u;
        r = vec2<u32>((r.x << 1u) | (q.y >> 31u), (r.y << 1u) | (r.x >> 31u));
        q = vec2<u32>(q.x << 1u, (q.y << 1u) | (q.x >> 31u));
        let fits = out == 1u || r.y > y.y || (r.y == y.y && r.x >= y.x);
        r = select(r, sub64_(r, y), fits);
        q.x = q.x | select(0u, 1u, fits);
    }
    return vec4<u32>(q, r);
}

fn fmod64_(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    if (all(y == vec2<u32>())) {
        return y;
    }
    let r = divide64_(abs64_(x), abs64_(y)).zw;
    return select(r, neg64_(r), negative64_(x));
}

fn mod64_(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let r = fmod64_(x, y);
    return select(r, add64_(r, y), any(r != vec2<u32>()) && negative64_(r ^ y));
}

fn floor_div64_(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    if (all(y == vec2<u32>())) {
        return y;
    }
    let d = divide64_(abs64_(x), abs64_(y));
    if (!negative64_(x ^ y)) {
        return d.xy;
    }
    return sub64_(neg64_(d.xy), vec2<u32>(select(0u, 1u, any(d.zw != vec2<u32>())), 0u));
}

fn pow64_(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    let one = vec2<u32>(1u, 0u);
    if (negative64_(y)) {
        let unit = all(x == one) || all(x == vec2<u32>(0xffffffffu));
        return select(vec2<u32>(), select(one, x, (y.x & 1u) == 1u), unit);
    }
    var p = one;
    var b = x;
    var n = y;
    while (any(n != vec2<u32>())) {
        p = select(p, mul64_(p, b), (n.x & 1u) == 1u);
        b = mul64_(b, b);
        n = vec2<u32>((n.x >> 1u) | (n.y << 31u), n.y >> 1u);
    }
    return p;
}
