package npy

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// archive makes a .npz of entries: names and contents in turn.
func archive(t *testing.T, method uint16, pairs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for pair := range slices.Chunk(pairs, 2) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: pair[0], Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, pair[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func newArchive(b []byte) (*Archive, error) { return NewArchive(bytes.NewReader(b), int64(len(b))) }

var small = string(file("{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", 1, 2))

func TestArchiveNames(t *testing.T) {
	a, err := newArchive(archive(t, zip.Store, "a.npy", small, "dir/", "", "dir/b.npy", small, "c", small, ".npy", small, "d.npy.npy", small))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := a.Names(), []string{"a", "dir/b", "c", "", "d.npy"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	for _, name := range []string{"a", "a.npy", "dir/b", "c", "c.npy", "", "d.npy", "d.npy.npy"} {
		h, data, err := a.read(name, true)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		check(t, h, data, ops.Uint8, backend.Shape{2}, 1, 2)
	}
	_, err = a.Header("b")
	wantError(t, err, fs.ErrNotExist, `array "b"`)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func TestArchiveRefused(t *testing.T) {
	for _, name := range []string{"../a.npy", "/a.npy", "a/../b.npy", `a\b.npy`, "a//b.npy", "./a.npy", "", "a\x00b.npy", "\xff.npy"} {
		_, err := newArchive(archive(t, zip.Store, name, small))
		wantError(t, err, ErrFormat, "is no plain path")
	}
	_, err := newArchive(archive(t, zip.Store, "a.npy", small, "a", small))
	wantError(t, err, ErrFormat, `two arrays of the name "a"`)
	_, err = newArchive([]byte(small))
	wantError(t, err, ErrFormat, "not a valid zip file")

	for name, c := range map[string]struct {
		content string
		kind    error
		says    string
	}{
		"empty":     {"", ErrFormat, "empty entry"},
		"text":      {"Hello, world.", ErrFormat, `begins with "Hello,"`},
		"cut short": {small[:len(small)-1], ErrFormat, "entry of 66 bytes, |u1 [2] takes 67"},
		"too long":  {small + "x", ErrFormat, "entry of 68 bytes"},
		"bomb":      {string(file("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000,)}")), ErrFormat, "takes 8000000074"},
		"object":    {string(caseFile(t, "npy_object")), ops.ErrDType, "Python objects"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := newArchive(archive(t, zip.Deflate, "good.npy", small, "bad.npy", c.content))
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = a.read("bad", true)
			wantError(t, err, c.kind, c.says)
			wantError(t, err, c.kind, `(array "bad")`)
			if _, _, err := a.read("good", true); err != nil {
				t.Errorf("the other array: %v", err)
			}
		})
	}
}

// An archive damaged in its data, and one whose directory lies about the size of an entry.
func TestArchiveDamaged(t *testing.T) {
	b := archive(t, zip.Store, "a.npy", small)
	damaged := bytes.Clone(b)
	damaged[bytes.Index(b, []byte("\x01\x02PK"))]++
	a, err := newArchive(damaged)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = a.read("a", true)
	wantError(t, err, zip.ErrChecksum, "end of entry")

	encrypted := bytes.Clone(b)
	directory := bytes.Index(b, []byte("PK\x01\x02"))
	encrypted[directory+8] |= 1
	if a, err = newArchive(encrypted); err != nil {
		t.Fatal(err)
	}
	_, _, err = a.read("a", true)
	wantError(t, err, ErrFormat, "encrypted")

	// The header of the array and the directory agree on 2 GiB that are not there.
	const n = 1 << 31
	text := "{'descr': '|u1', 'fortran_order': False, 'shape': (2147483648,)}"
	b = archive(t, zip.Store, "a.npy", string(file(text, 1, 2, 3)))
	directory = bytes.Index(b, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(b[directory+20:], n+10+uint32(len(text)))
	binary.LittleEndian.PutUint32(b[directory+24:], n+10+uint32(len(text)))
	if a, err = newArchive(b); err != nil {
		t.Fatal(err)
	}
	if got := allocated(func() { _, _, err = a.read("a", true) }); got > 1<<20 {
		t.Errorf("%d bytes allocated", got)
	}
	wantError(t, err, io.ErrUnexpectedEOF, "elements")
}

// One cut short anywhere gives an error, when it is opened or when it is read.
func TestArchiveTruncated(t *testing.T) {
	b := archive(t, zip.Deflate, "a.npy", small)
	for n := range b {
		a, err := newArchive(b[:n])
		if err == nil {
			_, _, err = a.read("a", true)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "npy: ") {
			t.Errorf("first %d of %d bytes: %v", n, len(b), err)
		}
	}
	if _, err := OpenArchive(filepath.Join(t.TempDir(), "none.npz")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestArchiveWriter(t *testing.T) {
	var b bytes.Buffer
	w := NewArchiveWriter(&b)
	data := encode(ops.Float32, make([]float64, 1000)...)
	for _, name := range []string{"stored", "deflated"} {
		w.Deflate = name == "deflated"
		e, err := w.create(name, ops.Float32, backend.Shape{1000})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"stored", "../a", "/a", `a\b`} {
		if _, err := w.create(name, ops.Float32, nil); err == nil {
			t.Errorf("no error for the name %q", name)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := newArchive(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range a.Names() {
		h, got, err := a.read(name, true)
		if err != nil {
			t.Fatal(err)
		}
		check(t, h, got, ops.Float32, backend.Shape{1000}, make([]float64, 1000)...)
	}
	if n := a.entries["deflated"].CompressedSize64; n > 400 {
		t.Errorf("deflated to %d bytes", n)
	}
}
