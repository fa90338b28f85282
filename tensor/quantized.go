package tensor

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// The storage types of [Quantized], of 8.5, 4.5 and 5 bits an element: see [ops.Q8_0].
const (
	Q8_0 = ops.Q8_0
	Q4_0 = ops.Q4_0
	Q4_1 = ops.Q4_1
)

// A Quantized is an array of numbers kept small, in blocks of 32 that share a scale: the weights of a language model, mostly. It
// takes part in computations as the tensor that [Quantized.Tensor] returns. A nil or zero Quantized has no elements, no type and no
// device, and its blocks are an error.
type Quantized struct {
	dev  *Device
	node *graph.Node
}

// NewQuantized returns the array whose blocks are in b, as a GGUF file has them: of type Q8_0, Q4_0 or Q4_1, the elements in
// row-major order. It shares b if it can, so b must not change afterwards. The error is of kind [ErrDType] for another type, and of kind
// [ErrShape] if b has not as many bytes as the shape asks for; the last axis need not be a multiple of 32.
func NewQuantized(t DType, shape []int, b []byte) (*Quantized, error) {
	if !t.Quantized() {
		return nil, fail("newquantized", ErrDType, t.String()+" is no quantised type (there are q8_0, q4_0, q4_1)").Err()
	}
	d, s, err := place(shape)
	if err != nil {
		return nil, failWith("newquantized", err).Err()
	}
	if want := t.Bytes(s.Len()); len(b) != want {
		return nil, fail("newquantized", ErrShape, fmt.Sprintf("%d bytes for %s %v, which has %d", len(b), t, s, want)).Err()
	}
	return &Quantized{d, graph.Host(d.g, t, s, b)}, nil
}

// Quantize computes t and returns its elements rounded to type d, on t's device. Elements of Float64 are rounded to Float32 first.
// The errors are those of [Data], and one of kind [ErrDType] if t is not of floats, if d is not quantised, or for an
// element that is NaN, infinite or greater than d's scales reach.
func Quantize(ctx context.Context, t *Tensor, d DType) (*Quantized, error) {
	t, ok := t.ready("quantize")
	switch {
	case !ok:
		return nil, t.Err()
	case !t.node.DType.IsFloat():
		return nil, fail("quantize", ErrDType, "elements are "+t.node.DType.String()+", not floats", t).Err()
	}
	x, err := Data[float32](ctx, t.Cast(Float32))
	if err != nil {
		return nil, err
	}
	b, err := d.Quantize(x)
	if err != nil {
		return nil, failWith("quantize", err, t).Err()
	}
	return &Quantized{t.dev, graph.Host(t.dev.g, d, t.layout.Shape, b)}, nil
}

// Tensor returns the elements as Float32. It computes nothing yet, and what reads the tensor once reads the blocks: as an operand
// of a matrix product, transposed or not, or of elementwise operations, q.Tensor() never takes the memory of its elements. Call it
// anew for each use; a tensor that is kept and used several times may be computed and kept as it is.
func (q *Quantized) Tensor() *Tensor {
	if q.none() {
		return fail("quantized", errNil, "array is nil")
	}
	return whole(q.dev, graph.Cast(Float32, graph.Of(q.node)))
}

// none reports whether q is no array: nil, or one that neither NewQuantized nor Quantize made.
func (q *Quantized) none() bool { return q == nil || q.node == nil }

// DType returns the storage type: Q8_0, Q4_0 or Q4_1.
func (q *Quantized) DType() DType {
	if q.none() {
		return 0
	}
	return q.node.DType
}

// Shape returns the extent of each axis. The slice is the caller's.
func (q *Quantized) Shape() []int {
	if q.none() {
		return nil
	}
	return append([]int{}, q.node.Layout.Shape...)
}

// Device returns the device that q is on.
func (q *Quantized) Device() *Device {
	if q.none() {
		return nil
	}
	return q.dev
}

// To returns q on device d: itself if it is there already. The blocks are copied when they are first needed.
func (q *Quantized) To(d *Device) (*Quantized, error) {
	switch {
	case q.none():
		return nil, fail("to", errNil, "array is nil").Err()
	case d.none():
		return nil, fail("to", ErrDevice, "device is nil").Err()
	case q.dev == d:
		return q, nil
	}
	return &Quantized{d, graph.Transfer(d.g, graph.Of(q.node))}, nil
}

// Bytes returns the blocks, as [NewQuantized] takes them, in memory of their own.
func (q *Quantized) Bytes(ctx context.Context) ([]byte, error) {
	if q.none() {
		return nil, fail("bytes", errNil, "array is nil").Err()
	}
	b, err := graph.Bytes(ctx, graph.Of(q.node))
	if err != nil {
		return nil, late("bytes", err)
	}
	return append(make([]byte, 0, len(b)), b...), nil
}

// Release gives the memory of q back now, as [Tensor.Release] does.
func (q *Quantized) Release() {
	if !q.none() {
		graph.Release(q.node)
	}
}
