package driver

import "context"

// Device is one open GPU. All methods are safe for concurrent use; after
// Close, or once the device is lost, they return ErrClosed or ErrLost.
type Device interface {
	// Info describes the device; its Limits and Features are those in force.
	Info() Info

	// NewBuffer makes a zeroed buffer of size bytes, rounded up to a multiple
	// of 4. It fails with ErrLimit or ErrMemory; after ErrMemory the device
	// is as good as before.
	NewBuffer(label string, size uint64, u Usage) (Buffer, error)
	// FreeBuffer gives a buffer up. Submissions that use it still finish, and
	// so does a Read in progress. Groups that hold it become unusable.
	FreeBuffer(Buffer)
	// Write copies src into dst at off, a multiple of 4. A length that is not
	// a multiple of 4 is filled up with zero bytes. It takes effect after all
	// earlier submissions and before all later ones; src may be reused at
	// once. A large write waits for room in the device's staging memory; an
	// Upload buffer is waited for until no submission uses it, and it is Copy
	// that then puts its data in order. After an error a part may be written.
	Write(ctx context.Context, dst Buffer, off uint64, src []byte) error
	// Read copies len(dst) bytes at off from a Readback buffer, after all
	// submissions so far that use it. It waits, for as long as a kernel
	// runs, until ctx ends; then dst is as before and the device usable.
	Read(ctx context.Context, src Buffer, off uint64, dst []byte) error

	// NewPipeline compiles a kernel. Errors in its text are *ShaderError.
	NewPipeline(PipelineDesc) (Pipeline, error)
	// FreePipeline gives a pipeline up. Groups made for it stay usable.
	FreePipeline(Pipeline)
	// NewGroup binds buffers to the slots of p, one binding a slot. The group
	// serves every pipeline with the same slots. Read-write ranges must not
	// overlap, nor share a buffer with other slots of another kind.
	NewGroup(label string, p Pipeline, bind []Binding) (Group, error)
	// FreeGroup gives a group up. Submissions that use it still finish.
	FreeGroup(Group)

	// NewQueries makes n places for time stamps, at most 4096. It needs the
	// feature Timestamps.
	NewQueries(label string, n uint32) (Queries, error)
	// FreeQueries gives the places up.
	FreeQueries(Queries)
	// TimestampPeriod is the length of a tick in nanoseconds, or 0.
	TimestampPeriod() float64

	// Submit runs commands in order. It checks all of them first: after an
	// error nothing has run. It does not wait for the device (though
	// software Vulkan finishes the submission before last first).
	Submit(cmds []Command) (Ticket, error)
	// Wait returns once submission t and all before it are done.
	Wait(ctx context.Context, t Ticket) error
	// Poll lets the library free what finished submissions held, and returns
	// the last submission known to be done. It never waits for the device.
	Poll() Ticket

	// Err is nil, ErrLost or ErrClosed.
	Err() error
	// Stats counts the device's objects and submissions.
	Stats() Stats
	// Close waits for submitted work, then frees everything. Calls that are
	// waiting return ErrClosed. Closing again does nothing.
	Close() error
}

// Options says how a device is opened.
type Options struct {
	// Features are wanted, and given where the adapter has them.
	Features Features
	// Baseline asks for WebGPU's default limits, as a browser gives them,
	// and not for the adapter's. Tests of portability use it.
	Baseline bool
}
