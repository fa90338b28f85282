package wgpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
	"github.com/weft-go/weft/ops"
)

// The benchmarks here report the time of kernels by the GPU's clock: medians of 20 rounds on a device that is warm. On software
// Vulkan they run small sizes, to see that they run.
//
//	go test -run '^$' -bench Device -benchtime 1x ./backend/wgpu

const deviceRounds = 20

// deviceTime runs round, which records steps, some times, and reports the medians of the time of all of its kernels, and of
// those of each name.
func deviceTime(b *testing.B, e *engine, out backend.Buffer, bytes, flops float64, round func() error) {
	b.Helper()
	if !e.Times() {
		b.Skip("the device has no clock")
	}
	var mu sync.Mutex
	var spans []backend.Span
	stop := backend.Trace(func(s backend.Span) {
		mu.Lock()
		defer mu.Unlock()
		if s.Device != "" {
			spans = append(spans, s)
		}
	})
	defer stop()
	// Once compiled, as many rounds as keep the device busy for some milliseconds go to it at a time.
	times := 1
	once := func() (took time.Duration) {
		spans = spans[:0]
		for range times {
			if err := round(); err != nil {
				b.Fatal(err)
			}
		}
		wait(b, e, out)
		if err := e.Timed(context.Background()); err != nil {
			b.Fatal(err)
		}
		for _, s := range spans {
			took += s.Duration
		}
		return took
	}
	began := time.Now()
	once()
	first := time.Since(began)
	steps := len(spans)
	took := once()
	if e.info.Type != driver.Software {
		times = int(min(max(10*time.Millisecond/max(took, time.Microsecond), 1), deviceRounds))
		for begin := time.Now(); time.Since(begin) < 300*time.Millisecond; {
			once()
		}
	}
	parts := map[string][]float64{}
	var names []string
	var all []float64
	for len(all) < deviceRounds {
		once()
		slices.SortFunc(spans, func(a, b backend.Span) int { return a.Start.Compare(b.Start) })
		for ; len(spans) >= steps; spans = spans[steps:] {
			sum, part := 0.0, map[string]float64{}
			for _, s := range spans[:steps] {
				part[s.Name] += s.Duration.Seconds()
				sum += s.Duration.Seconds()
			}
			for name, t := range part {
				if parts[name] == nil {
					names = append(names, name)
				}
				parts[name] = append(parts[name], t)
			}
			all = append(all, sum)
		}
	}
	t := median(all)
	slices.Sort(names)
	var each []string
	for _, name := range names {
		if len(names) > 1 {
			each = append(each, fmt.Sprintf("%s %.3f", name, median(parts[name])*1e3))
		}
	}
	line := fmt.Sprintf("%s: %.4f ms (%.4f)", strings.TrimPrefix(b.Name(), "BenchmarkDevice"), t*1e3, slices.Min(all)*1e3)
	if bytes > 0 {
		line += fmt.Sprintf(" %.2f TB/s", bytes/t/1e12)
	}
	if flops > 0 {
		line += fmt.Sprintf(" %.1f TFLOP/s", flops/t/1e12)
	}
	b.Log(line, strings.Join(each, ", "), "first", first.Round(time.Millisecond))
	b.ReportMetric(t*1e3, "ms")
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// filled returns memory of n float32 numbers of a normal distribution, those of the first 16 million again and again.
func filled(b *testing.B, e *engine, n int) *buffer {
	b.Helper()
	buf, err := e.Alloc(4 * n)
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(buf.Release)
	r := rand.New(rand.NewPCG(uint64(n), 1))
	mem := make([]byte, 0, 4*min(n, 1<<24))
	for range min(n, 1<<24) {
		mem = binary.LittleEndian.AppendUint32(mem, math.Float32bits(float32(r.NormFloat64())))
	}
	for at := 0; at < 4*n; at += len(mem) {
		if err := e.Write(buf, at, mem[:min(len(mem), 4*n-at)]); err != nil {
			b.Fatal(err)
		}
	}
	return buf.(*buffer)
}

// openDevice opens the device and warms it.
func openDevice(b *testing.B) (e *engine, small bool) {
	e = openTest(b)
	e.checked = false
	small = e.info.Type == driver.Software
	steps := increments(b, e, 100)
	for begin := time.Now(); !small && time.Since(begin) < 300*time.Millisecond; {
		if err := e.Run(context.Background(), steps); err != nil {
			b.Fatal(err)
		}
		wait(b, e, steps[0].In[0].Buf)
	}
	return e, small
}

// sized returns n, or of software Vulkan less.
func sized(small bool, n, less int) int {
	if small {
		return less
	}
	return n
}

// BenchmarkDeviceAttention tries blocks and tiles on causal attention of 8·16 heads and 1,024 queries.
func BenchmarkDeviceAttention(b *testing.B) {
	e, small := openDevice(b)
	rows, n := sized(small, 128, 1), sized(small, 1024, 128)
	m := sized(small, 4096, 64)
	s := backend.Step{
		Kernel: plainMatMul(ops.Float32, false), Shape: backend.Shape{1, m, m}, Out: []backend.Operand{matrices(filled(b, e, m*m), ops.Float32, 1, m, m, false)},
		In: []backend.Operand{matrices(filled(b, e, m*m), ops.Float32, 1, m, m, false), matrices(filled(b, e, m*m), ops.Float32, 1, m, m, false)},
	}
	b.Run("a product, for comparison", func(b *testing.B) {
		deviceTime(b, e, s.Out[0].Buf, 0, 2*float64(m*m*m), func() error { return e.Run(context.Background(), []backend.Step{s}) })
	})
	for _, depth := range []int{64, 128} {
		if small && depth > 64 {
			break
		}
		q, k, v := filled(b, e, rows*n*depth), filled(b, e, rows*n*depth), filled(b, e, rows*n*depth)
		to := filled(b, e, rows*n*depth)
		for _, causal := range []bool{true, false} {
			kernel := &backend.Attention{DType: ops.Float32, Causal: causal, Scale: 1 / math.Sqrt(float64(depth)), Post: *loads[ops.Float32]}
			shape := backend.Shape{rows, n, depth}
			operand := func(buf *buffer) backend.Operand { return matrices(buf, ops.Float32, rows, n, depth, false) }
			s := backend.Step{Kernel: kernel, Shape: shape, In: []backend.Operand{operand(q), operand(k), operand(v)}, Out: []backend.Operand{operand(to)}}
			flops := 4 * float64(rows*n*n*depth)
			if causal {
				flops /= 2
			}
			try := func(c any, fits bool, attend func(a *attending) error) {
				b.Run(fmt.Sprintf("%d, causal %t, %T %+v", depth, causal, c, c), func(b *testing.B) {
					if !fits {
						b.Skip("more than there is")
					}
					deviceTime(b, e, to, 0, flops, func() error {
						e.mu.Lock()
						defer e.mu.Unlock()
						e.noteStep(&s)
						a := newAttending(e, &s, kernel)
						a.to = s.Out[0]
						defer a.release()
						return attend(a)
					})
				})
			}
			a := newAttending(e, &s, kernel)
			for _, c := range []attendBlock{{down: 8, across: 16}, {down: 16, across: 16}, {down: 8, across: 32}} {
				try(c, c.fits(a), func(a *attending) error { return a.attendBlocks(c) })
			}
			for _, c := range []attendTile{attendLarge, attendMiddle, attendWide, attendSmall} {
				try(c, c.fits(a), func(a *attending) error { return a.attendTiles(c) })
			}
		}
	}
}

// BenchmarkDeviceDecode is attention of one query to many keys, of heads that have keys of their own and of heads that share
// them by four.
func BenchmarkDeviceDecode(b *testing.B) {
	e, small := openDevice(b)
	for _, c := range []struct{ rows, group, n, depth int }{{64, 1, 8192, 64}, {32, 4, 8192, 128}, {8, 4, 16384, 128}, {1, 1, 65536, 128}} {
		c.n = sized(small, c.n, 512)
		c.rows = sized(small, c.rows, 2)
		q, to := filled(b, e, c.rows*c.group*c.depth), filled(b, e, c.rows*c.group*c.depth)
		k, v := filled(b, e, c.rows*c.n*c.depth), filled(b, e, c.rows*c.n*c.depth)
		kernel := &backend.Attention{DType: ops.Float32, Causal: true, Scale: 0.125, Post: *loads[ops.Float32]}
		shape := backend.Shape{c.rows, c.group, 1, c.depth}
		few := backend.Dense(shape)
		long := backend.Layout{Shape: backend.Shape{c.rows, c.group, c.n, c.depth}, Strides: []int{c.n * c.depth, 0, c.depth, 1}}
		s := backend.Step{
			Kernel: kernel, Shape: shape, Out: []backend.Operand{{Buf: to, DType: ops.Float32, Layout: few}},
			In: []backend.Operand{{Buf: q, DType: ops.Float32, Layout: few}, {Buf: k, DType: ops.Float32, Layout: long}, {Buf: v, DType: ops.Float32, Layout: long}},
		}
		b.Run(fmt.Sprintf("%dx%d queries to %d keys of %d", c.rows, c.group, c.n, c.depth), func(b *testing.B) {
			deviceTime(b, e, to, float64(8*c.rows*c.n*c.depth), 0, func() error { return e.Run(context.Background(), []backend.Step{s}) })
		})
	}
}

// BenchmarkDeviceSort tries blocks on the positions of 16 million numbers in order, and what the engine chooses on rows.
func BenchmarkDeviceSort(b *testing.B) {
	e, small := openDevice(b)
	n := sized(small, 1<<24, 1<<14)
	x := filled(b, e, n)
	places := filled(b, e, n)
	s := backend.Step{
		Kernel: &backend.Sort{DType: ops.Float32, Index: true, Post: *loads[ops.Int32]}, Shape: backend.Shape{1, n},
		In: []backend.Operand{matrix(x, ops.Float32, 1, n)}, Out: []backend.Operand{matrix(places, ops.Int32, 1, n)},
	}
	blocks := []radixBlock{{threads: 256, each: 8}}
	for _, c := range [][2]int{{128, 16}, {256, 4}, {256, 8}, {256, 12}, {256, 14}, {256, 16}, {512, 8}} {
		if e.subgroup == 32 {
			blocks = append(blocks, radixBlock{threads: c[0], each: c[1], teams: 32})
		}
	}
	if e.subgroup == 8 {
		blocks = append(blocks, radixBlock{threads: 64, each: 16, teams: 8})
	}
	for _, c := range blocks {
		b.Run(fmt.Sprintf("%d threads, %d each, teams of %d", c.threads, c.each, c.teams), func(b *testing.B) {
			deviceTime(b, e, places, 0, 0, func() error {
				e.mu.Lock()
				defer e.mu.Unlock()
				e.noteStep(&s)
				o := newSorting(e, &s)
				defer o.release()
				var err error
				if o.keys, err = o.encode(s.In[0], false); err == nil {
					_, err = o.radix(c, false, false)
				}
				return err
			})
		})
	}
	for _, c := range []struct{ rows, n, kept int }{{1, n, n}, {n / 1024, 1024, 1024}, {n / 4096, 4096, 4096}} {
		for _, index := range []bool{true, false} {
			s.Shape = backend.Shape{c.rows, c.kept}
			s.In[0] = matrix(x, ops.Float32, c.rows, c.n)
			s.Out[0] = matrix(places, ops.Int32, c.rows, c.kept)
			s.Kernel = &backend.Sort{DType: ops.Float32, Index: true, Post: *loads[ops.Int32]}
			if !index {
				s.Out[0].DType = ops.Float32
				s.Kernel = &backend.Sort{DType: ops.Float32, Post: *loads[ops.Float32]}
			}
			b.Run(fmt.Sprintf("%d rows of %d, places %t", c.rows, c.n, index), func(b *testing.B) {
				deviceTime(b, e, places, 0, 0, func() error { return e.Run(context.Background(), []backend.Step{s}) })
			})
		}
	}
}

// BenchmarkDeviceTopK is the choice of a few of many.
func BenchmarkDeviceTopK(b *testing.B) {
	e, small := openDevice(b)
	n := sized(small, 1<<26, 1<<14)
	x := filled(b, e, n)
	places := filled(b, e, n/16)
	for _, c := range []struct{ rows, n, kept int }{{n / 8192, 8192, 40}, {n / 8192, 8192, 128}, {n / 8192, 8192, 500}, {1, n, 40}, {n / 65536, 65536, 100}, {n / 2048, 2048, 40}, {n / 1024, 1024, 40}} {
		if c.rows == 0 {
			continue
		}
		for _, most := range []int{8, 16, 32} {
			s := backend.Step{
				Kernel: &backend.Sort{DType: ops.Float32, Descending: true, Index: true, Post: *loads[ops.Int32]}, Shape: backend.Shape{c.rows, c.kept},
				In: []backend.Operand{matrix(x, ops.Float32, c.rows, c.n)}, Out: []backend.Operand{matrix(places, ops.Int32, c.rows, c.kept)},
			}
			b.Run(fmt.Sprintf("%d of %d rows of %d, most %d", c.kept, c.rows, c.n, most), func(b *testing.B) {
				deviceTime(b, e, places, float64(4*n), 0, func() error {
					if c.n <= leastChoice {
						return e.Run(context.Background(), []backend.Step{s})
					}
					e.mu.Lock()
					defer e.mu.Unlock()
					e.noteStep(&s)
					o := newSorting(e, &s)
					defer o.release()
					_, err := o.choose(s.In[0], true, most)
					return err
				})
			})
		}
	}
}

// BenchmarkDeviceGather is rows taken from a table.
func BenchmarkDeviceGather(b *testing.B) {
	e, small := openDevice(b)
	b.Logf("buffers of %d bytes", e.maxBytes())
	for _, c := range []struct{ count, width, rows int }{{65535, 8192, 65535}, {65535, 8192, 8192}, {1 << 17, 4096, 50257}, {1 << 19, 512, 1 << 18}, {1 << 20, 256, 1 << 19}, {1 << 22, 64, 1 << 20}, {1 << 26, 1, 1 << 26}} {
		if small {
			c.count, c.width, c.rows = 64, min(c.width, 256), 64
		}
		if 4*c.count*c.width > e.maxBytes() {
			continue
		}
		table, out := filled(b, e, c.rows*c.width), filled(b, e, c.count*c.width)
		r := rand.New(rand.NewPCG(1, 2))
		mem := make([]byte, 0, 4*c.count)
		for range c.count {
			mem = binary.LittleEndian.AppendUint32(mem, uint32(r.IntN(c.rows)))
		}
		indices, err := e.Alloc(len(mem))
		if err != nil {
			b.Fatal(err)
		}
		if err := e.Write(indices, 0, mem); err != nil {
			b.Fatal(err)
		}
		s := take(table, indices.(*buffer), out, ops.Float32, ops.Int32, c.count, c.width, c.rows)
		b.Run(fmt.Sprintf("%d of %d rows of %d", c.count, c.rows, c.width), func(b *testing.B) {
			deviceTime(b, e, out, float64(8*c.count*c.width), 0, func() error { return e.Run(context.Background(), []backend.Step{s}) })
		})
		kernel := s.Kernel.(*backend.Gather)
		words := newGather(e, &s, kernel).rowsOf(&s)
		for _, c := range []rowCopy{{32, 4}, {64, 1}, {64, 2}, {64, 4}, {128, 1}, {128, 2}, {256, 2}} {
			if words < c.threads*c.each {
				continue
			}
			b.Run(fmt.Sprintf("rows of %d words by %v", words, c), func(b *testing.B) {
				deviceTime(b, e, out, float64(32*words*len(mem)/4), 0, func() error {
					e.mu.Lock()
					defer e.mu.Unlock()
					e.noteStep(&s)
					return newGather(e, &s, kernel).copyRows(e, &s, words, c)
				})
			})
		}
		indices.Release()
		table.Release()
		out.Release()
	}
}

// BenchmarkDeviceHost is what goes between the program and the device: a tiny kernel and its readback, 100 MB up and down, and a
// kernel of a plan that runs again.
func BenchmarkDeviceHost(b *testing.B) {
	e, _ := openDevice(b)
	report := func(b *testing.B, rounds int, f func()) {
		var all []float64
		for range rounds {
			begin := time.Now()
			f()
			all = append(all, time.Since(begin).Seconds())
		}
		t := median(all)
		b.Logf("%s: %.2f us (%.2f, a tenth %.2f, nine %.2f)", b.Name(), t*1e6, all[0]*1e6, all[len(all)/10]*1e6, all[len(all)*9/10]*1e6)
		b.ReportMetric(t*1e6, "us")
	}
	b.Run("tiny and readback", func(b *testing.B) {
		steps := increments(b, e, 1)
		mem := make([]byte, 64)
		report(b, 2000, func() {
			if err := e.Run(context.Background(), steps); err != nil {
				b.Fatal(err)
			}
			if err := e.Read(context.Background(), mem, steps[0].Out[0].Buf, 0); err != nil {
				b.Fatal(err)
			}
		})
	})
	big := make([]byte, 100<<20)
	for i := range big {
		big[i] = byte(i)
	}
	buf, err := e.Alloc(len(big))
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(buf.Release)
	b.Run("upload", func(b *testing.B) {
		report(b, 20, func() {
			if err := e.Write(buf, 0, big); err != nil {
				b.Fatal(err)
			}
			wait(b, e, buf)
		})
	})
	b.Run("download", func(b *testing.B) {
		report(b, 20, func() {
			if err := e.Read(context.Background(), big, buf, 0); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("1000 kernels recorded", func(b *testing.B) {
		steps := increments(b, e, 1000)
		var all []float64
		for range 30 {
			begin := time.Now()
			if err := e.Run(context.Background(), steps); err != nil {
				b.Fatal(err)
			}
			all = append(all, time.Since(begin).Seconds())
			wait(b, e, steps[0].In[0].Buf)
		}
		b.Logf("%s: %.3f us a kernel", b.Name(), median(all)*1e3)
	})
}
