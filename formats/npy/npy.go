package npy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/weft-go/weft/formats/internal/atomicfile"
	"github.com/weft-go/weft/tensor"
)

// Read reads one array from r, and nothing beyond it. The error is [io.EOF] itself if r is at its end, and
// otherwise as the package comment says. Read makes many small reads, and then large ones, so r need not be buffered.
func Read(r io.Reader) (*tensor.Tensor, error) {
	h, err := ReadHeader(r)
	if err != nil {
		return nil, err
	}
	b, err := h.Data(r)
	if err != nil {
		return nil, err
	}
	return h.tensor(b)
}

// tensor returns the array of the elements b, which it shares.
func (h *Header) tensor(b []byte) (*tensor.Tensor, error) {
	t := tensor.FromBytes(h.DType, h.Shape, b)
	if err := t.Err(); err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	return t, nil
}

// ReadFile reads the array in the file at path. Bytes after the array are an error of kind [ErrFormat]; a file of several
// arrays is read by [Read].
func ReadFile(path string) (*tensor.Tensor, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	t, err := readFile(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, inFile(err, path)
	}
	return t, nil
}

func readFile(f *os.File) (*tensor.Tensor, error) {
	h, err := ReadHeader(f)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("npy: empty file: %w", ErrFormat)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	left := -1
	if info.Mode().IsRegular() {
		left = int(info.Size() - int64(h.Offset))
	}
	b, err := h.data(f, left)
	if err != nil {
		return nil, err
	}
	if n, err := io.ReadFull(f, make([]byte, 1)); n > 0 {
		return nil, fmt.Errorf("npy: more after the elements, which end at byte %d: %w", h.Offset+h.bytes(), ErrFormat)
	} else if err != io.EOF {
		return nil, err
	}
	return h.tensor(b)
}

// Write writes t to w as numpy.save does: version 1.0, row-major, little-endian. It computes t first; the error
// is t's own if it has one, and then nothing is written.
func Write(ctx context.Context, w io.Writer, t *tensor.Tensor) error {
	if err := write(ctx, w, t); err != nil {
		return fmt.Errorf("npy: write: %w", err)
	}
	return nil
}

func write(ctx context.Context, w io.Writer, t *tensor.Tensor) error {
	if err := tensor.Eval(ctx, t); err != nil {
		return err
	}
	if err := writeHeader(w, t.DType(), t.Shape()); err != nil {
		return err
	}
	return writeData(ctx, w, t)
}

func writeData(ctx context.Context, w io.Writer, t *tensor.Tensor) error {
	if _, err := tensor.WriteTo(ctx, w, t); err != nil {
		return fmt.Errorf("%v %v: %w", t.DType(), t.Shape(), err)
	}
	return nil
}

// WriteFile writes t to the file at path as [Write] does. A file that is there is replaced once the new one is complete;
// after an error it is as it was.
func WriteFile(ctx context.Context, path string, t *tensor.Tensor) error {
	err := atomicfile.Write(path, func(w io.Writer) error { return write(ctx, w, t) })
	if err != nil {
		return fmt.Errorf("npy: write %s: %w", path, err)
	}
	return nil
}

// Tensor reads the array of that name. A name may have the ending .npy or not. The error is of kind [fs.ErrNotExist] if
// there is no such array.
func (a *Archive) Tensor(name string) (*tensor.Tensor, error) {
	h, b, err := a.read(name, true)
	if err != nil {
		return nil, err
	}
	return h.tensor(b)
}

// Write adds t under that name, which must be new and a path that [fs.ValidPath] accepts. It computes t first; the
// error is t's own if it has one, and then nothing is added.
func (a *ArchiveWriter) Write(ctx context.Context, name string, t *tensor.Tensor) error {
	if err := a.write(ctx, name, t); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	return nil
}

func (a *ArchiveWriter) write(ctx context.Context, name string, t *tensor.Tensor) error {
	if err := tensor.Eval(ctx, t); err != nil {
		return fmt.Errorf("array %q: %w", name, err)
	}
	w, err := a.create(name, t.DType(), t.Shape())
	if err != nil {
		return err
	}
	if err := writeData(ctx, w, t); err != nil {
		return fmt.Errorf("array %q: %w", name, err)
	}
	return nil
}

// WriteArchiveFile writes the tensors by their names to the .npz at path, uncompressed, as numpy.savez does. A
// file that is there is replaced once the new one is complete; after an error it is as it was.
func WriteArchiveFile(ctx context.Context, path string, tensors map[string]*tensor.Tensor) error {
	err := atomicfile.Write(path, func(w io.Writer) error {
		a := NewArchiveWriter(w)
		for _, name := range slices.Sorted(maps.Keys(tensors)) {
			if err := a.write(ctx, name, tensors[name]); err != nil {
				return err
			}
		}
		return a.close()
	})
	if err != nil {
		return fmt.Errorf("npy: write %s: %w", path, err)
	}
	return nil
}
