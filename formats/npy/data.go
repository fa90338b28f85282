package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// Data reads from r, which is where [ReadHeader] left it, the elements of the array, and nothing beyond
// them. It returns them row-major and little-endian, as elements of type h.DType. The error is of kind
// [io.ErrUnexpectedEOF] if they are cut short. Memory grows with what arrives; where r is a [bytes.Reader],
// [bytes.Buffer] or [strings.Reader] it is taken at once, and only if all elements are there.
func (h *Header) Data(r io.Reader) ([]byte, error) {
	left := -1
	switch r := r.(type) {
	case *bytes.Reader:
		left = r.Len()
	case *bytes.Buffer:
		left = r.Len()
	case *strings.Reader:
		left = r.Len()
	}
	return h.data(r, left)
}

// bytes is how many bytes the elements take in the file.
func (h *Header) bytes() int { return h.Shape.Len() * h.elem.size }

// data is Data for a reader with left bytes to read, or -1 if that is not known.
func (h *Header) data(r io.Reader, left int) ([]byte, error) {
	n := h.bytes()
	if left >= 0 && left < n {
		return nil, readError("elements", left, n, h.Offset, io.ErrUnexpectedEOF)
	}
	first := firstChunk
	if left >= n {
		first = n
	}
	b, err := readN(r, n, first)
	if err != nil {
		return nil, readError("elements", len(b), n, h.Offset, err)
	}
	if h.elem.bigEndian {
		swap(b, h.elem.size)
	}
	if h.FortranOrder {
		b = rowMajor(b, h.Shape, h.elem.size)
	}
	return h.elem.convert(b)
}

// firstChunk is how many bytes are made room for before any has arrived.
const firstChunk = 1 << 16

// readN reads n bytes. It makes room for the first of them, and for twice as many whenever that is full. With
// an error it returns what has arrived.
func readN(r io.Reader, n, first int) ([]byte, error) {
	b := make([]byte, 0, min(n, first))
	for {
		m, err := io.ReadFull(r, b[len(b):cap(b)])
		b = b[:len(b)+m]
		if err != nil || len(b) == n {
			return b, err
		}
		grown := make([]byte, len(b), min(n, 2*cap(b)))
		copy(grown, b)
		b = grown
	}
}

// swap reverses the bytes of each element.
func swap(b []byte, size int) {
	for ; len(b) >= size; b = b[size:] {
		slices.Reverse(b[:size])
	}
}

// rowMajor returns the elements of an array whose first axis runs fastest in the order in which the last one does.
func rowMajor(src []byte, shape backend.Shape, size int) []byte {
	long := 0
	for _, d := range shape {
		if d > 1 {
			long++
		}
	}
	if long < 2 || len(src) == 0 {
		return src
	}
	strides := make([]int, len(shape)) // in src, in bytes
	step := size
	for i, d := range shape {
		strides[i] = step
		step *= d
	}
	dst := make([]byte, 0, len(src))
	index, at := make([]int, len(shape)), 0
	for {
		dst = append(dst, src[at:at+size]...)
		axis := len(shape) - 1
		for ; axis >= 0; axis-- { // count up
			index[axis]++
			at += strides[axis]
			if index[axis] < shape[axis] {
				break
			}
			at -= index[axis] * strides[axis]
			index[axis] = 0
		}
		if axis < 0 {
			return dst
		}
	}
}

// convert makes little-endian elements of the file to ones of e.dtype, in place where their size is the same.
func (e elem) convert(b []byte) ([]byte, error) {
	switch {
	case e.dtype == ops.Bool:
		for i, v := range b {
			if v > 1 {
				b[i] = 1
			}
		}
	case e.wide:
		for i := 0; i < len(b); i += 8 {
			if v := binary.LittleEndian.Uint64(b[i:]); v > math.MaxInt64 {
				return nil, fmt.Errorf("npy: element %d is %d, which int64 does not hold: %w", i/8, v, ops.ErrDType)
			}
		}
	case e.size < e.dtype.Size():
		wide := make([]byte, 0, 2*len(b))
		for i := 0; i < len(b); i += 2 {
			v := uint32(binary.LittleEndian.Uint16(b[i:]))
			if e.signed {
				v = uint32(int32(int16(v)))
			}
			wide = binary.LittleEndian.AppendUint32(wide, v)
		}
		return wide, nil
	}
	return b, nil
}
