package safetensors

import (
	"context"
	"fmt"
	"io"

	"github.com/weft-go/weft/formats/internal/atomicfile"
	"github.com/weft-go/weft/tensor"
)

// Tensor reads the tensor of that name. It shares the memory of a file opened by [Parse] where its type is one of weft's
// and its place in memory suits that type. The error is of kind [fs.ErrNotExist] if there is no such tensor, and of
// kind [ops.ErrDType] if its elements are of a type that cannot be read.
func (f *File) Tensor(name string) (*tensor.Tensor, error) {
	info, b, err := f.data(name)
	if err != nil {
		return nil, err
	}
	t := tensor.FromBytes(info.DType, info.Shape, b)
	if err := t.Err(); err != nil {
		return nil, fmt.Errorf("safetensors: tensor %q: %w", name, err)
	}
	return t, nil
}

// Write writes the tensors by their names, and the metadata, which may be nil, to w. They are computed one after
// another as they are written. A name must be UTF-8 and not "__metadata__". A tensor that carries an error is
// found before anything is written.
func Write(ctx context.Context, w io.Writer, tensors map[string]*tensor.Tensor, metadata map[string]string) error {
	if err := write(ctx, w, tensors, metadata); err != nil {
		return fmt.Errorf("safetensors: write: %w", err)
	}
	return nil
}

func write(ctx context.Context, w io.Writer, tensors map[string]*tensor.Tensor, metadata map[string]string) error {
	list := make([]source, 0, len(tensors))
	for name, t := range tensors {
		if err := t.Err(); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		write := func(w io.Writer) (int64, error) { return tensor.WriteTo(ctx, w, t) }
		list = append(list, source{name: name, dtype: t.DType(), shape: t.Shape(), write: write})
	}
	return encode(w, list, metadata)
}

// WriteFile writes a file at path as [Write] does. A file that is there is replaced once the new one is complete; after
// an error it is as it was.
func WriteFile(ctx context.Context, path string, tensors map[string]*tensor.Tensor, metadata map[string]string) error {
	err := atomicfile.Write(path, func(w io.Writer) error { return write(ctx, w, tensors, metadata) })
	if err != nil {
		return fmt.Errorf("safetensors: write %s: %w", path, err)
	}
	return nil
}
