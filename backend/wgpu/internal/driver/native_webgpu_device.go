//go:build cgo && !js && !cogentcore

package driver

import (
	"fmt"
	"runtime"

	"github.com/oliverbestmann/webgpu/wgpu"

	"github.com/weft-go/weft/backend"
)

// webgpuDevice is a binding. The package's objects free themselves when Go no
// longer mentions them, even inside a native call; so each temporary is
// released by hand after its last call, which also keeps it alive until then,
// and all others are held by the device's tables.
type webgpuDevice struct {
	dev   *wgpu.Device
	queue *wgpu.Queue
	off   [1]uint32 // a dynamic offset, where the native call may read it
}

var webgpuUsages = [numUsages]wgpu.BufferUsage{
	Storage:  wgpu.BufferUsageStorage | wgpu.BufferUsageCopySrc | wgpu.BufferUsageCopyDst,
	Uniform:  wgpu.BufferUsageUniform | wgpu.BufferUsageCopyDst,
	Readback: wgpu.BufferUsageMapRead | wgpu.BufferUsageCopyDst,
	Upload:   wgpu.BufferUsageMapWrite | wgpu.BufferUsageCopySrc,
	Results:  wgpu.BufferUsageQueryResolve | wgpu.BufferUsageCopySrc,
}

func (n *webgpuDevice) newBuffer(label string, size uint64, u Usage) (object, error) {
	b, err := n.dev.TryCreateBuffer(&wgpu.BufferDescriptor{Label: label, Size: size, Usage: webgpuUsages[u]})
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (n *webgpuDevice) writeBuffer(dst object, off uint64, src []byte) error {
	return n.queue.TryWriteBuffer(dst.(*wgpu.Buffer), off, src)
}

func (n *webgpuDevice) mapBuffer(b object, write bool, off, size uint64, done func(bool)) error {
	mode := wgpu.MapModeRead
	if write {
		mode = wgpu.MapModeWrite
	}
	return b.(*wgpu.Buffer).TryMapAsync(mode, off, size, func(s wgpu.MapAsyncStatus) {
		done(s == wgpu.MapAsyncStatusSuccess)
	})
}

func (n *webgpuDevice) mapped(b object, off, size uint64) []byte {
	return b.(*wgpu.Buffer).GetMappedRange(uint(off), uint(size))
}

func (n *webgpuDevice) unmap(b object) error { return b.(*wgpu.Buffer).TryUnmap() }

func (n *webgpuDevice) newLayout(slots []Slot) (object, error) {
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
	l, err := n.dev.TryCreateBindGroupLayout(&wgpu.BindGroupLayoutDescriptor{Entries: entries})
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (n *webgpuDevice) newPipeline(d PipelineDesc, layout object) (object, error) {
	m, err := newModule(n.dev, &d)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	l, err := n.dev.TryCreatePipelineLayout(&wgpu.PipelineLayoutDescriptor{
		BindGroupLayouts: []*wgpu.BindGroupLayout{layout.(*wgpu.BindGroupLayout)},
	})
	if err != nil {
		return nil, err
	}
	defer l.Release()
	p, err := n.dev.TryCreateComputePipeline(&wgpu.ComputePipelineDescriptor{
		Label: d.Label, Layout: l,
		Compute: wgpu.ProgrammableStageDescriptor{Module: m, EntryPoint: d.Entry},
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

func checkedModule(d *wgpu.Device, p *PipelineDesc) (*wgpu.ShaderModule, error) {
	return d.TryCreateShaderModule(&wgpu.ShaderModuleDescriptor{Label: p.Label, WGSLSource: &wgpu.ShaderSourceWGSL{Code: p.WGSL}})
}

func (n *webgpuDevice) newGroup(label string, layout object, b []boundRange) (object, error) {
	entries := make([]wgpu.BindGroupEntry, len(b))
	for i, r := range b {
		entries[i] = wgpu.BindGroupEntry{Binding: uint32(i), Buffer: r.buf.(*wgpu.Buffer), Offset: r.off, Size: r.size}
	}
	g, err := n.dev.TryCreateBindGroup(&wgpu.BindGroupDescriptor{
		Label: label, Layout: layout.(*wgpu.BindGroupLayout), Entries: entries,
	})
	runtime.KeepAlive(entries)
	if err != nil {
		return nil, err
	}
	return g, nil
}

func (n *webgpuDevice) newQueries(label string, count uint32) (object, error) {
	q, err := n.dev.TryCreateQuerySet(&wgpu.QuerySetDescriptor{Label: label, Type: wgpu.QueryTypeTimestamp, Count: count})
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (n *webgpuDevice) timestampPeriod() float64 { return float64(n.queue.GetTimestampPeriod()) }

// encode gives the encoder up before Finish on every error: a failed command
// buffer must not be submitted, and one that is not submitted is never freed.
func (n *webgpuDevice) encode(steps []step) (object, error) {
	defer backend.Begin("encode").End()
	enc, err := n.dev.TryCreateCommandEncoder(nil)
	if err != nil {
		return nil, err
	}
	defer enc.Release()
	if err := n.record(enc, steps); err != nil {
		return nil, err
	}
	cb, err := enc.TryFinish(nil)
	if err != nil {
		return nil, err
	}
	return cb, nil
}

func (n *webgpuDevice) submit(commands object, done func()) {
	cb := commands.(*wgpu.CommandBuffer)
	n.queue.Submit(cb)
	cb.Release()
	n.queue.OnSubmittedWorkDone(func(wgpu.QueueWorkDoneStatus) { done() })
}

func (n *webgpuDevice) record(enc *wgpu.CommandEncoder, steps []step) error {
	for i := 0; i < len(steps); i++ {
		var err error
		switch s := &steps[i]; s.kind {
		case stepBegin:
			i, err = n.pass(enc, steps, i)
		case stepCopy:
			err = enc.TryCopyBufferToBuffer(s.obj.(*wgpu.Buffer), s.off, s.dst.(*wgpu.Buffer), s.dstOff, s.size)
		case stepClear:
			err = enc.TryClearBuffer(s.dst.(*wgpu.Buffer), s.dstOff, s.size)
		case stepResolve:
			err = enc.TryResolveQuerySet(s.obj.(*wgpu.QuerySet), s.x, s.y, s.dst.(*wgpu.Buffer), s.dstOff)
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
func (n *webgpuDevice) pass(enc *wgpu.CommandEncoder, steps []step, i int) (int, error) {
	var desc *wgpu.ComputePassDescriptor
	if b := &steps[i]; b.obj != nil {
		desc = &wgpu.ComputePassDescriptor{TimestampWrites: &wgpu.PassTimestampWrites{
			QuerySet: b.obj.(*wgpu.QuerySet), BeginningOfPassWriteIndex: b.x, EndOfPassWriteIndex: b.y,
		}}
	}
	p := enc.BeginComputePass(desc)
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
	return i, p.TryEnd()
}

func (n *webgpuDevice) poll() { n.dev.Poll(false, nil) }

func (n *webgpuDevice) drain() { n.dev.Poll(true, nil) }

// exclusive: polls have been tried beside all other calls.
func (n *webgpuDevice) exclusive() bool { return false }

func (n *webgpuDevice) release(bool) {
	n.queue.Release()
	n.dev.Release()
}
