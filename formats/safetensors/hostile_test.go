package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weft-go/weft/ops"
)

func TestMalformed(t *testing.T) {
	const ok = `{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`
	edit := func(old, new string) string { return strings.Replace(ok, old, new, 1) }
	parse(t, file(ok, 1, 2))
	for name, c := range map[string]struct{ header, says string }{
		"second tensor":     {edit("}}", `},"a":{}}`), `second tensor of the name "a"`},
		"same escaped":      {edit("}}", `},"\u0061":{}}`), `second tensor of the name "a"`},
		"second metadata":   {edit("{", `{"__metadata__":{},"__metadata__":{},`), `second tensor of the name "__metadata__"`},
		"second meta key":   {edit("{", `{"__metadata__":{"x":"1","x":"2"},`), `__metadata__: second key "x"`},
		"metadata null":     {edit("{", `{"__metadata__":null,`), `__metadata__: want '{', have "null`},
		"second dtype":      {edit(`"shape"`, `"dtype":"U8","shape"`), `second key "dtype"`},
		"Dtype":             {edit(`dtype`, `Dtype`), `unknown key "Dtype"`},
		"unknown key":       {edit(`"shape"`, `"strides":[1],"shape"`), `unknown key "strides"`},
		"no dtype":          {edit(`"dtype":"U8",`, ``), `tensor "a": no dtype`},
		"no shape":          {edit(`"shape":[2],`, ``), `tensor "a": no shape`},
		"no data_offsets":   {edit(`,"data_offsets":[0,2]`, ``), `tensor "a": no data_offsets`},
		"three offsets":     {edit("[0,2]", "[0,2,2]"), "more than 2 numbers"},
		"dtype number":      {edit(`"U8"`, `8`), `dtype: want '"', have "8,`},
		"dtype lower case":  {edit("U8", "u8"), `unknown dtype "u8"`},
		"tensor null":       {`{"a":null}`, `tensor "a": want '{', have "null}"`},
		"shape number":      {edit("[2]", "2"), `shape: want '[', have "2,`},
		"shape string":      {edit("[2]", `["2"]`), "shape: want a number"},
		"shape null":        {edit("[2]", "[null]"), "shape: want a number"},
		"shape nested":      {edit("[2]", "[[2]]"), "shape: want a number"},
		"shape -0":          {edit("[2]", "[-0]"), "-0 is not a natural number"},
		"shape 02":          {edit("[2]", "[02]"), "02 is not a natural number"},
		"shape 2e0":         {edit("[2]", "[2e0]"), "2e0 is not a natural number"},
		"shape 2^63":        {edit("[2]", "[9223372036854775808]"), "is more than"},
		"shape 10^99":       {edit("[2]", "[1"+strings.Repeat("0", 99)+"]"), "is more than"},
		"65 axes":           {edit("[2]", "["+strings.Repeat("1,", 64)+"2]"), "more than 64 numbers"},
		"trailing comma":    {edit("[2]", "[2,]"), "want a number"},
		"no comma":          {edit("[2]", "[2 3]"), `want ','`},
		"comma at the end":  {edit("}}", "},}"), `want '"', have "}"`},
		"no end":            {edit("}}", "}"), "want ',', have the end"},
		"open string":       {`{"a`, "string without end"},
		"open escape":       {`{"a\`, "after a backslash"},
		"open after escape": {`{"\n`, "string without end"},
		"line feed":         {"{\"a\n\":{}}", "control character 0x0a"},
		"NUL after escape":  {"{\"\\n\x00\":{}}", "control character 0x00"},
		"escape x":          {`{"\x41":{}}`, `after a backslash`},
		"escape u00":        {`{"\u00":{}}`, `after a backslash`},
		"escape u00g0":      {`{"\u00g0":{}}`, `after a backslash`},
		"lone surrogate":    {`{"\ud800":{}}`, `after a backslash`},
		"two high ones":     {`{"\ud800\ud800":{}}`, `after a backslash`},
		"low first":         {`{"\udc00\ud800":{}}`, `after a backslash`},
		"half of a pair":    {`{"\ud800\u":{}}`, `after a backslash`},
		"NaN":               {edit("[2]", "[NaN]"), "want a number"},
		"bits wrap":         {`{"a":{"dtype":"F64","shape":[288230376151711744],"data_offsets":[0,2]}}`, "takes 2305843009213693952 bytes"},
		"zero of 2^64":      {edit("[2]", "[0,4294967296,4294967296]"), "more elements than an int counts"},
		"half a byte":       {`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}`, "F4 [3] ends within a byte"},
		"comment":           {edit("{", "{/**/"), `want '"'`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(file(c.header, 1, 2))
			wantError(t, err, ErrFormat, c.says)
		})
	}
}

// A file cut short anywhere is refused, and one that shrinks after it was opened.
func TestTruncated(t *testing.T) {
	b := read(t, "attn0.safetensors")
	for n := range b {
		_, err := Parse(b[:n])
		wantError(t, err, ErrFormat, "")
		_, err = NewReader(bytes.NewReader(b[:n]), int64(len(b))) // of which the caller thinks it is whole
		if n < 80 {
			wantError(t, err, io.ErrUnexpectedEOF, "")
		}
	}
	f, err := NewReader(bytes.NewReader(b[:90]), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Bytes("attn0")
	wantError(t, err, io.ErrUnexpectedEOF, `tensor "attn0": 10 of 24 bytes at byte 80`)
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	_, err = Open(filepath.Join("testdata", "cases", "st_tied.safetensors"))
	wantError(t, err, ErrFormat, "st_tied.safetensors)")
}

// Memory is taken for what is there, not for what a header claims.
func TestHostileAllocation(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.safetensors")
	if err != nil || len(files) != 29 {
		t.Fatal(len(files), "cases", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if f, err := Parse(b); err == nil {
			for name := range f.All() {
				f.data(name)
			}
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 64<<10 {
			t.Errorf("%s: %d bytes allocated for a file of %d", name, got, len(b))
		}
	}
}

func FuzzSafetensors(f *testing.F) {
	for _, pattern := range []string{"testdata/cases/*.safetensors", "testdata/*.safetensors"} {
		files, err := filepath.Glob(pattern)
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
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Parse(b)
		if err != nil {
			if !errors.Is(err, ErrFormat) || !strings.HasPrefix(err.Error(), "safetensors: ") {
				t.Errorf("error %q", err)
			}
			return
		}
		n := int64(0)
		var list []source
		for name, info := range file.All() {
			n += info.Size
			got, data, err := file.data(name)
			switch {
			case err != nil && !errors.Is(err, ops.ErrDType):
				t.Errorf("tensor %q: %v", name, err)
			case err == nil && len(data) != got.Shape.Len()*got.DType.Size():
				t.Errorf("tensor %q: %d bytes for %v %v", name, len(data), got.DType, got.Shape)
			case err == nil:
				list = append(list, source{name: name, dtype: got.DType, shape: got.Shape, write: raw(data)})
			}
		}
		if head := binary.LittleEndian.Uint64(b); uint64(len(b)) != 8+head+uint64(n) {
			t.Errorf("tensors of %d bytes in %d", n, len(b))
		}
		var w bytes.Buffer
		if err := encode(&w, list, file.Metadata()); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(w.Bytes())
		if err != nil || len(again.Names()) != len(list) || !maps.Equal(again.Metadata(), file.Metadata()) {
			t.Errorf("written and read again: %v", err)
		}
	})
}
