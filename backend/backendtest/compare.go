package backendtest

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// compare reports an error for the elements of output o that are too far from want, and if a byte outside
// them was written.
func (s *suite) compare(t tb, tr *trial, o int, got, want []byte) {
	t.Helper()
	const shown = 3
	out := tr.out[o]
	var mags []byte
	if tr.bound > 0 {
		m, err := tr.want(true)
		if err != nil {
			t.Fatalf("%s: the suite's step is wrong: %v", tr.name, err)
		}
		mags = m[o]
	}
	size := out.dtype.Size()
	outside := bytes.Clone(got)
	wrong := 0
	for i, at := range out.cells.All() {
		copy(outside[at*size:at*size+size], poisonedElement)
		g := load(out.dtype, got, at)
		var w ops.Value
		if tr.op != nil {
			w = tr.op.Eval(tr.args(i)...)
		} else {
			w = load(out.dtype, want, at)
		}
		if s.within(tr, i, g, w, mags, at) && valid(out.dtype, got[at*size]) {
			continue
		}
		if wrong++; wrong <= shown {
			t.Errorf("%s", s.message(tr, o, i, at, got, w))
		}
	}
	if wrong > shown {
		t.Errorf("%s: and %d more of %d elements", tr.name, wrong-shown, out.cells.Len())
	}
	if i := differs(outside, poisoned(len(outside))); i >= 0 {
		t.Errorf("%s: %s %s: byte %d, outside of the output, was overwritten with %#x", tr.name, tr.types(), describe(out), i, got[i])
	}
}

// poisonedElement is as long as the widest element.
var poisonedElement = poisoned(8)

// valid reports whether the first byte of an element may be what it is: a Bool is 0 or 1.
func valid(d ops.DType, b byte) bool { return d != ops.Bool || b <= 1 }

// within reports whether got is as close to want as the trial asks.
func (s *suite) within(tr *trial, i int, got, want ops.Value, mags []byte, at int) bool {
	switch {
	case tr.op != nil:
		args := tr.args(i)
		return tr.op.Within(got, args...) || s.flush && tr.op.WithinFlushing(got, args...)
	case !want.DType.IsFloat():
		return got.I == want.I
	case tr.signs && got.F == 0 && want.F == 0:
		return math.Signbit(got.F) == math.Signbit(want.F)
	case s.flush && flushes(want.DType) && math.Abs(got.F-want.F) <= leastNormal:
		return true
	}
	if math.IsNaN(want.F) || math.IsNaN(got.F) || got.F == want.F {
		return math.IsNaN(want.F) == math.IsNaN(got.F)
	}
	if ops.ULPs(got, want) <= tr.ulp {
		return true
	}
	magnitude := 0.0
	if mags != nil {
		magnitude = load(want.DType, mags, at).F
	}
	return math.Abs(got.F-want.F) <= tr.limit(want, magnitude)
}

// limit returns the absolute error that a result of the given magnitude may have.
func (tr *trial) limit(want ops.Value, magnitude float64) float64 {
	if math.IsInf(want.F, 0) {
		return 0
	}
	if math.IsInf(magnitude, 0) || math.IsNaN(magnitude) {
		magnitude = max(math.Abs(want.F), 1) // as of logaddexp, to which -∞ adds nothing
	}
	return (tr.bound*magnitude + tr.abs) * unit(want.DType)
}

// unit returns the rounding unit of the type in which elements of floating-point type d are summed.
func unit(d ops.DType) float64 {
	if d == ops.Float64 {
		return 0x1p-53
	}
	return 0x1p-24
}

// message says what is wrong with element i of output o: the operation, the types, the arrangements, the
// index, the inputs, and both values with their distance.
func (s *suite) message(tr *trial, o, i, at int, got []byte, want ops.Value) string {
	out := tr.out[o]
	g := load(out.dtype, got, at)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: element %v of output %d, %s", tr.name, tr.types(), unravel(out.cells.Shape, i), o, describe(out))
	for k, in := range tr.in {
		fmt.Fprintf(&b, "\n\tinput %d, %s%s", k, describe(in), tr.sample(in, out.cells.Shape, i))
	}
	if len(tr.consts) > 0 {
		b.WriteString("\n\tconstants")
		for _, c := range tr.consts {
			b.WriteString(" " + show(c))
		}
	}
	fmt.Fprintf(&b, "\n\tgot  %s\n\twant %s", show(g), show(want))
	if out.dtype.IsFloat() {
		fmt.Fprintf(&b, "\n\t%g ULP apart; %s", ops.ULPs(g, want), tr.allowed())
	}
	fmt.Fprintf(&b, "\n\tWEFT_SEED=%d", s.seed)
	return b.String()
}

// allowed says how far results may be from the definition.
func (tr *trial) allowed() string {
	switch {
	case tr.op != nil && tr.op.Tol.Reason == "":
		return tr.op.Name + " is exact"
	case tr.op != nil:
		return fmt.Sprintf("%s may be %g off (%s)", tr.op.Name, tr.op.Tol.ULP, tr.op.Tol.Reason)
	case tr.bound > 0:
		return fmt.Sprintf("%g, or %g roundings of the sum of magnitudes, are allowed", tr.ulp, tr.bound)
	case tr.abs > 0:
		return fmt.Sprintf("%g, or %g roundings of 1, are allowed", tr.ulp, tr.abs)
	case tr.ulp > 0:
		return fmt.Sprintf("%g are allowed", tr.ulp)
	}
	return "the result is exact"
}

// sample returns the value of an input at element i of the output's shape, or the first ones of the row that
// the element is the result of, where the shapes are so related.
func (tr *trial) sample(in operand, shape backend.Shape, i int) string {
	l := in.layout
	if in.mem == nil || len(l.Shape) < len(shape) || !l.Shape[:len(shape)].Equal(shape) {
		return ""
	}
	index := unravel(shape, i)
	row := backend.Layout{Shape: l.Shape[len(shape):], Strides: l.Strides[len(shape):]}
	row.Offset = backend.Layout{Strides: l.Strides[:len(shape)], Offset: l.Offset}.At(index...)
	var b strings.Builder
	b.WriteString(":")
	for j, at := range row.All() {
		if j == 4 {
			fmt.Fprintf(&b, " … (%d)", row.Len())
			break
		}
		b.WriteString(" " + show(load(in.dtype, in.mem, at)))
	}
	return b.String()
}

// describe says how an operand lies in memory.
func describe(o operand) string {
	return fmt.Sprintf("%s %v (strides %v, offset %d)", o.how, o.layout.Shape, o.layout.Strides, o.layout.Offset)
}

// show prints a value, a float with its bits.
func show(v ops.Value) string {
	if v.DType.IsFloat() {
		return fmt.Sprintf("%.9g (%#x)", v.F, v.Bits())
	}
	return fmt.Sprint(v.I)
}

// differs returns the first byte at which a and b, of one length, differ, or -1.
func differs(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
