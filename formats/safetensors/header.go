package safetensors

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// ErrFormat is the kind of error for input that is no well-formed safetensors file.
var ErrFormat = errors.New("malformed file")

const (
	maxHeader = 100_000_000 // bytes, as in the reference
	maxRank   = 64          // axes, as in NumPy
	metadata  = "__metadata__"
)

// An Info says what a tensor in a file is.
type Info struct {
	Type   string        // the element type in the file, such as "F32"
	DType  ops.DType     // the element type it is read as, ops.Invalid if it cannot be
	Shape  backend.Shape // a scalar has none
	Offset int64         // where its elements begin in the file
	Size   int64         // how many bytes they take there
}

// An entry is a tensor of a header.
type entry struct {
	Info
	name       string
	elem       int // in elems
	at         int // of the name in the header
	start, end int // of the elements, from the end of the header
}

// readHeader reads and checks the header of a file of size bytes. It returns the tensors in the order of their data.
func readHeader(r io.ReaderAt, size int64) ([]entry, map[string]string, error) {
	var b [8]byte
	if size < int64(len(b)) {
		return nil, nil, fmt.Errorf("safetensors: file of %d bytes, want at least 8: %w", size, ErrFormat)
	}
	if err := readAt(r, b[:], 0); err != nil {
		return nil, nil, fmt.Errorf("safetensors: length of the header: %w", err)
	}
	n := binary.LittleEndian.Uint64(b[:])
	switch {
	case n > maxHeader:
		return nil, nil, fmt.Errorf("safetensors: header of %d bytes, at most %d are read: %w", n, maxHeader, ErrFormat)
	case n > uint64(size)-8:
		return nil, nil, fmt.Errorf("safetensors: header of %d bytes in a file of %d: %w", n, size, ErrFormat)
	case n == 0:
		return nil, nil, fmt.Errorf("safetensors: header of 0 bytes: %w", ErrFormat)
	}
	text := make([]byte, n)
	if err := readAt(r, text, 8); err != nil {
		return nil, nil, fmt.Errorf("safetensors: header: %w", err)
	}
	if !utf8.Valid(text) {
		at := 0
		for r, w := utf8.DecodeRune(text); r != utf8.RuneError || w != 1; r, w = utf8.DecodeRune(text[at:]) {
			at += w
		}
		return nil, nil, fmt.Errorf("safetensors: header, byte %d: not UTF-8: %w", 8+at, ErrFormat)
	}
	entries, meta, err := parseHeader(text)
	if err != nil {
		return nil, nil, err
	}
	if err := tile(entries, size-8-int64(n)); err != nil {
		return nil, nil, err
	}
	for i := range entries {
		e := &entries[i]
		e.Offset = 8 + int64(n) + int64(e.start)
	}
	return entries, meta, nil
}

// readAt fills b from offset off of r.
func readAt(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%d of %d bytes at byte %d: %w", n, len(b), off, err)
}

// parseHeader reads the text of a header. It checks each tensor for itself.
func parseHeader(text []byte) (entries []entry, meta map[string]string, err error) {
	s := &scanner{text: text}
	if text[0] != '{' {
		return nil, nil, s.errorf(0, "want '{', have %s", s.rest())
	}
	seen := map[string]bool{}
	err = s.object("header", func(name string, at int) error {
		if seen[name] {
			return s.errorf(at, "second tensor of the name %q", name)
		}
		seen[name] = true
		if name == metadata {
			meta, err = s.metadata()
			return err
		}
		e := entry{name: name, at: at}
		if err := s.entry(&e); err != nil {
			return err
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if s.space(); s.at < len(text) {
		return nil, nil, s.errorf(s.at, "%s after the object", s.rest())
	}
	return entries, meta, nil
}

func (s *scanner) metadata() (map[string]string, error) {
	meta := map[string]string{}
	err := s.object(metadata, func(key string, at int) error {
		if _, ok := meta[key]; ok {
			return s.errorf(at, "%s: second key %q", metadata, key)
		}
		v, err := s.string(fmt.Sprintf("%s: %q", metadata, key))
		meta[key] = v
		return err
	})
	return meta, err
}

var entryKeys = []string{"dtype", "shape", "data_offsets"}

// entry reads what the header says of tensor e.name.
func (s *scanner) entry(e *entry) error {
	where := fmt.Sprintf("tensor %q", e.name)
	seen := 0
	err := s.object(where, func(key string, at int) (err error) {
		k := slices.Index(entryKeys, key)
		switch {
		case k < 0:
			return s.errorf(at, "%s: unknown key %q", where, key)
		case seen&(1<<k) != 0:
			return s.errorf(at, "%s: second key %q", where, key)
		}
		seen |= 1 << k
		switch key {
		case "dtype":
			return s.dtype(where, e)
		case "shape":
			e.Shape, err = s.counts(where+": shape", maxRank)
			return err
		}
		return s.offsets(where+": data_offsets", e)
	})
	if err != nil {
		return err
	}
	for k, key := range entryKeys {
		if seen&(1<<k) == 0 {
			return s.errorf(e.at, "%s: no %s", where, key)
		}
	}
	return s.size(where, e)
}

func (s *scanner) dtype(where string, e *entry) error {
	s.space()
	at := s.at
	name, err := s.string(where + ": dtype")
	if err != nil {
		return err
	}
	i, ok := byName(name)
	if !ok {
		return s.errorf(at, "%s: unknown dtype %q", where, name)
	}
	e.elem, e.Type, e.DType = i, elems[i].name, elems[i].dtype
	return nil
}

func (s *scanner) offsets(where string, e *entry) error {
	at := s.at
	list, err := s.counts(where, 2)
	if err != nil {
		return err
	}
	if len(list) != 2 {
		return s.errorf(at, "%s: %d numbers, want 2", where, len(list))
	}
	e.start, e.end = list[0], list[1]
	return nil
}

// size checks that the data are as long as the shape says.
func (s *scanner) size(where string, e *entry) error {
	if err := e.Shape.Check(); err != nil {
		return s.errorf(e.at, "%s: %w", where, err)
	}
	n := e.Shape.Len() // Check: eight bytes each fit an int
	if bits := elems[e.elem].bits; bits >= 8 {
		n *= bits / 8
	} else if n *= bits; n%8 == 0 {
		n /= 8
	} else {
		return s.errorf(e.at, "%s: %s %v ends within a byte", where, e.Type, e.Shape)
	}
	switch {
	case e.end < e.start:
		return s.errorf(e.at, "%s: data_offsets [%d,%d] end before they begin", where, e.start, e.end)
	case e.end-e.start != n:
		return s.errorf(e.at, "%s: %s %v takes %d bytes, data_offsets [%d,%d] are %d",
			where, e.Type, e.Shape, n, e.start, e.end, e.end-e.start)
	}
	e.Size = int64(n)
	return nil
}

// tile sorts entries by the place of their data and checks that these fill size bytes without gap or overlap.
func tile(entries []entry, size int64) error {
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	at, last := 0, "the header"
	for _, e := range entries {
		switch {
		case e.start > at:
			return fmt.Errorf("safetensors: tensor %q: bytes %d to %d of the data before it belong to no tensor: %w", e.name, at, e.start, ErrFormat)
		case e.start < at:
			return fmt.Errorf("safetensors: tensors %q and %q share bytes %d to %d of the data: %w", last, e.name, e.start, min(at, e.end), ErrFormat)
		}
		at, last = e.end, e.name
	}
	if int64(at) != size {
		return fmt.Errorf("safetensors: %d bytes of data after the header, the tensors take %d: %w", size, at, ErrFormat)
	}
	return nil
}
