package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// file makes a file of the text of a header and data.
func file(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func wantError(t *testing.T, err, kind error, says string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.HasPrefix(err.Error(), "safetensors: ") || !strings.Contains(err.Error(), says) {
		t.Errorf("error %q, want of kind %q, with %q", err, kind, says)
	}
}

// TestCases holds the public bug reports of group io that are about safetensors files which must be refused.
func TestCases(t *testing.T) {
	for _, c := range []struct{ id, file, says string }{
		{"O11", "7bytes", "file of 7 bytes"},
		{"O11", "8bytes_len2", "header of 2 bytes in a file of 8"},
		{"O11", "len0", "header of 0 bytes"},
		{"O11", "lenmax", "header of 18446744073709551615 bytes, at most 100000000"},
		{"O11", "lenneg", "header of 9223372036854775808 bytes"},
		{"O11", "len_wrap5", "header of 18446744073709551611 bytes"},
		{"O11", "len_101MB", "header of 101000000 bytes, at most"},
		{"O11", "len_plus1", "header of 3 bytes in a file of 10"},
		{"O13", "overlap", `tensors "a" and "b" share bytes 2 to 4`},
		{"O13", "hole", `tensor "b": bytes 2 to 4 of the data before it belong to no tensor`},
		{"O13", "start_hole", `tensor "a": bytes 0 to 1 of the data before it`},
		{"O13", "trailing", "3 bytes of data after the header, the tensors take 2"},
		{"O13", "past_end", "4 bytes of data after the header, the tensors take 4000000"},
		{"O13", "shape_mismatch", `tensor "a": F32 [1000 1000] takes 4000000 bytes, data_offsets [0,4] are 4`},
		{"O13", "reversed", "[2,0] end before they begin"},
		{"O13", "negative", "-2 is not a natural number"},
		{"O13", "one_offset", `tensor "a": data_offsets: 1 numbers, want 2`},
		{"O13", "no_offsets", `tensor "a": data_offsets: 0 numbers, want 2`},
		{"O13", "shape_ovf", "more elements than an int counts"},
		{"O13", "tied", `tensors "a" and "b" share bytes 0 to 2`},
		{"O15", "badutf8", "byte 10: not UTF-8"},
		{"O15", "array", `byte 8: want '{', have "[]"`},
		{"O15", "space_first", "byte 8: want '{'"},
		{"O15", "junk_after", `byte 10: "x" after the object`},
		{"O15", "nulpad", `byte 10: "\x00\x00" after the object`},
		{"O15", "unknown_dtype", `tensor "a": unknown dtype "Q7"`},
		{"O15", "meta_nonstring", `__metadata__: "a": want '"', have "1}}"`},
		{"O15", "float_shape", `tensor "a": shape: 1.0 is not a natural number`},
	} {
		t.Run(c.id+"/"+c.file, func(t *testing.T) {
			_, err := Parse(read(t, "cases", "st_"+c.file+".safetensors"))
			wantError(t, err, ErrFormat, c.says)
		})
	}
}

// O17: the types of the format, those that are read and those that are not.
func TestTypes(t *testing.T) {
	f := parse(t, read(t, "cases", "st_dtypes.safetensors"))
	le := binary.LittleEndian
	want := map[string][]byte{
		"bf":  {0x80, 0x3f, 0xc0, 0x7f, 0x80, 0xff, 0x01, 0x00},
		"bo":  {1, 0, 1},
		"u16": le.AppendUint32(nil, 65535),
		"i64": le.AppendUint64(nil, math.MaxUint64-4), // -5
	}
	for name, info := range f.All() {
		_, b, err := f.data(name)
		if !info.DType.Valid() {
			wantError(t, err, ops.ErrDType, fmt.Sprintf("tensor %q: %s [4]: unsupported", name, info.Type))
			continue
		}
		if err != nil || !bytes.Equal(b, want[name]) {
			t.Errorf("%s: % x, %v; want % x", name, b, err, want[name])
		}
	}
	if b, err := f.Bytes("e4"); err != nil || !bytes.Equal(b, []byte{0x38, 0x7e, 0x7f, 0x01}) {
		t.Errorf("bytes of an unread type: % x, %v", b, err)
	}
}

func TestAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		data   int
		names  []string
	}{
		"none":       {"{}", 0, nil},
		"blanks":     {"{ \t\n\r}  \n", 0, nil},
		"spread":     {"{ \"a\" : { \"shape\" : [ 1 , 2 ] , \"data_offsets\" : [ 0 , 2 ] , \"dtype\" : \"U8\" } } ", 2, []string{"a"}},
		"escapes":    {`{"\"\\\/\b\f\n\r\t\u00e9\ud834\udd1e\uFFFD":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, 1, []string{"\"\\/\b\f\n\r\té𝄞\ufffd"}},
		"empty name": {`{"":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, 1, []string{""}},
		"no bytes":   {`{"a":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]},"b":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`, 0, []string{"a", "b"}},
		"unsorted":   {`{"a":{"dtype":"U8","shape":[1],"data_offsets":[3,4]},"b":{"dtype":"I16","shape":[1],"data_offsets":[0,2]},"c":{"dtype":"F4","shape":[2],"data_offsets":[2,3]}}`, 4, []string{"b", "c", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, file(c.header, make([]byte, c.data)...))
			if got := f.Names(); !slices.Equal(got, c.names) {
				t.Errorf("names %q, want %q", got, c.names)
			}
		})
	}
}

// The files that the reference wrote: 0 to 5 in two rows of each type, a scalar, an empty tensor and odd names.
func TestReference(t *testing.T) {
	path := filepath.Join("testdata", "torch.safetensors")
	opened, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	parsed := parse(t, read(t, "torch.safetensors"))
	for name, f := range map[string]*File{"Open": opened, "Parse": parsed} {
		t.Run(name, func(t *testing.T) {
			for name, info := range f.All() {
				got, b, err := f.data(name)
				if err != nil || !reflect.DeepEqual(got, info) {
					t.Errorf("%q: %v, %v; want %v", name, got, err, info)
				}
				d, shape, vs := golden(t, name)
				if info.DType != d || !info.Shape.Equal(shape) || !bytes.Equal(b, encodeAs(d, vs...)) {
					t.Errorf("%q: %v %v % x; want %v %v %v", name, info.DType, info.Shape, b, d, shape, vs)
				}
			}
			if got := f.Metadata(); !maps.Equal(got, map[string]string{"format": "pt"}) {
				t.Errorf("metadata %v", got)
			}
			if n := len(f.Names()); n != 17 {
				t.Errorf("%d tensors, want 17", n)
			}
			if _, ok := f.Info("none"); ok {
				t.Error("there is a tensor \"none\"")
			}
			_, err := f.Bytes("none")
			wantError(t, err, fs.ErrNotExist, `tensor "none"`)
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	_, err = opened.Bytes("int8")
	wantError(t, err, os.ErrClosed, `tensor "int8"`)
}

func golden(t *testing.T, name string) (ops.DType, backend.Shape, []float64) {
	t.Helper()
	switch name {
	case "scalar":
		return ops.Float32, backend.Shape{}, []float64{7}
	case "empty":
		return ops.Float32, backend.Shape{3, 0, 2}, nil
	case "":
		return ops.Float32, backend.Shape{1}, []float64{1}
	case odd:
		return ops.Float32, backend.Shape{1}, []float64{2}
	}
	if w, ok := map[string]string{"int16": "int32", "uint16": "uint32", "uint64": "int64"}[name]; ok {
		name = w
	}
	d, err := ops.ParseDType(name)
	if err != nil {
		t.Fatal(err)
	}
	return d, backend.Shape{2, 3}, []float64{0, 1, 2, 3, 4, 5}
}

const odd = "quote \" back \\ slash / tab \t <é> \u2028 \x01 𝄞"

// encodeAs returns vs as elements of type d.
func encodeAs(d ops.DType, vs ...float64) []byte {
	b := []byte{}
	le := binary.LittleEndian
	for _, v := range vs {
		switch d {
		case ops.Bool:
			b = append(b, byte(min(v, 1)))
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

func TestWidened(t *testing.T) {
	const header = `{"a":{"dtype":"%s","shape":[2],"data_offsets":[0,%d]}}`
	le := binary.LittleEndian
	for _, c := range []struct {
		dtype    string
		data     []byte
		want     []byte
		wantType ops.DType
	}{
		{"I16", []byte{0xff, 0xff, 0x00, 0x80}, le.AppendUint32(le.AppendUint32(nil, 1<<32-1), 1<<32-1<<15), ops.Int32},
		{"U16", []byte{0xfe, 0xff, 0x00, 0x80}, le.AppendUint32(le.AppendUint32(nil, 65534), 32768), ops.Uint32},
		{"U64", append(bytes.Repeat([]byte{0xff}, 7), append([]byte{0x7f}, make([]byte, 8)...)...), nil, ops.Int64},
	} {
		if c.want == nil {
			c.want = c.data
		}
		info, b, err := parse(t, file(fmt.Sprintf(header, c.dtype, len(c.data)), c.data...)).data("a")
		if err != nil || info.DType != c.wantType || !bytes.Equal(b, c.want) {
			t.Errorf("%s: %v % x, %v; want %v % x", c.dtype, info.DType, b, err, c.wantType, c.want)
		}
	}
	_, _, err := parse(t, file(fmt.Sprintf(header, "U64", 16), append(make([]byte, 15), 0x80)...)).data("a")
	wantError(t, err, ops.ErrDType, `tensor "a": element 1 is 9223372036854775808`)
}

// A tensor of a file in memory is that memory.
func TestZeroCopy(t *testing.T) {
	b := read(t, "attn0.safetensors")
	f := parse(t, b)
	_, data, err := f.data("attn0")
	if err != nil {
		t.Fatal(err)
	}
	if &data[0] != &b[80] || cap(data) != 24 {
		t.Error("copied, or open at its end")
	}
}
