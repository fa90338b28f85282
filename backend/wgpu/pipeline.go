package wgpu

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// A pipeline is a compiled kernel.
type pipeline struct {
	handle    driver.Pipeline
	label     string
	signature int // number of its list of slots: kernels that share one share bind groups
	args      int // bytes of the Params binding
}

// kernels keeps what has been compiled.
type kernels struct {
	byKey      map[string]*pipeline
	signatures map[string]int
	compiled   int64
	key        []byte // scratch
}

func newKernels() kernels {
	return kernels{byKey: make(map[string]*pipeline), signatures: make(map[string]int)}
}

// A source is a kernel's text and how it is bound.
type source struct {
	label  string // family.operations
	wgsl   string // with its entry point main, behind the prelude
	slots  []slot
	args   int    // bytes of the Params binding
	shared uint32 // bytes of workgroup memory

	trusted bool // no index is beyond an array but of a slot, whatever the operands: see engine.trusts
}

// pipeline returns the pipeline under key, made from the source that write gives if it is new.
func (e *engine) pipeline(key []byte, write func() (source, error)) (*pipeline, error) {
	if p, ok := e.kernels.byKey[string(key)]; ok {
		return p, nil
	}
	defer backend.Begin("compile").End()
	src, err := write()
	if err != nil {
		return nil, err
	}
	desc := driver.PipelineDesc{Label: src.label, WGSL: src.wgsl, WorkgroupMemory: src.shared, Trusted: src.trusted && e.trusts}
	signature := make([]byte, 0, len(src.slots)+1)
	for _, s := range src.slots {
		kind := driver.Read
		if s.write {
			kind = driver.ReadWrite
		}
		desc.Slots = append(desc.Slots, driver.Slot{Kind: kind})
		signature = append(signature, byte(kind))
	}
	desc.Slots = append(desc.Slots, driver.Slot{Kind: driver.Params, Min: uint64(src.args)})
	signature = append(signature, byte(src.args/256))
	handle, err := e.dev.NewPipeline(desc)
	if err != nil {
		return nil, translate(err)
	}
	id, ok := e.kernels.signatures[string(signature)]
	if !ok {
		id = len(e.kernels.signatures)
		e.kernels.signatures[string(signature)] = id
	}
	p := &pipeline{handle: handle, label: src.label, signature: id, args: src.args}
	e.kernels.byKey[string(key)] = p
	e.kernels.compiled++
	return p, nil
}

// declare prints the bindings of a kernel: its slots in order, then the parameters.
func declare(t *text, slots []slot, args int) {
	for i, s := range slots {
		access, element := "read", "u32"
		if s.write {
			access = "read_write"
		}
		if s.wide {
			element = "vec4<u32>"
		}
		if s.pair {
			element = "vec2<u32>"
		}
		if s.atomic {
			element = "atomic<u32>"
		}
		t.line("@group(0) @binding(%d) var<storage, %s> b%d: array<%s>;", i, access, i, element)
	}
	t.line("struct Params { v: array<vec4<u32>, %d> }", args/16)
	t.line("@group(0) @binding(%d) var<uniform> p: Params;", len(slots))
	declareZeros(t, args)
	for i, s := range slots {
		if s.quant != 0 && !s.wide {
			declareQuantized(t, i, &slots[i])
		}
	}
}

// label names a kernel in errors and profiles: its family and what it computes, cut to a readable length.
func label(family string, names []string) string {
	const most = 60
	s := family
	if family != "map" && len(names) == 1 && names[0] == noOps {
		return s
	}
	for _, n := range names {
		if len(s)+1+len(n) > most {
			return s + "..."
		}
		s = fmt.Sprintf("%s.%s", s, n)
	}
	return s
}
