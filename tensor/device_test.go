package tensor_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/tensor"
)

func init() {
	backend.Register("fake-gpu", backend.Registration{Rank: 10, Open: func(index int) (backend.Backend, error) {
		if index > 1 {
			return nil, errors.New("no such adapter")
		}
		return software{cpu.New()}, nil
	}})
}

// A software adapter poses as a GPU.
type software struct{ *cpu.Backend }

func (s software) Info() backend.Info {
	i := s.Backend.Info()
	i.Software, i.Adapter = true, "pretender"
	return i
}

// defaultName is the name of the device that tests run on.
func defaultName() string { return f32(1).Device().Name() }

func TestOpen(t *testing.T) {
	a, err := tensor.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	if def, err := tensor.Default(); err != nil || def.Info().Software && os.Getenv("WEFT_DEVICE") == "" {
		t.Errorf("default is %v, %v: a software adapter is taken only if named", def, err)
	}
	b, err := tensor.Open("cpu:0")
	if err != nil || a != b || a.Name() != "cpu" {
		t.Errorf("opened twice it is %v and %v (%v)", a, b, err)
	}
	g, err := tensor.Open("fake-gpu:1")
	if err != nil || g.Name() != "fake-gpu:1" || g.String() != "fake-gpu:1 (pretender)" {
		t.Errorf("opened %v, %v", g, err)
	}
	for name, text := range map[string]string{
		"gpu":        "unknown backend \"gpu\" (forgotten import?)",
		"cpu:1":      "device \"cpu:1\"",
		"fake-gpu:7": "no such adapter",
		"cpu:x":      "want a name, or name:number",
		"":           "unknown backend",
	} {
		if _, err := tensor.Open(name); !errors.Is(err, tensor.ErrDevice) || !strings.Contains(err.Error(), text) {
			t.Errorf("Open(%q): error %v", name, err)
		}
	}
}

// TestDefault chooses the default device anew: by WEFT_DEVICE, and by hand.
func TestDefault(t *testing.T) {
	cpu := f32(1).Device()
	defer tensor.SetDefault(cpu)
	tensor.SetDefault(nil)
	t.Setenv("WEFT_DEVICE", "fake-gpu")
	if d, err := tensor.Default(); err != nil || d.Name() != "fake-gpu" {
		t.Errorf("default is %v, %v", d, err)
	}
	if d := f32(1).Device(); d.Name() != "fake-gpu" {
		t.Errorf("a new tensor is on %v", d)
	}
	tensor.SetDefault(nil)
	t.Setenv("WEFT_DEVICE", "nonesuch")
	if _, err := tensor.Default(); !errors.Is(err, tensor.ErrDevice) || !strings.Contains(err.Error(), "WEFT_DEVICE") {
		t.Errorf("error %v", err)
	}
	for _, x := range []*tensor.Tensor{f32(1), tensor.Zeros(tensor.Float32, 2), tensor.Scalar(1).Exp(), tensor.Rand(tensor.Float32, 1, 2)} {
		refuses(t, x, tensor.ErrDevice, "nonesuch")
	}
	tensor.SetDefault(cpu)
	if d, err := tensor.Default(); err != nil || d != cpu {
		t.Errorf("default is %v, %v", d, err)
	}
}

func TestTo(t *testing.T) {
	d, err := tensor.Open("fake-gpu")
	if err != nil {
		t.Fatal(err)
	}
	x := f32(1, 2, 3)
	y := x.To(d)
	if y.Device() != d || x.To(x.Device()) != x {
		t.Error("To does not go there")
	}
	want(t, y.Flip().Add(x.Exp().Log().Round().To(d)), []int{3}, 4, 4, float32(4))
	want(t, y.AddScalar(1).To(x.Device()).Add(x), []int{3}, 3, 5, float32(7))
	refuses(t, x.Add(y), tensor.ErrDevice, "["+defaultName()+" fake-gpu]")
	refuses(t, tensor.Concat(0, x, y), tensor.ErrDevice, "To moves a tensor")
	refuses(t, x.To(nil), tensor.ErrDevice, "nil")
	if s := tensor.Scalar(2); s.To(d) != s || s.Device() != nil {
		t.Error("a scalar is on a device")
	}
	if err := tensor.Eval(ctx, x.Exp(), y.Exp()); err != nil { // of both devices
		t.Error(err)
	}
}

func TestClose(t *testing.T) {
	d := tensor.NewDevice("brief", cpu.New())
	x := f32(1, 2).To(d).Exp()
	if err := tensor.Eval(ctx, x); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tensor.Data[float32](ctx, x); !errors.Is(err, tensor.ErrDevice) {
		t.Errorf("read after Close: error %v", err)
	}
	refuses(t, f32(1, 2).Add(x), tensor.ErrDevice, "device brief of operand 1 is closed")
	if err := tensor.Eval(ctx, x.Exp()); !errors.Is(err, tensor.ErrDevice) {
		t.Errorf("evaluated after Close: error %v", err)
	}
}

func TestRelease(t *testing.T) {
	x := f32(1, 2).Exp()
	if err := tensor.Eval(ctx, x); err != nil {
		t.Fatal(err)
	}
	x.Release()
	if _, err := tensor.Data[float32](ctx, x); !errors.Is(err, tensor.ErrDevice) {
		t.Errorf("read after Release: error %v", err)
	}
}

func TestCancelled(t *testing.T) {
	done, cancel := context.WithCancel(ctx)
	cancel()
	x := f32(1, 2).MulScalar(3)
	if _, err := tensor.Data[float32](done, x); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	want[float32](t, x, []int{2}, 3, 6) // still usable
}

// TestConcurrent computes and extends one graph from several goroutines.
func TestConcurrent(t *testing.T) {
	base := tensor.Iota(tensor.Float32, 64, 64).DivScalar(64).Exp()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 10 {
				got, err := tensor.Item[float32](ctx, base.MulScalar(0).AddScalar(i*k).Mean())
				if err != nil || got != float32(i*k) {
					t.Errorf("got %v, %v, want %d", got, err, i*k)
				}
			}
		})
	}
	wg.Wait()
}

func TestWriteTo(t *testing.T) {
	var b bytes.Buffer
	x := tensor.Iota(tensor.Uint8, 2, 3)
	for _, y := range []*tensor.Tensor{x, x.T(), x.Slice(tensor.To(0))} {
		b.Reset()
		n, err := tensor.WriteTo(ctx, &b, y)
		if want, _ := tensor.Bytes(ctx, y); err != nil || n != int64(len(want)) || !bytes.Equal(b.Bytes(), want) {
			t.Errorf("wrote %x (%d, %v), want %x", b.Bytes(), n, err, want)
		}
	}
	if _, err := tensor.WriteTo(ctx, &b, tensor.New([]int32{1}, 2)); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("error %v", err)
	}
}

func TestMust(t *testing.T) {
	if v := tensor.Must(tensor.Item[float32](ctx, f32(3))); v != 3 {
		t.Errorf("got %v", v)
	}
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, tensor.ErrShape) {
			t.Errorf("panic %v", err)
		}
	}()
	tensor.Must(tensor.Item[float32](ctx, f32(3, 4)))
}
