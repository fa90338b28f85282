package wgpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// attendTiles are tiles of all kinds, small and large.
var attendTiles = []attendTile{
	attendSmall,
	attendMiddle,
	attendLarge,
	attendWide,
	{down: 8, across: 8, m: 4, n: 4, w: 8, unroll: 16, slice: 64, values: 32, keep: true},                 // a half of attendLarge
	{down: 16, across: 8, m: 4, n: 4, w: 8, unroll: 16, slice: 32, values: 32, keep: true, shuffle: true}, // as what is not deep has it
	{down: 8, across: 8, m: 8, n: 8, w: 8, unroll: 8, slice: 16, values: 64},
	{down: 4, across: 8, m: 4, n: 8, w: 4, unroll: 4, slice: 8, values: 16, shuffle: true},
	{down: 8, across: 16, m: 8, n: 4, w: 4, unroll: 8, slice: 32, values: 64},
	{down: 4, across: 4, m: 4, n: 4, w: 16, unroll: 4, slice: 4, values: 8, keep: true},
}

// TestAttentionPresets compares the tiles and lines, on sizes that they divide and on sizes that they do not, with sums of float64.
func TestAttentionPresets(t *testing.T) {
	e := openTest(t)
	for _, c := range []struct {
		m, n, depth, width int
		causal             bool
	}{{64, 64, 64, 64, true}, {70, 131, 20, 36, true}, {17, 90, 33, 7, false}, {130, 67, 16, 70, true}} {
		const rows = 2
		q, k, v := numbers(rows*c.m*c.depth, 1, true), numbers(rows*c.n*c.depth, 2, true), numbers(rows*c.n*c.width, 3, true)
		shape := backend.Shape{rows, c.m, c.width}
		to := upload(t, e, ops.Float32, make([]int, shape.Len()))
		kernel := &backend.Attention{DType: ops.Float32, Causal: c.causal, Scale: 0.125, Post: *loads[ops.Float32]}
		s := backend.Step{
			Kernel: kernel, Shape: shape, Out: []backend.Operand{{Buf: to, DType: ops.Float32, Layout: backend.Dense(shape)}},
			In: []backend.Operand{
				matrices(upload(t, e, ops.Float32, q), ops.Float32, rows, c.m, c.depth, false), matrices(upload(t, e, ops.Float32, k), ops.Float32, rows, c.n, c.depth, false),
				matrices(upload(t, e, ops.Float32, v), ops.Float32, rows, c.n, c.width, false),
			},
		}
		want := make([]float64, shape.Len())
		for r := range rows {
			for i := range c.m {
				weights, total := make([]float64, c.n), 0.0
				for j := range c.n {
					if c.causal && j-i > c.n-c.m {
						continue
					}
					for d := range c.depth {
						weights[j] += float64(q[(r*c.m+i)*c.depth+d] * k[(r*c.n+j)*c.depth+d])
					}
					weights[j] = math.Exp(weights[j] * kernel.Scale)
					total += weights[j]
				}
				for x := range c.width {
					for j, w := range weights {
						want[(r*c.m+i)*c.width+x] += w / max(total, 1e-300) * float64(v[(r*c.n+j)*c.width+x])
					}
				}
			}
		}
		try := func(kind any, fits func(a *attending) bool, attend func(a *attending) error) {
			t.Run(fmt.Sprintf("%dx%d/%+v", c.m, c.n, kind), func(t *testing.T) {
				a := newAttending(e, &s, kernel)
				a.to = s.Out[0]
				if !fits(a) {
					t.Skip("more than there is")
				}
				e.mu.Lock()
				err := attend(a)
				a.release()
				e.mu.Unlock()
				if err != nil {
					t.Fatal(err)
				}
				for i, got := range floats(t, e, to) {
					if math.Abs(float64(got)-want[i]) > 1e-5 {
						t.Fatalf("element %d is %v, want %v", i, got, want[i])
					}
				}
			})
		}
		most := int(e.info.Limits.WorkgroupMemory)
		for _, tile := range attendTiles {
			try(tile, func(a *attending) bool {
				return tile.memory(a.depth) <= most && (!tile.shuffle || e.subgroup >= tile.across)
			},
				func(a *attending) error { return a.attendTiles(tile) })
		}
		for _, block := range []attendBlock{{down: 8, across: 8}, {down: 2, across: 4}, {down: 8, across: 16}, {down: 8, across: 32}, {down: 4, across: 32}} {
			try(block, block.fits, func(a *attending) error { return a.attendBlocks(block) })
		}
		for _, line := range []attendLine{{queries: 1, span: 128}, {queries: 1, span: 256, shuffle: true}, {queries: 4, span: 128, shuffle: true}} {
			try(line, func(a *attending) bool { return line.memory(a.depth) <= most && (!line.shuffle || e.subgroup >= 8) },
				func(a *attending) error { return a.attendLines(line) })
		}
	}
}

// floats returns the elements of a buffer of float32.
func floats(t *testing.T, e *engine, b backend.Buffer) []float32 {
	t.Helper()
	mem := make([]byte, b.Size())
	if err := e.Read(t.Context(), mem, b, 0); err != nil {
		t.Fatal(err)
	}
	list := make([]float32, len(mem)/4)
	for i := range list {
		list[i] = math.Float32frombits(uint32(mem[4*i]) | uint32(mem[4*i+1])<<8 | uint32(mem[4*i+2])<<16 | uint32(mem[4*i+3])<<24)
	}
	return list
}
