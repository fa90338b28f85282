package driver

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

var bg = context.Background()

// The library's own words.
var (
	errOutOfMemory = fmt.Errorf("%s", "Validation Error\n\nCaused by:\n  In wgpuX\n    Not enough memory left.\n")
	errDeviceLost  = fmt.Errorf("%s", "Validation Error\n\nCaused by:\n  In wgpuX\n    Parent device is lost\n")
)

func TestMemory(t *testing.T) {
	f, d := newFake(t)
	f.fail["buffer"] = errOutOfMemory
	if _, err := d.NewBuffer("big", 1<<20, Storage); !errors.Is(err, ErrMemory) || err.Error() != "wgpu: buffer(big): out of device memory" {
		t.Errorf("got %v", err)
	}
	delete(f.fail, "buffer")
	b, err := d.NewBuffer("big", 1<<20, Storage)
	if err != nil {
		t.Fatal("after the failure:", err)
	}
	if s := d.Stats(); s.Buffers != 1 || s.BufferBytes != 1<<20 {
		t.Errorf("stats %+v", s)
	}
	// Without memory to stage a write in, the library drops the device.
	f.fail["write"] = errOutOfMemory
	if err := d.Write(bg, b, 0, make([]byte, 8)); !errors.Is(err, ErrLost) {
		t.Errorf("write: %v", err)
	}
	if !errors.Is(d.Err(), ErrLost) {
		t.Errorf("Err: %v", d.Err())
	}
}

// TestLost checks that a lost device is left alone, wakes who waits, and closes.
func TestLost(t *testing.T) {
	f, d := newFake(t)
	f.hold = true
	b, _ := d.NewBuffer("b", 64, Readback)
	x, _ := d.NewBuffer("x", 64, Storage)
	n, err := d.Submit(nil)
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan error, 2)
	go func() { waits <- d.Wait(bg, n) }()
	go func() { waits <- d.Read(bg, b, 0, make([]byte, 4)) }()
	f.fail["encode"] = errDeviceLost
	if _, err := d.Submit([]Command{{Op: Clear, Dst: x, Size: 4}}); !errors.Is(err, ErrLost) {
		t.Fatalf("submit: %v", err)
	}
	for range 2 {
		if err := <-waits; !errors.Is(err, ErrLost) {
			t.Errorf("waiting: %v", err)
		}
	}
	before := len(f.calls)
	_, err1 := d.NewBuffer("b", 4, Storage)
	_, err2 := d.Submit(nil)
	for _, err := range []error{err1, err2, d.Write(bg, x, 0, make([]byte, 4)), d.Read(bg, b, 0, make([]byte, 4)), d.Wait(bg, n)} {
		if !errors.Is(err, ErrLost) {
			t.Errorf("on the lost device: %v", err)
		}
	}
	if calls := f.calls[before:]; len(calls) != 0 {
		t.Errorf("native calls on a lost device: %v", calls)
	}
	d.FreeBuffer(x)
	d.Close()
	if slices.Contains(f.calls, "drain") {
		t.Error("a lost device was waited for")
	}
	for o, released := range f.objects {
		if !released {
			t.Errorf("a %s was not released", o.kind)
		}
	}
	if !errors.Is(d.Err(), ErrClosed) {
		t.Errorf("Err: %v", d.Err())
	}
}

// TestCloseReleases checks that Close waits, and releases all once.
func TestCloseReleases(t *testing.T) {
	f, d := newFake(t)
	x, _ := d.NewBuffer("x", 256, Storage)
	p, _ := d.NewPipeline(PipelineDesc{Label: "p", WGSL: "fn", Slots: []Slot{{Kind: ReadWrite}}})
	g, err := d.NewGroup("g", p, []Binding{{Buffer: x}})
	_, err2 := d.NewQueries("q", 2)
	_, err3 := d.Submit([]Command{{Pipeline: p, Group: g}})
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	d.FreeGroup(g)
	d.Close()
	d.FreeBuffer(x)
	d.FreePipeline(p)
	if n := len(f.calls); f.calls[n-2] != "drain" || f.calls[n-1] != "release" {
		t.Errorf("Close called %v", f.calls[n-2:])
	}
	if len(f.objects) != 6 {
		t.Errorf("%d objects, want 6", len(f.objects))
	}
	for o, released := range f.objects {
		if !released {
			t.Errorf("a %s was not released", o.kind)
		}
	}
}

// TestMapRefused checks that a buffer whose mapping failed is not unmapped, and is usable.
func TestMapRefused(t *testing.T) {
	f, d := newFake(t)
	b, _ := d.NewBuffer("b", 64, Readback)
	f.mapOK = false
	if err := d.Read(bg, b, 0, make([]byte, 4)); !errors.Is(err, ErrValidation) {
		t.Errorf("got %v", err)
	}
	f.mapOK = true
	if err := d.Read(bg, b, 0, make([]byte, 4)); err != nil {
		t.Errorf("second read: %v", err)
	}
	if slices.Contains(f.calls, "unmap") {
		t.Error("unmapped what was not mapped")
	}
	// A refusal at once is an error and, from the old library, a callback too.
	f.fail["map"] = errors.New("refused")
	if err := d.Read(bg, b, 0, make([]byte, 4)); !errors.Is(err, ErrValidation) {
		t.Errorf("third read: %v", err)
	}
}

// TestSubmitFails checks that a failed submission leaves no trace and names the kernel.
func TestSubmitFails(t *testing.T) {
	f, d := newFake(t)
	x, _ := d.NewBuffer("x", 256, Storage)
	var cmds []Command
	for i := range 3 {
		p, err := d.NewPipeline(PipelineDesc{Label: fmt.Sprint("kernel", i), WGSL: "fn", Slots: []Slot{{Kind: ReadWrite}}})
		if err != nil {
			t.Fatal(err)
		}
		g, err := d.NewGroup("g", p, []Binding{{Buffer: x}})
		if err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, Command{Pipeline: p, Group: g, Grid: [3]uint32{1, 1, 1}})
	}
	for text, want := range map[string]string{
		"In a dispatch command\n ComputePipeline with 'kernel1' label": "kernel1",
		"In a dispatch command\n something":                            "kernel0, kernel1, kernel2",
	} {
		f.fail["encode"] = errors.New(text)
		var e *Error
		if _, err := d.Submit(cmds); !errors.As(err, &e) || e.Label != want {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
	delete(f.fail, "encode")
	if n, err := d.Submit(cmds); n != 1 || err != nil {
		t.Errorf("first good submission is %d, %v", n, err)
	}
	for _, s := range d.steps[:cap(d.steps)] {
		if s != (step{}) {
			t.Fatalf("the scratch keeps %+v alive", s)
		}
	}
}

// TestPasses checks how dispatches and time stamps become passes.
func TestPasses(t *testing.T) {
	f, d := newFake(t)
	x, _ := d.NewBuffer("x", 256, Storage)
	q, _ := d.NewQueries("q", 8)
	p, _ := d.NewPipeline(PipelineDesc{Label: "p", WGSL: "fn", Slots: []Slot{{Kind: ReadWrite}}})
	g, err := d.NewGroup("g", p, []Binding{{Buffer: x}})
	if err != nil {
		t.Fatal(err)
	}
	run, clr := Command{Pipeline: p, Group: g}, Command{Op: Clear, Dst: x, Size: 4}
	stamp := func(i uint32) Command { return Command{Op: Timestamp, Queries: q, Query: i} }
	tests := []struct {
		name string
		cmds []Command
		want string // B(begin,end) of a pass, D, E, C
	}{
		{"none", nil, ""},
		{"one pass", []Command{run, run}, "B(-,-) D D E"},
		{"clear between", []Command{run, clr, run}, "B(-,-) D E C B(-,-) D E"},
		{"stamps around", []Command{stamp(0), run, stamp(1), run, run, stamp(2)}, "B(0,-) E B(-,1) D E B(-,2) D D E"},
		{"stamps alone", []Command{stamp(3), stamp(4)}, "B(3,-) E B(4,-) E"},
		{"stamp after clear", []Command{run, clr, stamp(5)}, "B(-,-) D E C B(5,-) E"},
	}
	for _, m := range tests {
		t.Run(m.name, func(t *testing.T) {
			if _, err := d.Submit(m.cmds); err != nil {
				t.Fatal(err)
			}
			var got []byte
			for _, s := range f.steps {
				if len(got) > 0 {
					got = append(got, ' ')
				}
				switch s.kind {
				case stepBegin:
					got = fmt.Appendf(got, "B(%s,%s)", queryText(s.x), queryText(s.y))
				default:
					got = append(got, "?DEcCR"[s.kind])
				}
			}
			if string(got) != m.want {
				t.Errorf("got  %s\nwant %s", got, m.want)
			}
		})
	}
}

func queryText(q uint32) string {
	if q == noQuery {
		return "-"
	}
	return fmt.Sprint(q)
}

// TestWriteFlushes checks that what the library holds of small writes is bounded.
func TestWriteFlushes(t *testing.T) {
	f, d := newFake(t)
	const n = 1<<20 + 5
	b, _ := d.NewBuffer("b", n, Storage)
	for range 130 {
		if err := d.Write(bg, b, 0, make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	if w, s := f.count("write"), f.count("submit"); w != 260 || s != 2 { // the odd bytes are a write of their own
		t.Errorf("%d writes and %d flushes, want 260 and 2", w, s)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if err := d.Write(ctx, b, 0, make([]byte, 4)); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// TestWriteStaged checks that a large write takes turns on two staging
// buffers, and that want of memory for them is no loss.
func TestWriteStaged(t *testing.T) {
	f, d := newFake(t)
	const n = 3*stagingSize + 5
	b, _ := d.NewBuffer("b", n, Storage)
	f.fail["buffer"] = errOutOfMemory
	if err := d.Write(bg, b, 0, make([]byte, n)); !errors.Is(err, ErrMemory) || d.Err() != nil {
		t.Errorf("without memory: %v, the device is %v", err, d.Err())
	}
	delete(f.fail, "buffer")
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if err := d.Write(ctx, b, 0, make([]byte, n)); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	if err := d.Write(bg, b, 0, make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if m, s, w := f.count("map"), f.count("submit"), f.count("write"); m != 4 || s != 4 || w != 0 {
		t.Errorf("%d mappings, %d copies and %d writes, want 4, 4 and 0", m, s, w)
	}
	if s := d.Stats(); s.Buffers != 1+stagings {
		t.Errorf("%d buffers, want %d", s.Buffers, 1+stagings)
	}
}

func TestTable(t *testing.T) {
	tab := table[int]{serial: 7}
	v := 1
	h, err := tab.put(&v)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tab.get(h); got != &v || err != nil {
		t.Errorf("get: %v, %v", got, err)
	}
	for name, bad := range map[string]uint64{
		"zero": 0, "other device": h + 1<<48, "other generation": h + 1<<rowBits, "other row": h + 1, "all ones": ^uint64(0),
	} {
		if _, err := tab.get(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
		if tab.drop(bad) != nil {
			t.Errorf("%s: dropped", name)
		}
	}
	if tab.drop(h) != &v || tab.drop(h) != nil || tab.live != 0 {
		t.Error("drop is not once")
	}
	// A row is used again under new handles until its generations are used up.
	tab.rows[0].gen = genMask
	h2, _ := tab.put(&v)
	if h2&rowMask != 0 || h2 == h {
		t.Errorf("handle %x after %x", h2, h)
	}
	tab.drop(h2)
	if h3, _ := tab.put(&v); h3&rowMask != 1 {
		t.Errorf("row 0 was used again: %x", h3)
	}
}

// TestWaiterPolls checks that the only waiter polls itself, that it leaves others polled when it is through, and that it
// obeys its context while another goroutine's submission is held up.
func TestWaiterPolls(t *testing.T) {
	f, d := newFake(t)
	f.shared, f.hold = true, true
	b, err := d.NewBuffer("b", 64, Readback)
	if err != nil {
		t.Fatal(err)
	}
	submit := func() Ticket {
		n, err := d.Submit(nil)
		if err != nil {
			t.Error(err)
		}
		return n
	}

	n := submit()
	ctx, cancel := context.WithCancel(bg)
	read := make(chan error)
	go func() { read <- d.Read(ctx, b, 0, make([]byte, 4)) }()
	wait := make(chan error)
	go func() { wait <- d.Wait(bg, n) }()
	waiters := func() (n int) {
		d.poll.mu.Lock()
		defer d.poll.mu.Unlock()
		return d.poll.waiting
	}
	for waiters() < 2 {
		runtime.Gosched()
	}
	cancel()
	if err := <-read; !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
	f.holding(false)
	if err := <-wait; err != nil {
		t.Errorf("the waiter that is left: %v", err)
	}

	f.holding(true)
	n = submit()
	f.stuck = make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { submit() })
	for d.poll.native.TryLock() {
		d.poll.native.Unlock()
		runtime.Gosched()
	}
	ctx, cancel = context.WithTimeout(bg, time.Millisecond)
	defer cancel()
	if err := d.Wait(ctx, n); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("behind a submission: %v", err)
	}
	close(f.stuck)
	wg.Wait()
	f.holding(false)
	if err := d.Wait(bg, n+1); err != nil {
		t.Error(err)
	}
}
