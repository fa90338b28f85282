package ops

// RandBits is word x of the stream of random bits that the key (y, z) has, wrapped to the element type:
// word x%4 of the block that [Philox] makes of counter x/4. It draws from a position, not from a state, so
// that a random tensor is an ordinary kernel over an [Index] and both backends give the same numbers.
//
// On 32-bit integers a stream has 2³² words, x being taken as unsigned; on Int64, where x is unsigned too and
// the low 32 bits of y and z are the key, it goes on beyond them for 2⁶⁴ and a result is in [0, 2³²).
// Nobody should need more than 2³² words of one key: give each call its own, such as two words of Philox of the
// call's number under the key of the seed.
var RandBits = register(&Op{
	Name: "rand_bits", Arity: 3, Rule: Rule{Accept: Ints},
	Int: func(d DType, x, y, z int64) int64 {
		pos := uint64(x)
		if d != Int64 {
			pos = uint64(uint32(x))
		}
		block := Philox([4]uint32{uint32(pos >> 2), uint32(pos >> 34)}, [2]uint32{uint32(y), uint32(z)})
		return int64(block[pos&3])
	},
	WGSL: WGSL{
		Int:   "$T(rand_bits_(vec2<u32>(u32($x), 0u), u32($y), u32($z)))",
		Int64: "vec2<u32>(rand_bits_($x, $y.x, $z.x), 0u)",
	},
})

// Philox returns the block of four random words that Philox-4×32-10 makes of a counter under a key. It is
// a bijection of the counter for each key, passes all tests of TestU01's BigCrush, and is the generator behind
// NumPy's Philox, cuRAND and PyTorch on GPUs. (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011.)
func Philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	c := counter
	for range 10 {
		p0 := uint64(c[0]) * 0xD2511F53
		p1 := uint64(c[2]) * 0xCD9E8D57
		c = [4]uint32{
			uint32(p1>>32) ^ c[1] ^ key[0], uint32(p1),
			uint32(p0>>32) ^ c[3] ^ key[1], uint32(p0),
		}
		key[0] += 0x9E3779B9 // the golden ratio
		key[1] += 0xBB67AE85 // √3 - 1
	}
	return c
}
