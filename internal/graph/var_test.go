package graph

import (
	"context"
	"errors"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// set records the next version of v, with in at part.
func set(v Edge, part backend.Layout, in Edge) Edge { return Of(Update(v.Node, part, in)) }

func version(t *testing.T, d *Device, vs ...float32) Edge {
	x := floats(d, backend.Shape{len(vs)}, vs...)
	v := set(x, *x.Layout, x)
	eval(t, v)
	return v
}

// TestUpdateInPlace checks that a variable whose old version nobody reads is not copied.
func TestUpdateInPlace(t *testing.T) {
	d, f := testDevice(t)
	v := version(t, d, 0, 0, 0, 0)
	buf := v.Node.mem.Load().buf
	kernels := len(f.kernels)
	old := v
	for i := range 4 {
		v = set(v, *sliced(v, 0, i, 1, 1).Layout, apply(ops.Add, num1(d, float32(i)), num(d, 1)))
	}
	eval(t, v)
	if n := len(f.kernels) - kernels; n != 4 {
		t.Errorf("%d kernels for four updates", n)
	}
	if v.Node.mem.Load().buf != buf {
		t.Error("the variable moved")
	}
	wantFloats(t, v, 1, 2, 3, 4)
	if _, err := Bytes(context.Background(), old); !errors.Is(err, backend.ErrDevice) {
		t.Errorf("a version that was overwritten: error %v, want ErrDevice", err)
	}
}

func num1(d *Device, v float32) Edge { return floats(d, backend.Shape{1}, v) }

// TestUpdateOrder is case V17: a read recorded before a write gives the old values, whatever is
// evaluated first.
func TestUpdateOrder(t *testing.T) {
	readers := map[string]func(v Edge) Edge{
		"elementwise":     func(v Edge) Edge { return apply(ops.Add, v, num(v.Node.Device, 10)) },
		"transposed view": func(v Edge) Edge { return apply(ops.Add, permuted(reshaped(v, 1, 2), 1, 0), num(v.Node.Device, 10)) },
		"slice of a slice": func(v Edge) Edge {
			return apply(ops.Add, sliced(sliced(v, 0, 1, -1, 2), 0, 1, -1, 2), num(v.Node.Device, 10))
		},
		"through two nodes": func(v Edge) Edge {
			return apply(ops.Add, apply(ops.Mul, v, num(v.Node.Device, 1)), num(v.Node.Device, 10))
		},
	}
	orders := map[string]func(t *testing.T, r, x Edge){
		"read first":  func(t *testing.T, r, x Edge) { eval(t, r); eval(t, x) },
		"write first": func(t *testing.T, r, x Edge) { eval(t, x); eval(t, r) },
		"together":    func(t *testing.T, r, x Edge) { eval(t, x, r) },
	}
	for name, reader := range readers {
		for order, run := range orders {
			t.Run(name+"/"+order, func(t *testing.T) {
				d, _ := testDevice(t)
				v := version(t, d, 1, 2)
				r := reader(v)
				x := set(v, *sliced(v, 0, 0, 1, 1).Layout, num1(d, 9))
				run(t, r, x)
				wantFloats(t, r, 11, 12)
				wantFloats(t, x, 9, 2)
			})
		}
	}
}

// TestUpdateOverlap has cases V07 and V09: an update from a view of the variable itself, as if the view
// had been copied first.
func TestUpdateOverlap(t *testing.T) {
	d, _ := testDevice(t)
	v := version(t, d, 1, 2, 3, 4)
	m := reshaped(v, 2, 2)
	v07 := set(v, *v.Layout, reshaped(apply(ops.Add, m, permuted(m, 1, 0)), 4))
	wantFloats(t, v07, 2, 5, 5, 8)

	x := version(t, d, 0, 1, 2, 3, 4)
	tail, front := sliced(x, 0, 1, 1, 4), sliced(x, 0, 0, 1, 4)
	wantFloats(t, set(x, *tail.Layout, apply(ops.Add, tail, front)), 0, 1, 3, 5, 7)

	x = version(t, d, 4, 3, 2, 1, 0)
	tail, front = sliced(x, 0, 1, 1, 4), sliced(x, 0, 0, 1, 4)
	wantFloats(t, set(x, *tail.Layout, apply(ops.Add, tail, front)), 4, 7, 5, 3, 1)

	x = version(t, d, 0, 1, 2, 3, 4)
	wantFloats(t, set(x, *sliced(x, 0, 0, 1, 4).Layout, sliced(x, 0, 1, 1, 4)), 1, 2, 3, 4, 4)
	x = version(t, d, 0, 1, 2, 3, 4)
	wantFloats(t, set(x, *sliced(x, 0, 1, 1, 4).Layout, sliced(x, 0, 0, 1, 4)), 0, 0, 1, 2, 3)
	x = version(t, d, 0, 1, 2, 3, 4)
	wantFloats(t, set(x, *sliced(x, 0, 4, -1, 5).Layout, x), 4, 3, 2, 1, 0)
}

// TestUpdateOfOthersMemory checks that an update never writes to what is not a version of a variable.
func TestUpdateOfOthersMemory(t *testing.T) {
	f := newFake(t)
	d := NewDevice("wrapping", wrapping{f})
	x := arange(d, 3)
	y := apply(ops.Neg, x)
	eval(t, y)
	for _, e := range []Edge{x, y} {
		before := read(t, e)
		wantFloats(t, set(e, *sliced(e, 0, 0, 1, 1).Layout, num1(d, 9)), 9, before[1], before[2])
		wantFloats(t, e, before...)
	}
}

// TestUpdateAsked checks that a version which is asked for together with the next is not overwritten.
func TestUpdateAsked(t *testing.T) {
	d, _ := testDevice(t)
	a := version(t, d, 1, 2)
	b := set(a, *sliced(a, 0, 0, 1, 1).Layout, num1(d, 3))
	c := set(b, *sliced(b, 0, 1, 1, 1).Layout, num1(d, 4))
	eval(t, c, b)
	wantFloats(t, b, 3, 2)
	wantFloats(t, c, 3, 4)
}

// TestUpdateFails checks that a failed update can be done again, and that the old version, which may be
// half overwritten, is not read.
func TestUpdateFails(t *testing.T) {
	d, f := testDevice(t)
	a := version(t, d, 1, 2)
	b := set(a, *sliced(a, 0, 0, 1, 1).Layout, num1(d, 3))
	f.fail = errors.New("boom")
	if err := Eval(context.Background(), b.Node); err == nil {
		t.Fatal("no error")
	}
	if _, err := Bytes(context.Background(), a); !errors.Is(err, backend.ErrDevice) {
		t.Errorf("the old version: error %v, want ErrDevice", err)
	}
	wantFloats(t, b, 3, 2)
}

// TestUpdateReadAgain checks that a node which read an old version and is computed once more gives an error,
// not new data.
func TestUpdateReadAgain(t *testing.T) {
	d, _ := testDevice(t)
	a := version(t, d, 1, 2)
	h := apply(ops.Exp, a)
	eval(t, apply(ops.Neg, h)) // h was fused
	b := set(a, *sliced(a, 0, 0, 1, 1).Layout, num1(d, 3))
	eval(t, b)
	if _, err := Bytes(context.Background(), h); !errors.Is(err, backend.ErrDevice) {
		t.Errorf("error %v, want ErrDevice", err)
	}
}

// TestUpdateManyTimes is a cache as in language models: an update and a read a step.
func TestUpdateManyTimes(t *testing.T) {
	d, f := testDevice(t)
	v := version(t, d, 0, 0, 0, 0, 0, 0)
	for i := range 6 {
		v = set(v, *sliced(v, 0, i, 1, 1).Layout, num1(d, float32(i+1)))
		kernels := len(f.kernels)
		s := sum(v, 0)
		wantFloats(t, s, float32((i+1)*(i+2)/2))
		if n := len(f.kernels) - kernels; n != 2 {
			t.Errorf("step %d: %d kernels, want the update and the sum", i, n)
		}
	}
	if p := d.Stats().Plans; p > 3 {
		t.Errorf("%d plans", p)
	}
}
