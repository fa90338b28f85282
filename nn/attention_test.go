package nn_test

import (
	"errors"
	"testing"

	"github.com/weft-go/weft/nn"
	"github.com/weft-go/weft/tensor"
)

// stepped returns a tensor of eighths that PyTorch's results were made from.
func stepped(from int, shape ...int) *tensor.Tensor {
	return tensor.Iota(tensor.Int64, shape...).MulScalar(7).AddScalar(from).ModScalar(11).Cast(tensor.Float32).AddScalar(-5).MulScalar(0.125)
}

// TestMultiHeadAttention holds the layer to torch.nn.MultiheadAttention(4, 2, batch_first=True).
func TestMultiHeadAttention(t *testing.T) {
	l := nn.NewMultiHeadAttention(4, 2)
	err := nn.Load(l, weights{
		{"in_proj_weight", stepped(0, 12, 4)},
		{"in_proj_bias", stepped(1, 12)},
		{"out_proj.weight", stepped(2, 4, 4)},
		{"out_proj.bias", stepped(3, 4)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, y := stepped(4, 2, 3, 4), stepped(6, 2, 5, 4)
	near(t, "to itself", values(t, l.Forward(x)), []float32{
		0.5553809, 0.112908, 0.9223946, -0.8950783, 0.4890376, 0.1336154, 0.8548454, -0.8755767, 0.5566692, 0.1183041, 0.9232059, -0.8901592,
		0.190439, 0.3760507, 0.507673, -0.6817153, 0.2041281, 0.3771684, 0.5379516, -0.6640081, 0.2031789, 0.3991659, 0.5252942, -0.6537188,
	}, 1e-6)
	near(t, "to others", values(t, l.Attend(x, y, y)), []float32{
		0.4431875, 0.2542527, 0.7745145, -0.7894204, 0.4032488, 0.2503701, 0.7262243, -0.8016545, 0.4468673, 0.2502722, 0.7786058, -0.7929894,
		0.4887002, 0.2060873, 0.8235444, -0.8340684, 0.6074476, 0.1857939, 0.9583721, -0.8382815, 0.52083, 0.2185281, 0.8639477, -0.8133543,
	}, 1e-6)
	l.Options.Causal = true
	near(t, "to those before", values(t, l.Forward(x)), []float32{
		0.1523438, 0.1953125, 0.5175781, -0.8144531, 0.5953387, 0.1347101, 0.9611301, -0.8744986, 0.5566692, 0.1183041, 0.9232059, -0.8901592,
		0.0722656, 0.5917969, 0.4453125, -0.4101562, 0.216191, 0.3470119, 0.5818781, -0.662301, 0.2031789, 0.3991659, 0.5252942, -0.6537188,
	}, 1e-6)

	if s := l.Forward(stepped(0, 5, 4)).Shape(); len(s) != 2 || s[0] != 5 || s[1] != 4 {
		t.Errorf("without a batch the shape is %v", s)
	}
	if err := l.Forward(stepped(0, 4)).Err(); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("one axis: error %v", err)
	}
	if err := l.Forward(stepped(0, 5, 3)).Err(); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("another width: error %v", err)
	}
	l.Heads = 3
	if err := l.Forward(x).Err(); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("3 heads of 4 features: error %v", err)
	}
	if err := nn.NewMultiHeadAttention(4, 2).Forward(x).Err(); err == nil {
		t.Error("no error without weights")
	}
}
