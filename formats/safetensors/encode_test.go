package safetensors

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// O19: what is written is, byte for byte, what the reference wrote.
func TestEncode(t *testing.T) {
	for _, name := range []string{"weft", "none", "attn0"} {
		t.Run(name, func(t *testing.T) {
			want := read(t, name+".safetensors")
			f := parse(t, want)
			var list []source
			for _, name := range f.Names() {
				info, b, err := f.data(name)
				if err != nil {
					t.Fatal(err)
				}
				// In another order than the file's.
				list = append([]source{{name: name, dtype: info.DType, shape: info.Shape, write: raw(b)}}, list...)
			}
			var got bytes.Buffer
			if err := encode(&got, list, f.Metadata()); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("\n%q, want\n%q", got.Bytes(), want)
			}
		})
	}
}

// raw returns what writes b.
func raw(b []byte) func(io.Writer) (int64, error) {
	return func(w io.Writer) (int64, error) {
		n, err := w.Write(b)
		return int64(n), err
	}
}

func TestEncodeRefused(t *testing.T) {
	broken := errors.New("broken")
	ok := source{name: "a", dtype: ops.Uint8, shape: backend.Shape{2}, write: raw([]byte{1, 2})}
	with := func(edit func(*source)) []source {
		s := ok
		edit(&s)
		return []source{s}
	}
	for name, c := range map[string]struct {
		list []source
		meta map[string]string
		says string
	}{
		"dtype":      {with(func(s *source) { s.dtype = ops.Invalid }), nil, `tensor "a": invalid: unsupported data type`},
		"shape":      {with(func(s *source) { s.shape = backend.Shape{-1} }), nil, `tensor "a": shape [-1]`},
		"name":       {with(func(s *source) { s.name = "\xff" }), nil, `"\xff" is not UTF-8`},
		"metadata":   {with(func(s *source) { s.name = metadata }), nil, "the name is that of the metadata"},
		"meta key":   {nil, map[string]string{"\xff": ""}, `"\xff" is not UTF-8`},
		"meta value": {nil, map[string]string{"": "\xff"}, `"\xff" is not UTF-8`},
		"bytes":      {with(func(s *source) { s.shape = backend.Shape{3} }), nil, `tensor "a": 2 bytes for uint8 [3]`},
		"failure":    {with(func(s *source) { s.write = func(io.Writer) (int64, error) { return 0, broken } }), nil, `tensor "a": broken`},
	} {
		t.Run(name, func(t *testing.T) {
			err := encode(io.Discard, c.list, c.meta)
			if err == nil || strings.HasPrefix(err.Error(), "safetensors: ") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
	if err := encode(failing{}, nil, nil); !errors.Is(err, errFull) {
		t.Errorf("error %v, want %v", err, errFull)
	}
}

var errFull = errors.New("disk full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestEncodeTooLong(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 100 MB")
	}
	err := encode(io.Discard, nil, map[string]string{"": strings.Repeat("x", maxHeader)})
	if err == nil || !strings.Contains(err.Error(), "at most 100000000 can be read") {
		t.Errorf("error %v", err)
	}
}
