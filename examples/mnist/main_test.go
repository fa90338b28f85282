package main

import (
	"context"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-go/weft/tensor"
)

func TestImage(t *testing.T) {
	for _, c := range []struct {
		name       string
		ink, paper color.Color
		want       string
		wantErr    string
	}{
		{"black on white", color.Black, color.White, "It is a 1", ""},
		{"white on black", color.White, color.Black, "It is a 1", ""},
		{"on glass", color.Black, color.Transparent, "It is a 1", ""},
		{"blank", color.White, color.White, "", "no ink"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			err := run(context.Background(), &out, options{image: one(t, c.ink, c.paper), batch: 1})
			switch {
			case c.wantErr != "":
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("error %v, want one with %q", err, c.wantErr)
				}
			case err != nil:
				t.Error(err)
			case !strings.Contains(out.String(), c.want):
				t.Errorf("output lacks %q:\n%s", c.want, out.String())
			}
		})
	}
}

// one writes a picture of the digit 1 and returns the name of its file.
func one(t *testing.T, ink, paper color.Color) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 100, 160))
	for y := range 160 {
		for x := range 100 {
			at := paper
			if x > 45 && x < 58 && y > 20 && y < 140 {
				at = ink
			}
			img.Set(x, y, at)
		}
	}
	path := filepath.Join(t.TempDir(), "digit.png")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(f, img); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDevice names a device where the default one cannot be opened.
func TestDevice(t *testing.T) {
	tensor.SetDefault(nil)
	t.Setenv("WEFT_DEVICE", "abacus")
	var out strings.Builder
	if err := run(t.Context(), &out, options{batch: 1, device: "cpu", image: one(t, color.Black, color.White)}); err != nil {
		t.Error(err)
	}
	tensor.SetDefault(nil)
}

func TestBadArguments(t *testing.T) {
	for _, c := range []struct {
		name string
		o    options
		want string
	}{
		{"batch", options{batch: 0}, "-batch 0"},
		{"device", options{batch: 1, device: "abacus"}, "abacus"},
		{"data", options{batch: 1, data: "no/such/folder"}, "no/such/folder"},
		{"picture", options{batch: 1, image: "no.png"}, "no.png"},
		{"no picture", options{batch: 1, image: "main.go"}, "main.go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			if err := run(context.Background(), &out, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}
