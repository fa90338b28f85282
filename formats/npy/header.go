package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// ErrFormat is the kind of error for input that is no well-formed .npy or .npz.
var ErrFormat = errors.New("malformed file")

const (
	magic = "\x93NUMPY"

	// maxHeader is the longest header read. All of version 1.0 fit, and version 2.0 exists only for records of
	// very many fields, which are not read at all.
	maxHeader = 1<<16 - 1

	// maxRank is the number of axes NumPy allows.
	maxRank = 64

	// alignment of the elements in a file, for those who map it into memory.
	alignment = 64
)

// A Header says what the array in a .npy is.
type Header struct {
	Descr        string        // the element type in the file, such as "<f4"
	DType        ops.DType     // the element type it is read as
	FortranOrder bool          // the first axis runs fastest in the file
	Shape        backend.Shape // a scalar has none
	Offset       int           // where the elements begin, from the start of the header

	elem elem
}

// ReadHeader reads the header of a .npy from r, and nothing beyond it. The error is [io.EOF] itself if r is
// at its end, of kind [ErrFormat] if the header is malformed, and of kind [ops.ErrDType] if its element
// type cannot be read.
func ReadHeader(r io.Reader) (*Header, error) {
	var b [12]byte
	if n, err := io.ReadFull(r, b[:8]); n == 0 && err == io.EOF {
		return nil, io.EOF
	} else if err != nil {
		return nil, readError("magic", n, 8, 0, err)
	}
	if string(b[:6]) != magic {
		return nil, fmt.Errorf("npy: begins with %q, want %q: %w", b[:6], magic, ErrFormat)
	}
	start, size := 10, 2 // of the text, and of its length before it
	switch {
	case b[6] == 1 && b[7] == 0:
	case (b[6] == 2 || b[6] == 3) && b[7] == 0:
		start, size = 12, 4
	default:
		return nil, fmt.Errorf("npy: version %d.%d, want 1.0, 2.0 or 3.0: %w", b[6], b[7], ErrFormat)
	}
	if n, err := io.ReadFull(r, b[8:start]); err != nil {
		return nil, readError("length of the header", n, size, 8, err)
	}
	length := binary.LittleEndian.Uint32(b[8:]) // of version 1.0 the upper bytes are 0: not read
	if length > maxHeader {
		return nil, fmt.Errorf("npy: header of %d bytes, at most %d are read: %w", length, maxHeader, ErrFormat)
	}
	text := make([]byte, length)
	if n, err := io.ReadFull(r, text); err != nil {
		return nil, readError("header", n, len(text), start, err)
	}
	return parseHeader(text, start)
}

// readError wraps the error of io.ReadFull after n of want bytes of what, which begin at byte at.
func readError(what string, n, want, at int, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("npy: %s: %d of %d bytes at byte %d: %w", what, n, want, at, err)
}

// parseHeader reads text, the Python dictionary that begins at byte start of the file.
func parseHeader(text []byte, start int) (*Header, error) {
	p := &parser{text: text, start: start}
	h := &Header{Offset: start + len(text)}
	if err := p.dict(h); err != nil {
		return nil, err
	}
	if err := h.Shape.Check(); err != nil {
		return nil, fmt.Errorf("npy: header: %w: %w", err, ErrFormat)
	}
	h.DType = h.elem.dtype
	return h, nil
}

// WriteHeader writes to w the header of an array of element type d and the given shape, as numpy.save does.
// The elements are to follow it, row-major and little-endian. The error is of kind [ops.ErrDType] or
// [backend.ErrShape] if there is no such array.
func WriteHeader(w io.Writer, d ops.DType, shape backend.Shape) error {
	if err := writeHeader(w, d, shape); err != nil {
		return fmt.Errorf("npy: write: %w", err)
	}
	return nil
}

func writeHeader(w io.Writer, d ops.DType, shape backend.Shape) error {
	descr, ok := descrs[d]
	if !ok {
		return fmt.Errorf("%v %v: %w", d, shape, ops.ErrDType)
	}
	if err := shape.Check(); err != nil {
		return fmt.Errorf("%v: %w", d, err)
	}
	if len(shape) > maxRank {
		return fmt.Errorf("%v: %d axes, NumPy has at most %d: %w", d, len(shape), maxRank, backend.ErrShape)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, tuple(shape))
	if len(shape) > 0 {
		// Room for the first extent to grow in place to 21 digits, which NumPy leaves too.
		b.WriteString(strings.Repeat(" ", 21-len(fmt.Sprint(shape[0]))))
	}
	// NumPy adds a full line of blanks where none are needed.
	used := len(magic) + 4 + b.Len() + 1
	b.WriteString(strings.Repeat(" ", alignment-used%alignment))
	b.WriteByte('\n')

	head := append([]byte(magic), 1, 0)
	head = binary.LittleEndian.AppendUint16(head, uint16(b.Len())) // ≤ 64 extents of 20 digits
	if _, err := w.Write(append(head, b.String()...)); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	return nil
}

// tuple prints shape as Python does a tuple: (), (3,), (2, 3).
func tuple(shape backend.Shape) string {
	s := strings.Trim(fmt.Sprint([]int(shape)), "[]")
	if len(shape) == 1 {
		return "(" + s + ",)"
	}
	return "(" + strings.ReplaceAll(s, " ", ", ") + ")"
}
