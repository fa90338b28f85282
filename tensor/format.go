package tensor

import (
	"context"
	"strconv"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// The limits of NumPy's printing.
const (
	formatAll   = 1000 // more elements than these are summarised
	formatEdge  = 3    // elements shown at either end of an axis
	formatWidth = 75   // of a line
)

// Format computes t and returns its elements as NumPy prints them: columns aligned, at most 8 digits
// after the point, and of more than 1000 elements only those at the ends of each axis. A small part of a
// large tensor is all that is read.
func Format(ctx context.Context, t *Tensor) (string, error) {
	t, ok := t.ready("format")
	if !ok {
		return "", t.Err()
	}
	if t.layout.Len() == 0 {
		return "[]", nil
	}
	if err := Eval(ctx, t); err != nil { // keeps it, so that the ends do not compute it again
		return "", err
	}
	p := printer{shape: t.layout.Shape}
	if t.layout.Len() > formatAll {
		p.summary = true
		t = ends(t, 0)
	}
	b, err := nativeBytes(ctx, t)
	if err != nil {
		return "", err
	}
	size := t.node.DType.Size()
	values := make([]ops.Value, len(b)/size)
	for i := range values {
		values[i] = ops.FromBits(t.node.DType, getNative(b[i*size:], size))
	}
	if len(p.shape) == 0 {
		return scalarText(values[0]), nil
	}
	p.words = texts(values)
	var s strings.Builder
	p.write(&s, 0, 0)
	return s.String(), nil
}

// ends returns the elements of t at the ends of each axis from axis on. It cuts every axis before it joins
// any, so that nothing larger than the result is copied.
func ends(t *Tensor, axis int) *Tensor {
	switch d := t.Dim(axis); {
	case axis == t.Rank():
		return t
	case d <= 2*formatEdge:
		return ends(t, axis+1)
	default:
		return Concat(axis, ends(t.Narrow(axis, 0, formatEdge), axis+1), ends(t.Narrow(axis, d-formatEdge, formatEdge), axis+1))
	}
}

// A printer writes the brackets of an array around words, the texts of its elements in row-major order.
type printer struct {
	shape   backend.Shape
	summary bool
	words   []string
}

// write writes the elements below one index of the first axis axes, at word number at, and returns the
// number of the next. (After _formatArray in NumPy's arrayprint.py.)
func (p *printer) write(s *strings.Builder, axis, at int) int {
	s.WriteByte('[')
	d := p.shape[axis]
	last := axis == len(p.shape)-1
	column := axis + 1
	for i := 0; i < d; i++ {
		if p.summary && d > 2*formatEdge && i == formatEdge {
			column = p.separate(s, axis, column, "...", true)
			i = d - formatEdge
		}
		if !last {
			column = p.separate(s, axis, column, "", i > 0)
			at = p.write(s, axis+1, at)
			continue
		}
		column = p.separate(s, axis, column, p.words[at], i > 0)
		at++
	}
	s.WriteByte(']')
	return at
}

// separate writes what comes between two elements or blocks, and then word. It returns the new column.
func (p *printer) separate(s *strings.Builder, axis, column int, word string, after bool) int {
	indent := strings.Repeat(" ", axis+1)
	switch left := len(p.shape) - axis; {
	case !after:
	case left > 1:
		s.WriteString(strings.Repeat("\n", left-1) + indent)
	case column+1+len(word) > formatWidth-len(p.shape): // room for the brackets that may follow
		s.WriteString("\n" + indent)
		column = len(indent)
	default:
		s.WriteByte(' ')
		column++
	}
	s.WriteString(word)
	return column + len(word)
}

// texts returns the texts of values, of one length.
func texts(values []ops.Value) []string {
	words := make([]string, len(values))
	if values[0].DType.IsFloat() {
		f := newFloatFormat(values)
		for i, v := range values {
			words[i] = f.text(v)
		}
		return words
	}
	width := 0
	for i, v := range values {
		words[i] = scalarText(v)
		width = max(width, len(words[i]))
	}
	if values[0].DType == Bool {
		width = len("False")
	}
	for i, w := range words {
		words[i] = strings.Repeat(" ", width-len(w)) + w
	}
	return words
}

// scalarText returns the text of a value that stands alone.
func scalarText(v ops.Value) string {
	switch {
	case v.DType == Bool && v.I != 0:
		return "True"
	case v.DType == Bool:
		return "False"
	case !v.DType.IsFloat():
		return strconv.FormatInt(v.I, 10)
	case v.F != v.F || v.F-v.F != 0:
		return specialText(v.F)
	}
	if a := max(v.F, -v.F); a != 0 && (a < 1e-4 || a >= 1e16) {
		return shortest(v, 'e')
	}
	s := shortest(v, 'f')
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
