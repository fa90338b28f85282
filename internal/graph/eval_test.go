package graph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

func TestFailureChangesNothing(t *testing.T) {
	d, f := testDevice(t)
	r := rand.New(rand.NewPCG(1, 1))
	x := random(d, r, 3, 4)
	h := apply(ops.Exp, x)
	y := sum(h, -1)
	eval(t, apply(ops.Neg, x)) // brings x to the device
	live := f.live
	boom := errors.New("boom")
	f.fail = boom
	if err := Eval(context.Background(), y.Node, h.Node); !errors.Is(err, boom) {
		t.Fatalf("error %v, want boom", err)
	}
	if y.Node.Computed() || h.Node.Computed() || f.live != live {
		t.Errorf("after a failure: computed %v %v, %d bytes more", y.Node.Computed(), h.Node.Computed(), f.live-live)
	}
	eval(t, y, h)
	if !y.Node.Computed() || !h.Node.Computed() {
		t.Error("the second Eval computed nothing")
	}
}

func TestFailedUpload(t *testing.T) {
	d, f := testDevice(t)
	x := arange(d, 3)
	y := apply(ops.Neg, x)
	f.capacity = 1
	if err := Eval(context.Background(), y.Node); !errors.Is(err, backend.ErrMemory) {
		t.Fatalf("error %v, want ErrMemory", err)
	}
	f.capacity = 0
	wantFloats(t, y, 0, -1, -2)
}

func TestMemoryIsFoundByCollecting(t *testing.T) {
	d, f := testDevice(t)
	x := arange(d, 3)
	func() { eval(t, apply(ops.Exp, x)) }() // a result that nobody reaches
	f.capacity = f.live
	wantFloats(t, apply(ops.Neg, x), 0, -1, -2)
}

func TestCancelled(t *testing.T) {
	d, f := testDevice(t)
	x := arange(d, 3)
	y := apply(ops.Neg, x)
	ctx, cancel := context.WithCancel(context.Background())
	f.before = cancel
	if err := Eval(ctx, y.Node); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want Canceled", err)
	}
	if err := Eval(ctx, y.Node); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want Canceled", err)
	}
	f.before = nil
	wantFloats(t, y, 0, -1, -2)
}

// TestWaiting checks that an Eval waits for another that computes what it needs, and no longer than its
// context lasts.
func TestWaiting(t *testing.T) {
	d, f := testDevice(t)
	y := apply(ops.Neg, arange(d, 3))
	started, release := make(chan bool, 4), make(chan bool)
	f.before = func() { started <- true; <-release }
	done := make(chan error, 2)
	go func() { done <- Eval(context.Background(), y.Node) }()
	<-started
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if err := Eval(ctx, apply(ops.Exp, y).Node); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want DeadlineExceeded", err)
	}
	go func() { done <- Eval(context.Background(), y.Node) }()
	go func() { done <- Eval(context.Background(), apply(ops.Exp, arange(d, 2)).Node) }() // not in the way
	<-started
	close(release)
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := len(f.kernels); n != 2 {
		t.Errorf("%d kernels ran, want y once and the other", n)
	}
}

func TestConcurrent(t *testing.T) {
	d, _ := testDevice(t)
	r := rand.New(rand.NewPCG(8, 9))
	x, w, b := random(d, r, 3, 4), random(d, r, 4, 5), random(d, r, 5)
	h := apply(ops.Tanh, matmul(x, w))
	want := read(t, softmax(apply(ops.Add, apply(ops.Tanh, matmul(x, w)), b), -1))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				y := softmax(apply(ops.Add, h, b), -1)
				if (g+i)%3 == 0 {
					y = softmax(apply(ops.Add, apply(ops.Tanh, matmul(x, w)), b), -1)
				}
				if got := read(t, y); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		})
	}
	wg.Wait()
}

// TestWhatStays checks which results are kept.
func TestWhatStays(t *testing.T) {
	d, _ := testDevice(t)
	r := rand.New(rand.NewPCG(1, 2))
	x := random(d, r, 4, 4)
	for _, c := range []struct {
		name string
		keep bool
		make func() (inner, result Edge)
	}{
		{"fused", false, func() (Edge, Edge) { h := apply(ops.Exp, x); return h, apply(ops.Neg, h) }},
		{"memory of its own, no other reader", false, func() (Edge, Edge) { h := matmul(x, x); return h, matmul(h, x) }},
		{"memory of its own and another reader", true, func() (Edge, Edge) {
			h := matmul(x, x)
			apply(ops.Exp, h)
			return h, matmul(h, x)
		}},
		{"cheap, with another reader", false, func() (Edge, Edge) {
			h := apply(ops.Exp, x)
			apply(ops.Abs, h)
			return h, apply(ops.Neg, h)
		}},
		{"expensive, read twice and by another", true, func() (Edge, Edge) {
			h := apply(ops.Exp, apply(ops.Sin, x))
			apply(ops.Abs, h)
			return h, matmul(h, permuted(h, 1, 0))
		}},
		{"computed a second time", true, func() (Edge, Edge) {
			h := apply(ops.Exp, x)
			eval(t, apply(ops.Abs, h))
			return h, apply(ops.Neg, h)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, y := c.make()
			eval(t, y)
			if got := h.Node.Computed(); got != c.keep {
				t.Errorf("kept: %v, want %v", got, c.keep)
			}
			read(t, h)
		})
	}
}

func TestMemory(t *testing.T) {
	d, f := testDevice(t)
	r := rand.New(rand.NewPCG(1, 2))
	x := random(d, r, 16, 16)
	const size = 16 * 16 * 4
	eval(t, apply(ops.Neg, x))
	waitFor(t, func() bool { return f.used() == size })
	y := x
	for range 10 {
		y = matmul(y, x)
	}
	f.peak = 0
	eval(t, y)
	if f.peak != 4*size { // x, the result, and two in between
		t.Errorf("peak of %d bytes, want %d", f.peak, 4*size)
	}
	if f.live != 2*size {
		t.Errorf("%d bytes live, want those of x and the result", f.live)
	}
	runtime.KeepAlive(y.Node)
	y = Edge{}
	waitFor(t, func() bool { return f.used() == size })
	runtime.KeepAlive(x.Node)
}

func (f *fake) used() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live
}

// waitFor collects garbage until ok.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for i := 0; !ok(); i++ {
		runtime.GC()
		if i > 1000 {
			t.Fatal("it never comes true")
		}
		time.Sleep(time.Millisecond)
	}
}

// A result keeps nothing that it was computed from, of any number of inputs, nor does what was moved.
func TestForgets(t *testing.T) {
	d, _ := testDevice(t)
	other := NewDevice("other", newFake(t))
	for name, build := range map[string]func(x Edge) *Node{
		"one":   func(x Edge) *Node { return apply(ops.Exp, x).Node },
		"two":   func(x Edge) *Node { return apply(ops.Add, x, x).Node },
		"three": func(x Edge) *Node { return apply(ops.Clip, x, x, x).Node },
		"many": func(x Edge) *Node {
			half := backend.Layout{Shape: x.Layout.Shape, Strides: x.Layout.Strides, Offset: 4}
			return Assemble(ops.Float32, backend.Shape{8}, Part{x, *x.Layout}, Part{x, half})
		},
		"moved": func(x Edge) *Node { return Transfer(other, x) },
	} {
		made := func() (weak.Pointer[Node], *Node) {
			x := apply(ops.Neg, arange(d, 4))
			eval(t, x)
			y := build(x)
			eval(t, Of(y))
			return weak.Make(x.Node), y
		}
		x, y := made()
		for range 3 {
			runtime.GC()
		}
		if x.Value() != nil {
			t.Errorf("%s: the result keeps its input", name)
		}
		runtime.KeepAlive(y)
	}
}

func TestRelease(t *testing.T) {
	d, f := testDevice(t)
	x := arange(d, 3)
	y := apply(ops.Neg, x)
	z := apply(ops.Exp, y)
	eval(t, y)
	live := f.live
	Release(y.Node)
	Release(y.Node)
	if f.live != live-12 {
		t.Errorf("%d bytes were given back, want 12", live-f.live)
	}
	for name, e := range map[string]Edge{"the node": y, "a node that reads it": z, "a view": sliced(y, 0, 0, 2, 2)} {
		if _, err := Bytes(context.Background(), e); !errors.Is(err, backend.ErrDevice) {
			t.Errorf("%s: error %v, want ErrDevice", name, err)
		}
	}
	wantFloats(t, x, 0, 1, 2)
	Release(x.Node)
	if _, err := Bytes(context.Background(), x); !errors.Is(err, backend.ErrDevice) {
		t.Errorf("data: error %v, want ErrDevice", err)
	}
}

// TestReleaseInUse releases nodes while a kernel reads or computes them.
func TestReleaseInUse(t *testing.T) {
	d, f := testDevice(t)
	y := apply(ops.Neg, arange(d, 3))
	eval(t, y)
	z := apply(ops.Exp, apply(ops.Neg, y))
	w := apply(ops.Neg, z)
	eval(t, y)
	f.before = func() {
		Release(y.Node)
		Release(z.Node)
	}
	eval(t, z, w)
	f.before = nil
	if got := read(t, w); got[0] != -1 {
		t.Errorf("got %v", got)
	}
	if _, err := Bytes(context.Background(), z); !errors.Is(err, backend.ErrDevice) {
		t.Errorf("error %v, want ErrDevice", err)
	}
	if f.live != 12+12 { // the data and w
		t.Errorf("%d bytes live", f.live)
	}
}

func TestUploadOnce(t *testing.T) {
	d, f := testDevice(t)
	x := arange(d, 3)
	for range 3 {
		eval(t, apply(ops.Neg, x))
	}
	if f.writes != 1 {
		t.Errorf("%d uploads, want 1", f.writes)
	}
}

func TestWrapped(t *testing.T) {
	f := newFake(t)
	d := NewDevice("wrapping", wrapping{f})
	x := arange(d, 3)
	y := apply(ops.Neg, x)
	wantFloats(t, y, 0, -1, -2)
	if f.writes != 0 || f.live != 12 {
		t.Errorf("%d uploads, %d bytes: data was copied", f.writes, f.live)
	}
	a, b := must(Bytes(context.Background(), y)), must(Bytes(context.Background(), sliced(y, 0, 1, 1, 2)))
	if &a[4] != &b[0] {
		t.Error("Bytes copied what it need not")
	}
}

func TestTransfer(t *testing.T) {
	a, fa := testDevice(t)
	b, fb := testDevice(t)
	x := arange(a, 2, 3)
	y := Of(Transfer(b, permuted(apply(ops.Neg, x), 1, 0)))
	z := Of(Transfer(a, apply(ops.Add, y, Of(Transfer(b, Edge{num(a, 1).Node, new(must(num(a, 1).Layout.BroadcastTo(y.Layout.Shape)))})))))
	if got := families(t, z); got != "map transfer map transfer" {
		t.Errorf("kernels: %s", got)
	}
	wantFloats(t, apply(ops.Mul, z, num(a, 2)), 2, -4, 0, -6, -2, -8)
	if n := len(fa.kernels) + len(fb.kernels); n != 3 { // negate and transpose; add; mul
		t.Errorf("%d kernels", n)
	}
	live := fa.live
	w := Of(Transfer(b, sliced(arange(a, 4), 0, 1, 1, 2))) // data that no kernel has read yet
	wantFloats(t, apply(ops.Neg, w), -1, -2)
	if fa.live != live {
		t.Error("data went through the other device")
	}
	fa.fail = errors.New("boom")
	v := Transfer(b, apply(ops.Exp, x))
	if err := Eval(context.Background(), v); err == nil {
		t.Error("no error from the other device")
	}
	if err := Eval(context.Background(), v, z.Node); err != nil {
		t.Error(err)
	}
}

// TestCrossedTransfers lets two goroutines compute nodes of two devices that need each other's data, from
// both ends.
func TestCrossedTransfers(t *testing.T) {
	a, _ := testDevice(t)
	b, _ := testDevice(t)
	for range 50 {
		xa, xb := apply(ops.Neg, arange(a, 3)), apply(ops.Neg, arange(b, 3))
		onA, onB := Of(Transfer(a, xb)), Of(Transfer(b, xa))
		ya := apply(ops.Add, onA, Of(Transfer(a, apply(ops.Abs, onB))))
		yb := apply(ops.Add, Of(Transfer(b, apply(ops.Abs, onA))), onB)
		var wg sync.WaitGroup
		for _, nodes := range [][]*Node{{ya.Node, yb.Node}, {yb.Node, ya.Node}, {ya.Node}, {yb.Node}} {
			wg.Go(func() {
				if err := Eval(context.Background(), nodes...); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		wantFloats(t, ya, 0, 0, 0)
		wantFloats(t, yb, 0, 0, 0)
	}
}

func TestFallback(t *testing.T) {
	d, f := testDevice(t)
	d.fallback = newFake(t)
	f.refuse = refuseSin
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	x := arange(d, 3)
	y := apply(ops.Add, apply(ops.Sin, apply(ops.Mul, x, num(d, 0))), num(d, 1))
	if got := families(t, y); got != "map map map" {
		t.Errorf("kernels: %s, want the one that is not supported by itself", got)
	}
	wantFloats(t, y, 1, 1, 1)
	if s := d.Stats(); s.Fallbacks != 1 {
		t.Errorf("%+v, want one fallback", s)
	}
	wantFloats(t, apply(ops.Sin, floats(d, backend.Shape{1, 2}, 0, 0)), 0, 0)
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, &log)
	}
	d.strict = true
	if err := Eval(context.Background(), apply(ops.Sin, apply(ops.Sin, x)).Node); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("error %v, want ErrUnsupported", err)
	}
}

// TestKernelTitle tests what a kernel that a device lacks is called.
func TestKernelTitle(t *testing.T) {
	d, _ := testDevice(t)
	x := floats(d, backend.Shape{2, 3}, 0, 1, 2, 3, 4, 5)
	for want, n := range map[string]*Node{
		"map of float32":              apply(ops.Sin, x).Node,
		"map of float32 to int32":     Cast(ops.Int32, x),
		"map to int32":                Cast(ops.Int32, num(d, 1)),
		"sort of float32":             Sort(x, 3, SortAttr{}),
		"argsort of float32 to int32": Sort(x, 3, SortAttr{Index: true}),
		"top-k of float32 to int32":   Sort(x, 2, SortAttr{Index: true}),
	} {
		f := newFlight(d)
		if _, err := f.explain([]*Node{n}); err != nil {
			t.Fatal(err)
		}
		if got := f.binding.steps[0].kernel.title(f.order); got != want {
			t.Errorf("kernel is called %q, want %q", got, want)
		}
		f.recycle()
	}
}

// TestDeepFunctions records more functions than fit a kernel: they take more to compile than sums.
func TestDeepFunctions(t *testing.T) {
	d, _ := testDevice(t)
	y := floats(d, backend.Shape{2}, 0, 0)
	for range 2*maxFused/heavyFused + 1 {
		y = apply(ops.Sin, y)
	}
	wantFloats(t, y, 0, 0)
	if n := d.Stats().Kernels; n != 3 {
		t.Errorf("%d kernels", n)
	}
}

// TestDeep records a chain far longer than any kernel, or any stack frame count a recursion would like.
func TestDeep(t *testing.T) {
	d, _ := testDevice(t)
	y := floats(d, backend.Shape{2}, 0, 1)
	for range 20000 {
		y = apply(ops.Add, y, num(d, 1))
	}
	wantFloats(t, y, 20000, 20001)
	if n := d.Stats().Kernels; n != (20000+maxFused-1)/maxFused {
		t.Errorf("%d kernels", n)
	}
}

// Programs make many nodes: what one takes is time of the collector.
func TestSizes(t *testing.T) {
	if got := unsafe.Sizeof(Room{}); got > 112 {
		t.Errorf("a node takes %d bytes, want 112", got) // with a tensor of 32 the collector's class of 144
	}
	if got := unsafe.Sizeof(storage{}); got > 64 {
		t.Errorf("a storage takes %d bytes, want 64", got) // with a line of elements its class of 128
	}
}
