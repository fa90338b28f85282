// Package mnist is a small convolutional network that reads handwritten digits, with its trained weights.
//
//	net, err := mnist.Load(nil)
//	digits := net.Classify(images) // [N 1 28 28] or [N 28 28] of ink from 0 to 1, to [N] of Int32
//
// It has 17,566 parameters in three blocks of convolution, batch normalisation, ReLU and pooling, and a
// linear classifier; the file train.py beside this one, which made the weights, describes the same network in PyTorch. It
// gets 9951 of the 10,000 test images of MNIST right.
//
// The images are those of LeCun, Cortes and Burges; [Test] reads the test images from their IDX files.
package mnist

import (
	_ "embed" // the weights
	"fmt"

	"github.com/weft-go/weft/formats/safetensors"
	"github.com/weft-go/weft/nn"
	"github.com/weft-go/weft/tensor"
)

// Side is the height and the width of an image.
const Side = 28

//go:embed mnist.safetensors
var weights []byte

// A Net is the network. It is a [nn.Layer] from images [N 1 28 28], ink 1 on paper 0, to logits [N 10].
type Net struct {
	Features   nn.Sequential
	Classifier *nn.Linear
}

// New returns a Net without weights, for [nn.Load] to bind.
func New() *Net {
	n := &Net{Classifier: nn.NewLinear(48*3*3, 10)}
	for _, c := range [][2]int{{1, 12}, {12, 24}, {24, 48}} { // 28×28 → 14×14 → 7×7 → 3×3
		n.Features = append(n.Features,
			nn.NewConv2d(c[0], c[1], 3, nn.Conv2dOptions{Padding: 1, NoBias: true}),
			nn.NewBatchNorm2d(c[1]),
			nn.ReLU,
			nn.NewMaxPool2d(2),
		)
	}
	return n
}

// Load returns a Net with the weights of this package, on device d, or the default one if d is nil. They come by way of
// the default device, so that has to open too.
func Load(d *tensor.Device) (*Net, error) {
	f, err := safetensors.Parse(weights)
	if err != nil {
		return nil, fmt.Errorf("mnist: %w", err)
	}
	n := New()
	if err := nn.Load(n, f, &nn.LoadOptions{Device: d}); err != nil {
		return nil, fmt.Errorf("mnist: %w", err)
	}
	return n, nil
}

// Params implements [nn.Module].
func (n *Net) Params(b *nn.Binder) {
	b.Child("features", n.Features)
	b.Child("classifier", n.Classifier)
}

// Forward maps images [N 1 28 28] to logits [N 10].
func (n *Net) Forward(x *tensor.Tensor) *tensor.Tensor {
	return n.Classifier.Forward(nn.Flatten.Forward(n.Features.Forward(x)))
}

// Classify returns the digit seen on each image, as Int32 [N]. Images are [N 1 28 28] or [N 28 28], of bytes from 0 to 255
// or of floats from 0 to 1, ink bright and paper dark.
func (n *Net) Classify(images *tensor.Tensor) *tensor.Tensor {
	if images.Rank() == 3 {
		images = images.Unsqueeze(1)
	}
	if images.DType() == tensor.Uint8 {
		images = images.DivScalar(255)
	}
	return n.Forward(images).ArgMax(-1)
}
