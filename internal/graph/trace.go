package graph

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/weft-go/weft/backend"
)

// active are the devices that have computed something while somebody traced: those whose clocks are to be waited for.
var active struct {
	sync.Mutex
	devices map[*Device]bool
}

// note makes d active.
func (d *Device) note() {
	active.Lock()
	defer active.Unlock()
	if active.devices == nil {
		active.devices = map[*Device]bool{}
	}
	active.devices[d] = true
}

// Profile runs f and returns the spans of what the program did meanwhile, kernels on devices included.
func Profile(ctx context.Context, f func() error) ([]backend.Span, error) {
	var mu sync.Mutex
	var spans []backend.Span
	stop := backend.Trace(func(s backend.Span) {
		mu.Lock()
		spans = append(spans, s)
		mu.Unlock()
	})
	err := f()
	active.Lock()
	devices := make([]*Device, 0, len(active.devices))
	for d := range active.devices {
		devices = append(devices, d)
	}
	active.Unlock()
	for _, d := range devices {
		err = errors.Join(err, d.timed(ctx))
	}
	if stop(); !backend.Tracing() { // nobody waits for them any more
		active.Lock()
		clear(active.devices)
		active.Unlock()
	}
	mu.Lock()
	defer mu.Unlock()
	return spans, err
}

// timed waits until the kernels that ran so far have been traced.
func (d *Device) timed(ctx context.Context) error {
	if d.timer == nil {
		return nil
	}
	err := d.timer.Timed(ctx)
	if errors.Is(err, backend.ErrDevice) {
		return nil // closed meanwhile, which is the business of those who compute on it
	}
	return err
}

// read reads from a buffer of the device. Where somebody traces, the kernels before have been traced then.
func (d *Device) read(ctx context.Context, dst []byte, buf backend.Buffer, at int) error {
	m := backend.Begin("read")
	err := d.b.Read(ctx, dst, buf, at)
	if m.End(); err == nil && backend.Tracing() {
		err = d.timed(ctx)
	}
	return err
}

// runTimed runs steps one by one on a device that has no clock of its own, waits for each, and traces it.
func (f *flight) runTimed(ctx context.Context, steps []backend.Step) error {
	for i := range steps {
		s := &f.binding.steps[i]
		start := time.Now()
		if s.kernel.fallback {
			if err := f.d.runElsewhere(ctx, steps[i], f.info(s)); err != nil {
				return later(err, i)
			}
			f.d.stats.fallbacks.Add(1)
			continue
		}
		if err := f.d.b.Run(ctx, steps[i:i+1]); err != nil {
			return later(err, i)
		}
		if err := f.d.b.Read(ctx, nil, steps[i].Out[0].Buf, 0); err != nil {
			return err
		}
		f.info(s).emit(f.d.name, start)
	}
	return nil
}

// emit traces the kernel, which ran from start until now.
func (k KernelInfo) emit(device string, start time.Time) {
	backend.Emit(backend.Span{
		Name: k.name(), Start: start, Duration: time.Since(start), Device: device, Family: k.Family, Bytes: k.Bytes,
	})
}

// name returns the family and the operations, cut to a readable length.
func (k KernelInfo) name() string {
	const most = 60
	s := k.Family
	switch {
	case len(k.Ops) == 0 && s == "map":
		s += ".copy"
	case len(k.Ops) > 0 && k.Ops[0] == s:
		s = strings.Join(k.Ops, ".")
	default:
		s = strings.Join(append([]string{s}, k.Ops...), ".")
	}
	if len(s) > most {
		s = s[:most] + "..."
	}
	return s
}
