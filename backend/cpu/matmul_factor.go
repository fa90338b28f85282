package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// mergeBatch returns the operands, of shape [batch… rows k], as one batch: [batch·rows k] where their
// strides allow.
func mergeBatch(in []operand) []operand {
	out := make([]operand, len(in))
	for i, o := range in {
		out[i] = o
		l := o.layout
		n := len(l.Shape)
		stride, rows, ok := 0, 1, true
		for a := n - 2; a >= 0; a-- {
			switch d := l.Shape[a]; {
			case d == 1:
			case rows == 1:
				stride = l.Strides[a]
			default:
				ok = ok && l.Strides[a] == stride*rows
			}
			rows *= l.Shape[a]
		}
		if ok {
			out[i].layout = backend.Layout{
				Shape: backend.Shape{rows, l.Shape[n-1]}, Strides: []int{stride, l.Strides[n-1]}, Offset: l.Offset,
			}
		}
	}
	return out
}

// firstBatch returns the operands, of shape [batch… rows k], without all batches but the first.
func firstBatch(in []operand) []operand {
	out := make([]operand, len(in))
	for i, o := range in {
		out[i] = o
		l := o.layout
		n := len(l.Shape)
		out[i].layout = backend.Layout{Shape: l.Shape[n-2:], Strides: l.Strides[n-2:], Offset: l.Offset}
	}
	return out
}

// A factorOf returns the factor of a batch, whose fill uses the frame that a worker has for it.
type factorOf[T term] func(batch int, frame func(*worker) *frame) factor[T]

// newFactor returns the factors that program p makes of the operands in. Their layouts have the shape
// [batch… rows k]; several axes may make up the rows of the only batch. A lone load of elements that are
// stored as T is used where it lies; else the binding runs p.
func newFactor[T term](p *program, in []operand, batches int, d ops.DType, consts []uint64) (factorOf[T], *binding, error) {
	if of, ok := inMemory[T](p.expr, in, batches, d); ok {
		return of, nil, nil
	}
	if of, ok := convertedInMemory[T](p.expr, in, batches); ok {
		return of, nil, nil
	}
	shape := in[0].layout.Shape
	k := shape[len(shape)-1]
	rows := shape[:len(shape)-1].Len() / max(batches, 1)
	across := closerAcross(in, batches)
	if across {
		in = transposed(in)
	}
	from, err := sources(in)
	if err != nil {
		return nil, nil, err
	}
	b, err := p.bind(from, []source{given(d, false)}, consts)
	if err != nil {
		return nil, nil, err
	}
	return func(batch int, frame func(*worker) *frame) factor[T] {
		if !across {
			return factor[T]{fill: func(w *worker, dst []T, r, k0 int) {
				runRow(w, frame(w), d, dst, (batch*rows+r)*k+k0)
			}}
		}
		return factor[T]{columns: func(w *worker, dst []T, r0, r1, k0, k1 int) {
			n := r1 - r0
			for i := range k1 - k0 {
				runRow(w, frame(w), d, dst[i*n:(i+1)*n], (batch*k+k0+i)*rows+r0)
			}
		}}
	}, b, nil
}

// closerAcross reports whether the elements of a column are closer together than those of a row, by the
// operand that varies most. Rows over several axes are not looked at.
func closerAcross(in []operand, batches int) bool {
	row, col := 0, 0
	for i := range in {
		l := &in[i].layout
		n := len(l.Shape)
		if n != 2 && batches == 1 {
			return false
		}
		row, col = max(row, abs(l.Strides[n-2])), max(col, abs(l.Strides[n-1]))
	}
	return row < col
}

// inMemory returns the factors as matrices in memory, if that is what e makes of the operands.
func inMemory[T term](e *ops.Expr, in []operand, batches int, d ops.DType) (factorOf[T], bool) {
	load := &e.Code[e.Out[0]]
	if load.Kind != ops.Load || !isNative[T](d) || d.IsHalf() {
		return nil, false
	}
	o := &in[load.Args[0]]
	if o.dtype.Quantized() {
		return nil, false
	}
	l := o.layout
	n := len(l.Shape)
	if n != 2 && batches == 1 { // rows over several axes
		return nil, false
	}
	lead := backend.Layout{Shape: l.Shape[:n-2], Strides: l.Strides[:n-2], Offset: l.Offset}
	m := matrix[T]{data: typed[T](o.mem), row: l.Strides[n-2], col: l.Strides[n-1]}
	if l.Shape[n-2] == 1 {
		m.row = l.Shape[n-1] // whatever it was: it is never stepped
	}
	return func(batch int, _ func(*worker) *frame) factor[T] {
		f := factor[T]{matrix: m}
		f.off = offsetOf(lead, batch)
		return f
	}, true
}

// convertedInMemory returns the factors as rows that are converted to float32, if e makes that of the operands: if it loads
// elements of half precision or quantised ones that follow each other, as they are or cast.
func convertedInMemory[T term](e *ops.Expr, in []operand, batches int) (factorOf[T], bool) {
	load := &e.Code[e.Out[0]]
	if load.Kind == ops.Cast && load.DType == ops.Float32 {
		load = &e.Code[load.Args[0]]
	}
	if load.Kind != ops.Load {
		return nil, false
	}
	o := &in[load.Args[0]]
	l, d, mem := o.layout, o.dtype, o.mem
	n := len(l.Shape)
	if _, ok := any(T(0)).(float32); !ok || n != 2 && batches == 1 || l.Strides[n-1] != 1 && l.Shape[n-1] > 1 {
		return nil, false
	}
	var read func(z []float32, at int)
	switch {
	case d.IsHalf():
		read = func(z []float32, at int) { widen(d, z, typed[uint16](mem)[at:][:len(z)]) }
	case d.Quantized():
		read = func(z []float32, at int) { dequantize(d, z, mem, at) }
	default:
		return nil, false
	}
	lead := backend.Layout{Shape: l.Shape[:n-2], Strides: l.Strides[:n-2], Offset: l.Offset}
	row := l.Strides[n-2]
	dot := quantDot(d, l)
	return func(batch int, _ func(*worker) *frame) factor[T] {
		first := offsetOf(lead, batch)
		f := factor[T]{fill: func(_ *worker, dst []T, r, k0 int) { read(any(dst).([]float32), first+r*row+k0) }}
		if dot != nil {
			f.dot = func(c, a unsafe.Pointer, r, k0, k, add int) {
				at := (first + r*row + k0) / ops.QuantBlock
				dot(c, a, unsafe.Pointer(&mem[d.Bytes(at*ops.QuantBlock)]), k/ops.QuantBlock, add)
			}
		}
		return f
	}, true
}

// offsetOf returns the position of element i of l in row-major order.
func offsetOf(l backend.Layout, i int) int {
	at := l.Offset
	for a := len(l.Shape) - 1; a >= 0; a-- {
		at += i % l.Shape[a] * l.Strides[a]
		i /= l.Shape[a]
	}
	return at
}

// runRow runs f, whose only result is given and of type d, for the elements from pos on.
func runRow[T term](w *worker, f *frame, d ops.DType, dst []T, pos int) {
	if isNative[T](d) {
		f.take(0, unsafe.Pointer(unsafe.SliceData(dst)))
		f.run(pos, len(dst))
		return
	}
	mark := w.mark()
	reg := take[uint8](w.scratch, len(dst))
	f.take(0, unsafe.Pointer(unsafe.SliceData(reg)))
	f.run(pos, len(dst))
	if d == ops.Int8 {
		convert(dst, typed[int8](reg))
	} else {
		convert(dst, reg)
	}
	w.release(mark)
}
