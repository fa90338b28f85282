package driver_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

func TestAdapters(t *testing.T) {
	open(t, driver.Options{}) // skips without one
	list := must(driver.Adapters())(t)
	for i, a := range list {
		t.Logf("%d: %s, %s, %v, %s, %s; features %v; limits %+v", a.Index, a.Name, a.Driver, a.Type, a.API, a.Binding, a.Features, a.Limits)
		if a.Index != i {
			t.Errorf("adapter %d has index %d", i, a.Index)
		}
		if a.Name == "" || a.API == "" {
			t.Errorf("adapter %d has no name or no API: %+v", i, a)
		}
		if i > 0 && a.Type < list[i-1].Type {
			t.Errorf("adapter %d (%v) comes after %v", i, a.Type, list[i-1].Type)
		}
		l := a.Limits
		if l.BufferSize < 256<<20 || l.StorageBinding < 128<<20 || l.StorageSlots < 8 || l.Invocations < 256 || l.Groups < 65535 || l.UniformAlign == 0 {
			t.Errorf("adapter %d is below WebGPU's defaults: %+v", i, l)
		}
	}
}

// TestChain checks dependent dispatches with dynamic offsets into one arena.
func TestChain(t *testing.T) {
	r := newRig(t, driver.Options{})
	const n, links = 1000, 100
	x := r.buffer("x", 4*n, driver.Storage)
	args := r.buffer("args", uint64(r.align)*links, driver.Uniform)
	p := r.pipeline("map.scale", scaleWGSL, scaleSlots...)
	g := r.group(p, driver.Binding{Buffer: args, Size: 8}, driver.Binding{Buffer: x})

	arena := make([]byte, int(r.align)*links)
	var cmds []driver.Command
	want := float32(0)
	for i := range links {
		copy(arena[i*int(r.align):], f32Bytes(0.5, float32(i)))
		want = want*0.5 + float32(i)
		cmds = append(cmds, driver.Command{Op: driver.Dispatch, Pipeline: p, Group: g, Offset: uint32(i) * r.align, Grid: [3]uint32{n/64 + 1, 1, 1}})
	}
	r.write(args, arena)
	r.submit(cmds...)
	for i, v := range f32s(r.read(x, 0, 4*n)) {
		if v != want {
			t.Fatalf("x[%d] = %v, want %v", i, v, want)
		}
	}
}

// TestTrusted runs a kernel that is compiled without checks, again and again.
func TestTrusted(t *testing.T) {
	r := newRig(t, driver.Options{})
	x := r.buffer("x", 256, driver.Storage)
	for range 20 {
		p := must(r.NewPipeline(driver.PipelineDesc{Label: "map.fill", WGSL: fillWGSL, Slots: fillSlots, Trusted: true}))(t)
		r.submit(driver.Command{Op: driver.Clear, Dst: x, Size: 256},
			driver.Command{Op: driver.Dispatch, Pipeline: p, Group: r.group(p, driver.Binding{Buffer: x}), Grid: [3]uint32{1, 1, 1}})
		for i, b := range r.read(x, 0, 256) {
			if want := byte(1 - min(i%4, 1)); b != want {
				t.Fatalf("byte %d is %d, want %d", i, b, want)
			}
		}
	}
}

// TestOrder checks that writes, copies, clears and dispatches take effect in order.
func TestOrder(t *testing.T) {
	r := newRig(t, driver.Options{})
	const n = 64
	x, y := r.buffer("x", 4*n, driver.Storage), r.buffer("y", 4*n, driver.Storage)
	up := r.buffer("up", 4*n, driver.Upload)
	fill := r.pipeline("fill", fillWGSL, fillSlots...)
	fx := r.group(fill, driver.Binding{Buffer: x})
	for round := range uint32(20) {
		r.write(x, bytes.Repeat(u32Bytes(100+round), n))
		r.write(up, bytes.Repeat(u32Bytes(200+round), n))
		r.submit(
			driver.Command{Op: driver.Copy, Src: x, Dst: y, Size: 4 * n},                                       // y = 100
			driver.Command{Op: driver.Dispatch, Pipeline: fill, Group: fx, Grid: [3]uint32{1, 1, 1}},           // x = 1
			driver.Command{Op: driver.Copy, Src: x, Dst: y, Size: 16},                                          // y[:4] = 1
			driver.Command{Op: driver.Copy, Src: up, Dst: y, SrcOff: 16, DstOff: 16, Size: 16},                 // y[4:8] = 200
			driver.Command{Op: driver.Clear, Dst: y, DstOff: 32, Size: 16},                                     // y[8:12] = 0
			driver.Command{Op: driver.Dispatch, Pipeline: fill, Group: fx, Grid: [3]uint32{0, 1, 1}},           // nothing
			driver.Command{Op: driver.Clear, Dst: x, Size: 0}, driver.Command{Op: driver.Copy, Src: x, Dst: y}, // nothing
		)
		got := r.read(y, 0, 4*n)
		for i := range uint32(n) {
			want := [...]uint32{1, 200 + round, 0, 100 + round}[min(i/4, 3)]
			if v := binary.LittleEndian.Uint32(got[4*i:]); v != want {
				t.Fatalf("round %d: y[%d] = %d, want %d", round, i, v, want)
			}
		}
	}
}

// TestSizes checks lengths and offsets around the words that the library copies.
func TestSizes(t *testing.T) {
	r := newRig(t, driver.Options{})
	rng := rand.New(rand.NewPCG(1, 2))
	for _, u := range []driver.Usage{driver.Storage, driver.Upload} {
		for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 255, 256, 257, 4095, 70001} {
			b := r.buffer("odd", uint64(n), u)
			back := r.buffer("back", uint64(n), driver.Readback)
			data := make([]byte, n)
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			r.write(b, data)
			r.submit(driver.Command{Op: driver.Copy, Src: b, Dst: back, Size: uint64(n+3) &^ 3})
			for _, off := range []int{0, 1, 4, 7, 8, n / 2, n} {
				if off > n {
					continue
				}
				got := bytes.Repeat([]byte{0xee}, n-off)
				ok(t, r.Read(context.Background(), back, uint64(off), got))
				if !bytes.Equal(got, data[off:]) {
					t.Fatalf("%v %d bytes at %d: read back differs", u, n, off)
				}
			}
			if pad := (n + 3) &^ 3; pad > n {
				got := make([]byte, pad-n)
				ok(t, r.Read(context.Background(), back, uint64(n), got))
				if !bytes.Equal(got, make([]byte, pad-n)) {
					t.Errorf("%v %d bytes: padding is %v, want zeros", u, n, got)
				}
			}
			r.FreeBuffer(b)
			r.FreeBuffer(back)
		}
	}
}

// TestFreshBuffersAreZero checks that memory of a freed buffer does not show.
func TestFreshBuffersAreZero(t *testing.T) {
	r := newRig(t, driver.Options{})
	const n = 1 << 20
	for range 20 {
		b := r.buffer("fresh", n, driver.Storage)
		if got := r.read(b, 0, n); !bytes.Equal(got, make([]byte, n)) {
			t.Fatal("a new buffer is not zero")
		}
		r.write(b, bytes.Repeat([]byte{1}, n))
		r.FreeBuffer(b)
	}
}

// TestFreeAfterSubmit checks that what a submission uses lives until it is done.
func TestFreeAfterSubmit(t *testing.T) {
	r := newRig(t, driver.Options{})
	back := r.buffer("back", 256, driver.Readback)
	var last driver.Ticket
	for range 200 {
		x := r.buffer("x", 256, driver.Storage)
		p := r.pipeline("fill", fillWGSL, fillSlots...)
		g := r.group(p, driver.Binding{Buffer: x})
		last = r.submit(
			driver.Command{Op: driver.Dispatch, Pipeline: p, Group: g, Grid: [3]uint32{1, 1, 1}},
			driver.Command{Op: driver.Copy, Src: x, Dst: back, Size: 256},
		)
		r.FreeGroup(g)
		r.FreePipeline(p)
		r.FreeBuffer(x)
		got := make([]byte, 256)
		ok(t, r.Read(context.Background(), back, 0, got))
		if !bytes.Equal(got, bytes.Repeat(u32Bytes(1), 64)) {
			t.Fatalf("got % x", got)
		}
	}
	ok(t, r.Wait(context.Background(), last))
	if s := r.Stats(); s.Buffers != 1 || s.Pipelines != 0 || s.Groups != 0 || s.BufferBytes != 256 || s.Submitted != s.Completed {
		t.Errorf("stats %+v", s)
	}
}

// TestGroupsFitEqualSlots checks that a group outlives its pipeline and serves another.
func TestGroupsFitEqualSlots(t *testing.T) {
	r := newRig(t, driver.Options{})
	x := r.buffer("x", 256, driver.Storage)
	a := r.pipeline("a", fillWGSL, fillSlots...)
	g := r.group(a, driver.Binding{Buffer: x})
	r.FreePipeline(a)
	b := r.pipeline("b", fillWGSL, fillSlots...)
	r.submit(driver.Command{Op: driver.Dispatch, Pipeline: b, Group: g, Grid: [3]uint32{1, 1, 1}})
	if got := r.read(x, 0, 256); !bytes.Equal(got, bytes.Repeat(u32Bytes(1), 64)) {
		t.Fatalf("got % x", got)
	}
}

func TestTimestamps(t *testing.T) {
	r := newRig(t, driver.Options{Features: driver.Timestamps})
	if !r.Info().Features.Has(driver.Timestamps) {
		t.Skip("the device has no timestamps")
	}
	x := r.buffer("x", 1<<20, driver.Storage)
	res := r.buffer("res", 64, driver.Results)
	back := r.buffer("back", 64, driver.Readback)
	q := must(r.NewQueries("q", 8))(t)
	p := r.pipeline("fill", fillWGSL, fillSlots...)
	g := r.group(p, driver.Binding{Buffer: x})
	stamp := func(i uint32) driver.Command { return driver.Command{Op: driver.Timestamp, Queries: q, Query: i} }
	run := driver.Command{Op: driver.Dispatch, Pipeline: p, Group: g, Grid: [3]uint32{4096, 1, 1}}
	raw := make([]byte, 64)
	var last uint64
	for range 3 { // the places are used again
		r.submit(
			stamp(0), run, stamp(1), run, run, stamp(2), stamp(3),
			driver.Command{Op: driver.Clear, Dst: x, Size: 1 << 20}, stamp(4), run, stamp(5),
			driver.Command{Op: driver.Resolve, Queries: q, Query: 0, Count: 6, Dst: res},
			driver.Command{Op: driver.Copy, Src: res, Dst: back, Size: 64},
		)
		ok(t, r.Read(context.Background(), back, 0, raw))
		for i := range 6 {
			v := binary.LittleEndian.Uint64(raw[8*i:])
			if v == 0 || v < last {
				t.Errorf("stamp %d is %d after %d", i, v, last)
			}
			last = v
		}
	}
	if period := r.TimestampPeriod(); period <= 0 {
		t.Errorf("period %v", period)
	}
	r.FreeQueries(q)
	r.FreeQueries(q)
}

// TestBaseline checks that the limits of a browser are in force when asked for.
func TestBaseline(t *testing.T) {
	r := newRig(t, driver.Options{Baseline: true})
	l := r.Info().Limits
	if l.StorageSlots != 8 || l.Invocations != 256 || l.WorkgroupMemory != 16384 || l.BufferSize != 256<<20 || l.StorageBinding != 128<<20 || l.UniformAlign != 256 {
		t.Errorf("limits %+v", l)
	}
	if f := r.Info().Features; f != 0 {
		t.Errorf("features %v without asking", f)
	}
}

// TestLargeWrite checks a write of many pieces, and that its staging is given back.
func TestLargeWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	r := newRig(t, driver.Options{})
	n := uint64(100<<20) + 3 // three staging buffers full, and an odd rest
	n = min(n, r.Info().Limits.BufferSize)
	b := r.buffer("large", n, driver.Storage)
	data := make([]byte, n)
	for i := 0; i+8 <= len(data); i += 8 {
		binary.LittleEndian.PutUint64(data[i:], uint64(i)*0x9e3779b97f4a7c15)
	}
	r.write(b, data)
	const piece = 32 << 20
	for off := uint64(0); off < n; off += piece {
		got := r.read(b, off, min(piece, n-off))
		if !bytes.Equal(got, data[off:off+uint64(len(got))]) {
			t.Fatalf("piece at %d differs", off)
		}
	}
}
