package npy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/formats/npy"
	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/tensor"
)

// same checks that got is want: element type, shape, and each bit.
func same(t *testing.T, got, want *tensor.Tensor) {
	t.Helper()
	if got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) {
		t.Errorf("%v, want %v", got, want)
	}
	g, err := tensor.Bytes(t.Context(), got)
	if err != nil {
		t.Error(err)
	}
	w, err := tensor.Bytes(t.Context(), want)
	if err != nil {
		t.Error(err)
	}
	if !bytes.Equal(g, w) {
		t.Errorf("elements % x, want % x", g, w)
	}
}

// tensors are arrays of each type and of each kind of layout.
func tensors() map[string]*tensor.Tensor {
	ts := map[string]*tensor.Tensor{
		"scalar":     tensor.Full(tensor.Float32, 7),
		"empty":      tensor.Zeros(tensor.Float64, 3, 0, 2),
		"transposed": tensor.New([]float32{1, 2, 3, 4, 5, 6}, 2, 3).T(),
		"lazy":       tensor.New([]float32{1, 2, 3}).MulScalar(2),
		"nan":        tensor.FromBytes(tensor.Float32, []int{2}, []byte{1, 2, 0xc0, 0x7f, 3, 0, 0x80, 0xff}), // payloads
		"one":        tensor.Full(tensor.Int64, 1, 1, 1),
	}
	for _, d := range ops.DTypes() {
		b := make([]byte, 6*d.Size()) // any bits
		for i := range b {
			b[i] = byte(i*37 + 11)
		}
		ts[d.String()] = tensor.FromBytes(d, []int{2, 3}, b)
	}
	return ts
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	for name, x := range tensors() {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := npy.Write(t.Context(), &b, x); err != nil {
				t.Fatal(err)
			}
			y, err := npy.Read(&b)
			if err != nil {
				t.Fatal(err)
			}
			same(t, y, x)
			path := filepath.Join(dir, name+".npy")
			if err := npy.WriteFile(t.Context(), path, x); err != nil {
				t.Fatal(err)
			}
			if y, err = npy.ReadFile(path); err != nil {
				t.Fatal(err)
			}
			same(t, y, x)
		})
	}
	path := filepath.Join(dir, "all.npz")
	if err := npy.WriteArchiveFile(t.Context(), path, tensors()); err != nil {
		t.Fatal(err)
	}
	a, err := npy.OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if len(a.Names()) != len(tensors()) || !slices.IsSorted(a.Names()) {
		t.Errorf("names %q", a.Names())
	}
	for name, x := range tensors() {
		y, err := a.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		same(t, y, x)
	}
}

// O03: an array in Fortran order, written in row-major order, reads the same.
func TestRewritten(t *testing.T) {
	x, err := npy.ReadFile("testdata/cases/npy_fortran.npy")
	if err != nil {
		t.Fatal(err)
	}
	same(t, x, tensor.New([]float32{0, 1, 2, 3, 4, 5}, 2, 3))
	var b bytes.Buffer
	if err := npy.Write(t.Context(), &b, x); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "'fortran_order': False, 'shape': (2, 3)") {
		t.Errorf("wrote %q", b.String()[:80])
	}
	y, err := npy.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	same(t, y, x)
}

func TestReadFileErrors(t *testing.T) {
	good, err := os.ReadFile("testdata/cases/npy_v2.npy")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content []byte
		kind    error
		says    string
	}{
		"empty":     {nil, npy.ErrFormat, "empty file"},
		"cut short": {good[:len(good)-1], io.ErrUnexpectedEOF, "elements: 23 of 24 bytes at byte 128"},
		"too long":  {append(slices.Clone(good), 0), npy.ErrFormat, "more after the elements, which end at byte 152"},
		"text":      {[]byte("1,2,3,4,5"), npy.ErrFormat, `begins with "1,2,3,"`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.npy")
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := npy.ReadFile(path)
			if !errors.Is(err, c.kind) || !strings.HasPrefix(err.Error(), "npy: ") || !strings.HasSuffix(err.Error(), "(in "+path+")") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
	if _, err := npy.ReadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestWriteErrors(t *testing.T) {
	bad := tensor.New([]float32{1, 2}).Add(tensor.New([]float32{1, 2, 3}))
	var b bytes.Buffer
	if err := npy.Write(t.Context(), &b, bad); !errors.Is(err, tensor.ErrShape) || b.Len() != 0 {
		t.Errorf("error %v after %d bytes, want a mismatch of shapes after none", err, b.Len())
	}
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := npy.WriteFile(t.Context(), path, bad); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("error %v, want a mismatch of shapes", err)
	}
	if err := npy.WriteArchiveFile(t.Context(), path, map[string]*tensor.Tensor{"bad": bad}); !errors.Is(err, tensor.ErrShape) || !strings.Contains(err.Error(), `array "bad"`) {
		t.Errorf("error %v, want a mismatch of shapes", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is there: %v", err)
	}
}

func ExampleWrite() {
	ctx := context.Background()
	var file bytes.Buffer
	for _, x := range []*tensor.Tensor{tensor.New([]int32{1, 2, 3}), tensor.New([]float64{0.5, 1.5}).Sum()} {
		if err := npy.Write(ctx, &file, x); err != nil {
			fmt.Println(err)
			return
		}
	}
	for {
		x, err := npy.Read(&file)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(x.DType(), x.Shape())
	}
	// Output:
	// int32 [3]
	// float64 []
}

func ExampleReadFile() {
	x, err := npy.ReadFile("testdata/cases/npy_be.npy") // big-endian
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tensor.Data[int32](context.Background(), x))
	_, err = npy.ReadFile("testdata/cases/npy_object.npy")
	fmt.Println(err)
	// Output:
	// [0 1 2 3] <nil>
	// npy: header, byte 20: descr "|O": Python objects, which are never unpickled: unsupported data type (in testdata/cases/npy_object.npy)
}

func ExampleArchive() {
	a, err := npy.OpenArchive("testdata/stored.npz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	for _, name := range []string{"int16", "big/float32", "fortran"} {
		x, err := a.Tensor(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(name, x.DType(), x.Shape())
	}
	// Output:
	// int16 int32 [2 3]
	// big/float32 float32 [2 3]
	// fortran int32 [2 3 4]
}

func ExampleArchiveWriter() {
	ctx := context.Background()
	var file bytes.Buffer
	w := npy.NewArchiveWriter(&file)
	w.Deflate = true
	err := errors.Join(
		w.Write(ctx, "weight", tensor.Eye(tensor.Float32, 3)),
		w.Write(ctx, "bias", tensor.Zeros(tensor.Float32, 3)),
		w.Close(),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := npy.NewArchive(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Names())
	h, err := a.Header("weight")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.Descr, h.Shape)
	// Output:
	// [weight bias]
	// <f4 [3 3]
}

func ExampleReadHeader() {
	f, err := os.Open("testdata/cases/npy_fortran.npy")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	h, err := npy.ReadHeader(f)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.DType, h.Shape, h.FortranOrder, h.Offset)
	// Output: float32 [2 3] true 128
}

// TestErrorsNameThePackageOnce looks at what goes wrong in the inner of two functions that could both say where.
func TestErrorsNameThePackageOnce(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "a")
	bad := tensor.New([]float32{1, 2}, 3)
	whole := tensor.New([]float32{1, 2}, 2)
	for name, err := range map[string]error{
		"write":        npy.Write(ctx, io.Discard, bad),
		"nil":          npy.Write(ctx, io.Discard, nil),
		"file":         npy.WriteFile(ctx, path, bad),
		"archive":      npy.NewArchiveWriter(io.Discard).Write(ctx, "a", bad),
		"archive name": npy.NewArchiveWriter(io.Discard).Write(ctx, "../a", whole),
		"archive file": npy.WriteArchiveFile(ctx, path, map[string]*tensor.Tensor{"../a": whole}),
		"header":       npy.WriteHeader(io.Discard, tensor.Float32, []int{-1}),
	} {
		if err == nil || strings.Count(err.Error(), "npy:") != 1 || !strings.HasPrefix(err.Error(), "npy:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
