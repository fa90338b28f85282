package backend

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestShape(t *testing.T) {
	for _, tc := range []struct {
		shape Shape
		len   int
		text  string
	}{
		{nil, 1, "[]"},
		{Shape{0}, 0, "[0]"},
		{Shape{2, 3}, 6, "[2 3]"},
		{Shape{2, 0, 3}, 0, "[2 0 3]"},
		{Shape{1, 1}, 1, "[1 1]"},
	} {
		if got := tc.shape.Len(); got != tc.len {
			t.Errorf("%v.Len() = %d, want %d", tc.shape, got, tc.len)
		}
		if got := tc.shape.String(); got != tc.text {
			t.Errorf("String() = %q, want %q", got, tc.text)
		}
		if got := tc.shape.Rank(); got != len(tc.shape) {
			t.Errorf("%v.Rank() = %d", tc.shape, got)
		}
		c := tc.shape.Clone()
		if !c.Equal(tc.shape) {
			t.Errorf("%v.Clone() = %v", tc.shape, c)
		}
		if len(c) > 0 {
			if c[0]++; c.Equal(tc.shape) {
				t.Errorf("Clone of %v shares its memory, or Equal does not look", c)
			}
		}
		if tc.shape.Equal(append(tc.shape.Clone(), 1)) {
			t.Errorf("%v equals a shape of one axis more", tc.shape)
		}
	}
}

func TestShapeCheck(t *testing.T) {
	for _, tc := range []struct {
		shape Shape
		ok    bool
	}{
		{nil, true},
		{Shape{0}, true},
		{Shape{3, 4}, true},
		{Shape{math.MaxInt / 8}, true},
		{Shape{math.MaxInt/8 + 1}, false},
		{Shape{math.MaxInt}, false},
		{Shape{1 << 31, 1 << 31}, false},
		{Shape{1 << 32, 1 << 32}, false}, // the product wraps to 0
		{Shape{0, 1 << 32, 1 << 32}, false},
		{Shape{1 << 32, 1 << 32, 0}, false},
		{Shape{0, 1 << 40}, true},
		{Shape{2, -1}, false},
		{Shape{math.MinInt}, false},
	} {
		err := tc.shape.Check()
		if (err == nil) != tc.ok {
			t.Errorf("%v.Check() = %v, want ok %v", tc.shape, err, tc.ok)
		}
		if err != nil && !errors.Is(err, ErrShape) {
			t.Errorf("%v.Check() = %v, not of kind ErrShape", tc.shape, err)
		}
	}
}

func TestShapeStridesAndAxis(t *testing.T) {
	s := Shape{2, 3, 4}
	if got := s.Strides(); got[0] != 12 || got[1] != 4 || got[2] != 1 {
		t.Errorf("Strides() = %v", got)
	}
	for a, want := range map[int]int{0: 0, 2: 2, -1: 2, -3: 0} {
		if got, err := s.Axis(a); err != nil || got != want {
			t.Errorf("Axis(%d) = %d, %v, want %d", a, got, err, want)
		}
	}
	for _, a := range []int{3, -4, math.MaxInt, math.MinInt} {
		if _, err := s.Axis(a); !errors.Is(err, ErrAxis) {
			t.Errorf("Axis(%d): %v, want ErrAxis", a, err)
		}
	}
	if _, err := (Shape{}).Axis(0); !errors.Is(err, ErrAxis) {
		t.Errorf("Axis(0) of a scalar: %v, want ErrAxis", err)
	}
}

func TestBroadcast(t *testing.T) {
	for _, tc := range []struct {
		in   []Shape
		want Shape // nil for an error
	}{
		{[]Shape{{}}, Shape{}},
		{[]Shape{}, Shape{}},
		{[]Shape{{3}, {}}, Shape{3}},
		{[]Shape{{2, 3}, {3}}, Shape{2, 3}},
		{[]Shape{{2, 1}, {1, 3}}, Shape{2, 3}},
		{[]Shape{{8, 1, 6, 1}, {7, 1, 5}}, Shape{8, 7, 6, 5}},
		{[]Shape{{3}, {1}, {2, 1}}, Shape{2, 3}},
		{[]Shape{{0}, {1}}, Shape{0}},
		{[]Shape{{1}, {0}}, Shape{0}},
		{[]Shape{{2, 0}, {1, 1}}, Shape{2, 0}},
		{[]Shape{{0}, {3}}, nil},
		{[]Shape{{3}, {0}}, nil},
		{[]Shape{{2, 3}, {2}}, nil},
		{[]Shape{{1}, {2}, {3}}, nil},
	} {
		got, err := Broadcast(tc.in...)
		switch {
		case tc.want == nil && !errors.Is(err, ErrShape):
			t.Errorf("Broadcast(%v) = %v, %v, want ErrShape", tc.in, got, err)
		case tc.want != nil && (err != nil || !got.Equal(tc.want)):
			t.Errorf("Broadcast(%v) = %v, %v, want %v", tc.in, got, err, tc.want)
		}
	}
	if _, err := Broadcast(Shape{2, 3}, Shape{2}); !strings.Contains(err.Error(), "[2 3]") {
		t.Errorf("the error names no shapes: %v", err)
	}
}
