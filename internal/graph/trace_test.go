package graph

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// kernelsOf returns the device and the name of each kernel of a trace, and how often the program did what.
func kernelsOf(t *testing.T, spans []backend.Span) (kernels [][2]string, host map[string]int) {
	t.Helper()
	host = map[string]int{}
	for _, s := range spans {
		if s.Duration < 0 || s.Start.IsZero() {
			t.Errorf("%+v", s)
		}
		if s.Device == "" {
			host[s.Name]++
			continue
		}
		if s.Bytes <= 0 || s.Family == "" {
			t.Errorf("%+v", s)
		}
		kernels = append(kernels, [2]string{s.Device, s.Name})
	}
	return kernels, host
}

// refuseSin has a backend refuse kernels that take a sine.
func refuseSin(k backend.Kernel) bool {
	for _, b := range k.Bodies() {
		for i := range b.Code {
			if b.Code[i].Op == ops.Sin {
				return true
			}
		}
	}
	return false
}

// TestProfile traces kernels on a device without a clock and those that another device has to run.
func TestProfile(t *testing.T) {
	d, f := testDevice(t)
	d.fallback = newFake(t)
	f.refuse = refuseSin
	y := apply(ops.Add, apply(ops.Sin, sum(apply(ops.Mul, floats(d, backend.Shape{2, 2}, 1, 2, 3, 4), num(d, 0)), 1)), num(d, 1))
	spans, err := Profile(context.Background(), func() error {
		wantFloats(t, y, 1, 1)
		return nil
	})
	if err != nil || backend.Tracing() {
		t.Errorf("error %v, tracing %t", err, backend.Tracing())
	}
	kernels, host := kernelsOf(t, spans)
	want := [][2]string{{"test", "reduce.mul.sum"}, {"fake", "map.sin"}, {"test", "map.add"}}
	if len(kernels) != len(want) || kernels[0] != want[0] || kernels[1] != want[1] || kernels[2] != want[2] {
		t.Errorf("kernels %v, want %v", kernels, want)
	}
	if host["plan"] != 1 || host["walk"] < 1 || host["allocate"] != 1 || host["read"] != 1 || host["write"] != 1 {
		t.Errorf("%v", host)
	}
}

// A timed backend has a clock: it emits its kernels only when it is asked to wait for them.
type timed struct {
	*fake
	times bool
	ran   int
	err   error
}

func (b *timed) Times() bool { return b.times }

func (b *timed) Run(ctx context.Context, steps []backend.Step) error {
	b.ran += len(steps)
	return b.fake.Run(ctx, steps)
}

func (b *timed) Timed(context.Context) error {
	for ; b.ran > 0; b.ran-- {
		backend.Emit(backend.Span{Name: "k", Start: time.Now(), Device: "clock", Family: "map", Bytes: 1})
	}
	return b.err
}

func TestProfileTimer(t *testing.T) {
	for _, c := range []struct {
		times   bool
		device  string
		kernels int
	}{{true, "clock", 2}, {false, "test", 2}} {
		b := &timed{fake: newFake(t), times: c.times}
		d := NewDevice("test", b)
		x := floats(d, backend.Shape{2}, 1, 2)
		spans, err := Profile(context.Background(), func() error {
			if err := Eval(context.Background(), apply(ops.Exp, x).Node); err != nil {
				return err
			}
			return Eval(context.Background(), sum(x, 0).Node) // not read: Profile waits for it
		})
		kernels, _ := kernelsOf(t, spans)
		if err != nil || len(kernels) != c.kernels {
			t.Fatalf("error %v, kernels %v", err, kernels)
		}
		for _, k := range kernels {
			if k[0] != c.device {
				t.Errorf("kernels %v", kernels)
			}
		}
	}
	lost := errors.New("cable pulled")
	b := &timed{fake: newFake(t), times: true, err: lost}
	x := apply(ops.Exp, floats(NewDevice("test", b), backend.Shape{1}, 1)).Node
	if _, err := Profile(context.Background(), func() error { return Eval(context.Background(), x) }); !errors.Is(err, lost) {
		t.Errorf("error %v", err)
	}
	b.err = backend.ErrDevice // closed
	y := apply(ops.Exp, floats(NewDevice("test", b), backend.Shape{1}, 1)).Node
	if _, err := Profile(context.Background(), func() error { return Eval(context.Background(), y) }); err != nil {
		t.Errorf("error %v", err)
	}
}
