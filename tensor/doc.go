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
// # Elementwise operations
//
// The operands of an operation such as [Tensor.Add] are broadcast to one shape by NumPy's rule: aligned at
// the last axis, an extent of 1, or a missing axis, stretches to the other. A method whose name ends in
// Scalar takes a Go number; [Scalar] makes an operand of one, for the left side or for three operands:
//
//	y := tensor.Scalar(1).Div(x.Neg().Exp().AddScalar(1)) // x.Sigmoid()
//
// # Element types
//
// Two arrays are converted to the smallest type that holds the values of both, by NumPy's table. Where
// NumPy's answer is a type that weft lacks, the next wider one stands in (Uint8 with Int8 gives Int32),
// and Float16 with BFloat16 gives Float32. A Go number beside an array takes the array's type, as in
// NumPy 2, except that a float beside integers makes Float32, which every device has, and not Float64.
//
// Div and functions with fractions turn integers into Float32. Sums and products of integers are Int64.
// Positions, such as ArgMax gives, are Int32. A float becomes an integer toward zero and saturated, NaN
// 0; integers wrap around. Division of integers by 0 with FloorDiv and Mod gives 0.
//
// # Order and places
//
// [Tensor.Sort], [Tensor.ArgSort] and [Tensor.TopK] are stable and put NaN last. [Tensor.Take] and [Tensor.TakeAlongAxis] read
// through an index; [Tensor.IndexCopy], [Tensor.IndexAdd], [Tensor.Scatter] and [Tensor.ScatterAdd] write through one, into a
// new tensor. Sums of updates are the same each time, on the GPU too.
//
// # Reductions
//
// [Tensor.Sum], [Tensor.Mean], [Tensor.Max] and their like take the axes to reduce, in any order; without
// any they reduce all. (An empty list of axes is the same as none. There is no way to name "no axis",
// which would return the tensor as it is.) The axes disappear from the result; [Tensor.Unsqueeze] with the
// same axes brings them back with extent 1, NumPy's keepdims:
//
//	centred := x.Sub(x.Mean(-1).Unsqueeze(-1))
//
// An axis out of range or named twice is an error of kind [ErrAxis]. A NaN among the elements gives NaN.
// Float32 is summed pairwise or better, and 16-bit types in Float32. Means, variances, norms and softmax of
// 16-bit types are computed in Float32 throughout.
//
// # Random numbers
//
// [Rand], [Randn] and [RandInt] draw from Philox-4×32-10 (see [ops.Philox]), which makes word number i of a
// stream from i and a key alone: word i mod 4 of the block of counter i/4. A random tensor is thus lazy like
// any other: what uses it once, element by element or in a reduction, computes it in its own kernel, while a matrix product
// has it computed first. It is the same on every device, up to the last digits of the logarithm and cosine in Randn.
//
// The key is the first two words that Philox makes of the counter (purpose, 0, 0, 0) with the seed for a
// key, low word first. The purpose is 1 for Rand, 2 for Randn and 3 for RandInt, so that they are
// independent under one seed; two calls of the same function need two seeds.
//
// # Devices
//
// Tensors are made on the [Default] device: a GPU if the program imports a package for one and there is
// one, else the CPU, which needs no import. [Tensor.To] moves one to a device that [Open] gave. To mix
// tensors of different devices is an error, never a silent copy.
//
// # Variables
//
// A [Var] is a tensor that changes in place, such as the cache of a language model.
//
// # Time
//
// [Explain] lists the kernels that an evaluation would run, with the bytes and operations of each; once [Measure] has
// found out how fast the device is, also with the time it should take. [Profile] reports the time that kernels did take,
// and [Report.WriteTrace] draws it beside what the program did. [Stats] counts what a device has done.
package tensor
