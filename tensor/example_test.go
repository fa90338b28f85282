package tensor_test

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/weft-go/weft/tensor"
)

// show prints a tensor as NumPy would.
func show(t *tensor.Tensor) {
	fmt.Println(tensor.Must(tensor.Format(context.Background(), t)))
}

// A tensor is made from a slice, computed by methods, and read back. Nothing runs before it is read.
func Example() {
	ctx := context.Background()
	x := tensor.New([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	w := tensor.New([]float32{1, 0, 0, 1, 1, -1}, 3, 2)
	y := x.MatMul(w).AddScalar(1).ReLU()
	fmt.Println(y.Shape(), y.DType())
	out, err := tensor.Data[float32](ctx, y)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(y.Shape(), out)
	// Output:
	// [2 2] float32
	// [2 2] [5 0 11 0]
}

// A mistake is kept in the result and comes out where that is read, with the line that made it.
func Example_errors() {
	x := tensor.Ones(tensor.Float32, 1, 3)
	y := x.MatMul(tensor.Ones(tensor.Float32, 2, 2)).Add(x).Softmax(-1)
	_, err := tensor.Data[float32](context.Background(), y)
	fmt.Println(err)
	fmt.Println(errors.Is(err, tensor.ErrShape))
	// Output:
	// tensor: matmul(float32 [1 3], float32 [2 2]): inner dimensions 3 and 2 differ (example_test.go:40)
	// true
}

// Operands stretch along axes of extent 1, and along missing ones.
func Example_broadcasting() {
	column := tensor.New([]int32{0, 10, 20}, 3, 1)
	row := tensor.New([]int32{1, 2, 3, 4})
	show(column.Add(row))
	// Output:
	// [[ 1  2  3  4]
	//  [11 12 13 14]
	//  [21 22 23 24]]
}

// A Range selects along one axis, as a NumPy slice.
func ExampleRange() {
	x := tensor.Iota(tensor.Int32, 3, 4)
	show(x)
	show(x.Slice(tensor.From(1), tensor.To(2)))          // x[1:, :2]
	show(x.Slice(tensor.All, tensor.At(-1)))             // x[:, -1]
	show(x.Slice(tensor.At(0), tensor.R(3, 0).Step(-2))) // x[0, 3:0:-2]
	show(x.Slice(tensor.All.Step(-2)))                   // x[::-2]
	// Output:
	// [[ 0  1  2  3]
	//  [ 4  5  6  7]
	//  [ 8  9 10 11]]
	// [[4 5]
	//  [8 9]]
	// [ 3  7 11]
	// [3 1]
	// [[ 8  9 10 11]
	//  [ 0  1  2  3]]
}

// Views copy nothing, whatever is done to them.
func ExampleTensor_Unfold() {
	x := tensor.Iota(tensor.Float32, 6)
	windows := x.Unfold(0, 3, 1)
	show(windows)
	show(windows.Mean(-1)) // a moving average
	// Output:
	// [[0. 1. 2.]
	//  [1. 2. 3.]
	//  [2. 3. 4.]
	//  [3. 4. 5.]]
	// [1. 2. 3. 4.]
}

// A Go number takes the type of the array beside it.
func ExampleScalar() {
	x := tensor.New([]uint8{1, 2, 3})
	fmt.Println(x.MulScalar(2).DType(), x.MulScalar(0.5).DType())
	show(tensor.Scalar(1).Div(x))
	show(tensor.Where(x.GreaterScalar(1), x, tensor.Scalar(0)))
	fmt.Println(x.AddScalar(300).Err())
	// Output:
	// uint8 float32
	// [1.         0.5        0.33333334]
	// [0 2 3]
	// tensor: add(uint8 [3], int64 []): 300 does not fit uint8 (example_test.go:100)
}

// Unsqueeze with the axes of a reduction brings them back, so that the result broadcasts against the operand.
func ExampleTensor_Mean() {
	x := tensor.New([]float32{1, 2, 3, 10, 20, 30}, 2, 3)
	show(x.Mean())
	show(x.Mean(0))
	show(x.Sub(x.Mean(-1).Unsqueeze(-1)))
	// Output:
	// 11.0
	// [ 5.5 11.  16.5]
	// [[ -1.   0.   1.]
	//  [-10.   0.  10.]]
}

func ExampleTensor_Softmax() {
	x := tensor.New([]float32{0, 1, 2, float32(math.Inf(-1))})
	show(x.Softmax(0))
	// Output:
	// [0.09003057 0.24472848 0.66524094 0.        ]
}

func ExampleTensor_CumSum() {
	x := tensor.New([]int32{1, 2, 3, 4})
	show(x.CumSum(0))
	show(x.CumSum(0, tensor.Exclusive, tensor.Reverse))
	// Output:
	// [ 1  3  6 10]
	// [9 7 4 0]
}

// A matrix of rows and a vector of their numbers: an embedding.
func ExampleTensor_Take() {
	table := tensor.New([]float32{0, 0, 1, 1, 2, 4}, 3, 2)
	ids := tensor.New([]int32{2, 0, -1})
	show(table.Take(0, ids))
	// Output:
	// [[2. 4.]
	//  [0. 0.]
	//  [2. 4.]]
}

func ExampleConcat() {
	x := tensor.Ones(tensor.Int32, 2, 2)
	show(tensor.Concat(1, x, tensor.Iota(tensor.Int32, 2, 1)))
	// Output:
	// [[1 1 0]
	//  [1 1 1]]
}

// An edge detector over an image of one channel.
func ExampleTensor_Conv2d() {
	image := tensor.Iota(tensor.Float32, 1, 1, 3, 4)
	kernel := tensor.New([]float32{-1, 1}, 1, 1, 1, 2)
	show(image.Conv2d(kernel, tensor.ConvOptions{Stride: []int{1, 2}}))
	// Output:
	// [[[[1. 1.]
	//    [1. 1.]
	//    [1. 1.]]]]
}

// Everything between the data and the sum is one kernel.
func ExampleExplain() {
	x := tensor.New([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	e := tensor.Must(tensor.Explain(x.MulScalar(2).AddScalar(1).GELU().Sum(-1)))
	for _, k := range e.Kernels {
		fmt.Println(k.Family, k.Shape, k.Ops, k.In, k.Out)
	}
	// Output:
	// reduce [2 3] [mul add gelu sum] [float32 [2 3]] [float32 [2]]
}

// A cache that is filled in place, row by row.
func ExampleVar() {
	ctx := context.Background()
	cache := tensor.NewVar(tensor.Zeros(tensor.Float32, 3, 2))
	for i := range 2 {
		row := tensor.Full(tensor.Float32, i+1, 2)
		if err := cache.Set(row, tensor.At(i)); err != nil {
			fmt.Println(err)
			return
		}
		used := cache.Tensor().Slice(tensor.To(i + 1))
		fmt.Println(tensor.Must(tensor.Item[float32](ctx, used.Sum())))
	}
	show(cache.Tensor())
	// Output:
	// 2
	// 6
	// [[1. 1.]
	//  [2. 2.]
	//  [0. 0.]]
}

// The same seed gives the same numbers, on every device.
func ExampleRandInt() {
	show(tensor.RandInt(tensor.Int32, 42, 1, 7, 2, 5))
	// Output:
	// [[5 1 1 6 1]
	//  [3 6 2 6 6]]
}

func ExampleFromMatrix() {
	m := mat.NewDense(2, 2, []float64{2, 0, 0, 4})
	var inverse mat.Dense
	if err := inverse.Inverse(m); err != nil {
		fmt.Println(err)
		return
	}
	show(tensor.FromMatrix(&inverse).MatMul(tensor.FromMatrix(m)))
	// Output:
	// [[1. 0.]
	//  [0. 1.]]
}

// The positions that order one tensor order others too.
func ExampleTensor_ArgSort() {
	age := tensor.New([]int32{31, 7, 64})
	height := tensor.New([]float32{1.8, 1.2, 1.7})
	byAge := age.ArgSort(0)
	show(age.Take(0, byAge))
	show(height.Take(0, byAge))
	// Output:
	// [ 7 31 64]
	// [1.2 1.8 1.7]
}

// TopK gives the greatest elements and where they are.
func ExampleTensor_TopK() {
	scores := tensor.New([]float32{0.1, 0.7, 0.2, 0.3, 0.3, 0.4}, 2, 3)
	values, indices := scores.TopK(2, -1)
	show(values)
	show(indices)
	// Output:
	// [[0.7 0.2]
	//  [0.4 0.3]]
	// [[1 2]
	//  [2 0]]
}

// Each position looks at itself and those before.
func ExampleScaledDotProductAttention() {
	q := tensor.Zeros(tensor.Float32, 1, 4, 2) // heads, positions, elements: no key is preferred
	v := tensor.New([]float32{1, 2, 3, 4}, 1, 4, 1)
	show(tensor.ScaledDotProductAttention(q, q, v, tensor.AttentionOptions{Causal: true}).Flatten())
	// Output:
	// [1.  1.5 2.  2.5]
}

// A report has a row for each kernel.
func ExampleProfile() {
	ctx := context.Background()
	x := tensor.New([]float32{1, 2, 3, 4}, 2, 2)
	report, err := tensor.Profile(ctx, func() error {
		for range 3 {
			if err := tensor.Eval(ctx, x.AddScalar(1).Exp()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, k := range report.Kernels {
		fmt.Printf("%d launches of %s, %d bytes, %.0f%% of the time\n", k.Launches, k.Name, k.Bytes, 100*k.Share)
	}
	// Output:
	// 3 launches of map.add.exp, 96 bytes, 100% of the time
}

// A histogram counts how often each number occurs.
func ExampleTensor_IndexAdd() {
	throws := tensor.New([]int32{3, 1, 3, 5, 3, 1})
	show(tensor.Zeros(tensor.Int32, 6).IndexAdd(0, throws, tensor.Scalar(1)))
	// Output:
	// [0 2 0 3 0 1]
}
