package driver_test

import (
	"fmt"
	"testing"

	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// BenchmarkSubmit records, submits and waits for lists of tiny dispatches,
// each with its parameters at another offset.
func BenchmarkSubmit(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := newRig(b, driver.Options{})
			x := r.buffer("x", 4096, driver.Storage)
			args := r.buffer("args", uint64(r.align)*uint64(n), driver.Uniform)
			p := r.pipeline("scale", scaleWGSL, scaleSlots...)
			g := r.group(p, driver.Binding{Buffer: args, Size: 8}, driver.Binding{Buffer: x})
			cmds := make([]driver.Command, n)
			for i := range cmds {
				cmds[i] = driver.Command{Op: driver.Dispatch, Pipeline: p, Group: g, Offset: uint32(i) * r.align, Grid: [3]uint32{16, 1, 1}}
			}
			b.ReportAllocs()
			for b.Loop() {
				ok(b, r.Wait(bg, r.submit(cmds...)))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/dispatch")
		})
	}
}

// BenchmarkRecord measures Submit alone, without the wait.
func BenchmarkRecord(b *testing.B) {
	const n = 1000
	r := newRig(b, driver.Options{})
	x := r.buffer("x", 256, driver.Storage)
	p := r.fill()
	g := r.group(p, driver.Binding{Buffer: x})
	cmds := make([]driver.Command, n)
	for i := range cmds {
		cmds[i] = driver.Command{Op: driver.Dispatch, Pipeline: p, Group: g, Grid: [3]uint32{1, 1, 1}}
	}
	for b.Loop() {
		t := r.submit(cmds...)
		b.StopTimer()
		ok(b, r.Wait(bg, t))
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/dispatch")
}

// BenchmarkRead copies to a readback buffer and reads it.
func BenchmarkRead(b *testing.B) {
	for _, n := range []uint64{4, 1 << 20, 64 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := newRig(b, driver.Options{})
			x, back := r.buffer("x", n, driver.Storage), r.buffer("back", n, driver.Readback)
			out := make([]byte, n)
			cmd := driver.Command{Op: driver.Copy, Src: x, Dst: back, Size: n}
			b.SetBytes(int64(n))
			for b.Loop() {
				r.submit(cmd)
				ok(b, r.Read(bg, back, 0, out))
			}
		})
	}
}

// BenchmarkWrite writes to a storage buffer and waits until it is there.
func BenchmarkWrite(b *testing.B) {
	for _, n := range []uint64{256, 1 << 20, 64 << 20, 512 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := newRig(b, driver.Options{})
			x := r.buffer("x", n, driver.Storage)
			in := make([]byte, n)
			b.SetBytes(int64(n))
			for b.Loop() {
				r.write(x, in)
				ok(b, r.Wait(bg, r.submit()))
			}
		})
	}
}

// BenchmarkUpload is BenchmarkWrite through an Upload buffer and a Copy.
func BenchmarkUpload(b *testing.B) {
	for _, n := range []uint64{256, 1 << 20, 64 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := newRig(b, driver.Options{})
			x, up := r.buffer("x", n, driver.Storage), r.buffer("up", n, driver.Upload)
			in := make([]byte, n)
			cmd := driver.Command{Op: driver.Copy, Src: up, Dst: x, Size: n}
			b.SetBytes(int64(n))
			for b.Loop() {
				r.write(up, in)
				ok(b, r.Wait(bg, r.submit(cmd)))
			}
		})
	}
}

// BenchmarkObjects makes and frees a buffer and a group.
func BenchmarkObjects(b *testing.B) {
	r := newRig(b, driver.Options{})
	p := r.fill()
	for b.Loop() {
		x := r.buffer("x", 4096, driver.Storage)
		r.FreeGroup(r.group(p, driver.Binding{Buffer: x}))
		r.FreeBuffer(x)
	}
}
