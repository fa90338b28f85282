package backend

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// A naive is a view as a list of the positions of its elements, in row-major order. Its methods use no
// strides: each says which element of the old view an index of the new one names.
type naive struct {
	shape Shape
	at    []int
}

// view returns the naive view of shape whose element at idx is that of n at source(idx).
func (n naive) view(shape Shape, source func(idx []int) []int) naive {
	v := naive{shape: shape}
	for i := range shape.Len() {
		flat := 0
		for a, x := range source(unravel(shape, i)) {
			flat = flat*n.shape[a] + x
		}
		v.at = append(v.at, n.at[flat])
	}
	return v
}

// unravel returns the index of element number i of a tensor of shape.
func unravel(shape Shape, i int) []int {
	idx := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		idx[a] = i % shape[a]
		i /= shape[a]
	}
	return idx
}

func newNaive(shape Shape) naive {
	n := naive{shape: shape}
	for i := range shape.Len() {
		n.at = append(n.at, i)
	}
	return n
}

func (n naive) permute(axes []int) naive {
	shape := make(Shape, len(axes))
	for i, a := range axes {
		shape[i] = n.shape[a]
	}
	return n.view(shape, func(idx []int) []int {
		src := make([]int, len(idx))
		for i, a := range axes {
			src[a] = idx[i]
		}
		return src
	})
}

func (n naive) slice(axis, start, step, count int) naive {
	shape := n.shape.Clone()
	shape[axis] = count
	return n.view(shape, func(idx []int) []int {
		idx[axis] = start + step*idx[axis]
		return idx
	})
}

func (n naive) drop(axis, i int) naive {
	shape := slices.Delete(n.shape.Clone(), axis, axis+1)
	return n.view(shape, func(idx []int) []int { return slices.Insert(idx, axis, i) })
}

func (n naive) insert(axis int) naive {
	shape := slices.Insert(n.shape.Clone(), axis, 1)
	return n.view(shape, func(idx []int) []int { return slices.Delete(idx, axis, axis+1) })
}

func (n naive) broadcastTo(shape Shape) naive {
	off := len(shape) - len(n.shape)
	return n.view(shape, func(idx []int) []int {
		src := idx[off:]
		for i, d := range n.shape {
			if d == 1 {
				src[i] = 0
			}
		}
		return src
	})
}

func (n naive) reshape(shape Shape) naive { return naive{shape: shape, at: n.at} }

func (n naive) diagonal(offset, a, b int) naive {
	var shape Shape
	for k, d := range n.shape {
		if k != a && k != b {
			shape = append(shape, d)
		}
	}
	count := 0
	for i := range n.shape[a] {
		if j := i + offset; j >= 0 && j < n.shape[b] {
			count++
		}
	}
	return n.view(append(shape, count), func(idx []int) []int {
		i := idx[len(idx)-1] + max(0, -offset)
		src := make([]int, len(n.shape))
		rest := idx
		for k := range src {
			switch k {
			case a:
				src[k] = i
			case b:
				src[k] = i + offset
			default:
				src[k], rest = rest[0], rest[1:]
			}
		}
		return src
	})
}

func (n naive) unfold(axis, size, step int) naive {
	shape := n.shape.Clone()
	shape[axis] = 0
	for start := 0; start+size <= n.shape[axis]; start += step {
		shape[axis]++
	}
	return n.view(append(shape, size), func(idx []int) []int {
		idx[axis] = idx[axis]*step + idx[len(idx)-1]
		return idx[:len(idx)-1]
	})
}

// same reports an error if l and n do not have the same elements in the same order, or if a method of l
// that summarises them is wrong.
func same(t *testing.T, what string, l Layout, n naive) {
	t.Helper()
	if !l.Shape.Equal(n.shape) || len(l.Strides) != len(l.Shape) {
		t.Fatalf("%s: layout %+v, want shape %v", what, l, n.shape)
	}
	if l.Len() != len(n.at) {
		t.Fatalf("%s: Len() = %d, want %d", what, l.Len(), len(n.at))
	}
	count := 0
	for i, at := range l.All() {
		if i != count || at != n.at[i] || at != l.At(unravel(l.Shape, i)...) {
			t.Fatalf("%s: %+v: element %d (at %d): position %d, want %d", what, l, count, i, at, n.at[count])
		}
		count++
	}
	if count != len(n.at) {
		t.Fatalf("%s: All yields %d elements, want %d", what, count, len(n.at))
	}
	lo, hi := 0, -1
	dense := true
	if count > 0 {
		lo, hi = slices.Min(n.at), slices.Max(n.at)
		for i, at := range n.at {
			dense = dense && at == n.at[0]+i
		}
	}
	if a, b := l.Bounds(); a != lo || b != hi {
		t.Fatalf("%s: %+v: Bounds() = %d, %d, want %d, %d", what, l, a, b, lo, hi)
	}
	if l.IsDense() != dense {
		t.Fatalf("%s: %+v: IsDense() = %v, want %v", what, l, !dense, dense)
	}
}

func TestLayoutViews(t *testing.T) {
	d := Dense(Shape{3, 4, 5})
	n := newNaive(Shape{3, 4, 5})
	same(t, "dense", d, n)
	same(t, "scalar", Dense(nil), newNaive(nil))
	same(t, "empty", Dense(Shape{2, 0, 3}), newNaive(Shape{2, 0, 3}))

	for _, tc := range []struct {
		name string
		view func(Layout) (Layout, error)
		want naive
	}{
		{"permute", func(l Layout) (Layout, error) { return l.Permute(2, 0, 1) }, n.permute([]int{2, 0, 1})},
		{"permute negative", func(l Layout) (Layout, error) { return l.Permute(-1, -2, -3) }, n.permute([]int{2, 1, 0})},
		{"slice", func(l Layout) (Layout, error) { return l.Slice(1, 1, 1, 2) }, n.slice(1, 1, 1, 2)},
		{"slice step", func(l Layout) (Layout, error) { return l.Slice(-1, 0, 2, 3) }, n.slice(2, 0, 2, 3)},
		{"slice reversed", func(l Layout) (Layout, error) { return l.Slice(2, 4, -1, 5) }, n.slice(2, 4, -1, 5)},
		{"slice back by two", func(l Layout) (Layout, error) { return l.Slice(2, 4, -2, 3) }, n.slice(2, 4, -2, 3)},
		{"slice empty", func(l Layout) (Layout, error) { return l.Slice(0, 3, 1, 0) }, n.slice(0, 0, 1, 0)},
		{"slice empty inner", func(l Layout) (Layout, error) { return l.Slice(2, 0, 2, 0) }, n.slice(2, 0, 1, 0)},
		{"drop first", func(l Layout) (Layout, error) { return l.Drop(0, 2) }, n.drop(0, 2)},
		{"drop last", func(l Layout) (Layout, error) { return l.Drop(-1, 3) }, n.drop(2, 3)},
		{"insert first", func(l Layout) (Layout, error) { return l.Insert(0) }, n.insert(0)},
		{"insert inner", func(l Layout) (Layout, error) { return l.Insert(2) }, n.insert(2)},
		{"insert last", func(l Layout) (Layout, error) { return l.Insert(-1) }, n.insert(3)},
		{"insert at rank", func(l Layout) (Layout, error) { return l.Insert(3) }, n.insert(3)},
		{"insert at -rank-1", func(l Layout) (Layout, error) { return l.Insert(-4) }, n.insert(0)},
		{"diagonal", func(l Layout) (Layout, error) { return l.Diagonal(0, 0, 1) }, n.diagonal(0, 0, 1)},
		{"diagonal above", func(l Layout) (Layout, error) { return l.Diagonal(2, 1, 2) }, n.diagonal(2, 1, 2)},
		{"diagonal below", func(l Layout) (Layout, error) { return l.Diagonal(-1, -1, 0) }, n.diagonal(-1, 2, 0)},
		{"diagonal outside", func(l Layout) (Layout, error) { return l.Diagonal(9, 0, 1) }, n.diagonal(9, 0, 1)},
		{"unfold", func(l Layout) (Layout, error) { return l.Unfold(2, 2, 1) }, n.unfold(2, 2, 1)},
		{"unfold step", func(l Layout) (Layout, error) { return l.Unfold(-2, 3, 2) }, n.unfold(1, 3, 2)},
		{"unfold one window", func(l Layout) (Layout, error) { return l.Unfold(0, 3, 7) }, n.unfold(0, 3, 7)},
	} {
		before := Layout{d.Shape.Clone(), slices.Clone(d.Strides), d.Offset}
		l, err := tc.view(d)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		same(t, tc.name, l, tc.want)
		if !d.Equal(before) {
			t.Fatalf("%s changed its receiver", tc.name)
		}
	}
}

func TestBroadcastTo(t *testing.T) {
	for _, tc := range []struct{ from, to Shape }{
		{Shape{}, Shape{2, 3}},
		{Shape{1}, Shape{0}},
		{Shape{3}, Shape{2, 3}},
		{Shape{2, 1}, Shape{2, 3}},
		{Shape{1, 1}, Shape{4, 1, 5}},
		{Shape{2, 3}, Shape{2, 3}},
		{Shape{0}, Shape{2, 0}},
	} {
		l, err := Dense(tc.from).BroadcastTo(tc.to)
		if err != nil {
			t.Errorf("%v to %v: %v", tc.from, tc.to, err)
			continue
		}
		same(t, "broadcast", l, newNaive(tc.from).broadcastTo(tc.to))
	}
	for _, tc := range []struct{ from, to Shape }{
		{Shape{2}, Shape{3}}, {Shape{2}, Shape{1}}, {Shape{1, 2}, Shape{2}}, {Shape{0}, Shape{3}}, {Shape{3}, Shape{0}}, {Shape{2}, Shape{}},
	} {
		if l, err := Dense(tc.from).BroadcastTo(tc.to); !errors.Is(err, ErrShape) {
			t.Errorf("%v to %v: %+v, %v, want ErrShape", tc.from, tc.to, l, err)
		}
	}
}

func TestReshape(t *testing.T) {
	base := Dense(Shape{4, 6})
	transposed, _ := base.Permute(1, 0)
	stepped, _ := base.Slice(1, 0, 2, 3)
	reversed, _ := base.Slice(1, 5, -1, 6)
	stretched, _ := Dense(Shape{1, 6}).BroadcastTo(Shape{4, 6})
	column, _ := base.Slice(1, 2, 1, 1)
	emptied, _ := stepped.Slice(0, 0, 1, 0)
	for _, tc := range []struct {
		name string
		l    Layout
		to   Shape
		ok   bool
	}{
		{"dense", base, Shape{2, 12}, true},
		{"dense flat", base, Shape{24}, true},
		{"dense ones", base, Shape{1, 24, 1}, true},
		{"same", transposed, Shape{6, 4}, true},
		{"transposed split", transposed, Shape{2, 3, 2, 2}, true},
		{"transposed flat", transposed, Shape{24}, false},
		{"transposed regroup", transposed, Shape{3, 8}, false},
		{"stepped split", stepped, Shape{2, 2, 3}, true},
		{"stepped flat", stepped, Shape{12}, true}, // rows of 6 are three steps of 2
		{"stepped regroup", stepped, Shape{3, 4}, true},
		{"reversed split", reversed, Shape{4, 3, 2}, true},
		{"reversed flat", reversed, Shape{24}, false},
		{"broadcast split", stretched, Shape{2, 2, 6}, true},
		{"broadcast flat", stretched, Shape{24}, false},
		{"column", column, Shape{2, 1, 2}, true},
		{"column scalar rows", column, Shape{1, 4, 1, 1}, true},
		{"empty of any strides", emptied, Shape{3, 0, 7}, true},
		{"fewer elements", base, Shape{23}, false},
		{"more elements", transposed, Shape{6, 5}, false},
		{"many more elements", stepped, Shape{12, 2}, false},
		{"none", transposed, Shape{0}, false},
		{"from none", emptied, Shape{1}, false},
		{"to a scalar", base, Shape{}, false},
	} {
		r, ok := tc.l.Reshape(tc.to)
		if ok != tc.ok {
			t.Errorf("%s: ok = %v, want %v", tc.name, ok, tc.ok)
		}
		if ok {
			same(t, tc.name, r, positions(tc.l).reshape(tc.to))
		}
	}
}

// positions returns the naive view of the elements of l.
func positions(l Layout) naive {
	n := naive{shape: l.Shape}
	for i := range l.Len() {
		n.at = append(n.at, l.At(unravel(l.Shape, i)...))
	}
	return n
}

func TestIsDenseEmpty(t *testing.T) {
	for _, l := range []Layout{
		{Shape: Shape{0, 3}, Strides: []int{5, 7}},
		{Shape: Shape{3, 0}, Strides: []int{5, 7}},
		{Shape: Shape{2, 0, 2}, Strides: []int{-1, 0, 9}, Offset: 4},
	} {
		if !l.IsDense() {
			t.Errorf("%+v is empty but not dense", l)
		}
	}
	if l := (Layout{Shape: Shape{1, 3, 1}, Strides: []int{9, 1, 9}, Offset: 2}); !l.IsDense() {
		t.Errorf("%+v is not dense", l)
	}
}

func TestLayoutEqual(t *testing.T) {
	a := Layout{Shape: Shape{2, 1, 3}, Strides: []int{3, 9, 1}}
	for _, tc := range []struct {
		b    Layout
		want bool
	}{
		{Layout{Shape: Shape{2, 1, 3}, Strides: []int{3, 0, 1}}, true},
		{Layout{Shape: Shape{2, 1, 3}, Strides: []int{3, 9, 1}, Offset: 1}, false},
		{Layout{Shape: Shape{2, 1, 3}, Strides: []int{1, 9, 2}}, false},
		{Layout{Shape: Shape{2, 3}, Strides: []int{3, 1}}, false},
		{Layout{Shape: Shape{3, 1, 2}, Strides: []int{3, 9, 1}}, false},
	} {
		if got := a.Equal(tc.b); got != tc.want {
			t.Errorf("%+v.Equal(%+v) = %v", a, tc.b, got)
		}
	}
}

func TestLayoutErrors(t *testing.T) {
	d := Dense(Shape{3, 4})
	for _, tc := range []struct {
		name string
		call func() (Layout, error)
		kind error
	}{
		{"permute too few", func() (Layout, error) { return d.Permute(0) }, ErrAxis},
		{"permute too many", func() (Layout, error) { return d.Permute(0, 1, 2) }, ErrAxis},
		{"permute twice", func() (Layout, error) { return d.Permute(1, -1) }, ErrAxis},
		{"permute range", func() (Layout, error) { return d.Permute(0, 2) }, ErrAxis},
		{"slice axis", func() (Layout, error) { return d.Slice(2, 0, 1, 1) }, ErrAxis},
		{"slice step 0", func() (Layout, error) { return d.Slice(0, 0, 0, 1) }, ErrIndex},
		{"slice negative n", func() (Layout, error) { return d.Slice(0, 0, 1, -1) }, ErrIndex},
		{"slice start", func() (Layout, error) { return d.Slice(0, 3, 1, 1) }, ErrIndex},
		{"slice start negative", func() (Layout, error) { return d.Slice(0, -1, 1, 1) }, ErrIndex},
		{"slice end", func() (Layout, error) { return d.Slice(1, 1, 2, 3) }, ErrIndex},
		{"slice before", func() (Layout, error) { return d.Slice(1, 1, -1, 3) }, ErrIndex},
		{"slice n wraps", func() (Layout, error) { return d.Slice(1, 1, 4, 1<<62+1) }, ErrIndex},
		{"slice step wraps", func() (Layout, error) { return d.Slice(1, 1, math.MinInt, 3) }, ErrIndex},
		{"slice step wraps twice", func() (Layout, error) { return d.Slice(1, 1, 1<<62, 5) }, ErrIndex},
		{"drop range", func() (Layout, error) { return d.Drop(0, 3) }, ErrIndex},
		{"drop axis", func() (Layout, error) { return d.Drop(-3, 0) }, ErrAxis},
		{"insert range", func() (Layout, error) { return d.Insert(3) }, ErrAxis},
		{"insert negative", func() (Layout, error) { return d.Insert(-4) }, ErrAxis},
		{"diagonal of one axis", func() (Layout, error) { return d.Diagonal(0, 1, -1) }, ErrAxis},
		{"diagonal axis", func() (Layout, error) { return d.Diagonal(0, 0, 2) }, ErrAxis},
		{"diagonal first axis", func() (Layout, error) { return d.Diagonal(0, 5, 0) }, ErrAxis},
		{"unfold axis", func() (Layout, error) { return d.Unfold(2, 1, 1) }, ErrAxis},
		{"unfold size 0", func() (Layout, error) { return d.Unfold(0, 0, 1) }, ErrShape},
		{"unfold size", func() (Layout, error) { return d.Unfold(0, 4, 1) }, ErrShape},
		{"unfold step", func() (Layout, error) { return d.Unfold(0, 1, 0) }, ErrShape},
	} {
		if l, err := tc.call(); !errors.Is(err, tc.kind) {
			t.Errorf("%s: %+v, %v, want an error of kind %v", tc.name, l, err, tc.kind)
		}
	}
	for _, offset := range []int{math.MinInt, math.MaxInt} {
		if l, err := d.Diagonal(offset, 0, 1); err != nil || l.Len() != 0 {
			t.Errorf("diagonal at %d: %+v, %v, want an empty one", offset, l, err)
		}
	}
}
