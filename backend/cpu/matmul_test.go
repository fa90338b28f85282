package cpu_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
)

// load returns the program that loads its only operand.
func load(d ops.DType) ops.Expr {
	var eb ops.Builder
	eb.Result(eb.Load(eb.Operand(d), false))
	return eb.Expr()
}

// dense returns a dense tensor of the given elements.
func dense(t testing.TB, b *cpu.Backend, d ops.DType, shape backend.Shape, next func(i int) float64) tensor {
	t.Helper()
	return operand(t, b, d, backend.Dense(shape), func(i int) ops.Value {
		if d.IsFloat() {
			return ops.FloatValue(d, next(i))
		}
		return ops.IntValue(d, int64(next(i)))
	})
}

func full(v float64) func(int) float64     { return func(int) float64 { return v } }
func from(start float64) func(int) float64 { return func(i int) float64 { return start + float64(i) } }
func list(vs ...float64) func(int) float64 { return func(i int) float64 { return vs[i%len(vs)] } }

// view returns x through another layout of the same memory.
func (x tensor) view(l backend.Layout) tensor {
	y := tensor{Operand: x.Operand}
	y.Layout = l
	at := map[int]ops.Value{}
	for i, p := range x.Layout.All() {
		at[p] = x.vals[i]
	}
	for _, p := range l.All() {
		y.vals = append(y.vals, at[p])
	}
	return y
}

// matMul runs the product of x and y, of shapes [batch… m k] and [batch… k n] and one type, into a result
// of layout out.
func matMul(t testing.TB, b *cpu.Backend, x, y tensor, out backend.Layout) []ops.Value {
	t.Helper()
	return read(t, b, matMulStep(t, b, x.Operand, y.Operand, out))
}

func matMulStep(t testing.TB, b *cpu.Backend, x, y backend.Operand, out backend.Layout) backend.Operand {
	t.Helper()
	d := x.DType
	k := &backend.MatMul{A: load(d), B: load(d), Post: load(d), Acc: d}
	s := backend.Step{Kernel: k, Shape: out.Shape, In: []backend.Operand{x, y}, Out: []backend.Operand{result(t, b, d, out)}}
	run(t, b, s)
	return s.Out[0]
}

// float32s returns a dense operand, and is quick for large ones.
func float32s(t testing.TB, b *cpu.Backend, shape backend.Shape, next func(int) float64) backend.Operand {
	t.Helper()
	mem := make([]byte, 4*shape.Len())
	for i := range shape.Len() {
		binary.LittleEndian.PutUint32(mem[4*i:], math.Float32bits(float32(next(i))))
	}
	return backend.Operand{Buf: b.Wrap(mem), DType: ops.Float32, Layout: backend.Dense(shape)}
}

// readFloat32s returns the elements of a dense operand.
func readFloat32s(t testing.TB, b *cpu.Backend, o backend.Operand) []float32 {
	t.Helper()
	mem := make([]byte, o.Buf.Size())
	if err := b.Read(context.Background(), mem, o.Buf, 0); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, len(mem)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(mem[4*i:]))
	}
	return out
}

func productShape(x, y tensor) backend.Shape {
	n := len(x.Layout.Shape)
	s := x.Layout.Shape.Clone()
	s[n-1] = y.Layout.Shape[n-1]
	return s
}

// checkMatMul compares a product with sums in float64, or of wrapping integers.
func checkMatMul(t *testing.T, x, y tensor, got []ops.Value) {
	t.Helper()
	shape := productShape(x, y)
	r := len(shape)
	m, n, k, d := shape[r-2], shape[r-1], x.Layout.Shape[r-1], x.DType
	for i := range got {
		batch, row, col := i/n/m, i/n%m, i%n
		sum, size, isum := 0.0, 0.0, int64(0)
		for p := range k {
			u, v := x.vals[(batch*m+row)*k+p], y.vals[(batch*k+p)*n+col]
			sum, size = sum+u.F*v.F, size+math.Abs(u.F*v.F)
			isum += u.I * v.I
		}
		if !d.IsFloat() {
			if want := ops.IntValue(d, isum); got[i] != want {
				t.Fatalf("element %d: %v, want %v", i, got[i].I, want.I)
			}
			continue
		}
		want := ops.FloatValue(d, sum)
		eps := map[ops.DType]float64{ops.Float64: 0x1p-52}[d]
		if eps == 0 {
			eps = 0x1p-23 // the 16-bit types sum in float32
		}
		tol := ops.Tol{ULP: 0.5001, Abs: float64(k) * eps * size}
		if d.IsHalf() {
			tol.ULP = 1
		}
		if !near(got[i], want, tol) {
			t.Fatalf("element %d: %v, want %v", i, got[i].F, want.F)
		}
	}
}

func small(r *rand.Rand, d ops.DType) func(int) ops.Value {
	return func(int) ops.Value {
		if d.IsFloat() {
			return ops.FloatValue(d, r.NormFloat64())
		}
		return ops.IntValue(d, int64(r.Uint64()))
	}
}

// TestMatMul multiplies every type at every layout, in batches.
func TestMatMul(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(3, 4))
	for _, d := range ops.DTypes() {
		for _, size := range [][4]int{{2, 5, 7, 3}, {1, 1, 1, 1}, {3, 17, 19, 40}, {2, 1, 33, 300}, {2, 9, 1, 65}, {0, 2, 2, 2}, {2, 0, 3, 2}, {2, 3, 3, 0}} {
			left, right := layouts(backend.Shape{size[0], size[1], size[3]}), layouts(backend.Shape{size[0], size[3], size[2]})
			names := slices.Sorted(maps.Keys(left))
			for i, ln := range names {
				for k := range 2 { // each layout meets two others, over all sizes most
					rn := names[(i*2+size[1]+size[3]+k)%len(names)]
					ll, rl := left[ln], right[rn]
					if rl.Shape == nil { // no reversed layout of nothing
						continue
					}
					t.Run(fmt.Sprintf("%s/%v/%s/%s", d, size, ln, rn), func(t *testing.T) {
						x, y := operand(t, b, d, ll, small(r, d)), operand(t, b, d, rl, small(r, d))
						checkMatMul(t, x, y, matMul(t, b, x, y, backend.Dense(productShape(x, y))))
					})
				}
			}
		}
	}
}

// TestMatMulOut writes to results that are not dense.
func TestMatMulOut(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(3, 4))
	for _, d := range []ops.DType{ops.Float32, ops.Float16, ops.Int8} {
		x := operand(t, b, d, backend.Dense(backend.Shape{3, 14, 33}), small(r, d))
		y := operand(t, b, d, backend.Dense(backend.Shape{3, 33, 150}), small(r, d))
		for _, name := range []string{"dense", "transposed", "stepped", "sliced", "reversed"} {
			t.Run(fmt.Sprintf("%s/%s", d, name), func(t *testing.T) {
				checkMatMul(t, x, y, matMul(t, b, x, y, layouts(productShape(x, y))[name]))
			})
		}
	}
}

// TestMatMulPrograms casts and scales a half-precision right factor, adds a bias and a residual and takes
// the greater of that and 0.
func TestMatMulPrograms(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(5, 6))
	m, n, k := 21, 150, 70
	var right, post ops.Builder
	w, scale := right.Operand(ops.Float16), right.Operand(ops.Float32)
	right.Result(right.Apply(ops.Mul, right.Cast(ops.Float32, right.Load(w, false)), right.Load(scale, false)))
	sum, bias, rest := post.Operand(ops.Float32), post.Operand(ops.Float32), post.Operand(ops.Float32)
	v := post.Apply(ops.Add, post.Load(sum, false), post.Load(bias, false))
	v = post.Apply(ops.Add, v, post.Load(rest, false))
	post.Result(post.Apply(ops.Maximum, v, post.Const(0, ops.Float32)))
	post.Result(post.Load(sum, false))
	for _, batch := range []int{1, 3} {
		domain := backend.Shape{batch, m, n}
		x := operand(t, b, ops.Float32, backend.Dense(backend.Shape{batch, m, k}), small(r, ops.Float32))
		y := operand(t, b, ops.Float16, must(backend.Dense(backend.Shape{k, n}).BroadcastTo(backend.Shape{batch, k, n})), small(r, ops.Float16))
		s := operand(t, b, ops.Float32, must(backend.Dense(backend.Shape{n}).BroadcastTo(backend.Shape{batch, k, n})), small(r, ops.Float32))
		bs := operand(t, b, ops.Float32, must(backend.Dense(backend.Shape{n}).BroadcastTo(domain)), small(r, ops.Float32))
		res := operand(t, b, ops.Float32, layouts(domain)["transposed"], small(r, ops.Float32))
		out, raw := result(t, b, ops.Float32, layouts(domain)["stepped"]), result(t, b, ops.Float32, backend.Dense(domain))
		run(t, b, backend.Step{
			Kernel: &backend.MatMul{A: load(ops.Float32), B: right.Expr(), Post: post.Expr(), Acc: ops.Float32},
			Shape:  domain,
			In:     []backend.Operand{x.Operand, y.Operand, s.Operand, bs.Operand, res.Operand},
			Out:    []backend.Operand{out, raw},
			Consts: []uint64{0},
		})
		scaled := tensor{Operand: y.Operand}
		scaled.DType = ops.Float32
		for i := range y.vals {
			scaled.vals = append(scaled.vals, ops.FloatValue(ops.Float32, y.vals[i].F*s.vals[i].F))
		}
		sums := read(t, b, raw)
		checkMatMul(t, x, scaled, sums)
		for i, got := range read(t, b, out) {
			want := max(0, float32(sums[i].F)+float32(bs.vals[i].F)+float32(res.vals[i].F))
			if float32(got.F) != want {
				t.Fatalf("batch of %d, element %d: %v, want %v", batch, i, got.F, want)
			}
		}
	}
}

// TestMatMulBatches repeats one factor or the other over batches whose strides do and do not merge.
func TestMatMulBatches(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(5, 6))
	lefts := map[string]backend.Layout{
		"dense":    backend.Dense(backend.Shape{2, 3, 4, 5}),
		"repeated": must(backend.Dense(backend.Shape{4, 5}).BroadcastTo(backend.Shape{2, 3, 4, 5})),
		"inner":    must(backend.Dense(backend.Shape{2, 1, 4, 5}).BroadcastTo(backend.Shape{2, 3, 4, 5})),
		"swapped":  must(backend.Dense(backend.Shape{4, 3, 5, 2}).Permute(3, 1, 0, 2)),
	}
	rights := map[string]backend.Layout{
		"dense":    backend.Dense(backend.Shape{2, 3, 5, 6}),
		"repeated": must(backend.Dense(backend.Shape{5, 6}).BroadcastTo(backend.Shape{2, 3, 5, 6})),
		"outer":    must(backend.Dense(backend.Shape{3, 5, 6}).BroadcastTo(backend.Shape{2, 3, 5, 6})),
		"swapped":  must(backend.Dense(backend.Shape{3, 6, 2, 5}).Permute(2, 0, 3, 1)),
	}
	for ln, ll := range lefts {
		for rn, rl := range rights {
			t.Run(ln+"/"+rn, func(t *testing.T) {
				x, y := operand(t, b, ops.Float32, ll, small(r, ops.Float32)), operand(t, b, ops.Float32, rl, small(r, ops.Float32))
				checkMatMul(t, x, y, matMul(t, b, x, y, backend.Dense(productShape(x, y))))
			})
		}
	}
}

func floats(vals []ops.Value) []float64 {
	fs := make([]float64, len(vals))
	for i, v := range vals {
		fs[i] = v.Float()
	}
	return fs
}

// TestMatMulErrors refuses what no graph makes, without a panic.
func TestMatMulErrors(t *testing.T) {
	b := device(t)
	f32 := ops.Float32
	x, y := dense(t, b, f32, backend.Shape{2, 3}, full(1)), dense(t, b, f32, backend.Shape{3, 4}, full(1))
	out := result(t, b, f32, backend.Dense(backend.Shape{2, 4}))
	k := &backend.MatMul{A: load(f32), B: load(f32), Post: load(f32), Acc: f32}
	for _, c := range []struct {
		name string
		step backend.Step
		kind error
	}{
		{"inner", backend.Step{Kernel: k, Shape: backend.Shape{2, 4}, In: []backend.Operand{x.Operand, x.Operand}, Out: []backend.Operand{out}}, backend.ErrShape},
		{"domain", backend.Step{Kernel: k, Shape: backend.Shape{4}, In: []backend.Operand{x.Operand, y.Operand}, Out: []backend.Operand{out}}, backend.ErrShape},
		{"inputs", backend.Step{Kernel: k, Shape: backend.Shape{2, 4}, In: []backend.Operand{x.Operand}, Out: []backend.Operand{out}}, backend.ErrShape},
		{"outputs", backend.Step{Kernel: k, Shape: backend.Shape{2, 4}, In: []backend.Operand{x.Operand, y.Operand}}, backend.ErrShape},
		{"type", backend.Step{
			Kernel: &backend.MatMul{A: load(f32), B: load(f32), Post: load(f32), Acc: ops.Float64}, Shape: backend.Shape{2, 4},
			In: []backend.Operand{x.Operand, y.Operand}, Out: []backend.Operand{out},
		}, backend.ErrDType},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := b.Run(context.Background(), []backend.Step{c.step}); !errors.Is(err, c.kind) {
				t.Errorf("error %v, want %v", err, c.kind)
			}
		})
	}
}
