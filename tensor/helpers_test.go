package tensor_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/tensor"
)

var ctx = context.Background()

// read returns the elements of x.
func read[T tensor.Elem](t *testing.T, x *tensor.Tensor) []T {
	t.Helper()
	got, err := tensor.Data[T](ctx, x)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// want checks that x has the given shape (nil: any) and elements, bit for bit but for NaNs, which are all alike.
func want[T tensor.Elem](t *testing.T, x *tensor.Tensor, shape []int, elems ...T) {
	t.Helper()
	got := read[T](t, x)
	if shape != nil && !slices.Equal(x.Shape(), shape) {
		t.Errorf("shape %v, want %v", x.Shape(), shape)
	}
	if len(got) != len(elems) {
		t.Fatalf("got %v, want %v", got, elems)
	}
	for i, g := range got {
		if !same(g, elems[i]) {
			t.Errorf("element %d is %v, want %v\n got %v\nwant %v", i, g, elems[i], got, elems)
			return
		}
	}
}

func same[T tensor.Elem](a, b T) bool {
	switch x := any(a).(type) {
	case float32:
		return sameFloat(float64(x), float64(any(b).(float32)))
	case float64:
		return sameFloat(x, any(b).(float64))
	}
	return a == b
}

func sameFloat(a, b float64) bool {
	return a == b && math.Signbit(a) == math.Signbit(b) || a != a && b != b
}

// near checks the elements of x, as float64, to a relative tolerance, or an absolute one near zero.
func near(t *testing.T, x *tensor.Tensor, tol float64, elems ...float64) {
	t.Helper()
	got := read[float64](t, x.Cast(tensor.Float64))
	if len(got) != len(elems) {
		t.Fatalf("got %v, want %v", got, elems)
	}
	for i, g := range got {
		w := elems[i]
		if !sameFloat(g, w) && !(math.Abs(g-w) <= tol*max(math.Abs(w), 1e-30) || g == w) {
			t.Errorf("element %d is %v, want %v ± %v\n got %v\nwant %v", i, g, w, tol, got, elems)
			return
		}
	}
}

// refuses checks that x carries an error of the given kind with the words in its text, and names the line in a test file
// that called tensor.
func refuses(t *testing.T, x *tensor.Tensor, kind error, words ...string) {
	t.Helper()
	refused(t, x.Err(), kind, words...)
}

func refused(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error %v, want of kind %q", err, kind)
	}
	for _, w := range append(words, "_test.go:") {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// ints returns x's elements as int64, for comparing small integers of any type.
func ints(t *testing.T, x *tensor.Tensor) []int64 {
	t.Helper()
	return read[int64](t, x.Cast(tensor.Int64))
}

// wantInts checks shape and whole elements of any type.
func wantInts(t *testing.T, x *tensor.Tensor, shape []int, elems ...int64) {
	t.Helper()
	got := ints(t, x)
	if !slices.Equal(x.Shape(), shape) || !slices.Equal(got, elems) {
		t.Errorf("got %v %v, want %v %v", x.Shape(), got, shape, elems)
	}
}
