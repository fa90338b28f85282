package driver_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// misuse is one way to end the process with the bare library: each of the 43
// that were found by trying them, each in a process of its own.
type misuse struct {
	name string
	// never says why it cannot be written with this package.
	never string
	// try is it, or its nearest relation, written with this package.
	try  func(*rig) error
	want error // of try; nil: it is made right and works
}

var bg = context.Background()

// misuses is in the order of the list of the library's aborts.
var misuses = []misuse{
	{name: "GetBindGroupLayout(7)", never: "layouts are made from a pipeline's Slots, never asked of it"},
	{name: "GetMappedRange offset 4", try: func(r *rig) error {
		return r.Read(bg, r.buffer("b", 256, driver.Readback), 4, make([]byte, 8))
	}},
	{name: "GetMappedRange out of range", want: driver.ErrValidation, try: func(r *rig) error {
		return r.Read(bg, r.buffer("b", 256, driver.Readback), 0, make([]byte, 512))
	}},
	{name: "GetMappedRange released buffer", want: driver.ErrHandle, try: readFreed},
	{name: "GetMappedRange size 6", try: func(r *rig) error {
		return r.Read(bg, r.buffer("b", 256, driver.Readback), 0, make([]byte, 6))
	}},
	{name: "GetMappedRange unmapped", never: "Read and Write map the buffer themselves and hand no memory out"},
	{name: "GetMappedRange while pending", never: "Read touches the memory after the callback only; a second Read is ErrBusy (TestBusy)"},
	{name: "GetSize released buffer", want: driver.ErrHandle, try: writeFreed}, // sizes are known in Go
	{name: "WriteBuffer to released buffer", want: driver.ErrHandle, try: writeFreed},
	{name: "begin pass after Finish", never: encoders},
	{name: "bindgroup buffer of other device", want: driver.ErrHandle, try: func(r *rig) error {
		other := newRig(r.t, driver.Options{})
		_, err := r.NewGroup("g", r.fill(), []driver.Binding{{Buffer: other.buffer("b", 256, driver.Storage)}})
		return err
	}},
	{name: "bindgroup nil buffer", want: driver.ErrHandle, try: func(r *rig) error {
		_, err := r.NewGroup("g", r.fill(), []driver.Binding{{}})
		return err
	}},
	{name: "bindgroup nil layout", want: driver.ErrHandle, try: func(r *rig) error {
		_, err := r.NewGroup("g", 0, []driver.Binding{{Buffer: r.buffer("b", 256, driver.Storage)}})
		return err
	}},
	{name: "bindgroup size 0", try: func(r *rig) error { // it means to the end
		_, err := r.NewGroup("g", r.fill(), []driver.Binding{{Buffer: r.buffer("b", 256, driver.Storage), Size: 0}})
		return err
	}},
	{name: "copy with released buffer", want: driver.ErrHandle, try: func(r *rig) error {
		a, b := r.buffer("a", 256, driver.Storage), r.buffer("b", 256, driver.Storage)
		r.FreeBuffer(a)
		_, err := r.Submit([]driver.Command{{Op: driver.Copy, Src: a, Dst: b, Size: 4}})
		return err
	}},
	{name: "create buffer bad usage bits", want: driver.ErrValidation, try: func(r *rig) error {
		_, err := r.NewBuffer("b", 256, driver.Usage(200))
		return err
	}},
	{name: "destroy released buffer", try: func(r *rig) error {
		b := r.buffer("b", 256, driver.Readback)
		r.FreeBuffer(b)
		r.FreeBuffer(b)
		return nil
	}},
	{name: "device release, then CreateEncoder", want: driver.ErrClosed, try: closed(func(r *rig) error {
		_, err := r.Submit(nil)
		return err
	})},
	{name: "device release, then GetLimits", try: closed(func(r *rig) error {
		if r.Info().Limits.Groups == 0 {
			return errors.New("no limits")
		}
		return nil
	})},
	{name: "device release, then GetQueue", never: "the queue is the device's own"},
	{name: "device release, then Poll", want: driver.ErrClosed, try: closed(func(r *rig) error {
		r.Poll()
		return r.Wait(bg, 1)
	})},
	{name: "device release, then TryCreateBindGroup", want: driver.ErrClosed, try: closed(func(r *rig) error {
		_, err := r.NewGroup("g", 0, nil)
		return err
	})},
	{name: "device release, then TryCreateBuffer", want: driver.ErrClosed, try: closed(func(r *rig) error {
		_, err := r.NewBuffer("b", 4, driver.Storage)
		return err
	})},
	{name: "dispatch after End", never: encoders},
	{name: "dispatch after End + Finish", never: encoders},
	{name: "map WholeSize", want: driver.ErrValidation, try: func(r *rig) error {
		return r.Read(bg, r.buffer("b", 256, driver.Readback), ^uint64(0), make([]byte, 8))
	}},
	{name: "map mode 0", never: "the mode follows from Read and Write"},
	{name: "map released buffer", want: driver.ErrHandle, try: readFreed},
	{name: "pipeline nil module", want: driver.ErrShader, try: emptyText},
	{name: "poll bogus submission index", want: driver.ErrValidation, try: func(r *rig) error { return r.Wait(bg, 1<<40) }},
	{name: "queue release, then Submit", want: driver.ErrClosed, try: closed(func(r *rig) error {
		_, err := r.Submit([]driver.Command{{Op: driver.Clear}})
		return err
	})},
	{name: "queue release, then WriteBuffer", want: driver.ErrClosed, try: closed(func(r *rig) error {
		return r.Write(bg, 1, 0, make([]byte, 4))
	})},
	{name: "read slice after Release", never: "Read copies, and a buffer freed meanwhile lives until it has (TestFreeWhileReading)"},
	{name: "release buffer before CreateBindGroup", want: driver.ErrHandle, try: func(r *rig) error {
		b := r.buffer("b", 256, driver.Storage)
		r.FreeBuffer(b)
		_, err := r.NewGroup("g", r.fill(), []driver.Binding{{Buffer: b}})
		return err
	}},
	{name: "release encoder before Finish", never: encoders},
	{name: "release pass before End", never: encoders},
	{name: "shader nil source", want: driver.ErrShader, try: emptyText},
	{name: "submit released command buffer", never: encoders},
	{name: "submit same command buffer twice", try: func(r *rig) error { // a list is recorded anew each time
		cmds := []driver.Command{{Op: driver.Clear, Dst: r.buffer("b", 256, driver.Storage), Size: 256}}
		_, err := r.Submit(cmds)
		_, err2 := r.Submit(cmds)
		return errors.Join(err, err2)
	}},
	{name: "submit: buffer map pending", try: func(r *rig) error { // a cancelled Read leaves it so; Submit takes it back
		a, b := r.buffer("a", 256, driver.Storage), r.buffer("b", 256, driver.Readback)
		for range 100 {
			ctx, cancel := context.WithCancel(bg)
			go cancel()
			err := r.Read(ctx, b, 0, make([]byte, 256))
			if err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			if _, err := r.Submit([]driver.Command{{Op: driver.Copy, Src: a, Dst: b, Size: 256}}); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "submit: buffer mappedAtCreation", try: func(r *rig) error { // Write leaves it mapped; Submit unmaps
		a, b := r.buffer("a", 256, driver.Upload), r.buffer("b", 256, driver.Storage)
		if err := r.Write(bg, a, 0, make([]byte, 8)); err != nil {
			return err
		}
		_, err := r.Submit([]driver.Command{{Op: driver.Copy, Src: a, Dst: b, Size: 256}})
		return err
	}},
	{name: "submit: destroyed buffer", want: driver.ErrHandle, try: func(r *rig) error {
		b := r.buffer("b", 256, driver.Storage)
		p := r.fill()
		g := r.group(p, driver.Binding{Buffer: b})
		r.FreeBuffer(b)
		_, err := r.Submit([]driver.Command{{Op: driver.Dispatch, Pipeline: p, Group: g, Grid: [3]uint32{1, 1, 1}}})
		return err
	}},
	{name: "unmap released buffer", want: driver.ErrHandle, try: func(r *rig) error { // Read leaves it mapped
		a, b := r.buffer("a", 256, driver.Storage), r.buffer("b", 256, driver.Readback)
		if err := r.Read(bg, b, 0, make([]byte, 8)); err != nil {
			return err
		}
		r.FreeBuffer(b)
		_, err := r.Submit([]driver.Command{{Op: driver.Copy, Src: a, Dst: b, Size: 8}})
		return err
	}},
}

const encoders = "encoders, passes and command buffers exist inside one Submit only"

func (r *rig) fill() driver.Pipeline {
	r.t.Helper()
	return r.pipeline("fill", fillWGSL, fillSlots...)
}

func closed(f func(*rig) error) func(*rig) error {
	return func(r *rig) error {
		ok(r.t, r.Close())
		return f(r)
	}
}

func readFreed(r *rig) error {
	b := r.buffer("b", 256, driver.Readback)
	r.FreeBuffer(b)
	return r.Read(bg, b, 0, make([]byte, 8))
}

func writeFreed(r *rig) error {
	b := r.buffer("b", 256, driver.Storage)
	r.FreeBuffer(b)
	return r.Write(bg, b, 0, make([]byte, 8))
}

func emptyText(r *rig) error {
	_, err := r.NewPipeline(driver.PipelineDesc{Label: "empty"})
	return err
}

// works runs a kernel and checks its values.
func (r *rig) works(t *testing.T) {
	t.Helper()
	if r.Err() != nil {
		return // the case closed it
	}
	x := r.buffer("x", 256, driver.Storage)
	p := r.fill()
	r.submit(driver.Command{Op: driver.Dispatch, Pipeline: p, Group: r.group(p, driver.Binding{Buffer: x}), Grid: [3]uint32{1, 1, 1}})
	if got := r.read(x, 0, 256); !bytes.Equal(got, bytes.Repeat(u32Bytes(1), 64)) {
		t.Errorf("the device does not work any more: % x", got)
	}
}

// TestAborts tries what ends the process without this package.
func TestAborts(t *testing.T) {
	if len(misuses) != 43 {
		t.Errorf("%d cases, want 43", len(misuses))
	}
	for _, m := range misuses {
		t.Run(m.name, func(t *testing.T) {
			if m.never != "" {
				t.Log("cannot be written:", m.never)
				return
			}
			r := newRig(t, driver.Options{})
			if err := m.try(r); !errors.Is(err, m.want) {
				t.Errorf("got error %v, want %v", err, m.want)
			}
			r.works(t)
		})
	}
}
