package cpu_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// TestQuantizedRow multiplies one row with quantised weights whose rows do and do not begin with blocks, and have more terms than
// are summed at a time, on one processor and several.
func TestQuantizedRow(t *testing.T) {
	const columns = 9
	dev := device(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, d := range []ops.DType{ops.Q8_0, ops.Q4_0, ops.Q4_1} {
		for _, c := range []struct{ k, row, off int }{
			{32, 32, 0}, {96, 96, 32}, {50, 64, 0}, {64, 96, 5}, {4096 + 32, 4096 + 32, 0}, {40 * 1024, 40 * 1024, 64}, {64, 70, 0},
		} {
			t.Run(fmt.Sprintf("%s/%d of %d from %d", d, c.k, c.row, c.off), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(c.k), uint64(c.row)))
				blocks := (c.off+columns*c.row)/ops.QuantBlock + 1
				mem := make([]byte, d.Bytes(blocks*ops.QuantBlock))
				for i := range mem {
					mem[i] = byte(r.Uint32())
				}
				size := len(mem) / blocks
				for b := range blocks {
					binary.LittleEndian.PutUint16(mem[b*size:], 0x2000+uint16(r.UintN(0x400))) // about 1/128
					if d == ops.Q4_1 {
						binary.LittleEndian.PutUint16(mem[b*size+2:], 0xa000+uint16(r.UintN(0x400)))
					}
				}
				xs := make([]float64, c.k)
				for i := range xs {
					xs[i] = float64(float32(r.NormFloat64()))
				}
				x := float32s(t, dev, backend.Shape{1, c.k}, list(xs...))
				w := backend.Operand{
					Buf: dev.Wrap(mem), DType: d,
					Layout: backend.Layout{Shape: backend.Shape{c.k, columns}, Strides: []int{1, c.row}, Offset: c.off},
				}
				k := &backend.MatMul{A: load(ops.Float32), B: load(d), Post: load(ops.Float32), Acc: ops.Float32}
				var first []float64
				for _, procs := range []int{1, 3} {
					runtime.GOMAXPROCS(procs)
					out := result(t, dev, ops.Float32, backend.Dense(backend.Shape{1, columns}))
					run(t, dev, backend.Step{Kernel: k, Shape: out.Layout.Shape, In: []backend.Operand{x, w}, Out: []backend.Operand{out}})
					var got []float64
					for _, v := range read(t, dev, out) {
						got = append(got, v.Float())
					}
					for j, v := range got {
						want, scale := 0.0, 0.0
						for l := range c.k {
							p := xs[l] * float64(d.Dequantize(mem, c.off+j*c.row+l))
							want, scale = want+p, scale+math.Abs(p)
						}
						if !(math.Abs(v-want) <= 1e-6*scale) {
							t.Fatalf("column %d is %v, want %v", j, v, want)
						}
					}
					if first == nil {
						first = got
					}
					if !slices.Equal(first, got) {
						t.Fatalf("%v with one processor, %v with %d", first, got, procs)
					}
				}
			})
		}
	}
}
