package backend

import (
	"context"
	"errors"

	"github.com/weft-go/weft/ops"
)

// The kinds of errors, for errors.Is. Package tensor has them under the same names.
var (
	ErrShape       = errors.New("shape mismatch")
	ErrAxis        = errors.New("axis out of range")
	ErrIndex       = errors.New("index out of range")
	ErrDevice      = errors.New("device error")
	ErrUnsupported = errors.New("not supported by the device")
	ErrMemory      = errors.New("out of memory")
	ErrDType       = ops.ErrDType
)

// A Backend runs kernels on one device. Its methods may be called by several goroutines at once. It names
// no operation: what a kernel computes is in the kernel, so that a new operation needs no new method.
type Backend interface {
	// Info describes the device, and how much of its memory is in use now.
	Info() Info

	// Supports reports whether the backend runs k; the graph decomposes, or takes another device for,
	// what it does not.
	Supports(k Kernel) bool

	// Alloc returns memory of at least the given number of bytes, with any content. Zero bytes are fine.
	// The error is of kind ErrMemory if there is no room, at once or ever.
	Alloc(bytes int) (Buffer, error)

	// Write copies src to dst from byte off on. It is ordered with the runs: those before see the old
	// content, those after the new one. Src may be changed after it returns.
	Write(dst Buffer, off int, src []byte) error

	// Run computes the steps, in order, and may return before they are done. After an error no output
	// may be used. An error of one of the steps is a *StepError. One that shows later comes out of the next Run or Read. When ctx ends, Run returns
	// its error promptly and the device stays usable. The caller uses the memory of steps again: once Run
	// has returned, the backend keeps no step, no list of operands and no constants; kernels, shapes and
	// layouts it may keep.
	Run(ctx context.Context, steps []Step) error

	// Read copies len(dst) bytes from byte off of src on, after all that ran before, and waits for it.
	Read(ctx context.Context, dst []byte, src Buffer, off int) error

	// Close frees the device. What is called on it or its buffers later returns an error of kind ErrDevice.
	Close() error
}

// A StepError is the error of a step that Run was given.
type StepError struct {
	Step int // its position
	Err  error
}

// Error returns the text of Err: who called Run knows more of the step than its number.
func (e *StepError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *StepError) Unwrap() error { return e.Err }

// A Starter is a Backend that collects what Run is given, because handing it to the device costs more than a small step.
// Read, and Run when much has come together, hand it over; Start says that nobody waits but that no more comes for now.
// It does not wait either.
type Starter interface {
	Backend
	Start()
}

// A Buffer is memory of a device.
type Buffer interface {
	// Size returns the number of bytes asked for.
	Size() int
	// Release gives the memory back. It may be called while a kernel that uses it is still running: the
	// memory is reused only after. A second call does nothing.
	Release()
}

// A Dropper is a Buffer that tells memory the program gives back, by Release, from memory that the garbage collector finds that
// nobody reaches. OnDrop returns the function that the collector calls then, or nil if there is nothing to do. Where memory is the
// program's own, the function does not hold on to it: the collector has freed it.
type Dropper interface {
	Buffer
	OnDrop() func()
}

// An Applier is a HostBackend that computes single elementwise operations at once, for arrays so small that a kernel is mostly overhead.
type Applier interface {
	HostBackend

	// Apply computes n elements of z by op, whose operands are of type d (a condition of Bool), from as many elements of x, y and w,
	// or from the one that an operand has. Those that op has not are not looked at. It reports false, having done nothing, if it cannot.
	Apply(op *ops.Op, d ops.DType, n int, z, x, y, w []byte) bool

	// Convert computes n elements of z, of type to, from as many of x, of type from. It reports false, having done nothing, if it cannot.
	Convert(to, from ops.DType, n int, z, x []byte) bool
}

// A HostBackend is a Backend whose memory is the program's own. Data then needs no copying.
type HostBackend interface {
	Backend

	// Wrap returns a buffer over b, which must not change while the buffer is in use and is not freed
	// by Release.
	Wrap(b []byte) Buffer

	// Bytes returns the memory of a buffer of this backend. It waits for nothing: call Read first, of no
	// bytes, to know that all runs are done.
	Bytes(b Buffer) ([]byte, error)
}

// FlushesSubnormals is the feature, in [Info.Features], of a device that takes subnormal numbers of 32 bits
// for 0, as operands, as results, or both. Many GPUs do.
const FlushesSubnormals = "flushes-subnormals"

// Info describes a device.
type Info struct {
	Name     string // of the backend, as registered: "cpu"
	Adapter  string // of the hardware: "AMD EPYC 7B13, 16 threads"
	Features []string

	// Software says that a processor only pretends to be the device, as Mesa's lavapipe does. Such a
	// device is never taken by default.
	Software bool

	MaxBytes    int // largest buffer; 0 means no limit but memory
	MaxOperands int // inputs and outputs a kernel may have together; 0 means no limit

	BytesInUse  int // held by live buffers; a backend may leave out small ones
	BytesPooled int // freed, kept for reuse
	BytesPeak   int // greatest BytesInUse so far

	Kernels   int64 // steps run so far
	Compiled  int64 // kernels compiled so far; a warm run compiles none
	Allocated int64 // pieces of memory asked of the system so far; a warm run lives on those released before it
	Bound     int64 // lists of buffers made known to the device so far, where it wants that; a warm run needs none
}
