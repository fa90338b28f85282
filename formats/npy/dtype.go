package npy

import (
	"strings"

	"github.com/weft-go/weft/ops"
)

// An elem is an element type of a file: the one it is read as, its size there, and its byte order.
type elem struct {
	dtype     ops.DType
	size      int // bytes in the file; less than those of dtype where it is widened
	signed    bool
	bigEndian bool
	wide      bool // unsigned, of 64 bits: the upper half of its values does not fit dtype
}

// descrs is how the element types are written.
var descrs = map[ops.DType]string{
	ops.Bool:     "|b1",
	ops.Uint8:    "|u1",
	ops.Int8:     "|i1",
	ops.Int32:    "<i4",
	ops.Uint32:   "<u4",
	ops.Int64:    "<i8",
	ops.Float16:  "<f2",
	ops.BFloat16: bfloat16,
	ops.Float32:  "<f4",
	ops.Float64:  "<f8",
}

// bfloat16 is the mark of ml_dtypes.bfloat16. Unlike the others it is taken with this byte order only.
const bfloat16 = "<V2"

// elems are the element types read, by kind and size.
var elems = map[string]elem{
	"b1": {dtype: ops.Bool, size: 1},
	"u1": {dtype: ops.Uint8, size: 1},
	"i1": {dtype: ops.Int8, size: 1},
	"i2": {dtype: ops.Int32, size: 2, signed: true},
	"u2": {dtype: ops.Uint32, size: 2},
	"i4": {dtype: ops.Int32, size: 4},
	"u4": {dtype: ops.Uint32, size: 4},
	"i8": {dtype: ops.Int64, size: 8},
	"u8": {dtype: ops.Int64, size: 8, wide: true},
	"f2": {dtype: ops.Float16, size: 2},
	"f4": {dtype: ops.Float32, size: 4},
	"f8": {dtype: ops.Float64, size: 8},
}

// parseDescr returns the element type of descr. A byte order of '=', '|' or none is little-endian: a file
// does not say on what machine "native" was meant.
func parseDescr(descr string) (elem, bool) {
	if descr == bfloat16 {
		return elem{dtype: ops.BFloat16, size: 2}, true
	}
	e, ok := elems[strings.TrimLeft(descr, "<>=|")]
	if len(descr) > 3 {
		return elem{}, false // more than one mark
	}
	e.bigEndian = strings.HasPrefix(descr, ">") && e.size > 1
	return e, ok
}

// refused says what the elements of a descr that is not read are, or "" where it is none of NumPy's.
func refused(descr string) string {
	kind, _, _ := strings.Cut(strings.TrimLeft(descr, "<>=|"), "[") // the unit of a date
	switch strings.TrimRight(kind, "0123456789") {
	case "O":
		return "Python objects, which are never unpickled"
	case "U", "S", "a":
		return "text"
	case "M":
		return "dates"
	case "m":
		return "spans of time"
	case "c":
		return "complex numbers"
	case "V":
		return "raw bytes"
	case "f":
		return "floats of another size than 2, 4 or 8 bytes"
	}
	return ""
}
