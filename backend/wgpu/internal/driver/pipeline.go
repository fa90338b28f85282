package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// pipeline is one compiled kernel.
type pipeline struct {
	label string
	slots []Slot
	key   string // layoutKey(slots): groups with the same key fit
	obj   object
}

// group is buffers bound to slots.
type group struct {
	label string
	key   string
	bufs  []Buffer // each must be alive when the group is used
	obj   object

	dynamic bool   // has a Params slot
	params  uint64 // bytes that the slot's offset may go up to
}

func (d *device) NewPipeline(p PipelineDesc) (Pipeline, error) {
	if err := d.checkPipeline(&p); err != nil {
		return 0, err
	}
	if err := d.lock(context.Background(), "pipeline", p.Label); err != nil {
		return 0, err
	}
	defer d.unlock()
	key := layoutKey(p.Slots)
	layout := d.layouts[key]
	if layout == nil {
		var err error
		if layout, err = d.b.newLayout(p.Slots); err != nil {
			return 0, d.failed("pipeline", p.Label, err)
		}
		d.layouts[key] = layout
	}
	obj, err := d.b.newPipeline(p, layout)
	if err != nil {
		e := shaderError(p.Label, err)
		if errors.Is(e, ErrLost) {
			d.leave(lost)
		}
		return 0, e
	}
	h, err := d.pipelines.put(&pipeline{label: p.Label, slots: slices.Clone(p.Slots), key: key, obj: obj})
	if err != nil {
		obj.Release()
		return 0, fail(ErrLimit, "pipeline", p.Label, "%v", err)
	}
	return Pipeline(h), nil
}

// checkPipeline checks everything but the text's meaning, and fills in Entry.
func (d *device) checkPipeline(p *PipelineDesc) error {
	lim := &d.info.Limits
	if p.Entry == "" {
		p.Entry = "main"
	}
	if !ascii(p.Label) || !ascii(p.Entry) {
		return fail(ErrValidation, "pipeline", "", "label %q or entry point %q is not ASCII", p.Label, p.Entry)
	}
	if err := checkWGSL(p.WGSL); err != nil {
		return &Error{Op: "pipeline", Label: p.Label, Err: &ShaderError{Text: err.Error()}}
	}
	if p.WorkgroupMemory > lim.WorkgroupMemory {
		return fail(ErrLimit, "pipeline", p.Label, "%d bytes of workgroup memory, the limit is %d", p.WorkgroupMemory, lim.WorkgroupMemory)
	}
	var storage, params int
	for i, s := range p.Slots {
		switch {
		case s.Kind >= numSlotKinds:
			return fail(ErrValidation, "pipeline", p.Label, "slot %d: kind %d", i, s.Kind)
		case s.Kind != Params:
			storage++
			if s.Min > lim.StorageBinding {
				return fail(ErrLimit, "pipeline", p.Label, "slot %d: %d bytes, the limit is %d", i, s.Min, lim.StorageBinding)
			}
		case s.Min == 0:
			return fail(ErrValidation, "pipeline", p.Label, "slot %d: Params without a size", i)
		case s.Min > lim.UniformBinding:
			return fail(ErrLimit, "pipeline", p.Label, "slot %d: %d bytes, the limit is %d", i, s.Min, lim.UniformBinding)
		default:
			params++
		}
	}
	if params > 1 {
		return fail(ErrValidation, "pipeline", p.Label, "%d Params slots", params)
	}
	if storage > int(lim.StorageSlots) {
		return fail(ErrLimit, "pipeline", p.Label, "%d storage slots, the limit is %d", storage, lim.StorageSlots)
	}
	return nil
}

// layoutKey tells layouts apart.
func layoutKey(slots []Slot) string { return fmt.Sprint(slots) }

func (d *device) FreePipeline(h Pipeline) {
	if !d.free() {
		return
	}
	defer d.unlock()
	if p := d.pipelines.drop(uint64(h)); p != nil {
		p.obj.Release()
	}
}

func (d *device) NewGroup(label string, ph Pipeline, bind []Binding) (Group, error) {
	if !ascii(label) {
		return 0, fail(ErrValidation, "group", "", "label %q is not ASCII", label)
	}
	if err := d.lock(context.Background(), "group", label); err != nil {
		return 0, err
	}
	defer d.unlock()
	p, err := d.pipelines.get(uint64(ph))
	if err != nil {
		return 0, fail(ErrHandle, "group", label, "pipeline: %v", err)
	}
	if len(bind) != len(p.slots) {
		return 0, fail(ErrValidation, "group", label, "%d bindings for %d slots", len(bind), len(p.slots))
	}
	g := &group{label: label, key: p.key, bufs: make([]Buffer, len(bind))}
	ranges := make([]boundRange, len(bind))
	for i, s := range p.slots {
		g.bufs[i] = bind[i].Buffer
		if ranges[i], err = d.bind(g, i, s, bind[i]); err != nil {
			return 0, err
		}
	}
	if err := checkAliases(label, p.slots, ranges); err != nil {
		return 0, err
	}
	if g.obj, err = d.b.newGroup(label, d.layouts[p.key], ranges); err != nil {
		return 0, d.failed("group", label, err)
	}
	h, err := d.groups.put(g)
	if err != nil {
		g.obj.Release()
		return 0, fail(ErrLimit, "group", label, "%v", err)
	}
	return Group(h), nil
}

// bind checks and resolves the binding of slot i.
func (d *device) bind(g *group, i int, s Slot, v Binding) (boundRange, error) {
	none := boundRange{}
	bad := func(kind error, format string, args ...any) (boundRange, error) {
		return none, fail(kind, "group", g.label, "binding %d: %s", i, fmt.Sprintf(format, args...))
	}
	b, err := d.buffers.get(uint64(v.Buffer))
	if err != nil {
		return bad(ErrHandle, "%v", err)
	}
	want, limit, align := Storage, d.info.Limits.StorageBinding, d.info.Limits.StorageAlign
	if s.Kind == Params {
		want, limit, align = Uniform, d.info.Limits.UniformBinding, d.info.Limits.UniformAlign
	}
	size := v.Size
	if size == 0 && v.Offset < b.size {
		size = b.size - v.Offset
	}
	switch {
	case b.usage != want:
		return bad(ErrValidation, "%s is a %v buffer, the slot takes %v", b.label, b.usage, want)
	case size == 0 || !b.holds(v.Offset, size):
		return bad(ErrValidation, "%d bytes at %d of %s, which has %d", v.Size, v.Offset, b.label, b.size)
	case v.Offset%uint64(align) != 0:
		return bad(ErrValidation, "offset %d is not a multiple of %d", v.Offset, align)
	case size%4 != 0:
		return bad(ErrValidation, "size %d is not a multiple of 4", size)
	case size < s.Min:
		return bad(ErrValidation, "%d bytes, the kernel needs %d", size, s.Min)
	case size > limit:
		return bad(ErrLimit, "%d bytes of %s, the limit is %d", size, b.label, limit)
	}
	if s.Kind == Params {
		g.dynamic, g.params = true, b.size-v.Offset-size
	}
	return boundRange{b.obj, v.Offset, size}, nil
}

// checkAliases refuses what WebGPU does: a buffer both written and read in one
// dispatch, and overlapping ranges that are written.
func checkAliases(label string, slots []Slot, r []boundRange) error {
	for i := range r {
		if slots[i].Kind != ReadWrite {
			continue
		}
		for j := range r {
			if i == j || r[i].buf != r[j].buf {
				continue
			}
			if slots[j].Kind != ReadWrite {
				return fail(ErrValidation, "group", label, "bindings %d and %d write and read one buffer", i, j)
			}
			if r[i].off < r[j].off+r[j].size && r[j].off < r[i].off+r[i].size {
				return fail(ErrValidation, "group", label, "bindings %d and %d write overlapping ranges", i, j)
			}
		}
	}
	return nil
}

func (d *device) FreeGroup(h Group) {
	if !d.free() {
		return
	}
	defer d.unlock()
	if g := d.groups.drop(uint64(h)); g != nil {
		g.obj.Release()
	}
}
