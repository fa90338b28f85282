package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// testMemory writes and reads buffers of all sizes, in parts at any offset.
func (s *suite) testMemory(t tb) {
	in := s.draw(t)
	for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 255, 257, 4095, 4097, 65537, 1<<20 + 1} {
		var p pile
		mem := make([]byte, n)
		for i := range mem {
			mem[i] = byte(in.Uint64())
		}
		b := s.buffer(t, &p, mem)
		if i := differs(s.read(t, b), mem); i >= 0 {
			t.Errorf("buffer of %d bytes: byte %d is not what was written", n, i)
		}
		for range 20 {
			off := in.IntN(n + 1)
			part := make([]byte, min(in.IntN(20), n-off))
			for i := range part {
				part[i] = byte(in.Uint64())
			}
			s.write(t, b, off, part)
			copy(mem[off:], part)
			from := in.IntN(n + 1)
			got := make([]byte, in.IntN(n-from+1))
			if err := s.b.Read(background, got, b, from); err != nil {
				t.Errorf("Read of %d bytes at %d of %d: %v", len(got), from, n, err)
			}
			if i := differs(got, mem[from:from+len(got)]); i >= 0 {
				t.Errorf("Read of %d bytes at %d of %d: byte %d is wrong", len(got), from, n, i)
			}
		}
		if i := differs(s.read(t, b), mem); i >= 0 {
			t.Errorf("buffer of %d bytes: byte %d is wrong after writes of parts", n, i)
		}
		p.release()
	}
}

// testRanges tests that reads and writes outside of a buffer are errors, and change nothing.
func (s *suite) testRanges(t tb) {
	for _, n := range []int{0, 10, 4096} {
		var p pile
		mem := bytes.Repeat([]byte{0x5a}, n)
		b := s.buffer(t, &p, mem)
		for _, r := range []struct{ off, n int }{
			{-1, 1}, {-1, 0}, {n, 1}, {n + 1, 0}, {0, n + 1}, {n - 1, 2}, {math.MinInt, 1}, {math.MaxInt, 1}, {math.MaxInt, 0},
		} {
			if err := s.b.Write(b, r.off, make([]byte, r.n)); err == nil {
				t.Errorf("Write of %d bytes at %d of a buffer of %d: no error", r.n, r.off, n)
			}
			dst := bytes.Repeat([]byte{1}, r.n)
			if err := s.b.Read(background, dst, b, r.off); err == nil {
				t.Errorf("Read of %d bytes at %d of a buffer of %d: no error", r.n, r.off, n)
			}
			if len(dst) > 0 && dst[0] != 1 {
				t.Errorf("Read of %d bytes at %d of a buffer of %d wrote something", r.n, r.off, n)
			}
		}
		if i := differs(s.read(t, b), mem); i >= 0 {
			t.Errorf("buffer of %d bytes: byte %d changed by a write out of range", n, i)
		}
		p.release()
	}
}

// testAbsurd tests that sizes no device has are errors of kind ErrMemory, and harm nothing.
func (s *suite) testAbsurd(t tb) {
	sizes := []int{math.MaxInt, math.MaxInt - 7, -1, math.MinInt}
	if strconv.IntSize == 64 {
		sizes = append(sizes, math.MaxInt/2+1, math.MaxInt>>13+1)
	}
	for _, n := range sizes {
		b, err := s.b.Alloc(n)
		if !errors.Is(err, backend.ErrMemory) {
			t.Errorf("Alloc(%d): %v, want an error of kind ErrMemory", n, err)
		}
		if err == nil {
			b.Release()
		}
	}
	s.usable(t, "allocations of absurd sizes")
}

// testRelease releases buffers twice, and while kernels that use them may be running.
func (s *suite) testRelease(t tb) {
	const n = 1 << 16
	before := s.b.Info().BytesInUse
	for i := range 50 {
		var p pile
		x, y, z := s.buffer(t, &p, floats(n, 1)), s.buffer(t, &p, poisoned(4*n)), s.buffer(t, &p, poisoned(4*n))
		s.run1(t, adder(x, y, n, float64(i)), adder(y, z, n, 1))
		x.Release()
		y.Release()
		y.Release()
		// Memory that is given out now may be that of x and y, which may still be read.
		w := s.buffer(t, &p, poisoned(4*n))
		s.holds(t, "the result of released inputs", z, float64(i)+2)
		if i := differs(s.read(t, w), poisoned(4*n)); i >= 0 {
			t.Errorf("byte %d of memory reused too early was written by a kernel", i)
		}
		p.release()
		p.release()
	}
	if after := s.b.Info().BytesInUse; after > before {
		t.Errorf("%d bytes in use before, %d after all was released", before, after)
	}
	var p pile
	b := s.buffer(t, &p, floats(4, 1))
	b.Release()
	if err := s.b.Write(b, 0, floats(4, 2)); err == nil {
		t.Errorf("Write to a released buffer: no error")
	}
	if err := s.b.Read(background, make([]byte, 4), b, 0); err == nil {
		t.Errorf("Read of a released buffer: no error")
	}
	if err := s.b.Run(background, []backend.Step{adder(b, b, 4, 1)}); err == nil {
		t.Errorf("Run on a released buffer: no error")
	}
	s.usable(t, "use of a released buffer")
}

// testForeign tests that the memory of another device is refused.
func (s *suite) testForeign(t tb) {
	other := Reference()
	foreign, err := other.Alloc(40)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var p pile
	defer p.release()
	mine := s.buffer(t, &p, floats(10, 1))
	for what, err := range map[string]error{
		"Write":       s.b.Write(foreign, 0, floats(10, 1)),
		"Read":        s.b.Read(background, make([]byte, 4), foreign, 0),
		"Run from it": s.b.Run(background, []backend.Step{adder(foreign, mine, 10, 1)}),
		"Run to it":   s.b.Run(background, []backend.Step{adder(mine, foreign, 10, 1)}),
	} {
		if !errors.Is(err, backend.ErrDevice) {
			t.Errorf("%s: %v, want an error of kind ErrDevice", what, err)
		}
	}
	s.holds(t, "memory beside that of another device", mine, 1)
	s.usable(t, "use of another device's memory")
}

// testSameAgain tests that kernels that sum give the same bits each time.
func (s *suite) testSameAgain(t tb) {
	in := s.draw(t)
	p := product{
		a: ops.Float32, b: ops.Float32, acc: ops.Float32, m: 33, n: 65, k: 257, howA: "dense", howB: "transposed", out: "dense",
		content: content{name: "normal numbers", fill: in.normal}, post: posters(ops.Float32)[0],
	}
	normal := content{name: "normal numbers", fill: in.normal}
	for _, tr := range []*trial{
		in.reduce(ops.ReduceSum, ops.Float32, backend.Shape{3, longRow}, 1, "dense", normal),
		in.scan(ops.ReduceSum, ops.Float32, 0, backend.Shape{2, longRow}, "dense", normal),
		normalising[0].trial(in, false, backend.Shape{7, 4097}, 1, "dense", "dense"),
		p.trial(in),
	} {
		if !s.b.Supports(tr.kernel) {
			s.skip(t, tr)
			continue
		}
		var bufs pile
		st := tr.step(s.upload(t, &bufs, tr.in), s.upload(t, &bufs, tr.out))
		first := s.runAndRead(t, tr.name, []backend.Step{st}, st.Out[0].Buf)
		for range 5 {
			if i := differs(first, s.runAndRead(t, tr.name, []backend.Step{st}, st.Out[0].Buf)); i >= 0 {
				t.Errorf("%s: byte %d differs from one run to the next", tr.name, i)
				break
			}
		}
		bufs.release()
	}
}

// testInfo tests that the backend counts its memory and kernels, and compiles a kernel once.
func (s *suite) testInfo(t tb) {
	var p pile
	before := s.b.Info()
	if before.Name == "" {
		t.Errorf("Info has no name")
	}
	const n = 1 << 16
	x, y := s.buffer(t, &p, floats(n, 1)), s.buffer(t, &p, poisoned(4*n))
	if got := s.b.Info().BytesInUse - before.BytesInUse; got < 8*n {
		t.Errorf("BytesInUse grew by %d for two buffers of %d bytes", got, 4*n)
	}
	st := adder(x, y, n, 1)
	s.run1(t, st)
	s.read(t, y)
	warm := s.b.Info()
	if warm.Kernels <= before.Kernels {
		t.Errorf("Kernels is %d before a run and %d after", before.Kernels, warm.Kernels)
	}
	if warm.BytesPeak < warm.BytesInUse {
		t.Errorf("BytesPeak is %d with %d in use", warm.BytesPeak, warm.BytesInUse)
	}
	for range 3 {
		s.run1(t, st)
	}
	s.read(t, y)
	if again := s.b.Info(); again.Compiled != warm.Compiled {
		t.Errorf("the same kernel was compiled %d times more", again.Compiled-warm.Compiled)
	}
	p.release()
}

// testHost tests memory of the program's own as a buffer, aligned or not.
func (s *suite) testHost(t tb) {
	h, ok := s.b.(backend.HostBackend)
	if !ok {
		t.Logf("no backend.HostBackend")
		return
	}
	for skew := range 4 {
		t.Run(fmt.Sprintf("%d bytes from alignment", skew), func(t tb) {
			const n = 100
			mem := append(make([]byte, skew), floats(n, 5)...)[skew:]
			x := h.Wrap(mem)
			var p pile
			defer p.release()
			y := s.buffer(t, &p, poisoned(4*n))
			s.run1(t, adder(x, y, n, 1))
			s.holds(t, "a sum of wrapped memory", y, 6)
			got, err := h.Bytes(y)
			if err != nil || !bytes.Equal(got, floats(n, 6)) {
				t.Errorf("Bytes: %v, or not the content", err)
			}
			if got, err = h.Bytes(x); err != nil || len(got) != len(mem) || &got[0] != &mem[0] {
				t.Errorf("Bytes of wrapped memory: %v, or another memory", err)
			}
			x.Release()
			if i := differs(mem, floats(n, 5)); i >= 0 {
				t.Errorf("Release changed wrapped memory at byte %d", i)
			}
		})
	}
	if _, err := h.Bytes(&refBuffer{}); !errors.Is(err, backend.ErrDevice) {
		t.Errorf("Bytes of another device's buffer: %v, want an error of kind ErrDevice", err)
	}
}

// testClose closes the backend, and tests that nothing works any more.
func (s *suite) testClose(t tb) {
	var p pile
	x, y := s.buffer(t, &p, floats(10, 1)), s.buffer(t, &p, poisoned(40))
	s.run1(t, adder(x, y, 10, 1)) // perhaps still running
	if err := s.b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	_, alloc := s.b.Alloc(4)
	for what, err := range map[string]error{
		"Alloc": alloc,
		"Write": s.b.Write(x, 0, floats(1, 1)),
		"Read":  s.b.Read(background, make([]byte, 4), x, 0),
		"Run":   s.b.Run(background, []backend.Step{adder(x, y, 10, 1)}),
	} {
		if !errors.Is(err, backend.ErrDevice) {
			t.Errorf("%s after Close: %v, want an error of kind ErrDevice", what, err)
		}
	}
	p.release()
	s.b.Info()
	if err := s.b.Close(); err != nil && !errors.Is(err, backend.ErrDevice) {
		t.Errorf("second Close: %v, want nil or an error of kind ErrDevice", err)
	}
}
