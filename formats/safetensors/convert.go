package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weft-go/weft/ops"
)

// data returns the elements of the tensor of that name as elements of its DType, row-major and little-endian.
func (f *File) data(name string) (Info, []byte, error) {
	b, err := f.Bytes(name)
	if err != nil {
		return Info{}, nil, err
	}
	e := &f.entries[f.index[name]]
	if !e.DType.Valid() {
		return Info{}, nil, fmt.Errorf("safetensors: tensor %q: %s %v: %w", name, e.Type, e.Shape, ops.ErrDType)
	}
	if b, err = elems[e.elem].convert(b); err != nil {
		return Info{}, nil, fmt.Errorf("safetensors: tensor %q: %w", name, err)
	}
	return e.info(), b, nil
}

// convert makes elements of the file, which it leaves as they are, to ones of e.dtype.
func (e elem) convert(b []byte) ([]byte, error) {
	if e.name == "U64" {
		for i := 0; i < len(b); i += 8 {
			if v := binary.LittleEndian.Uint64(b[i:]); v > math.MaxInt64 {
				return nil, fmt.Errorf("element %d is %d, which int64 does not hold: %w", i/8, v, ops.ErrDType)
			}
		}
	}
	if e.bits == e.dtype.Bits() {
		return b, nil
	}
	wide := make([]byte, 0, 2*len(b)) // of the 16 bits of I16 and U16 to 32
	for i := 0; i < len(b); i += 2 {
		v := uint32(binary.LittleEndian.Uint16(b[i:]))
		if e.signed {
			v = uint32(int32(int16(v)))
		}
		wide = binary.LittleEndian.AppendUint32(wide, v)
	}
	return wide, nil
}
