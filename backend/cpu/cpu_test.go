package cpu_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

func TestRegistered(t *testing.T) {
	b, err := backend.Open("cpu", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := b.(backend.HostBackend); !ok {
		t.Error("not a HostBackend")
	}
	if i := b.Info(); i.Name != "cpu" || !strings.Contains(i.Adapter, "threads") || i.MaxBytes <= 0 {
		t.Errorf("Info: %+v", i)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := backend.Open("cpu", 1); !errors.Is(err, backend.ErrDevice) {
		t.Errorf("Open of device 1: %v, want ErrDevice", err)
	}
}

// TestCompiled runs equal kernels: the first is compiled, one that is the same or equal is not.
func TestCompiled(t *testing.T) {
	b := device(t)
	l := backend.Dense(backend.Shape{10})
	x := operand(t, b, ops.Float32, l, func(i int) ops.Value { return ops.FloatValue(ops.Float32, float64(i)) })
	body := func(o *ops.Op) ops.Expr {
		var eb ops.Builder
		eb.Result(eb.Apply(o, eb.Load(eb.Operand(ops.Float32), false)))
		return eb.Expr()
	}
	once := &backend.Map{Body: body(ops.Exp)}
	for i, tc := range []struct {
		k    backend.Kernel
		want int64
	}{{once, 1}, {once, 1}, {&backend.Map{Body: body(ops.Exp)}, 1}, {&backend.Map{Body: body(ops.Log)}, 2}} {
		run(t, b, backend.Step{Kernel: tc.k, Shape: l.Shape, In: []backend.Operand{x.Operand}, Out: []backend.Operand{result(t, b, ops.Float32, l)}})
		if got := b.Info(); got.Compiled != tc.want || got.Kernels != int64(i+1) {
			t.Errorf("run %d: %d compiled of %d, want %d", i, got.Compiled, got.Kernels, tc.want)
		}
	}
}

// TestCancel ends the context of long runs: Run returns soon, with its error, and the device stays usable.
func TestCancel(t *testing.T) {
	b := device(t)
	buf, err := b.Alloc(4)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Write(buf, 0, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	var eb ops.Builder
	eb.Result(eb.Reduce(ops.ReduceLogAddExp, eb.Load(eb.Operand(ops.Float32), false)))
	k := &backend.Reduce{Body: eb.Expr(), Axes: 1}
	for name, shape := range map[string]backend.Shape{"one row": {1 << 34}, "many rows": {1 << 17, 1 << 17}} { // minutes of work
		t.Run(name, func(t *testing.T) {
			step := backend.Step{
				Kernel: k, Shape: shape,
				In:  []backend.Operand{{Buf: buf, DType: ops.Float32, Layout: must(backend.Dense(nil).BroadcastTo(shape))}},
				Out: []backend.Operand{result(t, b, ops.Float32, alongRows(shape, 1))},
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			start := time.Now()
			if err := b.Run(ctx, []backend.Step{step}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Run: %v, want DeadlineExceeded", err)
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("Run took %v after its context's end", d)
			}
		})
	}
	out := result(t, b, ops.Float32, alongRows(backend.Shape{4}, 1))
	run(t, b, backend.Step{
		Kernel: k, Shape: backend.Shape{4},
		In:  []backend.Operand{{Buf: buf, DType: ops.Float32, Layout: must(backend.Dense(nil).BroadcastTo(backend.Shape{4}))}},
		Out: []backend.Operand{out},
	})
	if got, want := read(t, b, out)[0], ops.FloatValue(ops.Float32, math.Log(4)); !near(got, want, ops.Tol{ULP: 1}) {
		t.Errorf("after cancelled runs: got %v, want %v", got, want)
	}
}

// TestSumsExact sums more elements than float32 counts. Their layouts repeat one element.
func TestSumsExact(t *testing.T) {
	b := device(t)
	var eb ops.Builder
	eb.Result(eb.Reduce(ops.ReduceSum, eb.Load(eb.Operand(ops.Float32), false)))
	k := &backend.Reduce{Body: eb.Expr(), Axes: 1}
	for _, tc := range []struct {
		name  string
		shape backend.Shape
		x     float64
		want  float64
	}{
		{"1e8 ones", backend.Shape{1e8}, 1, 1e8},
		{"R01 two columns of 2e7 ones", backend.Shape{2, 2e7}, 1, 2e7},
		{"R19 2^26 times 2^-26", backend.Shape{1 << 26}, 0x1p-26, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			buf, err := b.Alloc(4)
			if err != nil {
				t.Fatal(err)
			}
			mem, err := b.Bytes(buf)
			if err != nil {
				t.Fatal(err)
			}
			encode(mem, ops.Float32, 0, ops.FloatValue(ops.Float32, tc.x))
			l := must(backend.Dense(nil).BroadcastTo(tc.shape))
			out := result(t, b, ops.Float32, alongRows(tc.shape, 1))
			run(t, b, backend.Step{Kernel: k, Shape: tc.shape, In: []backend.Operand{{Buf: buf, DType: ops.Float32, Layout: l}}, Out: []backend.Operand{out}})
			sums := make([]byte, out.Buf.Size())
			if err := b.Read(context.Background(), sums, out.Buf, 0); err != nil {
				t.Fatal(err)
			}
			for i := range len(sums) / 4 {
				if got := decode(sums, ops.Float32, i); got.F != tc.want {
					t.Errorf("sum %d: got %v, want %v", i, got.F, tc.want)
				}
			}
		})
	}
}
