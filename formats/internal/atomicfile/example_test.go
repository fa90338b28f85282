package atomicfile_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/weft-go/weft/formats/internal/atomicfile"
)

// A failure on the way leaves the file as it was.
func ExampleWrite() {
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "numbers.txt")
	write := func(text string, fault error) error {
		return atomicfile.Write(path, func(w io.Writer) error {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			return fault
		})
	}
	fmt.Println(write("one two", nil))
	fmt.Println(write("three", io.ErrUnexpectedEOF))
	text, err := os.ReadFile(path)
	fmt.Println(string(text), err)
	// Output:
	// <nil>
	// unexpected EOF
	// one two <nil>
}
