package tensor

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// New returns a tensor of the given shape with the elements of data, which it copies, in row-major
// order. Without a shape it has one axis, and New([]T{v}, []int{}...) is no different: [Full] makes a
// tensor without axes. The error is of kind [ErrShape] if the shape has another number of elements.
func New[T Elem](data []T, shape ...int) *Tensor {
	return host("new", append([]T(nil), data...), shape)
}

// Wrap is like [New] but shares data, which must not change as long as the tensor or one computed from
// it is in use.
func Wrap[T Elem](data []T, shape ...int) *Tensor { return host("wrap", data, shape) }

func host[T Elem](op string, data []T, shape []int) *Tensor {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	return hostBytes(op, DTypeOf[T](), shape, len(data), asBytes(data))
}

// hostBytes returns the tensor of n elements in b, which it shares.
func hostBytes(op string, t DType, dims []int, n int, b []byte) *Tensor {
	d, shape, err := place(dims)
	if err != nil {
		return failWith(op, err)
	}
	if shape.Len() != n {
		return fail(op, ErrShape, fmt.Sprintf("%d elements for shape %v, which has %d", n, shape, shape.Len()))
	}
	return whole(d, graph.Host(d.g, t, shape, b))
}

// place returns the device of new tensors, and shape checked and copied.
func place(dims []int) (*Device, backend.Shape, error) {
	d, err := Default()
	if err != nil {
		return nil, nil, err
	}
	shape := shapeOf(dims).Clone()
	return d, shape, shape.Check()
}

// FromBytes returns a tensor whose elements are in b, in row-major order and little-endian: IEEE 754
// patterns or two's complement integers, and one byte for a Bool, of which any but 0 is true. It shares
// b if it can, so b must not change afterwards. It is for file formats; [New] takes Go slices.
func FromBytes(t DType, shape []int, b []byte) *Tensor {
	size := t.Size()
	if size == 0 {
		return fail("frombytes", ErrDType, "unknown element type "+t.String())
	}
	if len(b)%size != 0 {
		return fail("frombytes", ErrShape, fmt.Sprintf("%d bytes are not a whole number of %s", len(b), t))
	}
	switch {
	case t == Bool:
		b = canonicalBools(b)
	case !littleEndian:
		b = swapped(b, size)
	case len(b) > 0 && uintptr(unsafe.Pointer(&b[0]))%uintptr(size) != 0:
		b = append(make([]byte, 0, len(b)), b...) // unaligned: the allocator aligns
	}
	return hostBytes("frombytes", t, shape, len(b)/size, b)
}

// canonicalBools returns b with each byte 0 or 1: b itself if it is so already.
func canonicalBools(b []byte) []byte {
	for i, v := range b {
		if v <= 1 {
			continue
		}
		c := append([]byte(nil), b...)
		for j := i; j < len(c); j++ {
			c[j] = min(c[j], 1)
		}
		return c
	}
	return b
}

// Zeros returns a tensor of zeros. Like every constant it has no memory until it is read as a whole.
func Zeros(t DType, shape ...int) *Tensor { return full("zeros", t, scalar{}, shape) }

// Ones returns a tensor of ones.
func Ones(t DType, shape ...int) *Tensor {
	return full("ones", t, scalar{kind: ops.WeakInt, i: 1}, shape)
}

// Full returns a tensor each element of which is v, a Go bool, integer or float, converted to type t.
// Without a shape it is a single element without axes. The error is of kind [ErrDType] if v is an
// integer that t cannot hold, or v is no number.
func Full(t DType, v any, shape ...int) *Tensor {
	s, err := weak(v)
	if err != nil {
		return failWith("full", err)
	}
	return full("full", t, s, shape)
}

func full(op string, t DType, s scalar, dims []int) *Tensor {
	if !t.Valid() {
		return fail(op, ErrDType, "unknown element type "+t.String())
	}
	if !s.fits(t) {
		return fail(op, ErrDType, fmt.Sprintf("%v does not fit %s", s.i, t))
	}
	d, shape, err := place(dims)
	if err != nil {
		return failWith(op, err)
	}
	return s.on(d, t, shape)
}

// Iota returns the numbers 0, 1, 2, … in row-major order: Iota(Float32, 2, 3) is [[0 1 2] [3 4 5]]. An
// integer type wraps around, a floating-point type rounds.
func Iota(t DType, shape ...int) *Tensor {
	x := arange("iota", t, 0, 1, shapeOf(shape))
	if x.Err() != nil || len(shape) == 1 {
		return x
	}
	return x.Reshape(shape...)
}

// Arange returns start, start+step, … up to but without stop: ⌈(stop−start)/step⌉ numbers, none if that
// is negative. Element i is start + i·step, rounded to t twice; 16-bit types compute it in Float32. With
// an integer type, start and step are rounded toward zero first. The error is of kind [ErrShape] if step
// is 0 or there is no finite number of elements.
func Arange(t DType, start, stop, step float64) *Tensor {
	given := step
	if t.IsInt() {
		start, step = math.Trunc(start), math.Trunc(step)
	}
	n := math.Max(0, math.Ceil((stop-start)/step))
	if step == 0 && given != 0 {
		return fail("arange", ErrShape, fmt.Sprintf("step %v is 0 as %s", given, t))
	}
	if step == 0 || !(n <= math.MaxInt32*1024) {
		return fail("arange", ErrShape, fmt.Sprintf("no countable number of steps of %v from %v to %v", step, start, stop))
	}
	return arange("arange", t, start, step, backend.Shape{int(n)})
}

// arange returns start + i·step, i = 0, 1, … as a tensor of one axis with as many elements as shape.
func arange(op string, t DType, start, step float64, dims backend.Shape) *Tensor {
	if t.Kind()&ops.Numbers == 0 {
		return fail(op, ErrDType, "takes integers and floats, not "+t.String())
	}
	d, shape, err := place(dims)
	if err != nil {
		return failWith(op, err)
	}
	x := index(d, shape.Len()).Cast(accumulator(t))
	if step != 1 {
		x = x.MulScalar(number(x.DType(), step))
	}
	if start != 0 {
		x = x.AddScalar(number(x.DType(), start))
	}
	return x.Cast(t)
}

// number returns v as a weak scalar that suits an array of type t.
func number(t DType, v float64) any {
	if t.IsInt() {
		return ops.FloatToInt(t, v)
	}
	return v
}

// index returns the integers 0…n−1, of Int32 if they fit and else Int64.
func index(d *Device, n int) *Tensor {
	t := Int32
	if n > math.MaxInt32 {
		t = Int64
	}
	return whole(d, graph.Index(d.g, t, n))
}

// Linspace returns n numbers evenly spaced from start to stop, both among them. The first half is
// computed from start and the other from stop, so that both ends are exact. One number is start. The
// error is of kind [ErrDType] if t is no floating-point type.
func Linspace(t DType, start, stop float64, n int) *Tensor {
	if !t.IsFloat() {
		return fail("linspace", ErrDType, "takes floats, not "+t.String())
	}
	d, _, err := place([]int{n})
	if err != nil {
		return failWith("linspace", err)
	}
	step := (stop - start) / math.Max(1, float64(n-1))
	i := index(d, n)
	up := i.Cast(accumulator(t)).MulScalar(step).AddScalar(start)
	down := Scalar(n - 1).Sub(i).Cast(accumulator(t)).MulScalar(-step).AddScalar(stop)
	return Where(i.LessScalar((n+1)/2), up, down).Cast(t)
}

// Eye returns the identity matrix of n rows: ones where the two indices are equal, else zeros.
func Eye(t DType, n int) *Tensor {
	if !t.Valid() {
		return fail("eye", ErrDType, "unknown element type "+t.String())
	}
	d, _, err := place([]int{n, n})
	if err != nil {
		return failWith("eye", err)
	}
	i := index(d, n)
	return i.Unsqueeze(1).Equal(i).Cast(t)
}

// TriL returns t with the elements above diagonal k of the last two axes set to zero: those whose index
// along the last axis exceeds that along the one before by more than k. Of ones it makes a causal mask.
func (t *Tensor) TriL(k int) *Tensor { return t.tri("tril", k, (*Tensor).LessEqual) }

// TriU returns t with the elements below diagonal k of the last two axes set to zero.
func (t *Tensor) TriU(k int) *Tensor { return t.tri("triu", k, (*Tensor).GreaterEqual) }

// tri keeps the elements whose column − k compares with their row as keep says.
func (t *Tensor) tri(op string, k int, keep func(x, y *Tensor) *Tensor) *Tensor {
	t, ok := t.ready(op)
	if !ok {
		return t
	}
	r := t.Rank()
	if r < 2 {
		return fail(op, ErrShape, "needs two axes", t)
	}
	rows := whole(t.dev, graph.Index(t.dev.g, Int64, t.layout.Shape[r-2]))
	cols := whole(t.dev, graph.Index(t.dev.g, Int64, t.layout.Shape[r-1]))
	return Where(keep(cols.SubScalar(k), rows.Unsqueeze(1)), t, Scalar(false))
}

// OneHot returns a tensor with a new last axis of n elements: one at the position t's element gives,
// zeros elsewhere. A position outside 0…n−1 gives zeros alone. The elements of t are integers; those of
// the result have type d.
func (t *Tensor) OneHot(n int, d DType) *Tensor {
	t, ok := t.ready("onehot")
	switch {
	case !ok:
		return t
	case !t.DType().IsInt():
		return fail("onehot", ErrDType, "takes integers", t)
	case !d.Valid():
		return fail("onehot", ErrDType, "unknown element type "+d.String(), t)
	case n < 0:
		return fail("onehot", ErrShape, fmt.Sprintf("%d classes: want 0 or more", n), t)
	}
	return named("onehot", t.Unsqueeze(-1).Equal(index(t.dev, n)).Cast(d), t)
}
