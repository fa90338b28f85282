package backend

import (
	"math/rand/v2"
	"testing"
)

func TestCollapse(t *testing.T) {
	dense := Dense(Shape{2, 3, 4})
	row, _ := Dense(Shape{4}).BroadcastTo(Shape{2, 3, 4})
	swapped, _ := Dense(Shape{2, 4, 3}).Permute(0, 2, 1)
	for _, tc := range []struct {
		name  string
		in    []Layout
		fixed int
		want  Shape
		kept  int
	}{
		{"dense", []Layout{dense, dense}, 3, Shape{24}, 1},
		{"dense, none fixed", []Layout{dense}, 0, Shape{24}, 0},
		{"dense, boundary", []Layout{dense}, 2, Shape{6, 4}, 1},
		{"dense, early boundary", []Layout{dense}, 1, Shape{2, 12}, 1},
		{"broadcast row", []Layout{dense, row}, 3, Shape{6, 4}, 2},
		{"transposed", []Layout{dense, swapped}, 3, Shape{2, 3, 4}, 3},
		{"ones", []Layout{Dense(Shape{1, 5, 1, 2, 1})}, 5, Shape{10}, 1},
		{"ones before the boundary", []Layout{Dense(Shape{1, 1, 6})}, 2, Shape{6}, 0},
		{"ones after the boundary", []Layout{Dense(Shape{6, 1, 1})}, 1, Shape{6}, 1},
		{"scalar", []Layout{Dense(nil)}, 0, Shape{1}, 1},
		{"all ones", []Layout{Dense(Shape{1, 1})}, 1, Shape{1}, 0},
		{"all ones fixed", []Layout{Dense(Shape{1, 1})}, 2, Shape{1}, 1},
	} {
		out, kept := Collapse(tc.in, tc.fixed)
		if !out[0].Shape.Equal(tc.want) || kept != tc.kept {
			t.Errorf("%s: %v, kept %d, want %v, kept %d", tc.name, out[0].Shape, kept, tc.want, tc.kept)
		}
		collapsed(t, tc.in, tc.fixed, out, kept)
	}
	if out, kept := Collapse(nil, 0); len(out) != 0 || kept != 0 {
		t.Errorf("Collapse of nothing: %v, %d", out, kept)
	}
}

// collapsed reports an error if out is not in with the same elements in the same order on both sides of
// the boundary.
func collapsed(t *testing.T, in []Layout, fixed int, out []Layout, kept int) {
	t.Helper()
	for i, l := range in {
		o := out[i]
		if len(o.Shape) != len(o.Strides) || len(o.Shape) == 0 || !o.Shape.Equal(out[0].Shape) {
			t.Fatalf("%v to %v: layouts of different or no axes", in, out)
		}
		if kept < 0 || kept > len(o.Shape) {
			t.Fatalf("kept %d of %d axes", kept, len(o.Shape))
		}
		if got, want := o.Shape[:kept].Len(), l.Shape[:fixed].Len(); got != want {
			t.Fatalf("%v (%d fixed) to %v (%d kept): %d rows, want %d", in, fixed, out, kept, got, want)
		}
		if got, want := o.Shape[kept:].Len(), l.Shape[fixed:].Len(); got != want {
			t.Fatalf("%v (%d fixed) to %v (%d kept): rows of %d, want %d", in, fixed, out, kept, got, want)
		}
		got, want := positions(o), positions(l)
		for k := range want.at {
			if got.at[k] != want.at[k] {
				t.Fatalf("%+v to %+v: element %d at %d, want %d", l, o, k, got.at[k], want.at[k])
			}
		}
	}
}

func TestCollapseRandom(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 0))
		shape := make(Shape, r.IntN(6))
		for i := range shape {
			shape[i] = r.IntN(4)
			if r.IntN(3) > 0 {
				shape[i]++
			}
		}
		in := make([]Layout, 1+r.IntN(3))
		for i := range in {
			in[i] = randomLayout(r, shape)
		}
		fixed := r.IntN(len(shape) + 1)
		before := make([]naive, len(in))
		for i := range in {
			before[i] = positions(in[i])
		}
		out, kept := Collapse(in, fixed)
		collapsed(t, in, fixed, out, kept)
		for i := range in {
			same(t, "input after Collapse", in[i], before[i])
		}
	}
}

// randomLayout returns a layout of shape whose axes may be stretched, swapped, stepped or reversed.
func randomLayout(r *rand.Rand, shape Shape) Layout {
	l := Layout{Shape: shape, Strides: shape.Strides(), Offset: r.IntN(10)}
	if r.IntN(3) == 0 {
		return l
	}
	for a := range l.Strides {
		switch r.IntN(8) {
		case 0:
			l.Strides[a] = 0
		case 1:
			l.Strides[a] *= -1
		case 2:
			l.Strides[a] *= 2
		case 3:
			b := r.IntN(len(shape))
			l.Strides[a], l.Strides[b] = l.Strides[b], l.Strides[a]
		}
	}
	return l
}
