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
	"runtime"
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

func TestMalformed(t *testing.T) {
	const ok = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"
	edit := func(old, new string) []byte { return file(strings.Replace(ok, old, new, 1), 0, 0, 0, 0) }
	if _, _, err := load(edit("", "")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file []byte
		says string
	}{
		"magic":           {[]byte("\x93NUMPX\x01\x00v\x00{}"), `begins with "\x93NUMPX"`},
		"version 1.1":     {[]byte("\x93NUMPY\x01\x01v\x00{}"), "version 1.1"},
		"long header":     {[]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{}"), "header of 4294967295 bytes"},
		"no dictionary":   {file("[]"), `byte 10: want '{', have "[]"`},
		"empty header":    {file(""), `byte 10: want '{', have the end`},
		"no end":          {edit(", }", ""), "want ',' or '}', have the end"},
		"text after":      {file(ok + "x"), `"x" after the dictionary`},
		"NUL after":       {file(ok + "\x00"), `"\x00" after the dictionary`},
		"second key":      {edit("{", "{'shape': (1,), "), `byte 66: second key "shape"`},
		"unknown key":     {edit("{", "{'fields': 1, "), `byte 11: unknown key "fields"`},
		"no key":          {edit("'shape': (1,), ", ""), `no key "shape"`},
		"no colon":        {edit("descr':", "descr'"), "want ':'"},
		"no comma":        {edit("False,", "False"), "want ',' or '}'"},
		"no quote":        {edit("'descr'", "descr"), "want a string"},
		"open string":     {file("{'descr"), "string without end"},
		"escape":          {edit("'<f4'", `'\x3cf4'`), `'\\' in a string`},
		"order 0":         {edit("False", "0"), "want True or False"},
		"shape [1]":       {edit("(1,)", "[1]"), `want '('`},
		"shape 1":         {edit("(1,)", "1"), `want '('`},
		"shape (1)":       {edit("(1,)", "(1)"), "a tuple of one is (1,)"},
		"shape (,)":       {edit("(1,)", "(,)"), "want an extent"},
		"shape (1,,2)":    {edit("(1,)", "(1,,2)"), "want an extent"},
		"shape (1 2)":     {edit("(1,)", "(1 2)"), "want ',' or ')'"},
		"shape (-1,)":     {edit("(1,)", "(-1,)"), `want an extent, have "-1,`},
		"shape (1.0,)":    {edit("(1,)", "(1.0,)"), "want ',' or ')'"},
		"shape (True,)":   {edit("(1,)", "(True,)"), "want an extent"},
		"shape (1,":       {file("{'shape': (1,"), "want an extent, have the end"},
		"extent 2^63":     {edit("(1,)", "(9223372036854775808,)"), "extent of more than"},
		"extent of 10^99": {edit("(1,)", "(1"+strings.Repeat("0", 99)+",)"), "extent of more than"},
		"bytes 2^64":      {edit("(1,)", "(4611686018427387904,4)"), "more elements than an int counts"},
		"elements 2^64":   {edit("(1,)", "(4294967296,4294967296)"), "more elements than an int counts"},
		"0 of 2^64":       {edit("(1,)", "(0,4294967296,4294967296)"), "more elements than an int counts"},
		"65 axes":         {edit("(1,)", "("+strings.Repeat("1,", 65)+")"), "more than 64 axes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(c.file)
			wantError(t, err, ErrFormat, c.says)
		})
	}
}

func TestTruncated(t *testing.T) {
	whole := caseFile(t, "npy_fortran")
	for n := range whole {
		readers := map[string]io.Reader{"known": bytes.NewReader(whole[:n]), "stream": io.MultiReader(bytes.NewReader(whole[:n]))}
		for name, r := range readers {
			h, err := ReadHeader(r)
			if err == nil {
				_, err = h.Data(r)
			}
			if n == 0 && err == io.EOF {
				continue // no array is no error of the format
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(err.Error(), "npy: ") {
				t.Errorf("%s reader, first %d of %d bytes: %v", name, n, len(whole), err)
			}
		}
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

// A header that claims an exabyte takes no memory for it.
func TestHostileAllocation(t *testing.T) {
	const head = "{'descr': '<f8', 'fortran_order': %s, 'shape': (144115188075855871,)}"
	for _, order := range []string{"True", "False"} {
		b := file(fmt.Sprintf(head, order), make([]byte, 100)...)
		for name, r := range map[string]io.Reader{"known": bytes.NewReader(b), "stream": io.MultiReader(bytes.NewReader(b))} {
			got := allocated(func() {
				h, err := ReadHeader(r)
				if err != nil {
					t.Fatal(err)
				}
				if _, err = h.Data(r); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%s: %v", name, err)
				}
			})
			if got > 100<<10 {
				t.Errorf("%s reader: %d bytes allocated for a file of %d", name, got, len(b))
			}
		}
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A long array from a stream arrives whole, whatever room was made for it at first.
func TestGrowth(t *testing.T) {
	for _, n := range []int{0, 1, firstChunk - 1, firstChunk, firstChunk + 1, 5 * firstChunk} {
		src := make([]byte, n)
		for i := range src {
			src[i] = byte(i * 7 >> 3)
		}
		got, err := readN(iotest.HalfReader(bytes.NewReader(src)), n, firstChunk)
		if err != nil || !bytes.Equal(got, src) || cap(got) > n {
			t.Errorf("%d bytes: %d with room for %d, %v", n, len(got), cap(got), err)
		}
	}
}

func FuzzReadNPY(f *testing.F) {
	files, err := filepath.Glob("testdata/cases/*.npy")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, data, err := load(b)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "npy: ") && !errors.Is(err, io.EOF) {
				t.Errorf("error %q", err)
			}
			return
		}
		if len(data) != h.Shape.Len()*h.DType.Size() {
			t.Fatalf("%d bytes for %v %v", len(data), h.DType, h.Shape)
		}
		// Written and read again it is the same.
		var w bytes.Buffer
		if err := WriteHeader(&w, h.DType, h.Shape); err != nil {
			t.Fatal(err)
		}
		w.Write(data)
		h2, data2, err := load(w.Bytes())
		if err != nil || h2.DType != h.DType || !h2.Shape.Equal(h.Shape) || !bytes.Equal(data, data2) {
			t.Errorf("read again: %v, %v", h2, err)
		}
	})
}
