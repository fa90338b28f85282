package wgpu

import (
	"fmt"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// increments returns n steps on vectors of 16 float32: each adds 1 to what the one before left.
func increments(tb testing.TB, e *engine, n int) []backend.Step {
	tb.Helper()
	var b ops.Builder
	x := b.Load(b.Operand(ops.Float32), false)
	b.Result(b.Apply(ops.Add, x, b.Const(0, ops.Float32)))
	kernel := &backend.Map{Body: b.Expr()}
	layout := backend.Dense(backend.Shape{16})
	var bufs [2]backend.Buffer
	for i := range bufs {
		var err error
		if bufs[i], err = e.Alloc(64); err != nil {
			tb.Fatal(err)
		}
	}
	if err := e.Write(bufs[0], 0, make([]byte, 64)); err != nil {
		tb.Fatal(err)
	}
	steps := make([]backend.Step, n)
	for i := range steps {
		steps[i] = backend.Step{
			Kernel: kernel, Shape: backend.Shape{16}, Memo: new(backend.Memo), Consts: []uint64{ops.FloatValue(ops.Float32, 1).Bits()},
			In:  []backend.Operand{{DType: ops.Float32, Buf: bufs[i%2], Layout: layout}},
			Out: []backend.Operand{{DType: ops.Float32, Buf: bufs[(i+1)%2], Layout: layout}},
		}
	}
	return steps
}

// BenchmarkSteps is 1,000 tiny kernels, each on the result of the one before: in one Run, in a Run for each, and in a Run for
// each whose result is waited for.
func BenchmarkSteps(b *testing.B) {
	e := openTest(b)
	e.checked = false
	steps := increments(b, e, 1000)
	for _, each := range []struct {
		name   string
		steps  int
		waited bool
	}{{"OneRun", 1000, true}, {"Runs", 1, false}, {"Waited", 1, true}} {
		b.Run(each.name, func(b *testing.B) {
			for b.Loop() {
				for i := 0; i < len(steps); i += each.steps {
					if err := e.Run(b.Context(), steps[i:i+each.steps]); err != nil {
						b.Fatal(err)
					}
					if each.waited {
						wait(b, e, steps[0].In[0].Buf)
					}
				}
				wait(b, e, steps[0].In[0].Buf)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(steps)), "ns/kernel")
		})
	}
}

// BenchmarkFreshMemory is what memory that the pool does not have costs: for each of the sizes, an allocation, and one with a
// kernel that writes to it.
func BenchmarkFreshMemory(b *testing.B) {
	e := openTest(b)
	step := increments(b, e, 1)[0]
	for _, size := range []int{64, 1 << 20, 64 << 20} {
		for _, used := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/%t", size, used), func(b *testing.B) {
				var bufs []backend.Buffer
				for b.Loop() {
					buf, err := e.Alloc(size)
					if err != nil {
						b.Fatal(err)
					}
					bufs = append(bufs, buf)
					if !used {
						continue
					}
					step.Out[0].Buf = buf
					if err := e.Run(b.Context(), []backend.Step{step}); err != nil {
						b.Fatal(err)
					}
				}
				wait(b, e, bufs[0])
				for _, buf := range bufs {
					buf.Release()
				}
				e.mu.Lock()
				e.trim(0)
				e.mu.Unlock()
			})
		}
	}
}

func wait(tb testing.TB, e *engine, buf backend.Buffer) {
	tb.Helper()
	if err := e.Read(tb.Context(), nil, buf, 0); err != nil {
		tb.Fatal(err)
	}
}
