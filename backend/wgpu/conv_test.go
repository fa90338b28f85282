package wgpu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// TestConvPresets tries convolutions by every kind of kernel of products. The suite's are small, and a CPU computes those
// directly.
func TestConvPresets(t *testing.T) {
	e := openTest(t)
	plain := backend.Conv{Stride: []int{1, 2}, Dilation: []int{2, 1}, Pad: []int{1, 2}, Groups: 1}
	grouped := backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 2}
	transposed := backend.Conv{Stride: []int{2, 3}, Dilation: []int{1, 2}, Pad: []int{1, 0}, Groups: 1, Transposed: true}
	pixels := backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}, Groups: 1}
	for i, c := range []struct {
		name      string
		conv      backend.Conv
		window    [2]int
		scattered bool
		choice    choice
	}{
		{"tile", plain, [2]int{3, 2}, false, choice{tile: tinyTile}},
		{"tile, scattered", plain, [2]int{3, 2}, true, choice{tile: tinyTile}},
		{"tile, groups, sliced", grouped, [2]int{3, 3}, false, choice{tile: tinyTile, slices: 2}},
		{"tile, transposed, scattered, sliced", transposed, [2]int{2, 3}, true, choice{tile: tinyTile, slices: 2}},
		{"line, transposed", transposed, [2]int{2, 3}, false, choice{line: line{rows: 8, columns: 8, each: 1, steps: 2}}},
		{"direct, groups", grouped, [2]int{3, 3}, false, choice{direct: 4}},
		{"direct, scattered, sliced", plain, [2]int{3, 2}, true, choice{direct: 1, slices: 2}},
		{"taps first", plain, [2]int{3, 2}, false, choice{tile: tinyTile}},
		{"taps first, groups, sliced", grouped, [2]int{3, 3}, false, choice{tile: tile{rows: 8, columns: 32, depth: 16, m: 4, n: 4, loop: loadAhead, unroll: true}, slices: 2}},
		{"taps first, transposed, scattered", transposed, [2]int{2, 3}, true, choice{tile: tile{rows: 16, columns: 32, depth: 8, m: 4, n: 4, loop: loadTwice}}},
		{"taps first, deep", grouped, [2]int{3, 2}, false, choice{tile: tile{rows: 8, columns: 32, depth: 32, m: 4, n: 4}}},
		{"taps first, direct", plain, [2]int{3, 2}, false, choice{direct: 4}},
		{"pixels", pixels, [2]int{1, 1}, false, choice{tile: tinyTile}},
		{"pixels, scattered", pixels, [2]int{1, 1}, true, choice{direct: 16}},
	} {
		if testing.Short() && i%3 == 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			taps := strings.HasPrefix(c.name, "taps first")
			for _, channels := range []int{6, 4} { // one kernel for both
				if taps {
					channels *= 2 * tapChannel
				}
				testConvolution(t, e, &c.conv, channels, c.window, taps, c.scattered, c.choice)
			}
		})
	}
}

// TestConvDepthwise tries convolutions of each channel by itself.
func TestConvDepthwise(t *testing.T) {
	e := openTest(t)
	for _, c := range []struct {
		conv      backend.Conv
		window    [2]int
		scattered bool
	}{
		{backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 8}, [2]int{3, 3}, false},
		{backend.Conv{Stride: []int{2, 3}, Dilation: []int{2, 1}, Pad: []int{1, 2}, Groups: 8}, [2]int{2, 5}, true},
		{backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 2}, Pad: []int{0, 3}, Groups: 8}, [2]int{1, 2}, false},
		{backend.Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{3, 3}, Groups: 8}, [2]int{4, 8}, false},
	} {
		testConvolution(t, e, &c.conv, 8, c.window, false, c.scattered, choice{})
	}
}

// testConvolution compares a convolution with its definition.
func testConvolution(t *testing.T, e *engine, k *backend.Conv, in int, window [2]int, taps, scattered bool, c choice) {
	t.Helper()
	const d, batch, out, height, width = ops.Float32, 2, 8, 5, 9
	var post ops.Builder
	post.Result(post.Apply(ops.Add, post.Load(post.Operand(d), false), post.Load(post.Operand(d), false)))
	k.Post = post.Expr()
	image := backend.Shape{batch, in, height, width}
	weights := backend.Shape{out, in / k.Groups, window[0], window[1]}
	shape := backend.Shape{batch, out, 0, 0}
	if k.Transposed {
		weights[0], weights[1] = in, out/k.Groups
	}
	for a := range 2 {
		reach := k.Dilation[a]*(window[a]-1) + 1
		shape[2+a] = (image[2+a]+2*k.Pad[a]-reach)/k.Stride[a] + 1
		if k.Transposed {
			shape[2+a] = (image[2+a]-1)*k.Stride[a] + reach - 2*k.Pad[a]
		}
	}
	x, w, bias := numbers(image.Len(), 1, true), numbers(weights.Len(), 2, true), numbers(out, 3, true)
	layout := backend.Dense(shape)
	if scattered {
		layout, _ = backend.Dense(backend.Shape{batch, out, shape[3], shape[2]}).Permute(0, 1, 3, 2)
	}
	result := upload(t, e, d, make([]int, shape.Len()))
	s := backend.Step{
		Kernel: k, Shape: shape, Out: []backend.Operand{{Buf: result, DType: d, Layout: layout}},
		In: []backend.Operand{
			{Buf: upload(t, e, d, x), DType: d, Layout: backend.Dense(image)},
			{Buf: upload(t, e, d, w), DType: d, Layout: backend.Dense(weights)},
			{Buf: upload(t, e, d, bias), DType: d, Layout: backend.Layout{Shape: shape, Strides: []int{0, 1, 0, 0}}},
		},
	}
	if err := checkConv(&s, k); err != nil {
		t.Fatal(err)
	}
	p := newConvolution(&s, k)
	p.image.tapsFirst = taps
	e.mu.Lock()
	var err error
	if depthwise(&s, k) {
		err = e.lowerConv(&s, k)
	} else {
		err = e.convolve(p, k, func(p *product, _ []byte) (choice, error) { return c.sized(p), nil })
	}
	e.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	got := download(t, e, d, result)
	n := 0
	for b := range batch {
		for o := range out {
			for i := range shape[2] {
				for j := range shape[3] {
					want := bias[o] + convolved(k, image, weights, x, w, [4]int{b, o, i, j})
					if g := got[layout.At(b, o, i, j)]; g != want && n < 3 {
						t.Errorf("element [%d %d %d %d] of %v is %d, want %d", b, o, i, j, shape, g, want)
						n++
					}
				}
			}
		}
	}
}

// convolved returns the sum of products of an element of the result.
func convolved(k *backend.Conv, image, weights backend.Shape, x, w []int, at [4]int) int {
	lx, lw := backend.Dense(image), backend.Dense(weights)
	inGroup := image[1] / k.Groups
	outGroup := weights[0] / k.Groups
	if k.Transposed {
		outGroup = weights[1]
	}
	sum := 0
	for c := range inGroup {
		channel := at[1]/outGroup*inGroup + c
		for i := range weights[2] {
			for j := range weights[3] {
				var from [2]int
				inside := true
				for a, tap := range []int{i, j} {
					from[a] = at[2+a]*k.Stride[a] - k.Pad[a] + tap*k.Dilation[a]
					if k.Transposed {
						scaled := at[2+a] + k.Pad[a] - tap*k.Dilation[a]
						from[a] = scaled / k.Stride[a]
						inside = inside && scaled%k.Stride[a] == 0
					}
					inside = inside && from[a] >= 0 && from[a] < image[2+a]
				}
				weight := lw.At(at[1], c, i, j)
				if k.Transposed {
					weight = lw.At(channel, at[1]%outGroup, i, j)
				}
				if inside {
					sum += x[lx.At(at[0], channel, from[0], from[1])] * w[weight]
				}
			}
		}
	}
	return sum
}

// TestConvShapes tests shapes that do not fit each other.
func TestConvShapes(t *testing.T) {
	e := openTest(t)
	const d = ops.Float32
	b := upload(t, e, d, make([]int, 256))
	good := func() (*backend.Conv, backend.Step) {
		k := &backend.Conv{Stride: []int{1}, Dilation: []int{1}, Pad: []int{0}, Groups: 2, Post: *loads[d]}
		dense := func(shape ...int) backend.Operand {
			return backend.Operand{Buf: b, DType: d, Layout: backend.Dense(shape)}
		}
		out := upload(t, e, d, make([]int, 256))
		return k, backend.Step{
			Kernel: k, Shape: backend.Shape{1, 4, 5}, In: []backend.Operand{dense(1, 4, 5), dense(4, 2, 1)},
			Out: []backend.Operand{{Buf: out, DType: d, Layout: backend.Dense(backend.Shape{1, 4, 5})}},
		}
	}
	for i, spoil := range []func(k *backend.Conv, s *backend.Step){
		func(k *backend.Conv, _ *backend.Step) { k.Groups = 3 },
		func(k *backend.Conv, _ *backend.Step) { k.Groups = 0 },
		func(k *backend.Conv, _ *backend.Step) { k.Pad = nil },
		func(k *backend.Conv, _ *backend.Step) { k.Stride = []int{0} },
		func(_ *backend.Conv, s *backend.Step) { s.In[1].Layout = backend.Dense(backend.Shape{4, 3, 1}) },
		func(_ *backend.Conv, s *backend.Step) { s.In[0].Layout = backend.Dense(backend.Shape{2, 4, 5}) },
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			k, s := good()
			run(t, e, s)
			spoil(k, &s)
			if err := e.Run(t.Context(), []backend.Step{s}); err == nil {
				t.Errorf("%+v of %v by %v: no error", k, s.In[0].Layout.Shape, s.In[1].Layout.Shape)
			}
		})
	}
}
