package wgpu_test

import (
	"context"
	"fmt"

	_ "github.com/weft-go/weft/backend/wgpu"
	"github.com/weft-go/weft/tensor"
)

// With the import tensors live on the GPU; without one there is a warning, and they live on the CPU.
func Example() {
	x := tensor.New([]float32{1, 2, 3, 4}, 2, 2)
	sums, err := tensor.Data[float32](context.Background(), x.MatMul(x).AddScalar(1).Sum(0))
	if err != nil {
		panic(err)
	}
	fmt.Println(sums)
	// Output: [24 34]
}
