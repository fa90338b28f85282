package npy

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// An Archive is a .npz open for reading. Its methods may be called at the same time.
type Archive struct {
	size    int64
	closer  io.Closer // nil unless OpenArchive opened it
	names   []string
	entries map[string]*zip.File
}

// OpenArchive opens the .npz at path and reads its directory. The arrays are read from it when they are asked for, so
// it must not change until [Archive.Close].
func OpenArchive(path string) (*Archive, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	info, err := r.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("npy: %w", err), r.Close())
	}
	a, err := NewArchive(r, info.Size())
	if err != nil {
		return nil, errors.Join(inFile(err, path), r.Close())
	}
	a.closer = r
	return a, nil
}

// inFile adds to an error the file it is about.
func inFile(err error, path string) error { return fmt.Errorf("%w (in %s)", err, path) }

// NewArchive reads the directory of the .npz of size bytes in r. The error is of kind [ErrFormat] if it is no zip
// archive, if two of its arrays have the same name, or if a name is none that [fs.ValidPath] accepts: absolute,
// with "..", or with a backslash. Entries that are folders are passed over.
func NewArchive(r io.ReaderAt, size int64) (*Archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		if errors.Is(err, zip.ErrFormat) {
			err = fmt.Errorf("%w: %w", err, ErrFormat)
		}
		return nil, fmt.Errorf("npy: archive: %w", err)
	}
	a := &Archive{size: size, entries: make(map[string]*zip.File, len(z.File))}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		if !validEntry(f.Name) {
			return nil, fmt.Errorf("npy: archive: entry %q is no plain path: %w", f.Name, ErrFormat)
		}
		name := strings.TrimSuffix(f.Name, ".npy")
		if _, ok := a.entries[name]; ok {
			return nil, fmt.Errorf("npy: archive: two arrays of the name %q: %w", name, ErrFormat)
		}
		a.entries[name] = f
		a.names = append(a.names, name)
	}
	return a, nil
}

func validEntry(name string) bool { return fs.ValidPath(name) && !strings.ContainsAny(name, "\\\x00") }

// Close closes an archive opened by [OpenArchive]. Arrays read before stay as they are.
func (a *Archive) Close() error {
	if a.closer == nil {
		return nil
	}
	return a.closer.Close()
}

// Names returns the names of the arrays, without the ending .npy, in the order of the archive's directory.
func (a *Archive) Names() []string { return slices.Clone(a.names) }

// Header returns the header of the array of that name, without reading its elements. A name may have
// the ending .npy or not. The error is of kind [fs.ErrNotExist] if there is no such array; otherwise as of [ReadHeader].
func (a *Archive) Header(name string) (*Header, error) {
	h, _, err := a.read(name, false)
	return h, err
}

// read reads the header of an array, and its elements if they are wanted.
func (a *Archive) read(name string, elements bool) (*Header, []byte, error) {
	f, ok := a.entries[name]
	if !ok {
		f, ok = a.entries[strings.TrimSuffix(name, ".npy")]
	}
	if !ok {
		return nil, nil, fmt.Errorf("npy: archive: array %q: %w", name, fs.ErrNotExist)
	}
	if f.Flags&1 != 0 {
		return nil, nil, fmt.Errorf("npy: archive: array %q is encrypted: %w", name, ErrFormat)
	}
	r, err := f.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("npy: archive: array %q: %w: %w", name, err, ErrFormat)
	}
	h, b, err := a.readEntry(f, r, elements)
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, nil, fmt.Errorf("%w (array %q)", err, name)
	}
	return h, b, nil
}

func (a *Archive) readEntry(f *zip.File, r io.Reader, elements bool) (*Header, []byte, error) {
	h, err := ReadHeader(r)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("npy: empty entry: %w", ErrFormat)
	}
	if err != nil {
		return nil, nil, err
	}
	// What the directory and the header say must agree; then the shape bounds what is unpacked.
	want := uint64(h.Offset) + uint64(h.bytes())
	if f.UncompressedSize64 != want {
		return nil, nil, fmt.Errorf("npy: entry of %d bytes, %s %v takes %d: %w", f.UncompressedSize64, h.Descr, h.Shape, want, ErrFormat)
	}
	if !elements {
		return h, nil, nil
	}
	left := -1
	if f.Method == zip.Store && want <= uint64(a.size) {
		left = h.bytes()
	}
	b, err := h.data(r, left)
	if err != nil {
		return nil, nil, err
	}
	// At the end of an entry its checksum is compared.
	if n, err := io.ReadFull(r, make([]byte, 1)); n > 0 || err != io.EOF {
		return nil, nil, fmt.Errorf("npy: end of entry: %w: %w", err, ErrFormat)
	}
	return h, b, nil
}

// An ArchiveWriter writes a .npz.
type ArchiveWriter struct {
	// Deflate compresses the arrays written from then on, as numpy.savez_compressed does.
	Deflate bool

	zip  *zip.Writer
	seen map[string]bool
}

// NewArchiveWriter returns a writer of a .npz to w. It is complete after [ArchiveWriter.Close].
func NewArchiveWriter(w io.Writer) *ArchiveWriter {
	return &ArchiveWriter{zip: zip.NewWriter(w), seen: map[string]bool{}}
}

// create begins the array of that name.
func (a *ArchiveWriter) create(name string, d ops.DType, shape backend.Shape) (io.Writer, error) {
	if !validEntry(name + ".npy") {
		return nil, fmt.Errorf("archive: %q is no plain path", name)
	}
	if a.seen[name] {
		return nil, fmt.Errorf("archive: second array of the name %q", name)
	}
	a.seen[name] = true
	head := &zip.FileHeader{Name: name + ".npy", Method: zip.Store}
	if a.Deflate {
		head.Method = zip.Deflate
	}
	w, err := a.zip.CreateHeader(head)
	if err != nil {
		return nil, fmt.Errorf("archive: array %q: %w", name, err)
	}
	if err := writeHeader(w, d, shape); err != nil {
		return nil, fmt.Errorf("archive: array %q: %w", name, err)
	}
	return w, nil
}

// Close writes the directory of the archive. It does not close the writer below.
func (a *ArchiveWriter) Close() error {
	if err := a.close(); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	return nil
}

func (a *ArchiveWriter) close() error {
	if err := a.zip.Close(); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}
