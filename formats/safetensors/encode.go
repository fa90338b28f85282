package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A source is a tensor to be written.
type source struct {
	name  string
	dtype ops.DType
	shape backend.Shape
	write func(io.Writer) (int64, error) // writes its elements, row-major and little-endian
	elem  int                            // in elems, filled in by encode
}

// encode writes a file of the tensors of list, which it sorts. Its errors leave it to the caller to name the package.
func encode(w io.Writer, list []source, meta map[string]string) error {
	if err := sortSources(list); err != nil {
		return err
	}
	head, err := header(list, meta)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	for _, s := range list {
		n, err := s.write(w)
		if err == nil && n != int64(s.shape.Len()*s.dtype.Size()) {
			err = fmt.Errorf("%d bytes for %v %v", n, s.dtype, s.shape)
		}
		if err != nil {
			return fmt.Errorf("tensor %q: %w", s.name, err)
		}
	}
	return nil
}

// sortSources sorts list as the reference does, by the alignment of the elements, widest first, and by name.
func sortSources(list []source) error {
	for i := range list {
		s := &list[i]
		e, ok := byDType(s.dtype)
		switch {
		case !ok:
			return fmt.Errorf("tensor %q: %v: %w", s.name, s.dtype, ops.ErrDType)
		case s.name == metadata:
			return fmt.Errorf("tensor %q: the name is that of the metadata", s.name)
		}
		if err := s.shape.Check(); err != nil {
			return fmt.Errorf("tensor %q: %w", s.name, err)
		}
		s.elem = e
	}
	slices.SortFunc(list, func(a, b source) int {
		return cmp.Or(cmp.Compare(b.elem, a.elem), cmp.Compare(a.name, b.name))
	})
	return nil
}

// header returns what stands before the data: the length of the header and the header, padded to a multiple of 8 bytes.
func header(list []source, meta map[string]string) ([]byte, error) {
	b := append(make([]byte, 8), '{')
	if len(meta) > 0 {
		b = append(b, `"`+metadata+`":{`...)
		for _, key := range slices.Sorted(maps.Keys(meta)) {
			var err error
			if b, err = appendString(b, key); err != nil {
				return nil, err
			}
			b = append(b, ':')
			if b, err = appendString(b, meta[key]); err != nil {
				return nil, err
			}
			b = append(b, ',')
		}
		b[len(b)-1] = '}'
		b = append(b, ',')
	}
	at := 0
	for _, s := range list {
		var err error
		if b, err = appendString(b, s.name); err != nil {
			return nil, err
		}
		b = append(b, `:{"dtype":"`+elems[s.elem].name+`","shape":`...)
		b = appendCounts(b, s.shape)
		b = append(b, `,"data_offsets":`...)
		end := at + s.shape.Len()*s.dtype.Size()
		b = append(appendCounts(b, []int{at, end}), `},`...)
		at = end
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	b = append(b, '}')
	for len(b)%8 != 0 {
		b = append(b, ' ')
	}
	n := len(b) - 8
	if n > maxHeader {
		return nil, fmt.Errorf("header of %d bytes, at most %d can be read", n, maxHeader)
	}
	binary.LittleEndian.PutUint64(b, uint64(n))
	return b, nil
}

func appendCounts(b []byte, list []int) []byte {
	b = append(b, '[')
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}

// appendString appends s as a JSON string with no more escapes than JSON demands, as the reference writes it.
func appendString(b []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("%q is not UTF-8", s)
	}
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			if c < ' ' {
				b = fmt.Appendf(b, `\u%04x`, c)
			} else {
				b = append(b, c)
			}
		}
	}
	return append(b, '"'), nil
}
