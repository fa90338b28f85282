package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, text := range []string{"one", "two, longer"} {
		err := Write(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != text || err != nil {
			t.Errorf("wrote %q, read %q, %v", text, got, err)
		}
	}
	alone(t, dir)
}

func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := Write(path, func(w io.Writer) error {
		_, err := w.Write(make([]byte, 1<<20))
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if got, err := os.ReadFile(path); string(got) != "old" || err != nil {
		t.Errorf("after a failure: %q, %v; want the old file", got, err)
	}
	alone(t, dir)

	if err := Write(filepath.Join(dir, "no", "a"), func(io.Writer) error { return nil }); err == nil {
		t.Error("no error in a folder that is not there")
	}
}

// alone checks that dir holds one file.
func alone(t *testing.T, dir string) {
	t.Helper()
	if files, err := os.ReadDir(dir); len(files) != 1 || err != nil {
		t.Errorf("%d files, %v; want the one", len(files), err)
	}
}
