package cpu_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
)

// conv runs k over image x and weights w, with the results' spatial extents out, in layout l of the domain.
func conv(t testing.TB, b *cpu.Backend, k backend.Conv, x, w tensor, out []int, layout string) []ops.Value {
	t.Helper()
	d := x.DType
	k.Post = load(d)
	channels := w.Layout.Shape[0]
	if k.Transposed {
		channels = w.Layout.Shape[1] * k.Groups
	}
	domain := append(backend.Shape{x.Layout.Shape[0], channels}, out...)
	o := result(t, b, d, layouts(domain)[layout])
	run(t, b, backend.Step{Kernel: &k, Shape: domain, In: []backend.Operand{x.Operand, w.Operand}, Out: []backend.Operand{o}})
	return read(t, b, o)
}

// checkConv compares got with sums written down from the definition: of every pair of an element of the
// image and a weight that belongs to an output.
func checkConv(t *testing.T, k backend.Conv, x, w tensor, out []int, got []ops.Value) {
	t.Helper()
	xs, ws := x.Layout.Shape, w.Layout.Shape
	perIn, perOut := xs[1]/k.Groups, ws[0]/k.Groups
	if k.Transposed {
		perOut = ws[1]
	}
	spatial := backend.Shape(out)
	for i, g := range got {
		o := i / spatial.Len() % (perOut * k.Groups)
		image := i / spatial.Len() / (perOut * k.Groups)
		group := o / perOut
		sum, size, isum := 0.0, 0.0, int64(0)
		for c := range perIn {
			for tap := range ws[2:].Len() {
				at, ok := reads(k, xs[2:], ws[2:], spatial, i%spatial.Len(), tap)
				if !ok {
					continue
				}
				u := x.vals[((image*xs[1]+group*perIn+c)*xs[2:].Len())+at]
				wi := (o*perIn+c)*ws[2:].Len() + tap
				if k.Transposed {
					wi = ((group*perIn+c)*perOut+o%perOut)*ws[2:].Len() + tap
				}
				v := w.vals[wi]
				sum, size, isum = sum+u.F*v.F, size+math.Abs(u.F*v.F), isum+u.I*v.I
			}
		}
		want := ops.IntValue(g.DType, isum)
		tol := ops.Tol{}
		if g.DType.IsFloat() {
			want = ops.FloatValue(g.DType, sum)
			tol = ops.Tol{ULP: 1, Abs: size * 0x1p-20}
			if g.DType == ops.Float64 {
				tol.Abs = size * 0x1p-48
			}
		}
		if !near(g, want, tol) {
			t.Fatalf("element %d: %v, want %v", i, g, want)
		}
	}
}

// reads returns which element of the image a tap of an output reads, in row-major order.
func reads(k backend.Conv, in, window, out backend.Shape, p, tap int) (at int, ok bool) {
	scale := 1
	for d := len(in) - 1; d >= 0; d-- {
		j, w := p%out[d], tap%window[d]
		p, tap = p/out[d], tap/window[d]
		i := j*k.Stride[d] - k.Pad[d] + w*k.Dilation[d]
		if k.Transposed {
			if i = j + k.Pad[d] - w*k.Dilation[d]; i%k.Stride[d] != 0 {
				return 0, false
			}
			i /= k.Stride[d]
		}
		if i < 0 || i >= in[d] {
			return 0, false
		}
		at += i * scale
		scale *= in[d]
	}
	return at, true
}

var convCases = []struct {
	name   string
	x, w   backend.Shape
	out    []int
	kernel backend.Conv
}{
	{"1d", backend.Shape{2, 3, 17}, backend.Shape{5, 3, 4}, []int{14}, backend.Conv{Stride: []int{1}, Dilation: []int{1}, Pad: []int{0}, Groups: 1}},
	{"1d strided, padded more at the end", backend.Shape{1, 2, 9}, backend.Shape{6, 2, 3}, []int{6}, backend.Conv{Stride: []int{2}, Dilation: []int{2}, Pad: []int{1}, Groups: 1}},
	{"2d", backend.Shape{2, 3, 8, 7}, backend.Shape{6, 3, 3, 3}, []int{8, 7}, backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 1}},
	{"2d many channels", backend.Shape{1, 40, 6, 5}, backend.Shape{9, 40, 3, 3}, []int{6, 5}, backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 1}},
	{"2d deep", backend.Shape{1, 70, 5, 5}, backend.Shape{5, 70, 3, 3}, []int{3, 3}, backend.Conv{Stride: []int{2, 2}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 1}},
	{"2d strided, dilated", backend.Shape{2, 4, 11, 13}, backend.Shape{5, 4, 3, 2}, []int{5, 4}, backend.Conv{Stride: []int{2, 3}, Dilation: []int{2, 3}, Pad: []int{2, 0}, Groups: 1}},
	{"grouped", backend.Shape{2, 6, 5, 5}, backend.Shape{9, 2, 3, 3}, []int{5, 5}, backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 3}},
	{"depthwise", backend.Shape{2, 5, 9, 9}, backend.Shape{5, 1, 3, 3}, []int{5, 5}, backend.Conv{Stride: []int{2, 2}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 5}},
	{"depthwise, two a channel", backend.Shape{1, 3, 70}, backend.Shape{6, 1, 5}, []int{70}, backend.Conv{Stride: []int{1}, Dilation: []int{1}, Pad: []int{2}, Groups: 3}},
	{"pointwise", backend.Shape{2, 20, 6, 7}, backend.Shape{10, 20, 1, 1}, []int{6, 7}, backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}, Groups: 1}},
	{"pointwise strided", backend.Shape{2, 40, 6, 7}, backend.Shape{10, 40, 1, 1}, []int{3, 3}, backend.Conv{Stride: []int{2, 3}, Dilation: []int{1, 1}, Pad: []int{0, 0}, Groups: 1}},
	{"one output", backend.Shape{3, 5, 4, 4}, backend.Shape{7, 5, 4, 4}, []int{1, 1}, backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}, Groups: 1}},
	{"window beyond the image", backend.Shape{1, 2, 3, 3}, backend.Shape{4, 2, 5, 5}, []int{3, 3}, backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{2, 2}, Groups: 1}},
	{"3d", backend.Shape{1, 2, 4, 5, 6}, backend.Shape{3, 2, 2, 3, 2}, []int{3, 5, 5}, backend.Conv{Stride: []int{1, 1, 1}, Dilation: []int{1, 1, 1}, Pad: []int{0, 1, 0}, Groups: 1}},
	{"empty batch", backend.Shape{0, 2, 4}, backend.Shape{3, 2, 3}, []int{2}, backend.Conv{Stride: []int{1}, Dilation: []int{1}, Pad: []int{0}, Groups: 1}},
	{"no channels", backend.Shape{1, 0, 4}, backend.Shape{3, 0, 3}, []int{2}, backend.Conv{Stride: []int{1}, Dilation: []int{1}, Pad: []int{0}, Groups: 1}},
	{"transposed 1d", backend.Shape{2, 3, 5}, backend.Shape{3, 4, 3}, []int{11}, backend.Conv{Stride: []int{2}, Dilation: []int{1}, Pad: []int{0}, Groups: 1, Transposed: true}},
	{"transposed 2d", backend.Shape{2, 4, 3, 4}, backend.Shape{4, 3, 3, 3}, []int{6, 8}, backend.Conv{Stride: []int{2, 2}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 1, Transposed: true}},
	{"transposed, dilated, grouped", backend.Shape{1, 4, 3, 4}, backend.Shape{4, 3, 2, 3}, []int{9, 8}, backend.Conv{Stride: []int{3, 2}, Dilation: []int{2, 1}, Pad: []int{0, 1}, Groups: 2, Transposed: true}},
	{"transposed, stride beyond window", backend.Shape{1, 2, 3}, backend.Shape{2, 2, 2}, []int{14}, backend.Conv{Stride: []int{5}, Dilation: []int{1}, Pad: []int{0}, Groups: 1, Transposed: true}},
	{"transposed, deep", backend.Shape{1, 90, 4, 4}, backend.Shape{90, 6, 3, 3}, []int{7, 7}, backend.Conv{Stride: []int{2, 2}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 1, Transposed: true}},
}

// TestConv holds each form on every type to its definition.
func TestConv(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range convCases {
		for _, d := range ops.DTypes() {
			t.Run(fmt.Sprintf("%s/%s", c.name, d), func(t *testing.T) {
				x, w := operand(t, b, d, backend.Dense(c.x), small(r, d)), operand(t, b, d, backend.Dense(c.w), small(r, d))
				checkConv(t, c.kernel, x, w, c.out, conv(t, b, c.kernel, x, w, c.out, "dense"))
			})
		}
	}
}

// largeConvs are beyond one task: lines of results that are divided, more outputs and more terms than a block, weights that must
// be copied, windows that share the zeros between lines.
var largeConvs = []struct {
	name   string
	x, w   backend.Shape
	out    []int
	kernel backend.Conv
}{
	{"lines", backend.Shape{1, 17, 61, 70}, backend.Shape{3, 17, 3, 3}, []int{61, 70}, backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 1}},
	{"outputs", backend.Shape{1, 5, 9, 8}, backend.Shape{230, 5, 2, 3}, []int{9, 8}, backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 1}},
	{"terms", backend.Shape{1, 128, 10, 9}, backend.Shape{13, 128, 3, 3}, []int{10, 9}, backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 1}},
	{"a crowd of weights, grouped", backend.Shape{2, 128, 12, 13}, backend.Shape{28, 64, 4, 4}, []int{5, 6}, backend.Conv{Stride: []int{2, 2}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 2}},
	{"strided beyond the window", backend.Shape{1, 3, 41, 45}, backend.Shape{20, 3, 2, 2}, []int{14, 12}, backend.Conv{Stride: []int{3, 4}, Dilation: []int{1, 1}, Pad: []int{0, 2}, Groups: 1}},
	{"a long line", backend.Shape{1, 2, 5000}, backend.Shape{3, 2, 9}, []int{5000}, backend.Conv{Stride: []int{1}, Dilation: []int{1}, Pad: []int{4}, Groups: 1}},
	{"too many terms", backend.Shape{1, 1100, 4, 5}, backend.Shape{3, 1100, 3, 3}, []int{4, 5}, backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 1}},
	{"transposed", backend.Shape{1, 40, 9, 11}, backend.Shape{40, 14, 4, 4}, []int{18, 22}, backend.Conv{Stride: []int{2, 2}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 1, Transposed: true}},
}

func TestConvLarge(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	b := device(t)
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range largeConvs {
		for _, d := range []ops.DType{ops.Float32, ops.Float64, ops.BFloat16} {
			t.Run(fmt.Sprintf("%s/%s", c.name, d), func(t *testing.T) {
				x, w := operand(t, b, d, backend.Dense(c.x), small(r, d)), operand(t, b, d, backend.Dense(c.w), small(r, d))
				runtime.GOMAXPROCS(1)
				one := conv(t, b, c.kernel, x, w, c.out, "dense")
				checkConv(t, c.kernel, x, w, c.out, one)
				runtime.GOMAXPROCS(16)
				if !slices.Equal(conv(t, b, c.kernel, x, w, c.out, "sliced"), one) {
					t.Error("16 threads and a sliced result give other bits")
				}
			})
		}
	}
}

// TestConvLayouts reads and writes through each layout.
func TestConvLayouts(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range convCases {
		for _, name := range []string{"transposed", "stepped", "reversed", "broadcast0"} {
			for _, d := range []ops.DType{ops.Float32, ops.BFloat16, ops.Int8} {
				t.Run(fmt.Sprintf("%s/%s/%s", c.name, name, d), func(t *testing.T) {
					x, w := operand(t, b, d, layouts(c.x)[name], small(r, d)), operand(t, b, d, layouts(c.w)[name], small(r, d))
					out := name
					if name == "broadcast0" {
						out = "dense"
					}
					checkConv(t, c.kernel, x, w, c.out, conv(t, b, c.kernel, x, w, c.out, out))
				})
			}
		}
	}
}

// TestConvPost adds a bias and a residual, and takes the greater of that and 0.
func TestConvPost(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(7, 8))
	f32 := ops.Float32
	var eb ops.Builder
	sum, bias, rest := eb.Operand(f32), eb.Operand(f32), eb.Operand(f32)
	v := eb.Apply(ops.Add, eb.Apply(ops.Add, eb.Load(sum, false), eb.Load(bias, false)), eb.Load(rest, false))
	eb.Result(eb.Apply(ops.Maximum, v, eb.Const(0, f32)))
	post := eb.Expr()
	for _, c := range convCases {
		t.Run(c.name, func(t *testing.T) {
			x, w := operand(t, b, f32, backend.Dense(c.x), small(r, f32)), operand(t, b, f32, backend.Dense(c.w), small(r, f32))
			sums := conv(t, b, c.kernel, x, w, c.out, "dense")
			channels := len(sums) / max(1, backend.Shape(c.out).Len()*c.x[0])
			domain := append(backend.Shape{c.x[0], max(channels, 1)}, c.out...)
			l := backend.Dense(backend.Shape{domain[1]})
			for range c.out {
				l = must(l.Insert(-1))
			}
			bs := operand(t, b, f32, must(l.BroadcastTo(domain)), small(r, f32))
			rs := operand(t, b, f32, layouts(domain)["transposed"], small(r, f32))
			k := c.kernel
			k.Post = post
			out := result(t, b, f32, backend.Dense(domain))
			if c.x[0] == 0 {
				t.Skip("nothing to add to")
			}
			run(t, b, backend.Step{
				Kernel: &k, Shape: domain, Consts: []uint64{0},
				In: []backend.Operand{x.Operand, w.Operand, bs.Operand, rs.Operand}, Out: []backend.Operand{out},
			})
			for i, got := range read(t, b, out) {
				if want := max(0, float32(sums[i].F)+float32(bs.vals[i].F)+float32(rs.vals[i].F)); float32(got.F) != want {
					t.Fatalf("element %d: %v, want %v", i, got.F, want)
				}
			}
		})
	}
}

func TestConvCases(t *testing.T) {
	b := device(t)
	f32 := ops.Float32
	t.Run("M13", func(t *testing.T) { // output padding holds sums, not zeros
		x, w := dense(t, b, f32, backend.Shape{1, 1, 2, 2}, from(1)), dense(t, b, f32, backend.Shape{1, 1, 3, 3}, full(1))
		k := backend.Conv{Stride: []int{2, 2}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 1, Transposed: true}
		wantFloats(t, conv(t, b, k, x, w, []int{4, 4}, "dense"), 1, 3, 2, 2, 4, 10, 6, 6, 3, 7, 4, 4, 3, 7, 4, 4)
		wantFloats(t, conv(t, b, k, x, w, []int{3, 3}, "dense"), 1, 3, 2, 4, 10, 6, 3, 7, 4)
		x, w = dense(t, b, f32, backend.Shape{1, 1, 4}, from(1)), dense(t, b, f32, backend.Shape{1, 1, 3}, list(1, 10, 100))
		k = backend.Conv{Stride: []int{2}, Dilation: []int{1}, Pad: []int{1}, Groups: 1, Transposed: true}
		wantFloats(t, conv(t, b, k, x, w, []int{8}, "dense"), 10, 102, 20, 203, 30, 304, 40, 400)
		x, w = dense(t, b, f32, backend.Shape{1, 4, 1, 1}, from(1)), dense(t, b, f32, backend.Shape{4, 2, 1, 1}, from(1))
		k = backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}, Groups: 2, Transposed: true}
		wantFloats(t, conv(t, b, k, x, w, []int{1, 1}, "dense"), 7, 10, 43, 50)
	})
	t.Run("M15", func(t *testing.T) { // depthwise with a multiplier, odd numbers of channels
		x, w := dense(t, b, f32, backend.Shape{1, 8, 2, 2}, from(1)), dense(t, b, f32, backend.Shape{16, 1, 1, 1}, from(1))
		k := backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}, Groups: 8}
		got := floats(conv(t, b, k, x, w, []int{2, 2}, "dense"))
		for o, want := range []float64{1, 2, 15, 20, 45, 54, 91, 104, 153, 170, 231, 252, 325, 350, 435, 464} {
			if got[o*4] != want {
				t.Errorf("output %d: %v, want %v", o, got[o*4], want)
			}
		}
		k.Groups = 1
		x, w = dense(t, b, f32, backend.Shape{1, 3, 3, 3}, from(1)), dense(t, b, f32, backend.Shape{5, 3, 3, 3}, func(i int) float64 { return float64(i/27 + 1) })
		wantFloats(t, conv(t, b, k, x, w, []int{1, 1}, "dense"), 378, 756, 1134, 1512, 1890)
		x, w = dense(t, b, f32, backend.Shape{1, 9, 3, 3}, full(1)), dense(t, b, f32, backend.Shape{5, 9, 3, 3}, func(i int) float64 { return float64(i/81 + 1) })
		wantFloats(t, conv(t, b, k, x, w, []int{1, 1}, "dense"), 81, 162, 243, 324, 405)
	})
}

func TestConvNaN(t *testing.T) {
	b := device(t)
	for _, channels := range []int{1, 40} {
		x := dense(t, b, ops.Float32, backend.Shape{1, channels, 5, 5}, func(i int) float64 {
			if i == 12 {
				return math.NaN()
			}
			return 1
		})
		w := dense(t, b, ops.Float32, backend.Shape{2, channels, 3, 3}, full(0))
		k := backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 1}
		for i, v := range conv(t, b, k, x, w, []int{5, 5}, "dense") {
			y, x := i/5%5, i%5
			if near := y >= 1 && y <= 3 && x >= 1 && x <= 3; near != math.IsNaN(v.F) {
				t.Errorf("%d channels: element %d is %v", channels, i, v.F)
			}
		}
	}
}

// TestConvThreads gives the same bits for any number of threads.
func TestConvThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range convCases {
		for _, d := range []ops.DType{ops.Float32, ops.Float64} {
			b := device(t)
			x, w := operand(t, b, d, backend.Dense(c.x), small(r, d)), operand(t, b, d, backend.Dense(c.w), small(r, d))
			var want []ops.Value
			for _, procs := range []int{1, 2, 4} {
				runtime.GOMAXPROCS(procs)
				got := conv(t, b, c.kernel, x, w, c.out, "dense")
				if procs == 1 {
					want = got
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s of %s: %d threads give other bits than 1", c.name, d, procs)
				}
			}
		}
	}
}

func TestConvErrors(t *testing.T) {
	b := device(t)
	f32 := ops.Float32
	x, w := dense(t, b, f32, backend.Shape{1, 4, 5}, full(1)), dense(t, b, f32, backend.Shape{2, 4, 3}, full(1))
	good := backend.Conv{Stride: []int{1}, Dilation: []int{1}, Pad: []int{0}, Groups: 1, Post: load(f32)}
	for name, change := range map[string]func(k *backend.Conv){
		"stride":       func(k *backend.Conv) { k.Stride = []int{0} },
		"dilation":     func(k *backend.Conv) { k.Dilation = nil },
		"groups":       func(k *backend.Conv) { k.Groups = 0 },
		"group size":   func(k *backend.Conv) { k.Groups = 2 },
		"spatial axes": func(k *backend.Conv) { k.Stride, k.Dilation, k.Pad = []int{1, 1}, []int{1, 1}, []int{0, 0} },
		"transposed":   func(k *backend.Conv) { k.Transposed = true },
	} {
		t.Run(name, func(t *testing.T) {
			k := good
			change(&k)
			out := result(t, b, f32, backend.Dense(backend.Shape{1, 2, 3}))
			s := backend.Step{Kernel: &k, Shape: backend.Shape{1, 2, 3}, In: []backend.Operand{x.Operand, w.Operand}, Out: []backend.Operand{out}}
			if err := b.Run(context.Background(), []backend.Step{s}); !errors.Is(err, backend.ErrShape) {
				t.Errorf("error %v", err)
			}
		})
	}
}
