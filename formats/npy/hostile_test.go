package npy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

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
			if n == 0 && errors.Is(err, io.EOF) {
				continue // no array is no error of the format
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(err.Error(), "npy: ") {
				t.Errorf("%s reader, first %d of %d bytes: %v", name, n, len(whole), err)
			}
		}
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
