package backendtest

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

func (s *step) runConv(k *backend.Conv) error {
	spatial := len(k.Stride)
	if len(s.Shape) != spatial+2 || len(k.Dilation) != spatial || len(k.Pad) != spatial || k.Groups < 1 {
		return fmt.Errorf("conv of %d axes over %v: %w", spatial, s.Shape, backend.ErrShape)
	}
	image, weights := s.In[0].Layout.Shape, s.In[1].Layout.Shape
	channels, outs := image[1], s.Shape[1]
	want := []int{outs, channels / k.Groups}
	if k.Transposed {
		want = []int{channels, outs / k.Groups}
	}
	if image[0] != s.Shape[0] || !weights[:2].Equal(want) || channels%k.Groups != 0 || outs%k.Groups != 0 {
		return fmt.Errorf("conv of %v by %v to %v in %d groups: %w", image, weights, s.Shape, k.Groups, backend.ErrShape)
	}
	sums, err := s.convolve(k)
	if err != nil {
		return err
	}
	return s.finish(&k.Post, 2, sums)
}

// convolve returns the sum of each element of the domain [N O spatial…].
func (s *step) convolve(k *backend.Conv) ([]ops.Value, error) {
	x, w := s.In[0], s.In[1]
	window := w.Layout.Shape[2:]
	inGroup, outGroup := x.Layout.Shape[1]/k.Groups, s.Shape[1]/k.Groups
	sums := make([]ops.Value, 0, s.Shape.Len())
	for i := range s.Shape.Len() {
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
		at := unravel(s.Shape, i)
		n, o, pos := at[0], at[1], at[2:]
		group := o / outGroup
		d := dot{d: x.DType}
		for c := range inGroup {
			channel := group*inGroup + c
			for t := range window.Len() {
				tap := unravel(window, t)
				from, ok := source(k, pos, tap, x.Layout.Shape[2:])
				if !ok {
					continue
				}
				weight := append([]int{o, c}, tap...)
				if k.Transposed {
					weight[0], weight[1] = channel, o%outGroup
				}
				pixel := append([]int{n, channel}, from...)
				d.add(load(x.DType, s.mem[0], x.Layout.At(pixel...)), load(w.DType, s.mem[1], w.Layout.At(weight...)))
			}
		}
		sums = append(sums, d.value())
	}
	return sums, nil
}

// source returns the pixel that tap of the window meets for the output at pos. ok is false if it is padding,
// or between the pixels for a transposed convolution.
func source(k *backend.Conv, pos, tap []int, image backend.Shape) (from []int, ok bool) {
	from = make([]int, len(pos))
	for a := range pos {
		if !k.Transposed {
			from[a] = pos[a]*k.Stride[a] - k.Pad[a] + tap[a]*k.Dilation[a]
		} else {
			scaled := pos[a] + k.Pad[a] - tap[a]*k.Dilation[a]
			if scaled%k.Stride[a] != 0 {
				return nil, false
			}
			from[a] = scaled / k.Stride[a]
		}
		if from[a] < 0 || from[a] >= image[a] {
			return nil, false
		}
	}
	return from, true
}

func (s *step) runPool(k *backend.Pool) error {
	for _, l := range [][]int{k.Stride, k.Dilation, k.Pad, k.PadEnd} {
		if len(l) != len(k.Window) {
			return fmt.Errorf("pool of %d axes with %v: %w", len(k.Window), l, backend.ErrShape)
		}
	}
	lead := len(s.Shape) - len(k.Window)
	if image := s.In[0].Layout.Shape; !image[:lead].Equal(s.Shape[:lead]) {
		return fmt.Errorf("pool of %v over %v: %w", image, s.Shape, backend.ErrShape)
	}
	res := make([]ops.Value, 0, s.Shape.Len())
	for i := range s.Shape.Len() {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		v, err := s.pool(k, unravel(s.Shape, i))
		if err != nil {
			return err
		}
		res = append(res, v)
	}
	return s.finish(&k.Post, 1, res)
}

// pool returns the result of the window of the output at index.
func (s *step) pool(k *backend.Pool, index []int) (ops.Value, error) {
	x := s.In[0]
	lead := len(index) - len(k.Window)
	acc := newAccumulator(k.Op, x.DType)
	inside, padded := 0, 0
	for t := range backend.Shape(k.Window).Len() {
		tap := unravel(k.Window, t)
		from := append([]int(nil), index...)
		image, padding := true, true
		for a := range tap {
			p := index[lead+a]*k.Stride[a] - k.Pad[a] + tap[a]*k.Dilation[a]
			extent := x.Layout.Shape[lead+a]
			image = image && p >= 0 && p < extent
			padding = padding && p < extent+k.PadEnd[a] // never before the padding
			from[lead+a] = p
		}
		if padding {
			padded++
		}
		if image {
			inside++
			acc.add(load(x.DType, s.mem[0], x.Layout.At(from...)))
		}
	}
	if k.Op != ops.ReduceSum {
		if inside == 0 {
			return ops.Value{}, fmt.Errorf("pool window of padding alone: %w", backend.ErrShape)
		}
		return acc.value(), nil
	}
	if k.CountPad {
		inside = padded
	}
	if !x.DType.IsFloat() {
		return ops.Value{}, fmt.Errorf("average of %s: %w", x.DType, backend.ErrUnsupported)
	}
	return ops.FloatValue(x.DType, acc.f.value()/float64(inside)), nil
}

// unravel returns the index of element number i of a tensor of shape.
func unravel(shape backend.Shape, i int) []int {
	idx := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		idx[a] = i % shape[a]
		i /= shape[a]
	}
	return idx
}
