// Package tensor is NumPy for Go: arrays of any number of axes, computed lazily on a CPU or a GPU.
//
// # Tensors
//
// A [Tensor] is immutable. [New] makes one from a Go slice, methods make others from it, and [Data]
// gives the elements back:
//
//	x := tensor.New([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
//	y := x.MatMul(x.T()).AddScalar(1).Softmax(-1)
//	out, err := tensor.Data[float32](ctx, y)
//
// Nothing is computed before Data, [Item], [Eval] or another reader asks for it. Then the operations
// recorded so far are fused into few kernels and run together; [Explain] shows those kernels and runs
// nothing. A tensor that was asked for keeps its elements; those in between are given up.
//
// The element type is a property of the tensor at run time, a [DType]; Go's type parameters appear only
// where elements enter or leave. Axes are numbered from 0, and from the end by negative numbers. Empty
// tensors and tensors without axes are ordinary.
//
// # Errors
//
// Operations check their operands when they are recorded, and never panic. The result of one that
// refuses them carries an [*OpError], which says what was wrong and where:
//
//	tensor: matmul(float32 [1 3], float32 [2 2]): inner dimensions 3 and 2 differ (main.go:12)
//
// Operations on it pass it on, so an expression is checked once, where it is read. [Tensor.Err] looks
// earlier. Errors are told apart by errors.Is with [ErrShape], [ErrDType], [ErrAxis], [ErrIndex],
// [ErrDevice], [ErrUnsupported] and [ErrMemory].
//
// # Views
//
// [Tensor.Reshape], [Tensor.Permute], [Tensor.T], [Tensor.Slice], [Tensor.Select], [Tensor.BroadcastTo]
// and their like copy nothing: they return the same elements in another arrangement. A [Range] is a
// slice along one axis with all that NumPy's has, negative steps among it.
//
// # Element types
//
// Two arrays are converted to the smallest type that holds the values of both, by NumPy's table. Where
// NumPy's answer is a type that weft lacks, the next wider one stands in (Uint8 with Int8 gives Int32),
// and Float16 with BFloat16 gives Float32. A Go number beside an array takes the array's type, as in
// NumPy 2 (see [Scalar]), except that a float beside integers makes Float32, which every device has, and
// not Float64.
//
// Div and functions with fractions turn integers into Float32. Sums and products of integers are Int64.
// Positions, such as ArgMax gives, are Int32.
//
// # Devices
//
// Tensors are made on the [Default] device: a GPU if the program imports a package for one and there is
// one, else the CPU, which needs no import. [Tensor.To] moves one to a device that [Open] gave. To mix
// tensors of different devices is an error, never a silent copy.
package tensor
