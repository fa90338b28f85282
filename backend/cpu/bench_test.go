package cpu_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
)

// bench times a step over shape, with random operands of the given layouts; bytes counts what it must move.
func bench(b *testing.B, k backend.Kernel, shape backend.Shape, in []backend.Layout, out backend.Layout, consts ...float64) {
	dev := cpu.New()
	r := rand.New(rand.NewPCG(1, 1))
	s := backend.Step{Kernel: k, Shape: shape}
	for _, c := range consts {
		s.Consts = append(s.Consts, ops.FloatValue(ops.Float32, c).Bits())
	}
	bytes := 0
	memory := func(l backend.Layout, random bool) backend.Operand {
		_, hi := l.Bounds()
		mem := make([]byte, 4*(hi+1))
		for at := 0; random && at <= hi; at++ {
			encode(mem, ops.Float32, at, ops.FloatValue(ops.Float32, r.NormFloat64()))
		}
		bytes += len(mem)
		return backend.Operand{Buf: dev.Wrap(mem), DType: ops.Float32, Layout: l}
	}
	for _, l := range in {
		s.In = append(s.In, memory(l, true))
	}
	s.Out = []backend.Operand{memory(out, false)}
	b.SetBytes(int64(bytes))
	for b.Loop() {
		if err := dev.Run(context.Background(), []backend.Step{s}); err != nil {
			b.Fatal(err)
		}
	}
}

func loadF32(b *ops.Builder) ops.Ref { return b.Load(b.Operand(ops.Float32), false) }

func BenchmarkMulAddConst(b *testing.B) {
	var e ops.Builder
	x, y := loadF32(&e), loadF32(&e)
	e.Result(e.Apply(ops.Add, e.Apply(ops.Mul, x, y), e.Const(0, ops.Float32)))
	l := backend.Dense(backend.Shape{1e7})
	bench(b, &backend.Map{Body: e.Expr()}, l.Shape, []backend.Layout{l, l}, l, 42)
}

func BenchmarkGELUChain(b *testing.B) { // gelu(a*b+1)*2-b
	var e ops.Builder
	x, y := loadF32(&e), loadF32(&e)
	g := e.Apply(ops.GELU, e.Apply(ops.Add, e.Apply(ops.Mul, x, y), e.Const(0, ops.Float32)))
	e.Result(e.Apply(ops.Sub, e.Apply(ops.Mul, g, e.Const(1, ops.Float32)), y))
	l := backend.Dense(backend.Shape{1e7})
	bench(b, &backend.Map{Body: e.Expr()}, l.Shape, []backend.Layout{l, l}, l, 1, 2)
}

func BenchmarkFunction(b *testing.B) {
	l := backend.Dense(backend.Shape{1e7})
	for _, o := range []*ops.Op{ops.Exp, ops.Log, ops.Tanh, ops.Sigmoid, ops.Erf, ops.Sin, ops.Sqrt} {
		b.Run(o.Name, func(b *testing.B) {
			var e ops.Builder
			e.Result(e.Apply(o, loadF32(&e)))
			bench(b, &backend.Map{Body: e.Expr()}, l.Shape, []backend.Layout{l}, l)
		})
	}
}

func BenchmarkTranspose(b *testing.B) {
	var e ops.Builder
	e.Result(loadF32(&e))
	l := backend.Dense(backend.Shape{4096, 4096})
	bench(b, &backend.Map{Body: e.Expr()}, l.Shape, []backend.Layout{must(l.Permute(1, 0))}, l)
}

func BenchmarkReduce(b *testing.B) {
	for _, red := range []ops.ReduceOp{ops.ReduceSum, ops.ReduceMax, ops.ReduceArgMax} {
		var e ops.Builder
		e.Result(e.Reduce(red, loadF32(&e)))
		k := &backend.Reduce{Body: e.Expr(), Axes: 1}
		for name, l := range map[string]backend.Layout{
			"1e7":   backend.Dense(backend.Shape{1, 1e7}),
			"rows":  backend.Dense(backend.Shape{4096, 4096}),
			"cols":  must(backend.Dense(backend.Shape{4096, 4096}).Permute(1, 0)),
			"short": backend.Dense(backend.Shape{1e6, 10}),
		} {
			b.Run(red.String()+"/"+name, func(b *testing.B) {
				out := alongRows(l.Shape, 1)
				if red == ops.ReduceArgMax {
					benchArg(b, k, l, out)
					return
				}
				bench(b, k, l.Shape, []backend.Layout{l}, out)
			})
		}
	}
}

func benchArg(b *testing.B, k backend.Kernel, l, out backend.Layout) {
	dev := cpu.New()
	r := rand.New(rand.NewPCG(1, 1))
	x := operand(b, dev, ops.Float32, l, func(int) ops.Value { return ops.FloatValue(ops.Float32, r.NormFloat64()) })
	s := backend.Step{Kernel: k, Shape: l.Shape, In: []backend.Operand{x.Operand}, Out: []backend.Operand{result(b, dev, ops.Int32, out)}}
	b.SetBytes(int64(4 * l.Len()))
	for b.Loop() {
		if err := dev.Run(context.Background(), []backend.Step{s}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRow(b *testing.B) {
	for name, l := range map[string]backend.Layout{
		"4096x1024": backend.Dense(backend.Shape{4096, 1024}),
		"1e5x10":    backend.Dense(backend.Shape{1e5, 10}),
		"columns":   must(backend.Dense(backend.Shape{1024, 4096}).Permute(1, 0)),
		"long":      backend.Dense(backend.Shape{2, 1 << 21}),
	} {
		b.Run("softmax/"+name, func(b *testing.B) {
			bench(b, &backend.Row{Body: softmax(ops.Float32), Axes: 1}, l.Shape, []backend.Layout{l}, backend.Dense(l.Shape))
		})
	}
}

func BenchmarkScan(b *testing.B) {
	k := &backend.Scan{Body: scanOf(ops.ReduceSum, ops.Float32, false, false)}
	for name, l := range map[string]backend.Layout{
		"1e7":  backend.Dense(backend.Shape{1, 1e7}),
		"rows": backend.Dense(backend.Shape{4096, 4096}),
		"cols": must(backend.Dense(backend.Shape{4096, 4096}).Permute(1, 0)),
	} {
		b.Run(name, func(b *testing.B) {
			bench(b, k, l.Shape, []backend.Layout{l}, backend.Layout{Shape: l.Shape, Strides: l.Strides})
		})
	}
}

// BenchmarkTiny is the cost of a step beside its work.
func BenchmarkTiny(b *testing.B) {
	var e ops.Builder
	x, y := loadF32(&e), loadF32(&e)
	e.Result(e.Apply(ops.Add, e.Apply(ops.Mul, x, y), e.Const(0, ops.Float32)))
	l := backend.Dense(backend.Shape{16})
	b.ReportAllocs()
	bench(b, &backend.Map{Body: e.Expr()}, l.Shape, []backend.Layout{l, l}, l, 42)
}

// BenchmarkTinyRow is that of a softmax.
func BenchmarkTinyRow(b *testing.B) {
	l := backend.Dense(backend.Shape{4, 16})
	b.ReportAllocs()
	bench(b, &backend.Row{Body: softmax(ops.Float32), Axes: 1}, l.Shape, []backend.Layout{l}, l)
}
