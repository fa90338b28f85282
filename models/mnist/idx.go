package mnist

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-go/weft/tensor"
)

// Test reads the 10,000 test images, [10000 28 28] of bytes, and their labels from the folder dir, which holds
// the files t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, as they are or with the suffix .gz.
func Test(dir string) (images *tensor.Tensor, labels []byte, err error) {
	const count = 10_000
	pixels, err := readFile(dir, "t10k-images-idx3-ubyte", count, Side, Side)
	if err != nil {
		return nil, nil, err
	}
	labels, err = readFile(dir, "t10k-labels-idx1-ubyte", count)
	if err != nil {
		return nil, nil, err
	}
	return tensor.Wrap(pixels, count, Side, Side), labels, nil
}

func readFile(dir, name string, shape ...int) ([]byte, error) {
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		path += ".gz"
		f, err = os.Open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("mnist: %w", err)
	}
	defer func() { _ = f.Close() }() // it is only read
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("mnist: %s: %w", path, err)
		}
	}
	data, err := ReadIDX(r, shape...)
	if err != nil {
		return nil, fmt.Errorf("mnist: %s: %w", path, err)
	}
	return data, nil
}

// ReadIDX reads an IDX file of bytes that must have the given shape: two zero bytes, the type (8, unsigned bytes), the
// rank, each extent as a big-endian uint32, the data in row-major order, and nothing more.
// (yann.lecun.com/exdb/mnist describes the format.)
func ReadIDX(r io.Reader, shape ...int) ([]byte, error) {
	head := make([]byte, 4+4*len(shape))
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("header of %d bytes: %w", len(head), err)
	}
	if magic, want := binary.BigEndian.Uint32(head), uint32(0x800+len(shape)); magic != want {
		return nil, fmt.Errorf("magic number is %#08x, want %#08x (bytes of rank %d)", magic, want, len(shape))
	}
	n := 1
	for i, want := range shape {
		if got := binary.BigEndian.Uint32(head[4+4*i:]); got != uint32(want) {
			return nil, fmt.Errorf("extent of axis %d is %d, want %d", i, got, want)
		}
		n *= want
	}
	data := make([]byte, n)
	if got, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("%d bytes of data, want %d: %w", got, n, err)
	}
	if extra, err := r.Read(make([]byte, 1)); extra != 0 || err != io.EOF {
		return nil, fmt.Errorf("more than %d bytes of data (or %w)", n, err)
	}
	return data, nil
}
