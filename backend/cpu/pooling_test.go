package cpu_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
)

// pool runs k over x with windows at out, in layout l of the domain.
func pool(t testing.TB, b *cpu.Backend, k backend.Pool, x tensor, out []int, layout string) []ops.Value {
	t.Helper()
	k.Post = load(x.DType)
	lead := len(x.Layout.Shape) - len(out)
	domain := append(x.Layout.Shape[:lead:lead], out...)
	o := result(t, b, x.DType, layouts(domain)[layout])
	run(t, b, backend.Step{Kernel: &k, Shape: domain, In: []backend.Operand{x.Operand}, Out: []backend.Operand{o}})
	return read(t, b, o)
}

// checkPool compares got with the definition.
func checkPool(t *testing.T, k backend.Pool, x tensor, out []int, got []ops.Value) {
	t.Helper()
	spatial, window := backend.Shape(out), backend.Shape(k.Window)
	in := x.Layout.Shape[len(x.Layout.Shape)-len(out):]
	moves := backend.Conv{Stride: k.Stride, Dilation: k.Dilation, Pad: k.Pad}
	padded := in.Clone()
	for d := range padded {
		padded[d] += k.Pad[d] + k.PadEnd[d]
	}
	for i, g := range got {
		sum, count := 0.0, 0.0
		var most *ops.Value
		for tap := range window.Len() {
			at, ok := reads(moves, in, window, spatial, i%spatial.Len(), tap)
			if _, inPad := reads(backend.Conv{Stride: k.Stride, Dilation: k.Dilation, Pad: make([]int, len(in))}, padded, window, spatial, i%spatial.Len(), tap); k.CountPad && inPad || ok {
				count++
			}
			if !ok {
				continue
			}
			v := x.vals[i/spatial.Len()*in.Len()+at]
			sum += v.F
			if most == nil || v.F > most.F || v.I > most.I || v.F != v.F && most.F == most.F {
				most = &v
			}
		}
		want, tol := ops.FloatValue(g.DType, sum/count), ops.Tol{ULP: 0.51}
		if g.DType == ops.Float64 {
			tol.ULP = 8 // of the sum's own order
		}
		if k.Op == ops.ReduceMax {
			want, tol = *most, ops.Tol{}
		}
		if !near(g, want, tol) {
			t.Fatalf("element %d: %v, want %v", i, g, want)
		}
	}
}

var poolCases = []struct {
	name   string
	x      backend.Shape
	out    []int
	kernel backend.Pool
}{
	{"1d", backend.Shape{2, 3, 9}, []int{4}, backend.Pool{Window: []int{2}, Stride: []int{2}, Dilation: []int{1}, Pad: []int{0}, PadEnd: []int{0}}},
	{"1d dilated", backend.Shape{2, 11}, []int{5}, backend.Pool{Window: []int{3}, Stride: []int{2}, Dilation: []int{2}, Pad: []int{1}, PadEnd: []int{1}}},
	{"2d", backend.Shape{2, 3, 8, 6}, []int{4, 3}, backend.Pool{Window: []int{2, 2}, Stride: []int{2, 2}, Dilation: []int{1, 1}, Pad: []int{0, 0}, PadEnd: []int{0, 0}}},
	{"2d padded", backend.Shape{2, 7, 6}, []int{4, 6}, backend.Pool{Window: []int{3, 3}, Stride: []int{2, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}, PadEnd: []int{1, 1}}},
	{"2d padded on one side", backend.Shape{1, 1, 7, 6}, []int{8, 3}, backend.Pool{Window: []int{2, 3}, Stride: []int{1, 2}, Dilation: []int{1, 1}, Pad: []int{1, 0}, PadEnd: []int{1, 2}}},
	{"2d ceil", backend.Shape{4, 4}, []int{3, 3}, backend.Pool{Window: []int{3, 3}, Stride: []int{2, 2}, Dilation: []int{1, 1}, Pad: []int{1, 1}, PadEnd: []int{1, 1}}},
	{"global", backend.Shape{2, 5, 7, 7}, []int{1, 1}, backend.Pool{Window: []int{7, 7}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}, PadEnd: []int{0, 0}}},
	{"3d", backend.Shape{1, 4, 5, 6}, []int{2, 2, 3}, backend.Pool{Window: []int{2, 2, 2}, Stride: []int{2, 2, 2}, Dilation: []int{1, 1, 1}, Pad: []int{0, 0, 0}, PadEnd: []int{0, 0, 0}}},
	{"empty", backend.Shape{0, 4}, []int{2}, backend.Pool{Window: []int{2}, Stride: []int{2}, Dilation: []int{1}, Pad: []int{0}, PadEnd: []int{0}}},
}

// TestPool holds each form on every type and at every layout to its definition.
func TestPool(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(9, 10))
	for _, c := range poolCases {
		for _, d := range ops.DTypes() {
			for _, op := range []ops.ReduceOp{ops.ReduceMax, ops.ReduceSum} {
				if op == ops.ReduceSum && !d.IsFloat() {
					continue
				}
				for _, name := range []string{"dense", "transposed", "stepped", "reversed", "broadcast0"} {
					for _, pad := range []bool{false, true} {
						if pad && op == ops.ReduceMax {
							continue
						}
						t.Run(fmt.Sprintf("%s/%s/%s/%s/%t", c.name, op, d, name, pad), func(t *testing.T) {
							k := c.kernel
							k.Op, k.CountPad = op, pad
							out := name
							if name == "broadcast0" {
								out = "dense"
							}
							next := small(r, d)
							if d == ops.Float64 {
								next = func(int) ops.Value { return ops.FloatValue(d, 1+r.Float64()) }
							}
							x := operand(t, b, d, layouts(c.x)[name], next)
							checkPool(t, k, x, c.out, pool(t, b, k, x, c.out, out))
						})
					}
				}
			}
		}
	}
}

func TestPoolCases(t *testing.T) {
	b := device(t)
	t.Run("M17", func(t *testing.T) { // ceil mode counts padding, not what is beyond it
		x := dense(t, b, ops.Float32, backend.Shape{1, 1, 4, 4}, from(1))
		k := backend.Pool{Op: ops.ReduceSum, Window: []int{3, 3}, Stride: []int{2, 2}, Dilation: []int{1, 1}, Pad: []int{1, 1}, PadEnd: []int{1, 1}, CountPad: true}
		wantFloats(t, pool(t, b, k, x, []int{3, 3}, "dense"), 1.5555556, 3.3333333, 2, 6.3333333, 11, 6, 4.5, 7.5, 4)
		k.CountPad = false
		wantFloats(t, pool(t, b, k, x, []int{3, 3}, "dense"), 3.5, 5, 6, 9.5, 11, 12, 13.5, 15, 16)
		k.Pad, k.PadEnd = []int{0, 0}, []int{0, 0}
		wantFloats(t, pool(t, b, k, x, []int{2, 2}, "dense"), 6, 7.5, 12, 13.5)
		x = dense(t, b, ops.Float32, backend.Shape{1, 1, 7, 7}, from(0))
		k.Window, k.Stride = []int{2, 2}, []int{3, 3}
		wantFloats(t, pool(t, b, k, x, []int{3, 3}, "dense"), 4, 7, 9.5, 25, 28, 30.5, 42.5, 45.5, 48)
	})
}

// TestPoolNaN lets NaN through, and the least value be the greatest.
func TestPoolNaN(t *testing.T) {
	b := device(t)
	for _, d := range []ops.DType{ops.Float32, ops.Float64, ops.Float16, ops.BFloat16} {
		x := dense(t, b, d, backend.Shape{1, 8}, list(1, math.NaN(), math.NaN(), 2, math.Inf(-1), math.Inf(-1), 3, 4))
		k := backend.Pool{Op: ops.ReduceMax, Window: []int{2}, Stride: []int{2}, Dilation: []int{1}, Pad: []int{0}, PadEnd: []int{0}}
		got := floats(pool(t, b, k, x, []int{4}, "dense"))
		if !math.IsNaN(got[0]) || !math.IsNaN(got[1]) || !math.IsInf(got[2], -1) || got[3] != 4 {
			t.Errorf("%s: got %v, want NaN, NaN, -Inf, 4", d, got)
		}
	}
}

// TestPoolPost scales what it finds.
func TestPoolPost(t *testing.T) {
	b := device(t)
	var eb ops.Builder
	eb.Result(eb.Apply(ops.Mul, eb.Load(eb.Operand(ops.Float32), false), eb.Load(eb.Operand(ops.Float32), false)))
	x := dense(t, b, ops.Float32, backend.Shape{2, 4}, from(1))
	by := dense(t, b, ops.Float32, backend.Shape{2, 2}, list(1, 10, 100, 1000))
	out := result(t, b, ops.Float32, backend.Dense(backend.Shape{2, 2}))
	k := backend.Pool{Op: ops.ReduceMax, Window: []int{2}, Stride: []int{2}, Dilation: []int{1}, Pad: []int{0}, PadEnd: []int{0}, Post: eb.Expr()}
	run(t, b, backend.Step{Kernel: &k, Shape: backend.Shape{2, 2}, In: []backend.Operand{x.Operand, by.Operand}, Out: []backend.Operand{out}})
	wantFloats(t, read(t, b, out), 2, 40, 600, 8000)
}

func TestPoolErrors(t *testing.T) {
	b := device(t)
	x := dense(t, b, ops.Float32, backend.Shape{2, 4}, from(1))
	for name, change := range map[string]func(k *backend.Pool){
		"window": func(k *backend.Pool) { k.Window = []int{0} },
		"stride": func(k *backend.Pool) { k.Stride = []int{0} },
		"pad":    func(k *backend.Pool) { k.PadEnd = nil },
		"axes":   func(k *backend.Pool) { k.Window = []int{1, 1, 1} },
		"huge":   func(k *backend.Pool) { k.Window = []int{math.MaxInt} },
	} {
		t.Run(name, func(t *testing.T) {
			k := backend.Pool{Op: ops.ReduceMax, Window: []int{2}, Stride: []int{2}, Dilation: []int{1}, Pad: []int{0}, PadEnd: []int{0}, Post: load(ops.Float32)}
			change(&k)
			out := result(t, b, ops.Float32, backend.Dense(backend.Shape{2, 2}))
			s := backend.Step{Kernel: &k, Shape: backend.Shape{2, 2}, In: []backend.Operand{x.Operand}, Out: []backend.Operand{out}}
			if err := b.Run(context.Background(), []backend.Step{s}); !errors.Is(err, backend.ErrShape) {
				t.Errorf("error %v", err)
			}
		})
	}
}
