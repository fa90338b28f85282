package nn_test

import (
	"fmt"

	"github.com/weft-go/weft/nn"
	"github.com/weft-go/weft/tensor"
)

func ExampleSequential() {
	net := nn.Sequential{
		&nn.Linear{Weight: tensor.New([]float32{1, -1, 2, 0}, 2, 2), Bias: tensor.New([]float32{0, 1})},
		nn.ReLU,
	}
	y := net.Forward(tensor.New([]float32{1, 2, 3, 4}, 2, 2))
	fmt.Println(tensor.Must(tensor.Format(ctx, y)))
	// Output:
	// [[0. 3.]
	//  [0. 7.]]
}

func ExampleLoad() {
	net := nn.Sequential{nn.NewLinear(2, 1)}
	err := nn.Load(net, weights{
		{"0.weight", tensor.New([]float32{1, 2}, 2, 1)}, // lies the wrong way
		{"0.gain", tensor.New([]float32{1})},
	}, nil)
	fmt.Println(err)
	// Output:
	// nn: load: 3 problems:
	// 	missing 0.bias
	// 	unused 0.gain
	// 	shape of 0.weight: is [2 1], want [1 2]
}

// A network of one's own names its parts.
type residual struct{ inner nn.Sequential }

func (r *residual) Params(b *nn.Binder) { b.Child("inner", r.inner) }

func (r *residual) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Add(r.inner.Forward(x)) }

func ExampleModule() {
	net := &residual{nn.Sequential{nn.NewLinearNoBias(2, 2)}}
	err := nn.Load(net, weights{{"inner.0.weight", tensor.New([]float32{0, 1, 1, 0}, 2, 2)}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tensor.Must(tensor.Format(ctx, net.Forward(tensor.New([]float32{1, 10}, 1, 2)))))
	// Output: [[11. 11.]]
}
