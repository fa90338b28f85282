package wgpu

import (
	"context"
	"fmt"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// candidates are the tiles and lines that the presets were chosen among. The benchmarks below try them on a device:
//
//	go test -run '^$' -bench 'Tiles|Lines|Plan' -benchtime 20x ./backend/wgpu
func candidates() (tiles []tile) {
	for _, c := range []tile{
		{rows: 128, columns: 128, depth: 16, m: 8, n: 8},
		{rows: 128, columns: 128, depth: 8, m: 8, n: 8},
		{rows: 128, columns: 128, depth: 16, m: 16, n: 8},
		{rows: 128, columns: 128, depth: 16, m: 8, n: 16},
		{rows: 128, columns: 64, depth: 16, m: 8, n: 8},
		{rows: 64, columns: 128, depth: 16, m: 8, n: 8},
		{rows: 64, columns: 64, depth: 16, m: 8, n: 8},
		{rows: 64, columns: 64, depth: 16, m: 8, n: 4},
		{rows: 64, columns: 64, depth: 16, m: 4, n: 4},
		{rows: 32, columns: 64, depth: 32, m: 4, n: 4},
		{rows: 32, columns: 32, depth: 16, m: 4, n: 4},
	} {
		for _, l := range []loop{loadThenUse, loadAhead, loadTwice} {
			for _, unroll := range []bool{false, true} {
				c.loop, c.unroll = l, unroll
				tiles = append(tiles, c)
			}
		}
	}
	return tiles
}

// BenchmarkTiles tries the tiles on square products of float32, plain and with B transposed.
func BenchmarkTiles(b *testing.B) {
	for _, n := range []int{1024, 2048, 4096} {
		for _, c := range candidates() {
			for _, turned := range []bool{false, true} {
				name := fmt.Sprintf("%d, %dx%dx%d of %dx%d, loop %d, unroll %t, turned %t", n, c.rows, c.columns, c.depth, c.m, c.n, c.loop, c.unroll, turned)
				b.Run(name, func(b *testing.B) {
					benchmarkProduct(b, ops.Float32, 1, n, n, n, turned, func(e *engine, p *product) choice {
						if c.memory(ops.Float32) > int(e.info.Limits.WorkgroupMemory) {
							b.Skip("more workgroup memory than there is")
						}
						return choice{tile: c}.sized(p)
					})
				})
			}
		}
	}
}

// BenchmarkLines tries lines on products of few rows, with weights of float32 and float16 that lie along their rows or
// their columns.
func BenchmarkLines(b *testing.B) {
	for _, d := range []ops.DType{ops.Float32, ops.Float16} {
		for _, turned := range []bool{false, true} {
			for _, m := range []int{1, 8} {
				for _, columns := range []int{1, 2, 4, 8, 16} {
					for _, steps := range []int{1, 2, 4} {
						for _, slices := range []int{1, 4} {
							l := line{rows: m, columns: columns, steps: steps}
							b.Run(fmt.Sprintf("%s, %d rows, turned %t, columns %d, steps %d, slices %d", d, m, turned, columns, steps, slices), func(b *testing.B) {
								benchmarkProduct(b, d, 1, m, 8192, 8192, turned, func(_ *engine, p *product) choice {
									return choice{line: l, slices: slices}.sized(p)
								})
							})
						}
					}
				}
			}
		}
	}
}

// BenchmarkPlan runs what plan chooses.
func BenchmarkPlan(b *testing.B) {
	for _, c := range []struct {
		d              ops.DType
		batch, m, n, k int
	}{
		{ops.Float32, 1, 4096, 4096, 4096},
		{ops.Float32, 1, 4100, 4092, 4093},
		{ops.Float16, 1, 4096, 4096, 4096},
		{ops.BFloat16, 1, 4096, 4096, 4096},
		{ops.Float32, 1, 1024, 1024, 1024},
		{ops.Float32, 1, 512, 512, 512},
		{ops.Float32, 1, 256, 256, 16384},
		{ops.Float32, 1, 16, 4096, 4096},
		{ops.Float32, 1, 1, 4096, 4096},
		{ops.Float16, 1, 1, 4096, 4096},
		{ops.Float32, 96, 512, 512, 64},
		{ops.Float32, 4096, 32, 32, 32},
		{ops.Int8, 1, 2048, 2048, 2048},
	} {
		for _, turned := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s, %dx[%d %d]·[%d %d], turned %t", c.d, c.batch, c.m, c.k, c.k, c.n, turned), func(b *testing.B) {
				benchmarkProduct(b, c.d, c.batch, c.m, c.n, c.k, turned, (*engine).plan)
			})
		}
	}
}

// benchmarkProduct times a product, ten of them at a time, and reports TFLOP/s and the speed at which B is read.
func benchmarkProduct(b *testing.B, d ops.DType, batch, m, n, k int, turned bool, plan func(*engine, *product) choice) {
	e := openTest(b)
	memory := func(elements int) *buffer {
		buf, err := e.Alloc(elements * d.Size())
		if err != nil {
			b.Skip(err)
		}
		b.Cleanup(buf.Release)
		return buf.(*buffer)
	}
	out := memory(batch * m * n)
	kernel := plainMatMul(d, false)
	shape := backend.Shape{batch, m, n}
	s := backend.Step{
		Kernel: kernel, Shape: shape, Out: []backend.Operand{{Buf: out, DType: d, Layout: backend.Dense(shape)}},
		In: []backend.Operand{matrices(memory(batch*m*k), d, batch, m, k, false), matrices(memory(batch*k*n), d, batch, k, n, turned)},
	}
	p := newProduct(&s, kernel)
	c := plan(e, p)
	const times = 10
	round := func() {
		e.mu.Lock()
		for range times {
			if err := e.multiply(p, c, kernel.AppendKey(nil)); err != nil {
				b.Error(err)
			}
		}
		e.mu.Unlock()
		if err := e.Read(context.Background(), nil, out, 0); err != nil {
			b.Fatal(err)
		}
	}
	round()
	for b.Loop() {
		round()
	}
	each := b.Elapsed().Seconds() / float64(b.N) / times
	b.ReportMetric(2*float64(batch*m*n)*float64(k)/each/1e12, "TFLOP/s")
	b.ReportMetric(float64(batch*k*n*d.Size())/each/1e9, "GB/s")
	b.ReportMetric(each*1e6, "µs/product")
}
