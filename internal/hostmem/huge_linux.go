package hostmem

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// preferHuge tells the system to map b in huge pages, as far as its own pages reach. That it will not is no error: it maps
// small ones then.
func preferHuge(b []byte) {
	page := uintptr(os.Getpagesize())
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	skip := int(-lo & (page - 1))
	n := (len(b) - skip) &^ int(page-1)
	_ = unix.Madvise(b[skip:skip+n], unix.MADV_HUGEPAGE)
}
