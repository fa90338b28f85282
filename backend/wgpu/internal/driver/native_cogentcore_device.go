//go:build cgo && !js && cogentcore

package driver

import (
	"errors"
	"fmt"
	"time"

	"github.com/cogentcore/webgpu/wgpu"

	"github.com/weft-go/weft/backend"
)

// cogentDevice is a binding. The package frees nothing by itself, so each
// object is released once: temporaries here, all others by the device.
type cogentDevice struct {
	home    *cogent
	key     deviceKey
	dev     *wgpu.Device
	queue   *wgpu.Queue
	waiting []waiting // answers to come; see native_cogentcore_shim.go
	off     [1]uint32 // a dynamic offset, where the native call may read it
}

var cogentUsages = [numUsages]wgpu.BufferUsage{
	Storage:  wgpu.BufferUsageStorage | wgpu.BufferUsageCopySrc | wgpu.BufferUsageCopyDst,
	Uniform:  wgpu.BufferUsageUniform | wgpu.BufferUsageCopyDst,
	Readback: wgpu.BufferUsageMapRead | wgpu.BufferUsageCopyDst,
	Upload:   wgpu.BufferUsageMapWrite | wgpu.BufferUsageCopySrc,
	Results:  wgpu.BufferUsageQueryResolve | wgpu.BufferUsageCopySrc,
}

// made turns a typed nil into a plain one.
func made[T object](o T, err error) (object, error) {
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (n *cogentDevice) newBuffer(label string, size uint64, u Usage) (object, error) {
	return made(n.dev.CreateBuffer(&wgpu.BufferDescriptor{Label: label, Size: size, Usage: cogentUsages[u]}))
}

func (n *cogentDevice) writeBuffer(dst object, off uint64, src []byte) error {
	return n.queue.WriteBuffer(dst.(*wgpu.Buffer), off, src)
}

func (n *cogentDevice) mapped(b object, off, size uint64) []byte {
	return b.(*wgpu.Buffer).GetMappedRange(uint(off), uint(size))
}

func (n *cogentDevice) unmap(b object) error { return b.(*wgpu.Buffer).Unmap() }

func (n *cogentDevice) newLayout(slots []Slot) (object, error) {
	entries := make([]wgpu.BindGroupLayoutEntry, len(slots))
	for i, s := range slots {
		t := [numSlotKinds]wgpu.BufferBindingType{
			Read: wgpu.BufferBindingTypeReadOnlyStorage, ReadWrite: wgpu.BufferBindingTypeStorage, Params: wgpu.BufferBindingTypeUniform,
		}[s.Kind]
		entries[i] = wgpu.BindGroupLayoutEntry{
			Binding: uint32(i), Visibility: wgpu.ShaderStageCompute,
			Buffer: wgpu.BufferBindingLayout{Type: t, HasDynamicOffset: s.Kind == Params, MinBindingSize: s.Min},
		}
	}
	return made(n.dev.CreateBindGroupLayout(&wgpu.BindGroupLayoutDescriptor{Entries: entries}))
}

func (n *cogentDevice) newPipeline(d PipelineDesc, layout object) (object, error) {
	m, err := n.dev.CreateShaderModule(&wgpu.ShaderModuleDescriptor{
		Label: d.Label, WGSLDescriptor: &wgpu.ShaderModuleWGSLDescriptor{Code: d.WGSL},
	})
	if err != nil {
		return nil, err
	}
	defer m.Release()
	l, err := n.dev.CreatePipelineLayout(&wgpu.PipelineLayoutDescriptor{
		BindGroupLayouts: []*wgpu.BindGroupLayout{layout.(*wgpu.BindGroupLayout)},
	})
	if err != nil {
		return nil, err
	}
	defer l.Release()
	return made(n.dev.CreateComputePipeline(&wgpu.ComputePipelineDescriptor{
		Label: d.Label, Layout: l,
		Compute: wgpu.ProgrammableStageDescriptor{Module: m, EntryPoint: d.Entry},
	}))
}

func (n *cogentDevice) newGroup(label string, layout object, b []boundRange) (object, error) {
	entries := make([]wgpu.BindGroupEntry, len(b))
	for i, r := range b {
		entries[i] = wgpu.BindGroupEntry{Binding: uint32(i), Buffer: r.buf.(*wgpu.Buffer), Offset: r.off, Size: r.size}
	}
	return made(n.dev.CreateBindGroup(&wgpu.BindGroupDescriptor{
		Label: label, Layout: layout.(*wgpu.BindGroupLayout), Entries: entries,
	}))
}

func (n *cogentDevice) newQueries(string, uint32) (object, error) {
	return nil, errors.New("no time stamps") // the feature is not given
}

func (n *cogentDevice) timestampPeriod() float64 { return 0 }

// encode gives the encoder up before Finish on every error: copies report
// theirs at once, and Finish would succeed without them.
func (n *cogentDevice) encode(steps []step) (object, error) {
	defer backend.Begin("encode").End()
	enc, err := n.dev.CreateCommandEncoder(nil)
	if err != nil {
		return nil, err
	}
	defer enc.Release()
	if err := n.record(enc, steps); err != nil {
		return nil, err
	}
	return made(enc.Finish(nil))
}

func (n *cogentDevice) submit(commands object, done func()) {
	cb := commands.(*wgpu.CommandBuffer)
	n.queue.Submit(cb)
	cb.Release()
	n.afterWork(done)
}

func (n *cogentDevice) record(enc *wgpu.CommandEncoder, steps []step) error {
	for i := 0; i < len(steps); i++ {
		var err error
		switch s := &steps[i]; s.kind {
		case stepBegin:
			i, err = n.pass(enc, steps, i)
		case stepCopy:
			err = enc.CopyBufferToBuffer(s.obj.(*wgpu.Buffer), s.off, s.dst.(*wgpu.Buffer), s.dstOff, s.size)
		case stepClear:
			err = enc.ClearBuffer(s.dst.(*wgpu.Buffer), s.dstOff, s.size)
		default:
			err = fmt.Errorf("step %d outside a pass", s.kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pass records the pass that begins at step i and returns the step of its end.
func (n *cogentDevice) pass(enc *wgpu.CommandEncoder, steps []step, i int) (int, error) {
	p := enc.BeginComputePass(nil)
	defer p.Release()
	var pipeline, group object
	for i++; steps[i].kind == stepDispatch; i++ {
		s := &steps[i]
		if s.pipeline != pipeline {
			p.SetPipeline(s.pipeline.(*wgpu.ComputePipeline))
			pipeline = s.pipeline
		}
		if s.dynamic {
			n.off[0] = s.offset
			p.SetBindGroup(0, s.group.(*wgpu.BindGroup), n.off[:])
		} else if s.group != group {
			p.SetBindGroup(0, s.group.(*wgpu.BindGroup), nil)
		}
		group = s.group
		p.DispatchWorkgroups(s.x, s.y, s.z)
	}
	return i, p.End()
}

func (n *cogentDevice) poll() {
	n.dev.Poll(false, nil)
	n.answer()
}

// drain must not let the library wait: that ends after five seconds, whatever
// still runs, and takes the work for done.
func (n *cogentDevice) drain() {
	for !n.dev.Poll(false, nil) {
		nap(100 * time.Microsecond)
	}
	n.answer()
}

// exclusive: nothing is known of polls beside other calls in this library.
func (n *cogentDevice) exclusive() bool { return true }

// release keeps the native device for the next Open of its kind. Freeing it is
// not safe: the library frees a device's number later than its queue's, gives
// another device and its queue numbers that differ, and ends the process at
// the first submission. A lost device is left alone for the same reason.
func (n *cogentDevice) release(lost bool) {
	n.answer()
	if !lost {
		n.home.putIdle(n)
	}
}
