package tensor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// The kinds of errors, for errors.Is.
var (
	ErrShape       = backend.ErrShape       // shapes that do not suit an operation, or each other
	ErrDType       = ops.ErrDType           // element types that do not
	ErrAxis        = backend.ErrAxis        // an axis the tensor lacks, or named twice
	ErrIndex       = backend.ErrIndex       // an index or a range outside an axis
	ErrDevice      = backend.ErrDevice      // operands on different devices, an unknown or a lost device
	ErrUnsupported = backend.ErrUnsupported // what the device cannot do
	ErrMemory      = backend.ErrMemory      // no room on the device
)

var kinds = [...]error{ErrShape, ErrDType, ErrAxis, ErrIndex, ErrDevice, ErrUnsupported, ErrMemory}

// errNil is the kind of error for a nil operand: a mistake that has no better name.
var errNil = errors.New("nil tensor")

// errZero is errNil for the zero Tensor.
var errZero = errors.New("zero Tensor, which New and its like do not make")

// An OpError says which operation refused its operands and why. It stays in the operation's result,
// passes through every later operation, and comes out of [Data], [Item], [Eval] and [Tensor.Err].
type OpError struct {
	Op     string // name of the operation, as NumPy calls it
	In     []Spec // its operands
	Reason string // why it refused them
	Kind   error  // ErrShape, ErrDType…; errors.Is compares with it
	File   string // the line that called weft
	Line   int
}

// Error returns a text such as
//
//	tensor: matmul(float32 [1 3], float32 [2 2]): inner dimensions 3 and 2 differ (main.go:12)
func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString("tensor: " + e.Op + "(")
	for i, s := range e.In {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s.String())
	}
	b.WriteString("): " + e.Reason)
	if e.File != "" {
		fmt.Fprintf(&b, " (%s:%d)", filepath.Base(e.File), e.Line)
	}
	return b.String()
}

// Unwrap returns the kind of the error.
func (e *OpError) Unwrap() error { return e.Kind }

// fail returns a tensor that carries an error of the given kind.
func fail(op string, kind error, reason string, in ...*Tensor) *Tensor {
	e := &OpError{Op: op, In: specs(in), Reason: reason, Kind: kind}
	e.File, e.Line = caller()
	return &Tensor{other: &other{err: e}}
}

// failWith returns a tensor that carries err, whose kind, if it has one, becomes the kind of the OpError
// and is dropped from the text, as is the name of the package, which the OpError's text begins with.
func failWith(op string, err error, in ...*Tensor) *Tensor {
	reason := strings.TrimPrefix(err.Error(), "tensor: ")
	for _, k := range kinds {
		if errors.Is(err, k) {
			return fail(op, k, strings.TrimSuffix(reason, ": "+k.Error()), in...)
		}
	}
	return fail(op, err, reason, in...)
}

// named returns r, the result of op on the operands in, which op left to other operations: an error that
// one of them made is told as op's own.
func named(op string, r *Tensor, in ...*Tensor) *Tensor {
	var e *OpError
	if !errors.As(r.Err(), &e) {
		return r
	}
	for _, t := range in {
		if t != nil && t.Err() == r.Err() { //nolint:errorlint // it is passed on as it is
			return r
		}
	}
	return fail(op, e.Kind, e.Reason, in...)
}

// Fail returns a tensor that carries err as an [*OpError] of operation op on the operands in, for
// packages that compose operations of their own. The line it names is the first outside weft. If one of
// in carries an error already, that is passed on, as by every operation.
func Fail(op string, err error, in ...*Tensor) *Tensor {
	for _, t := range in {
		if t != nil && t.failure() != nil {
			return t
		}
	}
	if err == nil {
		err = errors.New("failed")
	}
	return failWith(op, err, in...)
}

const module = "github.com/weft-go/weft/"

// An origin is who recorded an operation that may fail when it is computed, because its result depends on more than
// shapes and types.
type origin struct {
	op  string
	in  []Spec
	pcs []uintptr // of the stack: to find the line takes longer, and only an error asks for it
}

func newOrigin(op string, in ...*Tensor) *origin {
	o := &origin{op: op, in: specs(in)}
	var pcs [64]uintptr
	o.pcs = append(o.pcs, pcs[:runtime.Callers(2, pcs[:])]...)
	return o
}

// late returns err, which came out when op computed or read tensors, as an [*OpError]: of the operation that failed where
// the graph knows who recorded it, else of op.
func late(op string, err error, in ...*Tensor) error {
	if err == nil {
		return nil // here, since known is on the heap
	}
	var known *OpError
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &known) {
		return err
	}
	e := &OpError{Op: op, In: specs(in), Reason: err.Error(), Kind: err}
	var run *graph.RunError
	if errors.As(err, &run) && run.Origin != nil {
		from := run.Origin.(*origin) // gather or scatterAlong gave it
		e.Op, e.In, e.Reason = from.op, from.in, run.Err.Error()
		e.File, e.Line = lineOf(from.pcs)
	} else {
		e.File, e.Line = caller()
	}
	for _, k := range kinds {
		if errors.Is(err, k) {
			e.Kind, e.Reason = k, strings.TrimSuffix(e.Reason, ": "+k.Error())
			break
		}
	}
	return e
}

// specs returns the types and shapes of tensors.
func specs(in []*Tensor) (list []Spec) {
	for _, t := range in {
		if t != nil {
			list = append(list, Spec{t.DType(), t.Shape()})
		}
	}
	return list
}

// caller returns the first line up the stack outside weft's own packages: the one the user wrote.
func caller() (file string, line int) {
	var pcs [64]uintptr
	return lineOf(pcs[:runtime.Callers(3, pcs[:])])
}

// lineOf returns the first line of a stack outside weft's own packages.
func lineOf(pcs []uintptr) (file string, line int) {
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if !ours(f.Function) || strings.HasSuffix(f.File, "_test.go") {
			return f.File, f.Line
		}
		if !more {
			return "", 0
		}
	}
}

// ours reports whether function belongs to a library package of weft, as opposed to a program.
func ours(function string) bool {
	rest, ok := strings.CutPrefix(function, module)
	if !ok {
		return false
	}
	if i := strings.IndexAny(rest, "./"); i >= 0 {
		rest = rest[:i]
	}
	switch rest {
	case "tensor", "nn", "models", "formats", "internal", "ops", "backend":
		return true
	}
	return false
}
