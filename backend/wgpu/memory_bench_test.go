package wgpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// BenchmarkMemory times what the memory bounds, by the GPU's clock: the median time of a step, how much memory it touches at
// the least in a second, and of what an H200's can, 4.8 TB/s, the share.
//
//	go test -run '^$' -bench Memory -benchtime 30x ./backend/wgpu
func BenchmarkMemory(b *testing.B) {
	e := openTest(b)
	n, side := benchSizes(e)
	benchmarkMemory(b, e, max(n, side*side), memoryCases(n, side))
}

// BenchmarkMemoryShapes does the same for shapes of all kinds: none should be far slower than others.
func BenchmarkMemoryShapes(b *testing.B) {
	e := openTest(b)
	n, _ := benchSizes(e)
	benchmarkMemory(b, e, n, shapeCases(n))
}

// benchSizes returns how many elements vectors and the sides of matrices have: more than caches hold.
func benchSizes(e *engine) (n, side int) {
	if e.info.Type == driver.Software {
		return 1 << 21, 256
	}
	return 100_000_000, 8192
}

func benchmarkMemory(b *testing.B, e *engine, most int, cases []memoryCase) {
	e.checked = false
	memory := newBenchMemory(b, e, most)
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			s := c.step(memory.operand)
			reportMemory(b, timeSteps(b, e, func() {
				if err := e.Run(b.Context(), []backend.Step{s}); err != nil {
					b.Fatal(err)
				}
			}), touched(&s))
		})
	}
}

// reportMemory reports the times of a kernel that touches so many bytes.
func reportMemory(b *testing.B, times []time.Duration, bytes int) {
	b.Helper()
	slices.Sort(times)
	median := times[len(times)/2].Seconds()
	b.ReportMetric(median*1e3, "ms")
	b.ReportMetric(float64(bytes)/median/1e12, "TB/s")
	b.ReportMetric(100*float64(bytes)/median/4.8e12, "%-of-H200")
	b.ReportMetric(0, "ns/op") // of the host, that is
}

// benchMemory is memory that the cases share: two inputs of random numbers, and an output.
type benchMemory struct {
	in  [2]backend.Buffer
	out backend.Buffer
}

func newBenchMemory(tb testing.TB, e *engine, elements int) *benchMemory {
	tb.Helper()
	m := new(benchMemory)
	random := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, elements)
	for i := range x {
		x[i] = random.Float32()*4 - 2
	}
	for _, buf := range []*backend.Buffer{&m.in[0], &m.in[1], &m.out} {
		var err error
		if *buf, err = e.Alloc(4 * elements); err != nil {
			tb.Skip(err)
		}
		tb.Cleanup((*buf).Release)
	}
	for _, buf := range m.in {
		if err := e.Write(buf, 0, unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 4*len(x))); err != nil {
			tb.Fatal(err)
		}
	}
	return m
}

func (m *benchMemory) operand(k, _ int) backend.Buffer {
	if k < 0 {
		return m.out
	}
	return m.in[k]
}

// timeSteps calls f, which runs a step, until the benchmark is over, and returns how long the dispatches of each call took the
// GPU. At first it lets the GPU reach its clock.
func timeSteps(b *testing.B, e *engine, f func()) []time.Duration {
	b.Helper()
	if !e.Times() {
		b.Skip("the device has no clock")
	}
	for start := time.Now(); time.Since(start) < warmFor; {
		for range 16 {
			f()
		}
		e.mu.Lock()
		err := e.drain()
		e.mu.Unlock()
		if err != nil {
			b.Fatal(err)
		}
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
	calls := 0
	for b.Loop() {
		f()
		calls++
	}
	err := e.Timed(b.Context())
	stop()
	if err != nil {
		b.Fatal(err)
	}
	slices.SortFunc(spans, func(a, b backend.Span) int { return a.Start.Compare(b.Start) })
	times := make([]time.Duration, calls)
	each := len(spans) / calls
	for i, s := range spans {
		times[min(i/each, calls-1)] += s.Duration
	}
	return times
}

// warmFor is how long a GPU that idled takes to reach its clock, with some room.
const warmFor = 150 * time.Millisecond

// BenchmarkRowVariants tries the presets of kernels of rows.
func BenchmarkRowVariants(b *testing.B) {
	e := openTest(b)
	e.checked = false
	n, side := benchSizes(e)
	memory := newBenchMemory(b, e, max(n, side*side))
	all := memoryCases(n, side)
	for _, v := range []struct {
		name     string
		variants []rowVariant
	}{
		{"sum", []rowVariant{{256, 256, 4, 1056}, {256, 256, 8, 1056}, {1024, 1024, 4, 264}}},
		{"argmax", []rowVariant{{256, 256, 2, 1056}, {256, 256, 4, 1056}, {256, 256, 8, 1056}, {512, 512, 4, 528}}},
		{"cumsum", []rowVariant{
			{256, 256, 4, 1056},
			{256, 256, 4, 2112},
			{256, 256, 4, 4224},
			{256, 256, 8, 1056},
			{256, 256, 8, 2112},
			{256, 256, 8, 4224},
			{512, 512, 4, 1056},
			{512, 512, 4, 2112},
			{1024, 1024, 4, 264},
			{1024, 1024, 4, 1056},
		}},
		{"softmax, axis 1", []rowVariant{{256, 256, 8, 1}, {512, 512, 4, 1}}},
		{"var, axis 1", []rowVariant{{256, 256, 8, 1}, {512, 512, 4, 1}}},
		{"cumsum, axis 1", []rowVariant{{256, 256, 8, 1}, {512, 512, 4, 1}, {1024, 1024, 2, 1}}},
		{"sum, axis 0", []rowVariant{
			{256, 8, 4, 8},
			{256, 8, 8, 8},
			{256, 8, 4, 16},
			{256, 32, 4, 1},
			{256, 32, 8, 1},
			{256, 32, 4, 4},
			{512, 64, 4, 1},
			{512, 64, 8, 1},
			{1024, 128, 4, 1},
			{1024, 128, 8, 1},
			{1024, 64, 4, 1},
			{1024, 64, 8, 1},
		}},
		{"softmax, axis 0", []rowVariant{
			{256, 32, 4, 1}, {256, 32, 8, 1}, {512, 64, 2, 1}, {512, 64, 4, 1}, {1024, 128, 2, 1}, {1024, 128, 4, 1}, {1024, 64, 2, 1}, {1024, 64, 4, 1},
		}},
		{"cumsum, axis 0", []rowVariant{{256, 32, 4, 1}, {256, 32, 8, 1}, {512, 64, 4, 1}, {512, 64, 8, 1}, {1024, 128, 4, 1}}},
	} {
		c := all[slices.IndexFunc(all, func(c memoryCase) bool { return c.name == v.name })]
		for _, x := range v.variants {
			for _, subgroup := range slices.Compact([]int{e.subgroup, 0}) {
				b.Run(fmt.Sprintf("%s/subgroup %d, %v", c.name, subgroup, x), func(b *testing.B) {
					benchmarkRows(b, e, memory, &c, func(k *rowKernel) {
						k.rowPreset, k.subgroup = rowPreset{x.threads, x.team}, subgroup
						if k.threads > int(e.info.Limits.Invocations) || 4*k.scanWords(k.rowPreset) > 16<<10 {
							b.Skip("more than the device has")
						}
						k.fit(x.copies, x.copies)
						if !k.held {
							k.cut(x.pieces)
						}
					})
				})
			}
		}
	}
}

// A rowVariant is a preset with the units that a thread takes at once, and the pieces of a row.
type rowVariant struct{ threads, team, copies, pieces int }

// benchmarkRows times a kernel of rows of the variant that choose makes it.
func benchmarkRows(b *testing.B, e *engine, memory *benchMemory, c *memoryCase, choose func(*rowKernel)) {
	b.Helper()
	s := c.step(memory.operand)
	times := timeSteps(b, e, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		k := e.planRows(&s, s.Kernel, s.Kernel.Bodies()[0], 1)
		choose(k)
		k.block = block{}
		k.parameters(&s)
		e.noteStep(&s)
		if err := e.recordRows(k, s.Kernel); err != nil {
			b.Fatal(err)
		}
	})
	reportMemory(b, times, touched(&s))
}

// touched returns how many bytes of memory a step touches at the least.
func touched(s *backend.Step) int {
	bytes := 0
	for _, list := range [][]backend.Operand{s.In, s.Out} {
		for _, o := range list {
			bytes += o.Layout.Touched() * o.DType.Size()
		}
	}
	return bytes
}
