package safetensors_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/formats/safetensors"
	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/tensor"
)

// tensors are arrays of each type, of each kind of layout and of each kind of name.
func tensors() map[string]*tensor.Tensor {
	ts := map[string]*tensor.Tensor{
		"scalar":                tensor.Full(tensor.Float32, 7),
		"empty":                 tensor.Zeros(tensor.Float64, 3, 0, 2),
		"transposed":            tensor.New([]float32{1, 2, 3, 4, 5, 6}, 2, 3).T(),
		"lazy":                  tensor.New([]float32{1, 2, 3}).MulScalar(2),
		"nan":                   tensor.FromBytes(tensor.Float32, []int{2}, []byte{1, 2, 0xc0, 0x7f, 3, 0, 0x80, 0xff}), // payloads
		"":                      tensor.Ones(tensor.Int8, 1),
		"\"quote\" \\ <é> \x1f": tensor.Ones(tensor.Int8, 1), // O19
		"日本語\u2028🙂":            tensor.Ones(tensor.Int8, 1),
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
	meta := map[string]string{"": "", "a \"b\"": "\n"}
	path := filepath.Join(t.TempDir(), "a.safetensors")
	for range 2 { // the second time in place of the first
		if err := safetensors.WriteFile(t.Context(), path, tensors(), meta); err != nil {
			t.Fatal(err)
		}
	}
	opened, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b[8] != '{' || b[0]%8 != 0 {
		t.Errorf("begins with % x", b[:16])
	}
	parsed, err := safetensors.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	for how, f := range map[string]*safetensors.File{"Open": opened, "Parse": parsed} {
		for name, want := range tensors() {
			t.Run(fmt.Sprintf("%s/%q", how, name), func(t *testing.T) {
				got, err := f.Tensor(name)
				if err != nil {
					t.Fatal(err)
				}
				same(t, got, want)
			})
		}
		if got := f.Metadata(); !maps.Equal(got, meta) {
			t.Errorf("metadata %q, want %q", got, meta)
		}
	}
}

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

// O19: the file of the case, byte for byte.
func TestWriter(t *testing.T) {
	x := tensor.Arange(tensor.Float32, 0, 6, 1).Reshape(1, 1, 2, 3)
	var b bytes.Buffer
	if err := safetensors.Write(t.Context(), &b, map[string]*tensor.Tensor{"attn0": x}, nil); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/attn0.safetensors") // written by the reference
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) || b.Bytes()[0] != 72 {
		t.Errorf("%q, want %q", b.Bytes(), want)
	}
}

func TestWriteErrors(t *testing.T) {
	bad := tensor.New([]float32{1, 2}).Add(tensor.New([]float32{1, 2, 3}))
	path := filepath.Join(t.TempDir(), "a.safetensors")
	err := safetensors.WriteFile(t.Context(), path, map[string]*tensor.Tensor{"good": tensor.Ones(tensor.Int8), "bad": bad}, nil)
	if err == nil || strings.Count(err.Error(), "safetensors: write ") != 1 || !strings.Contains(err.Error(), `: tensor "bad": `) {
		t.Errorf("error %v, want one that names the package once, and the tensor", err)
	}
	if !errors.Is(err, tensor.ErrShape) || !strings.Contains(err.Error(), `tensor "bad"`) {
		t.Errorf("error %v, want a mismatch of shapes", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lazy := tensor.Ones(tensor.Float32, 1000).Exp()
	if err := safetensors.WriteFile(ctx, path, map[string]*tensor.Tensor{"lazy": lazy}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is there: %v", err)
	}
}

// The weights of the MNIST network, which PyTorch wrote.
func ExampleOpen() {
	f, err := safetensors.Open("../../models/mnist/mnist.safetensors")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	fmt.Println(f.Metadata()["input"])
	for name, info := range f.All() {
		if strings.HasPrefix(name, "classifier.") {
			fmt.Println(name, info.Type, info.Shape)
		}
	}
	w, err := f.Tensor("features.0.weight")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.DType(), w.Shape())
	// Output:
	// [N,1,28,28] ink 1, paper 0
	// classifier.bias F32 [10]
	// classifier.weight F32 [10 432]
	// float32 [12 1 3 3]
}

func ExampleWrite() {
	ctx := context.Background()
	var file bytes.Buffer
	err := safetensors.Write(ctx, &file, map[string]*tensor.Tensor{
		"weight": tensor.Eye(tensor.Float16, 2),
		"index":  tensor.New([]int64{3, 1}),
	}, map[string]string{"made by": "weft"})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := safetensors.Parse(file.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Names(), f.Metadata())
	// Output: [index weight] map[made by:weft]
}

func ExampleParse() {
	_, err := safetensors.Parse([]byte("\x09\x00\x00\x00\x00\x00\x00\x00{\"a\":1}  "))
	fmt.Println(err)
	fmt.Println(errors.Is(err, safetensors.ErrFormat))
	// Output:
	// safetensors: header, byte 13: tensor "a": want '{', have "1}": malformed file
	// true
}
