package ops

import "testing"

func TestRandBits(t *testing.T) {
	const key0, key1 = 0xdeadbeef, 42
	for _, pos := range []int64{0, 1, 2, 3, 4, 4095, 1<<31 + 1, 1<<32 - 1, 1 << 32, 1<<40 + 7, -1} {
		block := Philox([4]uint32{uint32(uint64(pos) >> 2), uint32(uint64(pos) >> 34)}, [2]uint32{key0, key1})
		word := int64(block[pos&3])
		if got := RandBits.Eval(IntValue(Int64, pos), IntValue(Int64, key0), IntValue(Int64, key1)); got.I != word {
			t.Errorf("int64 word %d is %#x, want %#x", pos, got.I, word)
		}
		if pos < 0 || pos >= 1<<32 {
			continue
		}
		for _, d := range []DType{Uint32, Int32} {
			args := []Value{IntValue(d, pos), IntValue(d, key0), IntValue(d, key1)}
			if got := RandBits.Eval(args...); got != IntValue(d, word) {
				t.Errorf("%s word %d is %#x, want %#x", d, pos, got.I, word)
			}
		}
	}
}

func TestPhilox(t *testing.T) {
	const all = 1<<32 - 1
	for _, tc := range []struct { // the known answers of the Random123 library
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{all, all, all, all}, [2]uint32{all, all}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		if got := Philox(tc.counter, tc.key); got != tc.want {
			t.Errorf("Philox(%x, %x) = %x, want %x", tc.counter, tc.key, got, tc.want)
		}
	}
}
