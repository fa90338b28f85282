package wgpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A workload is a product or a convolution that the benchmarks time.
type workload struct {
	name           string
	d              ops.DType // of A, the sums and the result
	weights        ops.DType // of B, converted on the way; 0 is d
	batch, m, n, k int
	turned         bool // the columns of B lie side by side

	conv          *backend.Conv
	image, window backend.Shape // of a convolution: [N C H W], [O C/groups h w]
}

// prepared is a workload with its operands on a device.
type prepared struct {
	p   *product
	run func(choice) error
}

// flops returns the multiplications and additions.
func (w *workload) flops() float64 {
	if w.conv != nil {
		return 2 * float64(w.shape().Len()) * float64(w.window[1:].Len())
	}
	return 2 * float64(w.batch*w.m*w.n) * float64(w.k)
}

// shape returns the domain of a convolution.
func (w *workload) shape() backend.Shape {
	s := backend.Shape{w.image[0], w.window[0]}
	for a, st := range w.conv.Stride {
		s = append(s, (w.image[2+a]+2*w.conv.Pad[a]-w.conv.Dilation[a]*(w.window[2+a]-1)-1)/st+1)
	}
	return s
}

// randomOperand returns memory filled with numbers from -1 to 1, or whole ones from -100 to 100.
func randomOperand(b *testing.B, e *engine, d ops.DType, shape backend.Shape) backend.Operand {
	b.Helper()
	size := shape.Len() * d.Size()
	if d.Quantized() {
		size = d.Bytes(shape.Len())
	}
	buf, err := e.Alloc(size)
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(buf.Release)
	rnd := rand.New(rand.NewPCG(1, uint64(shape.Len())))
	chunk := make([]byte, 0, 1<<20)
	if d.Quantized() {
		x := make([]float32, cap(chunk))
		for i := range x {
			x[i] = float32(2*rnd.Float64() - 1)
		}
		if chunk, err = d.Quantize(x); err != nil {
			b.Fatal(err)
		}
	}
	for !d.Quantized() && len(chunk) < cap(chunk) {
		v := 2*rnd.Float64() - 1
		if !d.IsFloat() {
			v = math.Round(100 * v)
		}
		bits := ops.FloatValue(ops.Float64, v).Convert(d).Bits()
		chunk = append(chunk, binary.LittleEndian.AppendUint64(nil, bits)[:d.Size()]...)
	}
	for at := 0; at < buf.Size(); at += len(chunk) {
		if err := e.Write(buf, at, chunk[:min(len(chunk), buf.Size()-at)]); err != nil {
			b.Fatal(err)
		}
	}
	return backend.Operand{Buf: buf, DType: d, Layout: backend.Dense(shape)}
}

// prepare puts a workload on a device.
func (w *workload) prepare(b *testing.B, e *engine) prepared {
	b.Helper()
	if w.conv != nil {
		w.conv.Post = *loads[w.d]
		s := backend.Step{
			Kernel: w.conv, Shape: w.shape(), Out: []backend.Operand{randomOperand(b, e, w.d, w.shape())},
			In: []backend.Operand{randomOperand(b, e, w.d, w.image), randomOperand(b, e, w.d, w.window)},
		}
		if depthwise(&s, w.conv) {
			return prepared{p: newConvolution(&s, w.conv), run: func(choice) error { return e.lowerConv(&s, w.conv) }}
		}
		p := newConvolution(&s, w.conv)
		var chosen *product
		e.mu.Lock()
		err := e.convolve(p, w.conv, func(p *product, _ []byte) (choice, error) { chosen = p; return e.plan(p), nil })
		e.mu.Unlock()
		if err != nil {
			b.Fatal(err)
		}
		return prepared{p: chosen, run: func(c choice) error {
			return e.convolve(newConvolution(&s, w.conv), w.conv, func(*product, []byte) (choice, error) { return c, nil })
		}}
	}
	weights := w.weights
	if weights == 0 {
		weights = w.d
	}
	k := plainMatMul(w.d, false)
	if weights != w.d {
		var cast ops.Builder
		cast.Result(cast.Cast(w.d, cast.Load(cast.Operand(weights), false)))
		k.B = cast.Expr()
	}
	batch := max(w.batch, 1)
	x, y := randomOperand(b, e, w.d, backend.Shape{batch, w.m, w.k}), randomOperand(b, e, weights, backend.Shape{batch, w.k, w.n})
	if w.turned {
		y.Layout.Strides = []int{w.k * w.n, 1, w.k}
	}
	out := randomOperand(b, e, w.d, backend.Shape{batch, w.m, w.n})
	s := backend.Step{Kernel: k, Shape: out.Layout.Shape, In: []backend.Operand{x, y}, Out: []backend.Operand{out}}
	p := newProduct(&s, k)
	return prepared{p: p, run: func(c choice) error { return e.multiply(p, c, k.AppendKey(nil)) }}
}

// workloads are what the presets are chosen by.
func workloads() (list []workload) {
	square := func(d ops.DType, n int) workload {
		return workload{name: fmt.Sprintf("%s %d", d, n), d: d, batch: 1, m: n, n: n, k: n}
	}
	for _, n := range []int{4096, 8192, 2048, 1024, 512} {
		list = append(list, square(ops.Float32, n))
	}
	turned := square(ops.Float32, 4096)
	turned.name, turned.turned = "float32 4096 turned", true
	half := square(ops.Float16, 4096)
	half.name, half.turned = "float16 4096 turned", true
	odd := workload{name: "float32 odd", d: ops.Float32, batch: 1, m: 4100, n: 4092, k: 4093}
	list = append(list, turned, odd, square(ops.Float16, 4096), half, square(ops.BFloat16, 4096), square(ops.Float16, 1024))
	for _, m := range []int{1, 8, 32, 128} {
		for _, weights := range []ops.DType{ops.Float32, ops.Float16} {
			for _, turned := range []bool{false, true} {
				list = append(list, workload{
					name: fmt.Sprintf("rows %d %s turned=%t", m, weights, turned), d: ops.Float32, weights: weights, batch: 1, m: m, n: 4096, k: 4096, turned: turned,
				})
			}
		}
	}
	for _, m := range []int{1, 2, 4, 8, 32} {
		for _, weights := range []ops.DType{ops.Q8_0, ops.Q4_0, ops.Q4_1} {
			list = append(list, workload{
				name: fmt.Sprintf("rows %d %s", m, weights), d: ops.Float32, weights: weights, batch: 1, m: m, n: 4096, k: 4096, turned: true,
			})
		}
	}
	plain := func(groups, pad, stride int) *backend.Conv {
		return &backend.Conv{Stride: []int{stride, stride}, Dilation: []int{1, 1}, Pad: []int{pad, pad}, Groups: groups}
	}
	return append(list,
		workload{name: "batch 64x512", d: ops.Float32, batch: 64, m: 512, n: 512, k: 512},
		workload{name: "heads 96x512x64", d: ops.Float32, batch: 96, m: 512, n: 512, k: 64},
		workload{name: "batch 4096x32", d: ops.Float32, batch: 4096, m: 32, n: 32, k: 32},
		workload{name: "deep 256x16384", d: ops.Float32, batch: 1, m: 256, n: 256, k: 16384},
		workload{name: "int8 2048", d: ops.Int8, batch: 1, m: 2048, n: 2048, k: 2048},
		workload{name: "conv 3x3", d: ops.Float32, conv: plain(1, 1, 1), image: backend.Shape{32, 64, 56, 56}, window: backend.Shape{64, 64, 3, 3}},
		workload{name: "conv 1x1", d: ops.Float32, conv: plain(1, 0, 1), image: backend.Shape{32, 256, 56, 56}, window: backend.Shape{64, 256, 1, 1}},
		workload{name: "conv 7x7 stride 2", d: ops.Float32, conv: plain(1, 3, 2), image: backend.Shape{32, 3, 224, 224}, window: backend.Shape{64, 3, 7, 7}},
		workload{name: "conv deep", d: ops.Float32, conv: plain(1, 1, 1), image: backend.Shape{32, 512, 7, 7}, window: backend.Shape{512, 512, 3, 3}},
		workload{name: "conv depthwise", d: ops.Float32, conv: plain(144, 1, 1), image: backend.Shape{32, 144, 56, 56}, window: backend.Shape{144, 1, 3, 3}},
	)
}

// BenchmarkProducts times what plan chooses for each workload, by the device's clock: the median of so many rounds.
//
//	go test -run '^$' -bench Products -benchtime 20x ./backend/wgpu
func BenchmarkProducts(b *testing.B) {
	e := openTest(b)
	h := newHeater(b, e)
	for _, w := range workloads() {
		b.Run(w.name, func(b *testing.B) {
			s := w.prepare(b, e)
			w.time(b, e, h, s, e.plan(s.p))
		})
	}
}

// A heater is a product that keeps the device busy, so that it runs at full speed: one that idles lowers its clock.
type heater struct {
	s prepared
	c choice
}

func newHeater(b *testing.B, e *engine) *heater {
	w := workload{d: ops.Float32, batch: 1, m: 2048, n: 2048, k: 2048}
	h := &heater{s: w.prepare(b, e)}
	h.c = e.plan(h.s.p)
	h.heat(b, e, 400*time.Millisecond)
	return h
}

func (h *heater) heat(b *testing.B, e *engine, d time.Duration) {
	rounds := 8
	if e.Info().Software {
		rounds, d = 1, 0
	}
	for start := time.Now(); ; {
		e.mu.Lock()
		var err error
		for range rounds {
			if err == nil {
				err = h.s.run(h.c)
			}
		}
		e.mu.Unlock()
		if err != nil {
			b.Fatal(err)
		}
		wait(b, e, h.s.p.out[0].Buf)
		if time.Since(start) >= d {
			return
		}
	}
}

// time times a choice: the median of the rounds.
func (w *workload) time(b *testing.B, e *engine, h *heater, s prepared, c choice) {
	if !e.Times() {
		b.Skip("the device has no clock")
	}
	if c.tile.memory(summed(s.p.acc)) > int(e.info.Limits.WorkgroupMemory) {
		b.Skip("more workgroup memory than there is")
	}
	run := func() {
		e.mu.Lock()
		e.current = stepNote{family: "matmul"}
		err := s.run(c)
		e.current = stepNote{}
		e.mu.Unlock()
		if err != nil {
			b.Fatal(err)
		}
	}
	run() // compiles
	h.heat(b, e, 300*time.Millisecond)
	var mu sync.Mutex
	var spans []backend.Span
	stop := backend.Trace(func(s backend.Span) {
		mu.Lock()
		defer mu.Unlock()
		if s.Device != "" {
			spans = append(spans, s)
		}
	})
	rounds := 0
	for b.Loop() {
		rounds++
		run()
	}
	err := e.Timed(b.Context())
	stop()
	if err != nil || len(spans)%rounds != 0 {
		b.Fatal(len(spans), rounds, err)
	}
	slices.SortFunc(spans, func(a, b backend.Span) int { return a.Start.Compare(b.Start) })
	times := make([]float64, rounds)
	for i, s := range spans {
		times[i*rounds/len(spans)] += s.Duration.Seconds()
	}
	slices.Sort(times)
	median := times[rounds/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median*1e6, "µs")
	b.ReportMetric(w.flops()/median/1e12, "TFLOP/s")
}

// BenchmarkLines tries lines on products of few rows.
func BenchmarkLines(b *testing.B) {
	e := openTest(b)
	h := newHeater(b, e)
	for _, w := range workloads() {
		if w.m == 0 || w.m > fewRows {
			continue
		}
		b.Run(w.name, func(b *testing.B) {
			s := w.prepare(b, e)
			for _, each := range []int{1, 2, 4} {
				if each > 1 && !w.turned {
					continue
				}
				for _, columns := range []int{2, 4, 8} {
					for _, steps := range []int{1, 2, 4} {
						l := line{rows: w.m, columns: columns, each: each, steps: steps}
						b.Run(fmt.Sprintf("%d columns, each %d, steps %d", 4*columns, each, steps), func(b *testing.B) {
							w.time(b, e, h, s, choice{line: l}.sized(s.p))
						})
					}
				}
			}
		})
	}
}

// BenchmarkPacked tries how products of few rows with quantised columns are shared out.
func BenchmarkPacked(b *testing.B) {
	e := openTest(b)
	h := newHeater(b, e)
	for _, w := range workloads() {
		if !w.weights.Quantized() || w.m > fewRows {
			continue
		}
		b.Run(w.name, func(b *testing.B) {
			s := w.prepare(b, e)
			for _, c := range []packed{packedOne, packedShort, packedTwo, packedMany, {columns: 32, along: 16, each: 1, blocks: 8}, {columns: 8, along: 16, each: 2, blocks: 2}, {columns: 16, along: 8, each: 2, blocks: 2}} {
				if c.rows = w.m; c.memory() > int(e.info.Limits.WorkgroupMemory) {
					continue
				}
				b.Run(fmt.Sprintf("%d columns, each %d, %d along, %d blocks", c.columns, c.each, c.along, c.blocks), func(b *testing.B) {
					w.time(b, e, h, s, choice{packed: c}.sized(s.p))
				})
			}
		})
	}
}

// BenchmarkTiles tries tiles, and slices of K.
func BenchmarkTiles(b *testing.B) {
	e := openTest(b)
	h := newHeater(b, e)
	list := map[string]workload{}
	for _, w := range workloads() {
		list[w.name] = w
	}
	out := func(rows, columns, depth, m, n int, l loop) tile {
		return tile{rows: rows, columns: columns, depth: depth, m: m, n: n, loop: l, unroll: true}
	}
	large := []tile{
		out(128, 128, 16, 8, 8, loadAhead), out(128, 128, 16, 8, 8, loadTwice), out(128, 128, 8, 8, 8, loadAhead),
		out(128, 128, 16, 8, 16, loadAhead), out(128, 128, 8, 8, 16, loadTwice), out(128, 128, 8, 16, 8, loadTwice),
		out(128, 256, 8, 8, 16, loadTwice), out(256, 128, 8, 16, 8, loadTwice), out(128, 256, 16, 8, 16, loadAhead),
		out(128, 128, 32, 8, 8, loadAhead), out(128, 96, 16, 8, 12, loadAhead),
	}
	middle := []tile{
		out(64, 128, 16, 8, 8, loadAhead), out(64, 64, 16, 8, 8, loadAhead), out(64, 64, 16, 8, 4, loadAhead), out(64, 64, 16, 4, 4, loadAhead),
	}
	flat := []tile{
		out(32, 128, 16, 8, 4, loadAhead), out(32, 64, 32, 4, 4, loadAhead), out(32, 32, 16, 4, 4, loadAhead),
	}
	one := []int{1}
	for _, c := range []struct {
		names  []string
		tiles  []tile
		slices []int
	}{
		{[]string{"float32 4096", "float32 4096 turned", "float16 4096", "float32 2048"}, large, one},
		{[]string{"float32 1024", "float32 512", "heads 96x512x64", "conv 3x3", "conv 1x1", "conv 7x7 stride 2"}, middle, one},
		{[]string{"float32 512", "batch 4096x32"}, flat, one},
		{[]string{"rows 128 float32 turned=false", "conv deep"}, []tile{out(128, 64, 16, 8, 8, loadAhead), middle[2]}, []int{2, 4}},
	} {
		for _, name := range c.names {
			w := list[name]
			b.Run(name, func(b *testing.B) {
				s := w.prepare(b, e)
				for _, t := range c.tiles {
					for _, n := range c.slices {
						b.Run(fmt.Sprintf("%dx%dx%d of %dx%d, loop %d, slices %d", t.rows, t.columns, t.depth, t.m, t.n, t.loop, n), func(b *testing.B) {
							w.time(b, e, h, s, choice{tile: t, slices: n}.sized(s.p))
						})
					}
				}
			})
		}
	}
}
