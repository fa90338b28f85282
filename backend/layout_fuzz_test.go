package backend

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A source hands out small numbers from the bytes of a fuzzer's input, zeros when they run out.
type source []byte

// below returns a number of 0…n-1, 0 if there is none.
func (s *source) below(n int) int {
	if len(*s) == 0 || n <= 0 {
		return 0
	}
	v := int((*s)[0])
	*s = (*s)[1:]
	return v % n
}

// FuzzLayout runs chains of views on a Layout and on a list of positions, and compares after each.
func FuzzLayout(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 2, 3, 4, 0, 1, 2, 0})
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		b := make([]byte, 40)
		for i := range b {
			b[i] = byte(r.UintN(256))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		shape := make(Shape, s.below(5))
		for i := range shape {
			shape[i] = s.below(5)
		}
		l, n := Dense(shape), newNaive(shape)
		chain := shape.String()
		for range 12 {
			if len(s) == 0 || n.shape.Len() > 2000 || len(n.shape) > 8 {
				break
			}
			var name string
			l, n, name = step(t, chain, &s, l, n)
			chain += " " + name
			same(t, chain, l, n)
		}
	})
}

// step applies a view chosen by s to both.
func step(t *testing.T, chain string, s *source, l Layout, n naive) (Layout, naive, string) {
	rank := len(l.Shape)
	axis := s.below(rank)
	var err error
	var name string
	switch kind := s.below(8); {
	case kind == 0:
		axes := permutation(s, rank)
		name = fmt.Sprint("permute", axes)
		l, err = l.Permute(axes...)
		n = n.permute(axes)
	case kind == 1:
		axis = s.below(rank + 1)
		name = fmt.Sprint("insert ", axis)
		l, err = l.Insert(axis)
		n = n.insert(axis)
	case kind == 2:
		to := stretch(s, l.Shape)
		name = fmt.Sprint("broadcast ", to)
		l, err = l.BroadcastTo(to)
		n = n.broadcastTo(to)
	case kind == 3:
		to := regroup(s, l.Shape)
		name = fmt.Sprint("reshape ", to)
		if r, ok := l.Reshape(to); ok {
			l, n = r, n.reshape(to)
		} else if expressible(n.reshape(to)) {
			t.Fatalf("%s: %+v: reshape to %v refused, though strides can express it", chain, l, to)
		}
	case rank == 0 || l.Shape[axis] == 0:
		name = "nothing"
	case kind == 4:
		at := s.below(l.Shape[axis])
		name = fmt.Sprint("drop ", axis, at)
		l, err = l.Drop(axis, at)
		n = n.drop(axis, at)
	case kind == 5 && rank >= 2:
		b := (axis + 1 + s.below(rank-1)) % rank
		off := s.below(7) - 3
		name = fmt.Sprint("diagonal ", off, axis, b)
		l, err = l.Diagonal(off, axis, b)
		n = n.diagonal(off, axis, b)
	case kind == 6:
		size := 1 + s.below(l.Shape[axis])
		by := 1 + s.below(3)
		name = fmt.Sprint("unfold ", axis, size, by)
		l, err = l.Unfold(axis, size, by)
		n = n.unfold(axis, size, by)
	default:
		start, by, count := window(s, l.Shape[axis])
		name = fmt.Sprint("slice ", axis, start, by, count)
		l, err = l.Slice(axis, start, by, count)
		n = n.slice(axis, start, by, count)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", chain, name, err)
	}
	return l, n, name
}

func permutation(s *source, rank int) []int {
	axes := make([]int, rank)
	for i := range axes {
		j := s.below(i + 1)
		axes[i] = axes[j]
		axes[j] = i
	}
	return axes
}

// stretch returns a shape that shape broadcasts to.
func stretch(s *source, shape Shape) Shape {
	to := shape.Clone()
	for i, d := range to {
		if d == 1 {
			to[i] = s.below(4)
		}
	}
	if s.below(2) == 1 {
		to = append(Shape{1 + s.below(3)}, to...)
	}
	return to
}

// regroup returns another shape of as many elements.
func regroup(s *source, shape Shape) Shape {
	var to Shape
	for n := shape.Len(); n > 1; {
		d := 1 + s.below(n)
		for n%d != 0 {
			d--
		}
		if d == 1 && s.below(2) == 0 {
			d = n
		}
		to = append(to, d)
		n /= d
	}
	if shape.Len() == 0 {
		return Shape{s.below(4), 0}
	}
	return to
}

// window returns a slice within an axis of extent d > 0.
func window(s *source, d int) (start, by, count int) {
	start = s.below(d)
	by = 1 + s.below(3)
	room := (d-1-start)/by + 1
	if s.below(2) == 1 {
		by, room = -by, start/by+1
	}
	return start, by, s.below(room + 1)
}

// expressible reports whether strides can express n: whether the step along each axis is the same
// everywhere. It looks at all elements.
func expressible(n naive) bool {
	strides := make([]int, len(n.shape))
	for a := range strides {
		if n.shape[a] > 1 && len(n.at) > 0 {
			strides[a] = n.at[n.shape[a+1:].Len()] - n.at[0]
		}
	}
	for i, at := range n.at {
		want := n.at[0]
		for a, x := range unravel(n.shape, i) {
			want += x * strides[a]
		}
		if at != want {
			return false
		}
	}
	return true
}
