package safetensors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
)

// A File is a safetensors file open for reading. Its methods may be called at the same time.
type File struct {
	r       io.ReaderAt
	memory  []byte    // the whole file, if it is in memory
	closer  io.Closer // nil unless Open opened it
	entries []entry
	index   map[string]int // of entries
	meta    map[string]string
}

// Open opens the file at path and reads its header. The tensors are read from it when they are asked for, so it must
// not change until [File.Close].
func Open(path string) (*File, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	f, err := openFile(r)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w (in %s)", err, path), r.Close())
	}
	f.closer = r
	return f, nil
}

func openFile(r *os.File) (*File, error) {
	info, err := r.Stat()
	if err != nil {
		return nil, err
	}
	return NewReader(r, info.Size())
}

// NewReader reads the header of the file of size bytes in r. The tensors are read from r when they are asked for.
func NewReader(r io.ReaderAt, size int64) (*File, error) {
	entries, meta, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	f := &File{r: r, entries: entries, index: make(map[string]int, len(entries)), meta: meta}
	for i, e := range entries {
		f.index[e.name] = i
	}
	return f, nil
}

// Parse reads the header of the file that b holds. The tensors share b, which must not change while any of them or
// one computed from it is in use.
func Parse(b []byte) (*File, error) {
	f, err := NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	f.memory = b
	return f, nil
}

// Close closes a file opened by [Open]. Tensors read before keep what they have.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Names returns the names of the tensors in the order of their data, in which reading them all is fastest.
func (f *File) Names() []string {
	names := make([]string, len(f.entries))
	for i, e := range f.entries {
		names[i] = e.name
	}
	return names
}

// Metadata returns a copy of the file's metadata, texts by their names; nil if it has none.
func (f *File) Metadata() map[string]string { return maps.Clone(f.meta) }

// Info returns what the tensor of that name is, and whether there is one.
func (f *File) Info(name string) (Info, bool) {
	i, ok := f.index[name]
	if !ok {
		return Info{}, false
	}
	return f.entries[i].info(), true
}

func (e *entry) info() Info {
	info := e.Info
	info.Shape = info.Shape.Clone()
	return info
}

// All iterates over the tensors in the order of [File.Names].
func (f *File) All() iter.Seq2[string, Info] {
	return func(yield func(string, Info) bool) {
		for i := range f.entries {
			if e := &f.entries[i]; !yield(e.name, e.info()) {
				return
			}
		}
	}
}

// Bytes returns the elements of the tensor of that name as they are in the file: row-major and little-endian, of the
// type that [Info] names. It shares the memory of a file opened by [Parse]. The error is of kind
// [fs.ErrNotExist] if there is no such tensor.
func (f *File) Bytes(name string) ([]byte, error) {
	i, ok := f.index[name]
	if !ok {
		return nil, fmt.Errorf("safetensors: tensor %q: %w", name, fs.ErrNotExist)
	}
	e := &f.entries[i]
	if f.memory != nil {
		return f.memory[e.Offset : e.Offset+e.Size : e.Offset+e.Size], nil
	}
	b := make([]byte, e.Size) // the file is that long
	if err := readAt(f.r, b, e.Offset); err != nil {
		return nil, fmt.Errorf("safetensors: tensor %q: %w", name, err)
	}
	return b, nil
}
