package tensor

import (
	"context"
	"fmt"
	"image"
	"image/color"
)

// FromImage returns the pixels of an image as Uint8, as Pillow and NumPy have them: [H W] of a grey
// image, [H W 3], red, green and blue, of an opaque one, and [H W 4] with alpha, by which the colours
// are not multiplied, of any other. Cast, DivScalar and Permute make of it what a network wants:
//
//	x := tensor.FromImage(img).Cast(tensor.Float32).DivScalar(255).Permute(2, 0, 1)
func FromImage(img image.Image) *Tensor {
	if img == nil {
		return fail("from_image", errNil, "image is nil")
	}
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	switch img.ColorModel() {
	case color.GrayModel, color.Gray16Model:
		data := make([]uint8, 0, w*h)
		for y := range h {
			for x := range w {
				c, _ := color.GrayModel.Convert(img.At(b.Min.X+x, b.Min.Y+y)).(color.Gray)
				data = append(data, c.Y)
			}
		}
		return Wrap(data, h, w)
	}
	channels := 4
	if o, ok := img.(interface{ Opaque() bool }); ok && o.Opaque() {
		channels = 3
	}
	data := make([]uint8, 0, w*h*channels)
	for y := range h {
		for x := range w {
			c, _ := color.NRGBAModel.Convert(img.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA)
			data = append(data, []uint8{c.R, c.G, c.B, c.A}[:channels]...)
		}
	}
	return Wrap(data, h, w, channels)
}

// Image returns t as an image: Uint8 of shape [H W], [H W 1], [H W 3] or [H W 4], as [FromImage] has
// them. The error is of kind [ErrDType] or [ErrShape], or one of those of [Data].
func (t *Tensor) Image(ctx context.Context) (image.Image, error) {
	t, ok := t.ready("image")
	if !ok {
		return nil, t.Err()
	}
	channels := 1
	if t.Rank() == 3 {
		channels = t.Dim(2)
	}
	if t.Rank() < 2 || t.Rank() > 3 || channels != 1 && channels != 3 && channels != 4 {
		return nil, fail("image", ErrShape, fmt.Sprintf("shape %v is not [H W] or [H W 1, 3 or 4]", t.layout.Shape), t).Err()
	}
	data, err := Data[uint8](ctx, t)
	if err != nil {
		return nil, err
	}
	h, w := t.Dim(0), t.Dim(1)
	rect := image.Rect(0, 0, w, h)
	switch channels {
	case 1:
		return &image.Gray{Pix: data, Stride: w, Rect: rect}, nil
	case 4:
		return &image.NRGBA{Pix: data, Stride: 4 * w, Rect: rect}, nil
	}
	img := image.NewNRGBA(rect)
	for i := range w * h {
		copy(img.Pix[4*i:], data[3*i:3*i+3])
		img.Pix[4*i+3] = 255
	}
	return img, nil
}
