package wgpu

import (
	"os"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// tunedProduct runs the product of two m×m matrices twice and returns how many dispatches that was.
func tunedProduct(t *testing.T, e *engine, m int) int64 {
	t.Helper()
	x, y := numbers(m*m, 1, true), numbers(m*m, 2, true)
	out := upload(t, e, ops.Float32, make([]int, m*m))
	s := backend.Step{
		Kernel: plainMatMul(ops.Float32, false), Shape: backend.Shape{m, m}, Memo: new(backend.Memo),
		In:  []backend.Operand{matrix(upload(t, e, ops.Float32, x), ops.Float32, m, m), matrix(upload(t, e, ops.Float32, y), ops.Float32, m, m)},
		Out: []backend.Operand{matrix(out, ops.Float32, m, m)},
	}
	before := e.dispatches
	run(t, e, s)
	run(t, e, s)
	n := e.dispatches - before
	for i, got := range download(t, e, ops.Float32, out) {
		want := 0
		for l := range m {
			want += x[i/m*m+l] * y[l*m+i%m]
		}
		if got != want {
			t.Fatalf("element %d is %d, want %d", i, got, want)
		}
	}
	return n
}

// TestTune tunes a product, in two processes as it were.
func TestTune(t *testing.T) {
	e := openTest(t)
	e.checked = false // which would leave the memo alone
	dir := t.TempDir()
	start := func() *tuner {
		u := newTuner(&e.info, dir)
		u.tiles = []tile{smallTile, tinyTile}
		e.tuner = u
		return u
	}
	u := start()
	if n := tunedProduct(t, e, 128); n != 2 {
		t.Errorf("%d dispatches, want 2", n)
	}
	if len(u.choices) != 1 {
		t.Fatalf("choices %v, want one", u.choices)
	}
	again := start()
	if len(again.choices) != 1 {
		t.Fatalf("choices %v kept, want %v", again.choices, u.choices)
	}
	compiled := e.kernels.compiled
	tunedProduct(t, e, 128)
	tunedProduct(t, e, 112)                                                   // of the same class
	if n := e.kernels.compiled - compiled; n > 1 || len(again.choices) != 1 { // one for tiles that are not full
		t.Errorf("%d kernels compiled for a class that is known, %v", n, again.choices)
	}
	if err := os.WriteFile(again.path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if u := start(); len(u.choices) != 0 {
		t.Errorf("choices %v of a file that is broken", u.choices)
	}
	other := e.info
	other.Driver += " next"
	if err := again.save(); err != nil {
		t.Fatal(err)
	}
	if u := newTuner(&other, dir); len(u.choices) != 0 {
		t.Errorf("choices %v of another driver", u.choices)
	}
}

// TestTuneInPlace tests that a product that writes to an operand of its own is not tried.
func TestTuneInPlace(t *testing.T) {
	e := openTest(t)
	b := upload(t, e, ops.Float32, []int{0})
	operand := matrices(b, ops.Float32, 1, 128, 128, false)
	k := plainMatMul(ops.Float32, false)
	e.tuner = newTuner(&e.info, "")
	p := newProduct(&backend.Step{Kernel: k, Shape: operand.Layout.Shape, In: []backend.Operand{operand, operand}, Out: []backend.Operand{operand}}, k)
	c, err := e.choose(p, nil)
	if err != nil || c != e.plan(p) || len(e.tuner.choices) != 0 {
		t.Errorf("%+v, %v, choices %v", c, err, e.tuner.choices)
	}
}
