// Package hostmem allocates memory of the program for elements that are about to be written.
//
// Go clears what it hands out, and the system maps it in pages of 4 KiB, each at the cost of a fault when it is first touched.
// For an array of megabytes that takes longer than to compute it. [Make] leaves both out where it can.
package hostmem

import (
	"strings"
	"unsafe"
)

const (
	uncleared = 64 << 10 // bytes from which memory is not cleared: less is cleared in no time
	huge      = 4 << 20  // bytes from which huge pages are asked for
)

// A Plain type has no pointers.
type Plain interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | ~complex64 | ~complex128
}

// Make returns n elements with any content, to be written before they are read. It is the collector's memory, as that of the builtin make.
func Make[T Plain](n int) []T {
	var zero T
	size := n * int(unsafe.Sizeof(zero))
	if n < 0 || size/int(unsafe.Sizeof(zero)) != n || size < uncleared {
		return make([]T, n)
	}
	p := bytes(size)
	if size >= huge {
		preferHuge(unsafe.Slice(p, size))
	}
	return unsafe.Slice((*T)(unsafe.Pointer(p)), n)
}

// bytes returns memory that a [strings.Builder] has grown by: the library's way to memory that is not cleared. So large a
// piece begins on a page, aligned for any type.
func bytes(n int) *byte {
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0)
	return unsafe.StringData(b.String())
}
