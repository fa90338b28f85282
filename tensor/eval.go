package tensor

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/internal/hostmem"
)

// Eval computes the tensors, together: what several of them need is computed once. It need not be called
// before [Data] and its like, which compute what they read, but says when the work is done and lets
// several results share it. The error is the first that a tensor carries, that of the device, or that of
// ctx; then no tensor has changed, and Eval may be called again. A nil ctx never ends. An error of the device is an
// [*OpError] too: of the operation that failed, if that is one whose operands decide, else of Eval. Eval may return before the device is
// done; what fails later comes out of the next read on the device.
//
// When ctx ends Eval returns promptly. Kernels that a GPU was given by then still run, and what is read next waits for them.
func Eval(ctx context.Context, ts ...*Tensor) error {
	var few [4]*graph.Node
	nodes, err := nodesOf("eval", ts, few[:0])
	if err != nil {
		return err
	}
	return late("eval", graph.Eval(ctx, nodes...), ts...)
}

// nodesOf appends the nodes of ts, the operands of op, to nodes, or returns the first error they carry.
func nodesOf(op string, ts []*Tensor, nodes []*graph.Node) ([]*graph.Node, error) {
	for i, t := range ts {
		if err := t.missing(); err != nil {
			return nil, refuseMissing(op, err, i, ts...).Err()
		}
		if t.number() != nil {
			continue // it has no node, and needs no computing
		}
		t, ok := t.ready(op)
		if !ok {
			return nil, t.Err()
		}
		nodes = append(nodes, t.node)
	}
	return nodes, nil
}

// Data returns the elements of t in row-major order, in memory of their own. It computes what is still
// to be computed, and waits. The error, besides those of [Eval], is of kind [ErrDType] if T does not
// hold t's element type: cast first.
func Data[T Elem](ctx context.Context, t *Tensor) ([]T, error) {
	t, err := readable[T]("data", t)
	if err != nil {
		return nil, err
	}
	if err := t.roomToRead("data"); err != nil {
		return nil, err
	}
	data := hostmem.Make[T](t.layout.Shape.Len())
	if len(data) == 0 {
		return data, nil
	}
	if err := graph.Read(ctx, t.edge(), asBytes(data)); err != nil {
		return nil, late("data", err, t)
	}
	return data, nil
}

// Item returns the only element of t, whatever its shape. The errors are those of [Data], and one of
// kind [ErrShape] if t has more elements, or none.
func Item[T Elem](ctx context.Context, t *Tensor) (v T, err error) {
	t, err = readable[T]("item", t)
	if err != nil {
		return v, err
	}
	if n := t.layout.Shape.Len(); n != 1 {
		return v, fail("item", ErrShape, fmt.Sprintf("has %d elements, not one", n), t).Err()
	}
	one := []T{v}
	err = graph.Read(ctx, t.edge(), asBytes(one))
	return one[0], late("item", err, t)
}

func readable[T Elem](op string, t *Tensor) (*Tensor, error) {
	t, ok := t.ready(op)
	if !ok {
		return nil, t.Err()
	}
	if want := DTypeOf[T](); t.node.DType != want {
		return nil, fail(op, ErrDType, fmt.Sprintf("elements are %s, not %s: Cast converts them", t.node.DType, want), t).Err()
	}
	return t, nil
}

// roomToRead returns an error if t's elements are more than its device, which has to bring them in order,
// can have in one place. A broadcast view is easily larger than any memory, and Go ends the program that
// asks for too much.
func (t *Tensor) roomToRead(op string) error {
	const small = 1 << 28 // what may be asked for without a look
	n := t.layout.Shape.Len() * t.node.DType.Size()
	if n <= small {
		return nil
	}
	if most := t.dev.Info().MaxBytes; most > 0 && n > most {
		return fail(op, ErrMemory, fmt.Sprintf("elements take %d bytes, %s has room for %d", n, t.dev.Name(), most), t).Err()
	}
	return nil
}

// Bytes returns the elements of t in row-major order and little-endian, as [FromBytes] takes them, in
// memory of their own.
func Bytes(ctx context.Context, t *Tensor) ([]byte, error) {
	t, ok := t.ready("bytes")
	if !ok {
		return nil, t.Err()
	}
	b, err := nativeBytes(ctx, t)
	if err == nil && !littleEndian {
		b = swapped(b, t.node.DType.Size())
	}
	return b, err
}

// nativeBytes returns the memory of the elements of t, as the machine has them, in row-major order.
func nativeBytes(ctx context.Context, t *Tensor) ([]byte, error) {
	if err := t.roomToRead("bytes"); err != nil {
		return nil, err
	}
	b := hostmem.Make[byte](t.layout.Shape.Len() * t.node.DType.Size())
	if len(b) == 0 {
		return b, nil
	}
	if err := graph.Read(ctx, t.edge(), b); err != nil {
		return nil, late("bytes", err, t)
	}
	return b, nil
}

// WriteTo writes to w the bytes that [Bytes] returns, and copies nothing where the device's memory is
// the program's own. It returns the number of bytes written.
func WriteTo(ctx context.Context, w io.Writer, t *Tensor) (int64, error) {
	t, ok := t.ready("writeto")
	switch {
	case !ok:
		return 0, t.Err()
	case w == nil:
		return 0, fail("writeto", errNil, "writer is nil", t).Err()
	case t.layout.Shape.Len() == 0:
		return 0, nil
	}
	if err := t.roomToRead("writeto"); err != nil {
		return 0, err
	}
	b, err := graph.Bytes(ctx, t.edge())
	if err != nil {
		return 0, late("writeto", err, t)
	}
	if !littleEndian {
		b = swapped(b, t.node.DType.Size())
	}
	n, err := w.Write(b)
	runtime.KeepAlive(t) // b may be its memory
	return int64(n), err
}

// Contiguous returns t with its elements in memory of their own in row-major order, as they are for any
// computed tensor but a view. No operation needs it: it is for a small part of a large tensor that is to
// outlive it.
func (t *Tensor) Contiguous() *Tensor {
	t, ok := t.ready("contiguous")
	if !ok || t.layout.Equal(*t.node.Layout) {
		return t
	}
	return whole(t.dev, graph.Copy(t.edge()))
}

// Release gives the memory of t's elements back to the device at once, rather than when the garbage
// collector finds that nothing refers to them. A view shares the memory of the tensor it was made of, so releasing either
// releases both, and all other views of it. The caller promises that nothing needs them: they, and lazy results that
// still need one of them, become errors of kind [ErrDevice].
func (t *Tensor) Release() {
	if t != nil && t.node != nil {
		graph.Release(t.node)
	}
}

// Must returns v, and panics if err is not nil. It is for scripts, tests and examples:
//
//	data := tensor.Must(tensor.Data[float32](ctx, x))
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
