package tensor

import (
	"encoding/binary"
	"slices"
)

// littleEndian says that the machine keeps the low byte first, as files and GPUs do.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// swapped returns a copy of b with the bytes of each element of size bytes reversed.
func swapped(b []byte, size int) []byte {
	c := append([]byte(nil), b...)
	for e := range slices.Chunk(c, size) {
		slices.Reverse(e)
	}
	return c
}

// getNative returns the bit pattern of an element of size bytes as the machine keeps it.
func getNative(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}
