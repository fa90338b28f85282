package driver

import "strings"

// Info describes an adapter: a GPU as one graphics API shows it.
type Info struct {
	Index    int    // what Open takes; 0 is the most capable adapter
	Name     string // "NVIDIA H200", "llvmpipe (LLVM 15.0.6, 256 bits)"
	Vendor   string // driver's name or vendor, as the API gives it; may be empty
	Driver   string // driver version text
	API      string // "vulkan", "metal", "d3d12", "opengl", "webgpu"
	Type     Type
	VendorID uint32 // PCI
	DeviceID uint32 // PCI
	Binding  string // the library and its version, for caches keyed by compiler
	Limits   Limits // what Open gives
	Features Features
}

// Type is the kind of hardware behind an adapter.
type Type uint8

// The kinds of adapter, best first.
const (
	Discrete Type = iota
	Integrated
	Other
	Software // runs on the CPU: Mesa lavapipe, SwiftShader, WARP
)

// String returns "discrete", "integrated", "other" or "software".
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "unknown"
}

var typeNames = [...]string{"discrete", "integrated", "other", "software"}

// Limits are the bounds a device enforces.
type Limits struct {
	BufferSize      uint64    // bytes in a buffer
	StorageBinding  uint64    // bytes of a buffer that a storage slot sees
	UniformBinding  uint64    // bytes of a buffer that a Params slot sees
	StorageSlots    uint32    // storage slots of a pipeline
	WorkgroupMemory uint32    // bytes of var<workgroup>; the compiler does not check it
	Invocations     uint32    // in a workgroup
	WorkgroupSize   [3]uint32 // in a workgroup, by dimension
	Groups          uint32    // workgroups in a dispatch, by dimension
	StorageAlign    uint32    // offsets of storage bindings
	UniformAlign    uint32    // offsets of Params bindings, dynamic ones too
}

// Features is a set of optional capabilities.
type Features uint32

// The optional capabilities. Subgroups need no enable directive in WGSL with
// the native bindings and demand one in browsers.
const (
	F16         Features = 1 << iota // enable f16; f16 in storage, uniform and workgroup memory
	F64                              // f64 arithmetic and storage
	I64                              // i64 and u64 arithmetic and storage
	Subgroups                        // subgroupAdd and its like, in compute
	Timestamps                       // Timestamp and Resolve commands
	AtomicFloat                      // atomic<f32> add in storage
	Immediates                       // the adapter has them; this package does not use them
)

var featureNames = [...]string{"f16", "f64", "i64", "subgroups", "timestamps", "atomic-float", "immediates"}

// Has reports whether all features of want are in f.
func (f Features) Has(want Features) bool { return f&want == want }

// String lists the features: "f16 subgroups", or "none".
func (f Features) String() string {
	var names []string
	for i, n := range featureNames {
		if f&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}

// Usage says what a buffer is for; it fixes what may be done with it.
type Usage uint8

// The kinds of buffer.
const (
	// Storage is device memory that kernels read and write. It can be
	// written by Write, and copied and cleared by commands.
	Storage Usage = iota
	// Uniform is device memory for Params slots. Write fills it.
	Uniform
	// Readback is host memory that Copy fills and Read reads.
	Readback
	// Upload is host memory that Write fills and Copy reads: an upload that
	// takes effect at the copy's place in the list of commands.
	Upload
	// Results is device memory that Resolve fills; Copy reads it.
	Results

	numUsages
)

// String returns "storage", "uniform", "readback", "upload" or "results".
func (u Usage) String() string {
	if u < numUsages {
		return usageNames[u]
	}
	return "unknown"
}

var usageNames = [numUsages]string{"storage", "uniform", "readback", "upload", "results"}

// SlotKind is how a kernel uses one binding.
type SlotKind uint8

// The kinds of slot.
const (
	Read      SlotKind = iota // var<storage, read>
	ReadWrite                 // var<storage, read_write>
	Params                    // var<uniform>, with an offset given at each dispatch

	numSlotKinds
)

// Slot is one binding of group 0 of a kernel; its number is its place in
// PipelineDesc.Slots. At most one slot is Params.
type Slot struct {
	Kind SlotKind
	// Min is the least number of bytes bound. It must not be smaller than
	// the WGSL type, which NewPipeline checks. 0 leaves the check to each
	// dispatch; a Params slot needs a value.
	Min uint64
}

// PipelineDesc describes a kernel.
type PipelineDesc struct {
	Label string // family.op, as it stands in errors and profiles
	WGSL  string // ASCII
	Entry string // the entry point; "" is "main"
	Slots []Slot
	// WorkgroupMemory is the bytes of var<workgroup> that the text declares.
	// No compiler checks it, so the caller counts and NewPipeline compares.
	WorkgroupMemory uint32

	// Trusted says that the text has no index beyond an array but of a storage buffer, and no loop without end: it may then be
	// compiled without checks of them, where the binding can. Storage buffers are left to the GPU's driver, so it is for devices
	// whose driver checks them.
	Trusted bool
}

// Binding is a range of a buffer, bound to a slot. Size 0 means to the end.
// Of a Params slot it is the range seen with offset 0.
type Binding struct {
	Buffer       Buffer
	Offset, Size uint64
}

// Op is the kind of a command.
type Op uint8

// The commands, with the fields of Command they use.
const (
	Dispatch  Op = iota // Pipeline, Group, Offset, Grid
	Copy                // Src, SrcOff, Dst, DstOff, Size
	Clear               // Dst, DstOff, Size: sets to zero
	Timestamp           // Queries, Query: when all commands before are done
	Resolve             // Queries, Query, Count, Dst, DstOff: ticks as uint64
)

// Command is one step of a submission.
type Command struct {
	Op Op

	Pipeline Pipeline
	Group    Group
	Offset   uint32    // of the Params slot, a multiple of Limits.UniformAlign; 0 without one
	Grid     [3]uint32 // workgroups, each ≤ Limits.Groups; a zero runs nothing

	Src, Dst       Buffer
	SrcOff, DstOff uint64 // multiples of 4; of 256 for Resolve
	Size           uint64 // bytes, a multiple of 4

	Queries      Queries
	Query, Count uint32
}

// A Buffer is the handle of memory of a device. Zero is no object, here as for the other handles.
type Buffer uint64

// A Pipeline is the handle of a compiled kernel.
type Pipeline uint64

// A Group is the handle of the buffers in a pipeline's slots.
type Group uint64

// A Queries is the handle of places for time stamps.
type Queries uint64

// Ticket numbers the submissions of a device from 1. Zero is always done.
type Ticket uint64

// Stats counts what a device owns and has done, the staging of large writes included.
type Stats struct {
	Buffers, Pipelines, Groups, Queries int    // alive
	BufferBytes                         uint64 // in them
	Submitted, Completed                Ticket
}
