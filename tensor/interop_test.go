package tensor_test

import (
	"errors"
	"image"
	"image/color"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/weft-go/weft/tensor"
)

func TestMatrix(t *testing.T) {
	m := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	want(t, tensor.FromMatrix(m), []int{2, 3}, 1.0, 2, 3, 4, 5, 6)
	want(t, tensor.FromMatrix(m.T()), []int{3, 2}, 1.0, 4, 2, 5, 3, 6)
	want(t, tensor.FromMatrix(m.Slice(0, 2, 1, 3)), []int{2, 2}, 2.0, 3, 5, 6)
	want(t, tensor.FromMatrix(mat.NewDiagDense(2, []float64{7, 8})), []int{2, 2}, 7.0, 0, 0, 8)
	back, err := tensor.FromMatrix(m).T().Cast(tensor.Float32).Matrix(ctx)
	if err != nil || !mat.Equal(back, m.T()) {
		t.Errorf("got %v, %v", back, err)
	}
	for _, x := range []*tensor.Tensor{f32(1, 2), tensor.Zeros(tensor.Float32, 0, 2)} {
		if _, err := x.Matrix(ctx); !errors.Is(err, tensor.ErrShape) {
			t.Errorf("matrix of shape %v: error %v", x.Shape(), err)
		}
	}
	if tensor.FromMatrix(nil).Err() == nil {
		t.Error("nil is no error")
	}
}

func TestImage(t *testing.T) {
	rect := image.Rect(3, 5, 5, 6) // two pixels, not at the origin
	clear := image.NewNRGBA(rect)
	clear.SetNRGBA(3, 5, color.NRGBA{1, 2, 3, 4})
	clear.SetNRGBA(4, 5, color.NRGBA{5, 6, 7, 255})
	opaque := image.NewRGBA(rect)
	opaque.SetRGBA(3, 5, color.RGBA{1, 2, 3, 255})
	opaque.SetRGBA(4, 5, color.RGBA{5, 6, 7, 255})
	grey := image.NewGray(rect)
	grey.SetGray(4, 5, color.Gray{9})
	for name, c := range map[string]struct {
		img   image.Image
		shape []int
		want  []uint8
	}{
		"alpha":  {clear, []int{1, 2, 4}, []uint8{1, 2, 3, 4, 5, 6, 7, 255}},
		"opaque": {opaque, []int{1, 2, 3}, []uint8{1, 2, 3, 5, 6, 7}},
		"grey":   {grey, []int{1, 2}, []uint8{0, 9}},
		"empty":  {image.NewGray(image.Rect(0, 0, 0, 3)), []int{3, 0}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			x := tensor.FromImage(c.img)
			want(t, x, c.shape, c.want...)
			back, err := x.Image(ctx)
			if err != nil {
				t.Fatal(err)
			}
			want(t, tensor.FromImage(back), c.shape, c.want...)
		})
	}
	if _, err := f32(1, 2).Image(ctx); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("error %v", err)
	}
	if _, err := tensor.Ones(tensor.Float32, 2, 2, 3).Image(ctx); !errors.Is(err, tensor.ErrDType) {
		t.Errorf("error %v", err)
	}
	if tensor.FromImage(nil).Err() == nil {
		t.Error("nil is no error")
	}
}
