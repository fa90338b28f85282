// Package nn holds layers of neural networks for inference.
//
// A [Layer] maps a tensor to a tensor and, like every operation of package tensor, neither computes nor fails:
// the whole network is recorded, fused and run when its result is read. Layers are structs with exported fields; made
// by a New function they know the shapes of their parameters and wait for [Load] to bind the weights:
//
//	net := nn.Sequential{
//		nn.NewConv2d(1, 8, 3, nn.Conv2dOptions{Padding: 1}),
//		nn.ReLU,
//		nn.NewMaxPool2d(2),
//		nn.Flatten,
//		nn.NewLinear(8*14*14, 10),
//	}
//	err := nn.Load(net, weights, nil)       // weights: an open safetensors file
//	logits := net.Forward(images)
//
// Names of parameters are PyTorch's: "0.weight" is the weight of the first layer of a [Sequential]. A network of one's own
// implements [Module] by naming its parts.
//
// Images are laid out [N C H W], as in PyTorch; features are the last axis.
package nn
