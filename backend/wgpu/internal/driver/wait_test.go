package driver_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// churnWGSL is a kernel whose time grows with the number of workgroups; the
// trips of an invocation stay far below the 65,535 at which lavapipe stops.
const (
	churnTrips = 16000
	churnWGSL  = `@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>) {
  var s = g.x;
  for (var i = 0u; i < 16000u; i++) { s = s * 1664525u + 1013904223u; s = s ^ (s >> 7u); }
  a[g.x] = s | 1u;
}`
)

// churn is what churnWGSL computes; it is never 0, which an early read shows.
func churn(i uint32) uint32 {
	for range churnTrips {
		i = i*1664525 + 1013904223
		i ^= i >> 7
	}
	return i | 1
}

// longRun is a submission of a kernel that runs about as long as asked for,
// and of a copy of its results.
type longRun struct {
	*rig
	back driver.Buffer
	cmds []driver.Command
}

// A long run has this many workgroups in x, whose results it keeps, and
// repeats them in y.
const longGroups, longSize = 128, 128 * 64 * 4

// repeats is how many make a second; it is measured once a process.
var repeats struct {
	sync.Once
	perSecond float64
}

func newLongRun(t testing.TB, r *rig, want time.Duration) *longRun {
	t.Helper()
	a, back := r.buffer("a", longSize, driver.Storage), r.buffer("back", longSize, driver.Readback)
	p := r.pipeline("churn", churnWGSL, fillSlots...)
	l := &longRun{rig: r, back: back, cmds: []driver.Command{
		{Op: driver.Dispatch, Pipeline: p, Group: r.group(p, driver.Binding{Buffer: a})},
		{Op: driver.Copy, Src: a, Dst: back, Size: longSize},
	}}
	repeats.Do(func() {
		// A GPU has to be full before its time grows with the work.
		for took, y := time.Duration(0), uint32(1); took < 100*time.Millisecond && y < 1<<14; y *= 2 {
			l.repeat(y)
			start := time.Now()
			ok(t, r.Wait(context.Background(), r.submit(l.cmds...)))
			took = time.Since(start)
			repeats.perSecond = float64(y) / took.Seconds()
		}
	})
	l.repeat(uint32(min(1+repeats.perSecond*want.Seconds(), 65535)))
	return l
}

func (l *longRun) repeat(y uint32) { l.cmds[0].Grid = [3]uint32{longGroups, y, 1} }

// check reads the results and compares all with zero and some with the CPU.
func (l *longRun) check(t testing.TB) {
	t.Helper()
	got := make([]byte, longSize)
	ok(t, l.Read(context.Background(), l.back, 0, got))
	for i := range uint32(longSize / 4) {
		v := binary.LittleEndian.Uint32(got[4*i:])
		if v == 0 || i%101 == 0 && v != churn(i) {
			t.Fatalf("a[%d] = %d, want %d", i, v, churn(i))
		}
	}
}

// running fails the test if submission n is done: the caller came back too late.
func (l *longRun) running(t testing.TB, n driver.Ticket) {
	t.Helper()
	if l.Stats().Completed >= n {
		t.Error("the kernel had already finished")
	}
}

// longEnough is far beyond the 20 ms after which the tests give up waiting, also on a machine with other work.
const longEnough = time.Second

// untilBusy returns once another goroutine's Read of l.back has begun.
func (l *longRun) untilBusy(t testing.TB, n driver.Ticket) {
	t.Helper()
	probe := []driver.Command{
		{Op: driver.Copy, Src: l.cmds[1].Src, Dst: l.back, Size: 4},
		{Op: driver.Op(99)}, // so that nothing is ever submitted
	}
	for l.Stats().Completed < n {
		if _, err := l.Submit(probe); errors.Is(err, driver.ErrBusy) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("the kernel finished before the read began")
}

func TestCancel(t *testing.T) {
	r := newRig(t, driver.Options{})
	l := newLongRun(t, r, longEnough)
	tests := map[string]func(context.Context, driver.Ticket) error{
		"wait": func(ctx context.Context, n driver.Ticket) error { return l.Wait(ctx, n) },
		"read": func(ctx context.Context, _ driver.Ticket) error {
			return l.Read(ctx, l.back, 0, make([]byte, 4))
		},
	}
	for name, wait := range tests {
		t.Run(name, func(t *testing.T) {
			n := l.submit(l.cmds...)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			if err := wait(ctx, n); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			l.running(t, n)
			if err := wait(ctx, n+100); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ended context: got %v", err)
			}
			l.running(t, n)
			// The device and the very buffer are as usable as before.
			l.check(t)
			ok(t, l.Wait(context.Background(), n))
		})
	}
}

// TestReadAgain gives up a read, and reads the same buffer after a submission that is behind the first, which then finishes
// in the meantime: the second read does not end with the first submission.
func TestReadAgain(t *testing.T) {
	r := newRig(t, driver.Options{})
	l := newLongRun(t, r, 200*time.Millisecond)
	x, back := r.buffer("x", 256, driver.Storage), r.buffer("back", 256, driver.Readback)
	p := r.pipeline("fill", fillWGSL, fillSlots...)
	fill := driver.Command{Op: driver.Dispatch, Pipeline: p, Group: r.group(p, driver.Binding{Buffer: x}), Grid: [3]uint32{1, 1, 1}}
	out := driver.Command{Op: driver.Copy, Src: x, Dst: back, Size: 256}
	for round := range 3 {
		r.submit(l.cmds[0], driver.Command{Op: driver.Clear, Dst: x, Size: 256}, out)
		ctx, cancel := context.WithTimeout(bg, 10*time.Millisecond)
		if err := r.Read(ctx, back, 0, make([]byte, 4)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("round %d: got %v", round, err)
		}
		cancel()
		second := r.submit(l.cmds[0], fill, out)
		got := make([]byte, 256)
		ok(t, r.Read(bg, back, 0, got))
		if !bytes.Equal(got, bytes.Repeat(u32Bytes(1), 64)) {
			t.Errorf("round %d: got % x", round, got[:8])
		}
		ok(t, r.Wait(bg, second))
	}
}

// TestWriteAgain gives up a write to a buffer that a submission reads, and writes to it after another that reads it too.
func TestWriteAgain(t *testing.T) {
	r := newRig(t, driver.Options{})
	l := newLongRun(t, r, 200*time.Millisecond)
	x, up, back := r.buffer("x", 256, driver.Storage), r.buffer("up", 256, driver.Upload), r.buffer("back", 256, driver.Readback)
	in := driver.Command{Op: driver.Copy, Src: up, Dst: x, Size: 256}
	out := driver.Command{Op: driver.Copy, Src: x, Dst: back, Size: 256}
	for round := range uint32(3) {
		old, late := bytes.Repeat(u32Bytes(100+round), 64), bytes.Repeat(u32Bytes(200+round), 64)
		ok(t, r.Write(bg, up, 0, old))
		r.submit(l.cmds[0], in)
		ctx, cancel := context.WithTimeout(bg, 10*time.Millisecond)
		if err := r.Write(ctx, up, 0, late); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("round %d: got %v", round, err)
		}
		cancel()
		r.submit(l.cmds[0], in, out)
		ok(t, r.Write(bg, up, 0, late))
		got := make([]byte, 256)
		ok(t, r.Read(bg, back, 0, got))
		if !bytes.Equal(got, old) {
			t.Errorf("round %d: got % x, want % x", round, got[:8], old[:8])
		}
	}
}

// TestCancelBehindSubmit cancels a wait while another goroutine's Submit
// holds the device, as it does with software Vulkan until the queue is free.
func TestCancelBehindSubmit(t *testing.T) {
	r := newRig(t, driver.Options{})
	l := newLongRun(t, r, longEnough)
	n := l.submit(l.cmds...)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := l.Submit(l.cmds); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(5 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err := l.Read(ctx, l.back, 0, make([]byte, 4))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if l.Poll() >= n {
		t.Log("the kernel had already finished") // Poll itself may wait behind Submit
	}
	wg.Wait()
	l.check(t)
}

// TestCancelRace cancels reads at about the time when the device answers, and
// then uses the buffer in a submission at once.
func TestCancelRace(t *testing.T) {
	rounds := 5000
	if testing.Short() {
		rounds = 500
	}
	r := newRig(t, driver.Options{})
	const n = 4096
	a, back := r.buffer("a", n, driver.Storage), r.buffer("back", n, driver.Readback)
	p := r.fill()
	cmds := []driver.Command{
		{Op: driver.Dispatch, Pipeline: p, Group: r.group(p, driver.Binding{Buffer: a}), Grid: [3]uint32{16, 1, 1}},
		{Op: driver.Copy, Src: a, Dst: back, Size: n},
	}
	cancelled := 0
	for i := range rounds {
		r.submit(cmds...)
		ctx, cancel := context.WithCancel(context.Background())
		delay := time.Duration(i%100) * time.Microsecond
		go func() {
			for start := time.Now(); time.Since(start) < delay; {
			}
			cancel()
		}()
		switch err := r.Read(ctx, back, 0, make([]byte, n)); {
		case errors.Is(err, context.Canceled):
			cancelled++
		case err != nil:
			t.Fatal(err)
		}
		cancel()
	}
	t.Logf("%d of %d reads were cancelled", cancelled, rounds)
	r.submit(cmds...)
	got := make([]byte, n)
	ok(t, r.Read(context.Background(), back, 0, got))
	if !bytes.Equal(got, bytes.Repeat(u32Bytes(1), n/4)) {
		t.Error("wrong values after cancelled reads")
	}
}

// TestBusy checks that a buffer that a goroutine reads is refused to others.
func TestBusy(t *testing.T) {
	r := newRig(t, driver.Options{})
	l := newLongRun(t, r, longEnough)
	n := l.submit(l.cmds...)
	ctx, cancel := context.WithCancel(context.Background())
	read := make(chan error)
	go func() { read <- l.Read(ctx, l.back, 0, make([]byte, 8)) }()
	l.untilBusy(t, n)
	if err := l.Read(context.Background(), l.back, 0, make([]byte, 4)); !errors.Is(err, driver.ErrBusy) {
		t.Errorf("second read: %v", err)
	}
	l.running(t, n)
	cancel()
	if err := <-read; !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
	l.check(t)
}

// TestFreeWhileReading checks that a read finishes after its buffer was freed.
func TestFreeWhileReading(t *testing.T) {
	r := newRig(t, driver.Options{})
	l := newLongRun(t, r, longEnough)
	n := l.submit(l.cmds...)
	got := make([]byte, longSize)
	read := make(chan error)
	go func() { read <- l.Read(context.Background(), l.back, 0, got) }()
	l.untilBusy(t, n)
	l.FreeBuffer(l.back)
	l.FreeBuffer(l.back)
	if _, err := l.Submit(l.cmds); !errors.Is(err, driver.ErrHandle) {
		t.Errorf("copy into a freed buffer: %v", err)
	}
	ok(t, <-read)
	if v := binary.LittleEndian.Uint32(got[4*77:]); v != churn(77) {
		t.Errorf("a[77] = %d, want %d", v, churn(77))
	}
}

// TestCloseInFlight closes a device that works and is waited for.
func TestCloseInFlight(t *testing.T) {
	r := newRig(t, driver.Options{})
	l := newLongRun(t, r, longEnough)
	n := l.submit(l.cmds...)
	waits := make(chan error, 2)
	go func() { waits <- l.Wait(context.Background(), n) }()
	go func() { waits <- l.Read(context.Background(), l.back, 0, make([]byte, 4)) }()
	l.untilBusy(t, n)
	l.running(t, n)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { ok(t, l.Close()) })
	}
	for range 2 {
		if err := <-waits; !errors.Is(err, driver.ErrClosed) {
			t.Errorf("wait: %v", err)
		}
	}
	wg.Wait()
	if err := l.Err(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Err: %v", err)
	}
}

// TestLongKernel waits for a kernel of WEFT_TEST_LONG (a duration, such as
// 30s; unset: a second) and checks that no value is stale.
func TestLongKernel(t *testing.T) {
	want := time.Second
	if s := os.Getenv("WEFT_TEST_LONG"); s != "" {
		want = must(time.ParseDuration(s))(t)
	} else if testing.Short() {
		t.Skip("long")
	}
	r := newRig(t, driver.Options{})
	l := newLongRun(t, r, want)
	start := time.Now()
	n := l.submit(l.cmds...)
	submitted := time.Since(start)
	l.check(t)
	t.Logf("%d times %d workgroups; Submit returned after %v, the values were there after %v", l.cmds[0].Grid[1], longGroups, submitted, time.Since(start))
	ok(t, l.Wait(context.Background(), n))
}

// TestManyWaiters has goroutines wait for each other's submissions.
func TestManyWaiters(t *testing.T) {
	r := newRig(t, driver.Options{})
	x := r.buffer("x", 256, driver.Storage)
	p := r.pipeline("fill", fillWGSL, fillSlots...)
	g := r.group(p, driver.Binding{Buffer: x})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			back, err := r.NewBuffer(fmt.Sprint("back", i), 256, driver.Readback)
			if err != nil {
				t.Error(err)
				return
			}
			for range 50 {
				n, err := r.Submit([]driver.Command{
					{Op: driver.Dispatch, Pipeline: p, Group: g, Grid: [3]uint32{1, 1, 1}},
					{Op: driver.Copy, Src: x, Dst: back, Size: 256},
				})
				got := make([]byte, 256)
				if err := errors.Join(err, r.Wait(context.Background(), n), r.Read(context.Background(), back, 0, got)); err != nil {
					t.Error(err)
					return
				}
				if !bytes.Equal(got, bytes.Repeat(u32Bytes(1), 64)) {
					t.Errorf("got % x", got)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := r.Poll(); n != 400 {
		t.Errorf("%d submissions are done, want 400", n)
	}
}
