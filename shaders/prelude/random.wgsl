// rand_bits_ is word pos of the stream of a key: word pos%4 of the block that Philox-4×32-10 makes of the
// counter pos/4. See Philox in package ops.
fn rand_bits_(pos: vec2<u32>, key0: u32, key1: u32) -> u32 {
    var c = vec4<u32>((pos.x >> 2u) | (pos.y << 30u), pos.y >> 2u, 0u, 0u);
    var k = vec2<u32>(key0, key1);
    for (var i = 0u; i < 10u; i = i + 1u) {
        let p = mul32_(c.x, 0xD2511F53u);
        let q = mul32_(c.z, 0xCD9E8D57u);
        c = vec4<u32>(q.y ^ c.y ^ k.x, q.x, p.y ^ c.w ^ k.y, p.x);
        k = k + vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
    }
    let two = select(c.xy, c.zw, (pos.x & 2u) != 0u);
    return select(two.x, two.y, (pos.x & 1u) != 0u);
}
