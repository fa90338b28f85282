package nn

import (
	"fmt"
	"strconv"

	"github.com/weft-go/weft/tensor"
)

// A Layer is a function of a tensor, with parameters or without. Forward may be called by several goroutines
// at once.
type Layer interface {
	Forward(x *tensor.Tensor) *tensor.Tensor
}

// A Func is a Layer without parameters.
type Func func(x *tensor.Tensor) *tensor.Tensor

// Forward returns f(x).
func (f Func) Forward(x *tensor.Tensor) *tensor.Tensor { return f(x) }

// The activations, as layers.
var (
	ReLU      Layer = Func((*tensor.Tensor).ReLU)
	ReLU6     Layer = Func((*tensor.Tensor).ReLU6)
	GELU      Layer = Func((*tensor.Tensor).GELU)     // exact, by erf
	GELUTanh  Layer = Func((*tensor.Tensor).GELUTanh) // the approximation of GPT-2
	SiLU      Layer = Func((*tensor.Tensor).SiLU)
	Sigmoid   Layer = Func((*tensor.Tensor).Sigmoid)
	Tanh      Layer = Func((*tensor.Tensor).Tanh)
	HardSwish Layer = Func((*tensor.Tensor).HardSwish)
	Mish      Layer = Func((*tensor.Tensor).Mish)
	SELU      Layer = Func((*tensor.Tensor).SELU)
	Softplus  Layer = Func((*tensor.Tensor).Softplus)
)

// LeakyReLU returns the layer x where x > 0, slope·x elsewhere.
func LeakyReLU(slope float64) Layer {
	return Func(func(x *tensor.Tensor) *tensor.Tensor { return x.LeakyReLU(slope) })
}

// ELU returns the layer x where x > 0, alpha·(exp(x)-1) elsewhere.
func ELU(alpha float64) Layer {
	return Func(func(x *tensor.Tensor) *tensor.Tensor { return x.ELU(alpha) })
}

// Softmax returns the layer that makes the elements along axis add up to 1.
func Softmax(axis int) Layer {
	return Func(func(x *tensor.Tensor) *tensor.Tensor { return x.Softmax(axis) })
}

// LogSoftmax returns the layer of the logarithms of [Softmax], without overflow.
func LogSoftmax(axis int) Layer {
	return Func(func(x *tensor.Tensor) *tensor.Tensor { return x.LogSoftmax(axis) })
}

// Flatten makes [N …] into [N M], the axes after the first as one; N may be 0.
var Flatten Layer = Func(flatten)

func flatten(x *tensor.Tensor) *tensor.Tensor {
	shape := x.Shape()
	if len(shape) < 2 {
		return x
	}
	m := 1
	for _, d := range shape[1:] {
		m *= d
	}
	return x.Reshape(shape[0], m)
}

// A Dropout does nothing: it drops elements only in training, which weft does not do. It stands in a network so that
// the numbering of its layers is that of the trained one.
type Dropout struct{ P float64 }

// Forward returns x.
func (Dropout) Forward(x *tensor.Tensor) *tensor.Tensor { return x }

// A Sequential applies its layers one after the other. Its parts are named "0", "1", ….
type Sequential []Layer

// Forward returns the last layer's result, x itself if there is none.
func (s Sequential) Forward(x *tensor.Tensor) *tensor.Tensor {
	for i, l := range s {
		if l == nil {
			return tensor.Fail("sequential", fmt.Errorf("layer %d is nil", i), x)
		}
		x = l.Forward(x)
	}
	return x
}

// Params implements [Module].
func (s Sequential) Params(b *Binder) {
	for i, l := range s {
		b.Child(strconv.Itoa(i), l)
	}
}
