package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-go/weft/tensor"
)

// TestMissing runs programs on a machine without a GPU's driver, with a broken one, and without a Vulkan loader. They
// compute on the CPU and say so once; one that asks for the GPU is told what to install. (A process looks for adapters
// once, so each is a process of its own: this test again.)
func TestMissing(t *testing.T) {
	if os.Getenv("WEFT_TEST_MISSING") != "" {
		compute()
		return
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	driver := func(library string) string {
		return `{"file_format_version": "1.0.0", "ICD": {"api_version": "1.3.0", "library_path": "` + library + `"}}`
	}
	file("libvulkan.so.1", "not a library")
	for name, setting := range map[string]string{
		"no driver":             "VK_DRIVER_FILES=/nonexistent",
		"driver without file":   "VK_DRIVER_FILES=" + file("gone.json", driver("/nonexistent/libvulkan_gone.so")),
		"driver of other kind":  "VK_DRIVER_FILES=" + file("other.json", driver("libm.so.6")),
		"description not valid": "VK_DRIVER_FILES=" + file("broken.json", "{"),
		"no loader":             "LD_LIBRARY_PATH=" + dir,
	} {
		t.Run(name, func(t *testing.T) {
			out := child(t, setting, "WEFT_DEVICE=")
			if !strings.Contains(out, "computed [2 3] on cpu") {
				t.Errorf("output lacks the results:\n%s", out)
			}
			if n := strings.Count(out, "WARN"); n != 1 || !strings.Contains(out, "falling back to device cpu") {
				t.Errorf("%d warnings:\n%s", n, out)
			}
			out = child(t, setting, "WEFT_DEVICE=wgpu")
			if strings.Contains(out, "computed") || !strings.Contains(out, "of kind ErrDevice") {
				t.Errorf("no error:\n%s", out)
			}
			if strings.Contains(out, "(): tensor: ") {
				t.Errorf("the package's name comes twice:\n%s", out)
			}
			if !strings.Contains(out, "cpu      well: ") {
				t.Errorf("the CPU is not well without the GPU:\n%s", out)
			}
			for _, word := range []string{"install a Vulkan driver", "mesa-vulkan-drivers", "WEFT_DEVICE"} {
				if !strings.Contains(out, word) && !strings.Contains(out, "built without cgo") {
					t.Errorf("output lacks %q:\n%s", word, out)
				}
			}
		})
	}
}

// TestNoInstructions asks for instructions that no processor has: there is no device then, and the list says so.
func TestNoInstructions(t *testing.T) {
	out := child(t, "WEFT_CPU=abacus", "WEFT_DEVICE=", "VK_DRIVER_FILES=/nonexistent")
	if !strings.Contains(out, "cpu      none: ") || !strings.Contains(out, "no default device: ") || strings.Contains(out, "imported") {
		t.Errorf("the list is wrong:\n%s", out)
	}
}

// child runs TestMissing in a process of its own, with settings of the environment, and returns what it prints.
func child(t *testing.T, settings ...string) string {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run", "^TestMissing$")
	c.Env = append(append(os.Environ(), "WEFT_TEST_MISSING=1", "VK_ICD_FILENAMES="), settings...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return string(out)
}

// compute is the program: two computations, so that a second warning would show.
func compute() {
	for range 2 {
		x := tensor.New([]float32{1, 2}).AddScalar(1)
		got, err := tensor.Data[float32](context.Background(), x)
		switch {
		case errors.Is(err, tensor.ErrDevice):
			fmt.Println("of kind ErrDevice:", err)
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println("computed", got, "on", x.Device().Name())
		}
	}
	devices(os.Stdout)
	doctor(context.Background(), os.Stdout)
}
