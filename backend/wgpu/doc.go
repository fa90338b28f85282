// Package wgpu is the backend that runs kernels on a GPU through WebGPU: Vulkan, Metal or Direct3D 12
// underneath. Import it for its side effect, and tensors live on the GPU by default where there is one:
//
//	import _ "github.com/weft-go/weft/backend/wgpu"
//
// Devices are named "wgpu" (the most capable adapter), "wgpu:1", and so on. A software adapter, such as Mesa's
// lavapipe, is never taken by default; WEFT_DEVICE=wgpu or tensor.Open("wgpu") ask for it. Without an adapter, a Vulkan
// loader or cgo the package registers all the same, and opening says what is missing.
//
// # How it works
//
// An engine stands over each device. Run turns every step into dispatches: it finds or writes the WGSL for the
// kernel and the class of its operands, and records them in a batch with their parameters. A submission
// costs the host as much as many small kernels, so a batch is submitted when it is full, when something must be read, or by
// a goroutine while the next batch is recorded. Commands take effect in the order they were recorded, so memory can be
// reused as soon as it is released: whoever gets it comes later.
//
// Compiled pipelines, bind groups and memory are kept, so that running the same plan again creates nothing.
//
// An error that shows only when a batch is submitted is kept with the buffers the batch was to write. Reading one of
// them, or running a kernel that does, returns it: each error comes out where its data is wanted.
package wgpu
