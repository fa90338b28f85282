package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	ours = `goos: linux
BenchmarkFMA
BenchmarkFMA/1e8/weft-16 	 100	 400000 ns/op	 3000 GB/s	 300000 device-ns/op	 15 B/op	 1 allocs/op
BenchmarkFMA/1e8/weft-16 	 100	 900000 ns/op	 1300 GB/s	 500000 device-ns/op	 15 B/op	 1 allocs/op
BenchmarkFMA/1e8/gonum-16 	 1	 200000000 ns/op
BenchmarkMatMul/1024/weft-16 	 40	 100000 ns/op	 20000 GFLOP/s
ok  	github.com/weft-go/weft/benchmarks	1s
`
	theirs = `{"case": "MatMul/1024", "library": "PyTorch", "ms": 0.05}
{"case": "Unknown", "library": "PyTorch", "ms": 1}
`
)

func files(t *testing.T, texts ...string) (names []string) {
	t.Helper()
	for i, text := range texts {
		name := filepath.Join(t.TempDir(), string(rune('a'+i)))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func TestReport(t *testing.T) {
	svg := filepath.Join(t.TempDir(), "ratios.svg")
	var out bytes.Buffer
	if err := run(&out, options{svg: svg, bandwidth: 4800, flops: 60000}, files(t, ours, theirs)); err != nil {
		t.Fatal(err)
	}
	want := `| case | weft, ms | gonum, ms | × | PyTorch, ms | × | roofline |
|---|--:|--:|--:|--:|--:|--:|
| FMA/1e8 | 0.4 | 200 | 500.00 |  |  | 62 % of bandwidth |
| MatMul/1024 | 0.1 |  |  | 0.05 | 0.50 | 33 % of arithmetic |
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	drawn, err := os.ReadFile(svg)
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(drawn)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the plot is no XML: %v", err)
		}
	}
	for _, s := range []string{"FMA/1e8", "PyTorch", "gonum"} {
		if !strings.Contains(string(drawn), s) {
			t.Errorf("the plot does not name %s", s)
		}
	}
}

func TestThreads(t *testing.T) {
	var out strings.Builder
	in := files(t, `{"case": "Sum", "library": "weft", "threads": 1, "ms": 2, "least": 1}
{"case": "Sum", "library": "NumPy", "threads": 1, "ms": 3, "least": 3}
{"case": "Sum", "library": "weft", "threads": 2, "ms": 1, "least": 1}
{"case": "Sum", "library": "NumPy", "threads": 2, "ms": 3, "least": 3}
`)
	if err := run(&out, options{}, in); err != nil {
		t.Fatal(err)
	}
	want := `| case | weft, ms | NumPy, ms | × |
|---|--:|--:|--:|
| Sum (1) | 2.00 | 3.00 | 1.50 |
| Sum (2) | 1.00 | 3.00 | 3.00 |
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestBadFiles(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"BenchmarkX/weft-2 1 many ns/op\n", `line 1: "many" is no number`},
		{"\nBenchmarkX/weft-2 1 5 GB/s\n", "line 2: no time"},
		{`{"case": "X"}`, "line 1: want a case, a library and ms > 0"},
		{`{"case": `, "line 1: unexpected end"},
		{"PASS\n", "no figure of weft"},
	} {
		if err := run(io.Discard, options{}, files(t, c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want an error that says %q", c.text, err, c.want)
		}
	}
	if err := run(io.Discard, options{}, nil); err == nil {
		t.Error("no files, no error")
	}
	if err := run(io.Discard, options{}, []string{"missing"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
