package wgpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
	"github.com/weft-go/weft/ops"
)

// packedKernel multiplies Float32 with elements of type d.
func packedKernel(d ops.DType) *backend.MatMul {
	k := plainMatMul(ops.Float32, true)
	var b ops.Builder
	b.Result(b.Load(b.Operand(d), false))
	k.B = b.Expr()
	return k
}

// TestMatMulPacked compares the kernels that read whole blocks with sums of float64.
func TestMatMulPacked(t *testing.T) {
	e := openTest(t)
	for i, c := range []packed{
		{rows: 1, columns: 8, along: 4, each: 1, blocks: 8},
		{rows: 2, columns: 4, along: 2, each: 2, blocks: 8},
		{rows: 4, columns: 4, along: 4, each: 1, blocks: 2},
		{rows: 8, columns: 8, along: 4, each: 2, blocks: 2},
	} {
		for j, d := range []ops.DType{ops.Q8_0, ops.Q4_0, ops.Q4_1} {
			for _, slices := range []int{1, 2} {
				if testing.Short() && (i+j+slices)%4 != 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d slices/%+v", d, slices, c), func(t *testing.T) { testPacked(t, e, c, d, slices) })
			}
		}
	}
}

func testPacked(t *testing.T, e *engine, c packed, d ops.DType, slices int) {
	const batch = 2
	m, n, k := c.rows-c.rows/4, 2*c.width()+3, 3*c.along*c.unit()-c.unit()
	x, z := numbers(batch*m*k, 1, true), numbers(n, 3, true)
	weights := make([]float32, batch*n*k)
	for i, v := range numbers(len(weights), 2, true) {
		weights[i] = float32(v) + float32(i%5)*0.3
	}
	blocks, err := d.Quantize(weights)
	if err != nil {
		t.Fatal(err)
	}
	y, err := e.Alloc(len(blocks))
	if err != nil {
		t.Fatal(err)
	}
	defer y.Release()
	if err := e.Write(y, 0, blocks); err != nil {
		t.Fatal(err)
	}
	out := upload(t, e, ops.Float32, make([]int, batch*m*n))
	s := backend.Step{
		Shape: backend.Shape{batch, m, n}, Out: []backend.Operand{matrices(out, ops.Float32, batch, m, n, false)},
		In: []backend.Operand{
			matrices(upload(t, e, ops.Float32, x), ops.Float32, batch, m, k, false), matrices(y.(*buffer), d, batch, k, n, true),
			{Buf: upload(t, e, ops.Float32, z), DType: ops.Float32, Layout: backend.Layout{Shape: backend.Shape{batch, m, n}, Strides: []int{0, 0, 1}}},
		},
	}
	kernel := packedKernel(d)
	p := newProduct(&s, kernel)
	if p.packable()%c.blocks != 0 {
		t.Fatal("units of", p.packable())
	}
	e.mu.Lock()
	err = e.multiply(p, choice{packed: c, slices: slices}.sized(p), kernel.AppendKey(nil))
	e.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range floats(t, e, out) {
		b, row, column := i/(m*n), i/n%m, i%n
		sum, most := float64(z[column]), 0.0
		for l := range k {
			v := float64(x[(b*m+row)*k+l]) * float64(d.Dequantize(blocks, (b*n+column)*k+l))
			sum += v
			most += math.Abs(v)
		}
		if math.Abs(sum-float64(got)) > 1e-6*most {
			t.Fatalf("element [%d %d %d] is %v, want %v", b, row, column, got, sum)
		}
	}
}

// TestMatMulPackable tests which products are computed so, on a GPU.
func TestMatMulPackable(t *testing.T) {
	e := openTest(t)
	e.info.Type = driver.Discrete
	x, y := upload(t, e, ops.Float32, []int{0}), upload(t, e, ops.Float32, []int{0})
	for _, c := range []struct {
		m, n, k int
		turned  bool
		offset  int
		memory  int
		want    packed
	}{
		{m: 1, n: 4096, k: 4096, turned: true, want: packed{1, 16, 16, 1, 8}},
		{m: 4096, n: 1, k: 512, want: packed{}},
		{m: 1, n: 96, k: 576, turned: true, want: packed{1, 4, 32, 2, 2}},
		{m: 1, n: 96, k: 576, turned: true, offset: 576, want: packed{1, 4, 32, 2, 2}},
		{m: 2, n: 4096, k: 4096, turned: true, want: packed{2, 8, 32, 2, 2}},
		{m: 5, n: 4096, k: 4096, turned: true, want: packed{8, 16, 16, 2, 2}},
		{m: 5, n: 4096, k: 4096, turned: true, memory: 16 << 10, want: packed{8, 16, 4, 2, 2}},
		{m: 9, n: 4096, k: 4096, turned: true},
		{m: 1, n: 4096, k: 4096},
		{m: 1, n: 100, k: 96, turned: true},
		{m: 1, n: 100, k: 128, turned: true, offset: 32},
	} {
		shape := backend.Shape{1, c.m, c.n}
		k := packedKernel(ops.Q8_0)
		weights := matrices(y, ops.Q8_0, 1, c.k, c.n, c.turned)
		weights.Layout.Offset = c.offset
		e.info.Limits.WorkgroupMemory = 48 << 10
		if c.memory > 0 {
			e.info.Limits.WorkgroupMemory = uint32(c.memory)
		}
		p := newProduct(&backend.Step{
			Kernel: k, Shape: shape, Out: []backend.Operand{matrices(x, ops.Float32, 1, c.m, c.n, false)},
			In: []backend.Operand{matrices(x, ops.Float32, 1, c.m, c.k, false), weights, matrices(x, ops.Float32, 1, c.m, c.n, false)},
		}, k)
		if got := e.plan(p).packed; got != c.want {
			t.Errorf("[%d %d]·[%d %d], turned %t, from %d on: %+v, want %+v", c.m, c.k, c.k, c.n, c.turned, c.offset, got, c.want)
		}
	}
}
