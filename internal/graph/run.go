package graph

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/hostmem"
)

// run computes what f has claimed, by its binding.
func (f *flight) run(ctx context.Context) error {
	d := f.d
	m := backend.Begin("allocate")
	if err := f.allocate(); err != nil {
		return err
	}
	m.End()
	steps := f.steps()
	f.began = true
	traced := backend.Tracing()
	if traced {
		d.note()
	}
	var err error
	switch {
	case traced && d.timer == nil:
		err = f.runTimed(ctx, steps)
	case f.binding.plan.fallbacks == 0:
		err = d.b.Run(ctx, steps)
	default:
		err = f.runMixed(ctx, steps)
	}
	if err != nil {
		return f.failed(err)
	}
	d.stats.kernels.Add(int64(len(steps)))
	return nil
}

// allocate gets the memory that the steps write to.
func (f *flight) allocate() error {
	b := f.binding
	for _, size := range b.slots {
		buf, err := f.d.alloc(size)
		if err != nil {
			return err
		}
		f.slots = append(f.slots, buf)
	}
	for _, r := range b.results {
		switch r.slot {
		case inPlaceSlot: // filled in below
		case ownSlot:
			buf, err := f.d.alloc(r.bytes)
			if err != nil {
				return err
			}
			f.fresh = append(f.fresh, buf)
			f.bufs[r.node] = buf
		default:
			f.bufs[r.node] = f.slots[r.slot]
		}
	}
	for i := range f.facts { // the version before comes before
		if f.facts[i].inPlace {
			prev := f.order[i].in()[0].Node // whose id is by now that of another walk, perhaps
			f.bufs[i] = f.bufs[slices.Index(f.order, prev)]
		}
	}
	return nil
}

// steps returns the steps of f's binding, with memory and constants.
func (f *flight) steps() []backend.Step {
	b := f.binding
	for i := range b.steps {
		s := &b.steps[i]
		step := backend.Step{Kernel: s.kernel.kernel, Shape: s.shape, Memo: s.memo}
		step.In = f.fill(s.in, s.inNode)
		step.Out = f.fill(s.out, s.outNode)
		if n := len(f.consts); len(s.kernel.consts) > 0 {
			for _, c := range s.kernel.consts {
				f.consts = append(f.consts, f.order[c].bits())
			}
			step.Consts = f.consts[n:len(f.consts):len(f.consts)]
		}
		f.list = append(f.list, step)
	}
	return f.list
}

// fill returns operands with the memory of nodes.
func (f *flight) fill(operands []backend.Operand, nodes []int32) []backend.Operand {
	n := len(f.operands)
	f.operands = append(f.operands, operands...)
	filled := f.operands[n:len(f.operands):len(f.operands)]
	for i, node := range nodes {
		if node >= 0 {
			filled[i].Buf = f.bufs[node]
		}
	}
	return filled
}

// runMixed runs steps of which another device has to run some.
func (f *flight) runMixed(ctx context.Context, steps []backend.Step) error {
	d := f.d
	from := 0
	for i := range steps {
		if !f.binding.steps[i].kernel.fallback {
			continue
		}
		if from < i {
			if err := d.b.Run(ctx, steps[from:i]); err != nil {
				return later(err, from)
			}
		}
		if err := d.runElsewhere(ctx, steps[i], f.info(&f.binding.steps[i])); err != nil {
			return later(err, i)
		}
		d.stats.fallbacks.Add(1)
		from = i + 1
	}
	if from == len(steps) {
		return nil
	}
	return later(d.b.Run(ctx, steps[from:]), from)
}

// later returns err as the error of steps that come after n others.
func later(err error, n int) error {
	var at *backend.StepError
	if !errors.As(err, &at) {
		return err
	}
	return &backend.StepError{Step: at.Step + n, Err: at.Err}
}

// runElsewhere runs step, which k describes, on the fallback device: it brings the operands there and the results back.
func (d *Device) runElsewhere(ctx context.Context, step backend.Step, k KernelInfo) error {
	there := step
	there.Memo = nil
	there.In = append([]backend.Operand(nil), step.In...)
	there.Out = append([]backend.Operand(nil), step.Out...)
	moved := map[backend.Buffer]backend.Buffer{}
	defer func() {
		for _, b := range moved {
			b.Release()
		}
	}()
	for _, list := range [...][]backend.Operand{there.In, there.Out} {
		for i := range list {
			here := list[i].Buf
			if here == nil {
				continue
			}
			if moved[here] == nil {
				b, err := d.fallback.Alloc(here.Size())
				if err != nil {
					return err
				}
				moved[here] = b
				data := hostmem.Make[byte](here.Size())
				if err := d.b.Read(ctx, data, here, 0); err != nil {
					return err
				}
				if err := d.fallback.Write(b, 0, data); err != nil {
					return err
				}
			}
			list[i].Buf = moved[here]
		}
	}
	start := time.Now()
	if err := d.fallback.Run(ctx, []backend.Step{there}); err != nil {
		return err
	}
	for i, o := range there.Out {
		data := hostmem.Make[byte](o.Buf.Size())
		if err := d.fallback.Read(ctx, data, o.Buf, 0); err != nil {
			return err
		}
		if i == 0 && backend.Tracing() {
			k.emit(d.fallback.Info().Name, start)
		}
		if err := d.b.Write(step.Out[i].Buf, 0, data); err != nil {
			return err
		}
	}
	return nil
}
