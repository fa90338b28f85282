package graph

import (
	"math/rand/v2"
	"testing"

	"github.com/weft-go/weft/backend"
)

// randomView applies random views to l.
func randomView(r *rand.Rand, l backend.Layout, views int) backend.Layout {
	for range views {
		var v backend.Layout
		err := error(nil)
		ok := true
		rank := len(l.Shape)
		axis := 0
		if rank > 0 {
			axis = r.IntN(rank)
		}
		switch k := r.IntN(7); {
		case k == 0:
			v, err = l.Permute(r.Perm(rank)...)
		case k == 1 && rank > 0 && l.Shape[axis] > 0:
			d := l.Shape[axis]
			start := r.IntN(d)
			step := 1 + r.IntN(2)
			if r.IntN(2) == 0 {
				step = -step
			}
			n := (d-1-start)/max(step, 1) + 1
			if step < 0 {
				n = start/-step + 1
			}
			v, err = l.Slice(axis, start, step, n)
		case k == 2:
			v, err = l.Insert(r.IntN(rank + 1))
		case k == 3 && rank > 0 && l.Shape[axis] == 1:
			s := l.Shape.Clone()
			s[axis] = 1 + r.IntN(3)
			v, err = l.BroadcastTo(s)
		case k == 4 && rank > 1:
			v, err = l.Diagonal(r.IntN(3)-1, 0, rank-1)
		case k == 5 && rank > 1:
			s := append(backend.Shape{l.Shape[0] * l.Shape[1]}, l.Shape[2:]...)
			v, ok = l.Reshape(s)
		case k == 6 && rank > 0 && l.Shape[axis]%2 == 0:
			s := append(l.Shape[:axis:axis], l.Shape[axis]/2, 2)
			v, ok = l.Reshape(append(s, l.Shape[axis+1:]...))
		default:
			continue
		}
		if err == nil && ok && len(v.Shape) <= 5 {
			l = v
		}
	}
	return l
}

// TestCompose checks composed layouts element by element.
func TestCompose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	expressed := 0
	const tries = 3000
	for range tries {
		src := backend.Dense(backend.Shape{2 + r.IntN(3), 1 + r.IntN(4), 2 + r.IntN(3)})
		in := randomView(r, src, 3)
		place := randomView(r, backend.Dense(in.Shape), 3)
		got, ok := compose(place, in.Shape, in)
		if !ok {
			continue
		}
		expressed++
		if !got.Shape.Equal(place.Shape) {
			t.Fatalf("compose(%v, %v): shape %v", place, in, got.Shape)
		}
		at := positions(in)
		want := positions(place)
		for i, p := range positions(got) {
			if p != at[want[i]] {
				t.Fatalf("compose(%v, %v) = %v: element %d at %d, want %d", place, in, got, i, p, at[want[i]])
			}
		}
	}
	if expressed < tries*9/10 {
		t.Errorf("only %d of %d views of views were expressed", expressed, tries)
	}
}

func positions(l backend.Layout) []int {
	at := make([]int, 0, l.Len())
	for _, p := range l.All() {
		at = append(at, p)
	}
	return at
}

func TestComposeLimits(t *testing.T) {
	flat := backend.Dense(backend.Shape{6})
	transposed := backend.Layout{Shape: backend.Shape{2, 3}, Strides: []int{1, 2}}
	if l, ok := compose(flat, transposed.Shape, transposed); ok {
		t.Errorf("the flat view of a transposed matrix became the layout %v", l)
	}
	broadcast := backend.Layout{Shape: backend.Shape{2, 3, 4}, Strides: []int{0, 0, 1}}
	l, ok := compose(backend.Dense(backend.Shape{6, 4}), broadcast.Shape, broadcast)
	if want := (backend.Layout{Shape: backend.Shape{6, 4}, Strides: []int{0, 1}}); !ok || !l.Equal(want) {
		t.Errorf("a broadcast row in a reshaped domain: %v %v, want %v", l, ok, want)
	}
}

func TestOnto(t *testing.T) {
	for _, c := range []struct {
		name  string
		place backend.Layout
		n     int
		ok    bool
	}{
		{"dense", backend.Dense(backend.Shape{2, 3}), 6, true},
		{"transposed", backend.Layout{Shape: backend.Shape{3, 2}, Strides: []int{1, 3}}, 6, true},
		{"with an axis of extent 1", backend.Layout{Shape: backend.Shape{3, 1, 2}, Strides: []int{1, 0, 3}}, 6, true},
		{"broadcast", backend.Layout{Shape: backend.Shape{2, 3}, Strides: []int{0, 1}}, 3, false},
		{"part", backend.Layout{Shape: backend.Shape{2}, Strides: []int{1}}, 3, false},
		{"stepped", backend.Layout{Shape: backend.Shape{3}, Strides: []int{2}}, 3, false},
		{"reversed", backend.Layout{Shape: backend.Shape{3}, Strides: []int{-1}, Offset: 2}, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			order, ok := onto(c.place, c.n)
			if ok != c.ok || ok && !permute(c.place, order).IsDense() {
				t.Errorf("onto(%v, %d) = %v, %v", c.place, c.n, order, ok)
			}
		})
	}
}
