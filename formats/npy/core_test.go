package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// load reads a whole .npy through the parts that know no tensors.
func load(b []byte) (*Header, []byte, error) {
	r := bytes.NewReader(b)
	h, err := ReadHeader(r)
	if err != nil {
		return nil, nil, err
	}
	data, err := h.Data(r)
	return h, data, err
}

// file makes a .npy of version 1.0 from the text of a header and data.
func file(text string, data ...byte) []byte {
	b := append([]byte(magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	return append(append(b, text...), data...)
}

// encode returns vs as elements of type d.
func encode(d ops.DType, vs ...float64) []byte {
	b := []byte{}
	le := binary.LittleEndian
	for _, v := range vs {
		switch d {
		case ops.Bool:
			b = append(b, 0)
			if v != 0 {
				b[len(b)-1] = 1
			}
		case ops.Uint8, ops.Int8:
			b = append(b, byte(int(v)))
		case ops.Int32, ops.Uint32:
			b = le.AppendUint32(b, uint32(int64(v)))
		case ops.Int64:
			b = le.AppendUint64(b, uint64(int64(v)))
		case ops.Float16:
			b = le.AppendUint16(b, uint16(ops.ToF16(float32(v))))
		case ops.BFloat16:
			b = le.AppendUint16(b, uint16(ops.ToBF16(float32(v))))
		case ops.Float32:
			b = le.AppendUint32(b, math.Float32bits(float32(v)))
		case ops.Float64:
			b = le.AppendUint64(b, math.Float64bits(v))
		default:
			panic(d)
		}
	}
	return b
}

func check(t *testing.T, h *Header, data []byte, d ops.DType, shape backend.Shape, vs ...float64) {
	t.Helper()
	if h.DType != d || !h.Shape.Equal(shape) {
		t.Errorf("%v %v, want %v %v", h.DType, h.Shape, d, shape)
	}
	if want := encode(d, vs...); !bytes.Equal(data, want) {
		t.Errorf("data % x, want % x", data, want)
	}
}

// TestCases holds the public bug reports of group io that are about .npy files.
func TestCases(t *testing.T) {
	for _, c := range []struct {
		id, file string
		dtype    ops.DType
		shape    backend.Shape
		want     []float64
	}{
		{"O01", "npy_v2", ops.Float64, backend.Shape{3}, []float64{0, 1, 2}},
		{"O01", "npy_v3", ops.Float64, backend.Shape{3}, []float64{0, 1, 2}},
		{"O03", "npy_fortran", ops.Float32, backend.Shape{2, 3}, []float64{0, 1, 2, 3, 4, 5}},
		{"O05", "npy_be", ops.Int32, backend.Shape{4}, []float64{0, 1, 2, 3}},
		{"O07", "npy_nospace", ops.Int32, backend.Shape{3}, []float64{0, 1, 2}},
		{"O07", "npy_keyorder", ops.Float32, backend.Shape{2}, []float64{0, 1}},
		{"O07", "npy_dquote", ops.Uint8, backend.Shape{2}, []float64{1, 2}},
		{"O07", "npy_nonewline", ops.Float32, backend.Shape{1}, []float64{1}},
		{"O07", "npy_longshape", ops.Float32, backend.Shape{1}, []float64{1}},
	} {
		t.Run(c.id+"/"+c.file, func(t *testing.T) {
			h, data, err := load(caseFile(t, c.file))
			if err != nil {
				t.Fatal(err)
			}
			check(t, h, data, c.dtype, c.shape, c.want...)
		})
	}
	for _, c := range []struct {
		id, file string
		kind     error
		says     string
	}{
		{"O01", "npy_v9", ErrFormat, "version 9.0"},
		{"O09", "npy_struct", ops.ErrDType, "records"},
		{"O09", "npy_object", ops.ErrDType, `"|O": Python objects`},
	} {
		t.Run(c.id+"/"+c.file, func(t *testing.T) {
			_, _, err := load(caseFile(t, c.file))
			wantError(t, err, c.kind, c.says)
		})
	}
}

func caseFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "cases", name+".npy"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func wantError(t *testing.T, err, kind error, says string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.HasPrefix(err.Error(), "npy: ") || !strings.Contains(err.Error(), says) {
		t.Errorf("error %q, want of kind %q, with %q", err, kind, says)
	}
}

func TestDescr(t *testing.T) {
	for descr, want := range map[string]ops.DType{ // O05
		"|i1": ops.Int8, "<u1": ops.Uint8, ">i1": ops.Int8, "=f4": ops.Float32, "|b1": ops.Bool, "b1": ops.Bool, "f8": ops.Float64,
		"<i2": ops.Int32, "<u2": ops.Uint32, "<u8": ops.Int64, "<V2": ops.BFloat16, "|i4": ops.Int32,
	} {
		t.Run(descr, func(t *testing.T) {
			h, data, err := load(file(fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': ()}", descr), make([]byte, 8)...))
			if err != nil {
				t.Fatal(err)
			}
			check(t, h, data, want, backend.Shape{}, 0)
			if h.Descr != descr {
				t.Errorf("Descr %q", h.Descr)
			}
		})
	}
	for descr, says := range map[string]string{ // O09
		"'<U3'": "text", "'|S5'": "text", "'<M8[ns]'": "dates", "'<m8[s]'": "spans", "'<c8'": "complex", "'<c16'": "complex",
		"'|V2'": "raw", "'>V2'": "raw", "'|V16'": "raw", "'|O'": "never unpickled", "'<f16'": "another size",
		"'<x4'": `"<x4"`, "'float32'": `"float32"`, "'<<f4'": `"<<f4"`, "''": `""`, "'<f3'": "another size", "'<i3'": `"<i3"`,
		"[('a','<f4')]": "records", "('<f4', (2,))": "records", "{'names': []}": "records",
	} {
		t.Run(descr, func(t *testing.T) {
			_, _, err := load(file(fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': ()}", descr), make([]byte, 8)...))
			wantError(t, err, ops.ErrDType, says)
			if !strings.Contains(err.Error(), "byte 20:") {
				t.Errorf("%v: not at byte 20", err)
			}
		})
	}
}

// Several arrays one after another, read in the smallest pieces.
func TestStream(t *testing.T) {
	r := iotest.OneByteReader(bytes.NewReader(append(caseFile(t, "npy_v2"), caseFile(t, "npy_be")...)))
	for _, want := range []string{"<f8 [3]", ">i4 [4]"} {
		h, err := ReadHeader(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(h.Descr, " ", h.Shape); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if _, err := h.Data(r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadHeader(r); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v, want EOF", err)
	}
	broken := errors.New("broken")
	if _, err := ReadHeader(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func TestNumPy(t *testing.T) {
	for _, name := range []string{"stored", "deflated"} {
		t.Run(name, func(t *testing.T) {
			a, err := OpenArchive(filepath.Join("testdata", name+".npz"))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			for _, name := range a.Names() {
				t.Run(name, func(t *testing.T) {
					h, data, err := a.read(name, true)
					if err != nil {
						t.Fatal(err)
					}
					d, shape, vs := golden(t, name)
					check(t, h, data, d, shape, vs...)
					if only, err := a.Header(name + ".npy"); err != nil || fmt.Sprint(only) != fmt.Sprint(h) {
						t.Errorf("header alone: %v, %v", only, err)
					}
				})
			}
		})
	}
}

// golden returns the array of that name in testdata.
func golden(t *testing.T, name string) (ops.DType, backend.Shape, []float64) {
	t.Helper()
	iota := func(n int) []float64 {
		vs := make([]float64, n)
		for i := range vs {
			vs[i] = float64(i)
		}
		return vs
	}
	switch name {
	case "scalar":
		return ops.Float32, backend.Shape{}, []float64{7}
	case "empty":
		return ops.Float32, backend.Shape{3, 0, 2}, nil
	case "fortran":
		return ops.Int32, backend.Shape{2, 3, 4}, iota(24)
	case "vector":
		return ops.Float64, backend.Shape{100}, iota(100)
	}
	name = strings.TrimPrefix(name, "big/")
	wider := map[string]string{"int16": "int32", "uint16": "uint32", "uint64": "int64"}
	if w, ok := wider[name]; ok {
		name = w
	}
	d, err := ops.ParseDType(name)
	if err != nil {
		t.Fatal(err)
	}
	return d, backend.Shape{2, 3}, iota(6)
}

// What is written is, byte for byte, what NumPy wrote.
func TestWriteHeader(t *testing.T) {
	a, err := OpenArchive(filepath.Join("testdata", "stored.npz"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	written := 0
	for name, entry := range a.entries {
		h, data, err := a.read(name, true)
		if err != nil {
			t.Fatal(err)
		}
		if h.elem.bigEndian || h.FortranOrder || descrs[h.DType] != h.Descr {
			continue // is not written so
		}
		var b bytes.Buffer
		if err := WriteHeader(&b, h.DType, h.Shape); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		b.Write(data)
		r, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		want, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%s:\n%q, NumPy:\n%q", name, b.Bytes(), want)
		}
		written++
	}
	if written != 13 {
		t.Errorf("%d arrays compared, want 10 types, scalar, empty, vector", written)
	}
	for _, bad := range []struct {
		d     ops.DType
		shape backend.Shape
		kind  error
	}{
		{ops.Invalid, nil, ops.ErrDType},
		{ops.Float32, backend.Shape{-1}, backend.ErrShape},
		{ops.Float32, make(backend.Shape, 65), backend.ErrShape},
	} {
		wantError(t, WriteHeader(io.Discard, bad.d, bad.shape), bad.kind, "write")
	}
}

func TestValues(t *testing.T) {
	const head = "{'descr': '%s', 'fortran_order': False, 'shape': (2,)}"
	h, data, err := load(file(fmt.Sprintf(head, "<i2"), 0xff, 0xff, 0x00, 0x80))
	if err != nil {
		t.Fatal(err)
	}
	check(t, h, data, ops.Int32, backend.Shape{2}, -1, -32768)
	h, data, err = load(file(fmt.Sprintf(head, ">u2"), 0xff, 0xfe, 0x80, 0x00))
	if err != nil {
		t.Fatal(err)
	}
	check(t, h, data, ops.Uint32, backend.Shape{2}, 65534, 32768)
	h, data, err = load(file(fmt.Sprintf(head, "|b1"), 2, 0))
	if err != nil {
		t.Fatal(err)
	}
	check(t, h, data, ops.Bool, backend.Shape{2}, 1, 0)
	_, _, err = load(file(fmt.Sprintf(head, "<u8"), append(make([]byte, 15), 0x80)...))
	wantError(t, err, ops.ErrDType, "element 1 is 9223372036854775808")
}

// O03: axes of every number, and extents of 1 and 0, in Fortran order.
func TestFortran(t *testing.T) {
	for _, shape := range []backend.Shape{{}, {5}, {1, 4}, {4, 1}, {3, 0, 2}, {2, 3}, {2, 1, 3, 4}, {3, 2, 2, 1, 2}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			want := make([]byte, shape.Len())
			src := make([]byte, shape.Len())
			for i := range want {
				want[i] = byte(i)
				at, rest, step := 0, i, shape.Len() // the place of element i when the first axis runs fastest
				for axis := len(shape) - 1; axis >= 0; axis-- {
					step /= shape[axis]
					at += rest % shape[axis] * step
					rest /= shape[axis]
				}
				src[at] = byte(i)
			}
			_, data, err := load(file(fmt.Sprintf("{'descr': '|u1', 'fortran_order': True, 'shape': %s}", tuple(shape)), src...))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(data, want) {
				t.Errorf("% x, want % x", data, want)
			}
		})
	}
}
