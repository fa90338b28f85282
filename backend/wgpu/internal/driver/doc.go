// Package driver is the small, checked road from Go to a WebGPU device. It is
// all that backend/wgpu knows of a graphics library: one interface, [Device],
// behind which stands one binding a build.
//
//	build                    binding
//	cgo                      github.com/oliverbestmann/webgpu (wgpu-native)
//	cgo, -tags cogentcore    github.com/cogentcore/webgpu
//	no cgo                   none: Adapters returns ErrUnavailable
//
// The first is the maintained continuation of the second, and the default. The
// second is for comparison, and for programs that link the older library
// already (the two do not fit into one program). It has no optional features.
//
// # Use
//
//	list, err := driver.Adapters()
//	dev, err := driver.Open(ctx, list[0].Index, driver.Options{Features: driver.F16})
//	defer dev.Close()
//
//	x, err := dev.NewBuffer("x", 4096, driver.Storage)
//	out, err := dev.NewBuffer("out", 4096, driver.Readback)
//	args, err := dev.NewBuffer("args", 65536, driver.Uniform)
//	p, err := dev.NewPipeline(driver.PipelineDesc{
//		Label: "map.scale", WGSL: source, Entry: "main",
//		Slots: []driver.Slot{{Kind: driver.Params, Min: 16}, {Kind: driver.ReadWrite}},
//	})
//	g, err := dev.NewGroup("map.scale", p, []driver.Binding{{Buffer: args, Size: 16}, {Buffer: x}})
//
//	err = dev.Write(ctx, x, 0, data)      // before everything submitted later
//	t, err := dev.Submit([]driver.Command{
//		{Op: driver.Dispatch, Pipeline: p, Group: g, Offset: 256, Grid: [3]uint32{16, 1, 1}},
//		{Op: driver.Copy, Src: x, Dst: out, Size: 4096},
//	})
//	err = dev.Wait(ctx, t)                // or Read, which waits for what it reads
//	err = dev.Read(ctx, out, 0, data)
//
// # What it promises
//
// WebGPU libraries abort the process on misuse: a released buffer, a mapped
// buffer in a submission, a wrong range. Here every handle, size, offset, limit
// and lifetime is checked in Go first, so a mistake is an [*Error] that names
// the operation and the kernel or buffer, and never more than that.
//
// Every method may be called from any goroutine. One lock a device is held
// over each native call that can fail, because the library reports errors to
// the device and not to the caller: with the lock each error reaches its
// owner. Compiling is such a call. Waiting happens outside the lock, and a
// context that ends is obeyed at once even while a kernel runs; the device
// stays usable.
//
// Commands of one Submit, and Submits and Writes one after another, take
// effect in order: a dispatch sees what earlier commands wrote.
//
// # Handles
//
// Buffers, pipelines, groups and query sets are numbers, not pointers. They
// carry their device and a generation, so a freed, foreign or zero handle is
// recognised; freeing one twice does nothing. The objects are owned by the
// device and live until they are freed or the device is closed. What a
// submission uses lives until the submission is done, whatever is freed in
// the meantime.
package driver
