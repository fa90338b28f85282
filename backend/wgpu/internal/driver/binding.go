package driver

// binding is the native side of one open device. The device calls it with
// checked values only, one call at a time (poll alone may run beside others,
// unless exclusive), and keeps every object alive through every call.
type binding interface {
	newBuffer(label string, size uint64, u Usage) (object, error)
	writeBuffer(dst object, off uint64, src []byte) error
	// mapBuffer starts mapping; done is called once, from inside any later
	// call, and does not block. After an error it may be called too.
	mapBuffer(b object, write bool, off, size uint64, done func(ok bool)) error
	// mapped is the mapped memory; valid until unmap or Release.
	mapped(b object, off, size uint64) []byte
	unmap(b object) error

	newLayout(slots []Slot) (object, error)
	newPipeline(d PipelineDesc, layout object) (object, error)
	newGroup(label string, layout object, b []boundRange) (object, error)
	newQueries(label string, n uint32) (object, error)
	timestampPeriod() float64

	// encode records the steps and checks the result, which must then be
	// submitted: what is thrown away is never freed.
	encode(steps []step) (object, error)
	// submit hands over what encode returned and releases it. done is called
	// once, from inside any later call, when the work is complete; it does not
	// block.
	submit(commands object, done func())
	poll()           // never waits for the device
	exclusive() bool // poll must not run beside another call
	drain()          // waits until all submitted work is done
	release(lost bool)
}

// object is a native object that its device owns.
type object interface{ Release() }

// boundRange is a resolved Binding.
type boundRange struct {
	buf       object
	off, size uint64
}

// stepKind is the kind of a step.
type stepKind uint8

const (
	stepBegin stepKind = iota // obj (query set or nil), x, y: queries at begin and end, or noQuery
	stepDispatch
	stepEnd
	stepCopy    // obj to dst
	stepClear   // dst
	stepResolve // obj to dst, x first, y count
)

// noQuery means that a pass writes no time stamp at that end.
const noQuery = ^uint32(0)

// step is a resolved Command: objects in place of handles, passes made explicit.
type step struct {
	kind    stepKind
	dynamic bool // the group has a Params slot, at offset
	offset  uint32
	x, y, z uint32

	pipeline, group object
	obj, dst        object
	off, dstOff     uint64
	size            uint64
}
