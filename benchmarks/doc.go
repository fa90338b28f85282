// Package benchmarks compares weft with other libraries on the same inputs, by go test -bench.
//
//	go test -run '^$' -bench . ./benchmarks
//	WEFT_DEVICE=wgpu go test -run '^$' -bench MatMul ./benchmarks
//
// A benchmark is named operation, size, library, as in MatMul/1024/weft. Every result is compared with the other library's,
// or with a plain loop in float64, before it is timed. Inputs are random and fixed by a seed. The timed region records the
// graph anew, evaluates it and waits for the device, on a GPU once for every 20 evaluations; results stay there, except in
// AddRead and Transfer.
// Tiny and Item report the median of the first 1,024 times too.
// GB/s count each input read once and each result written once.
//
// Sizes are larger on a GPU. Command report puts the figures beside those of the scripts in peers, as a table and a plot.
//
// gonum computes in float64 where it has no float32 (floats, mat); its figures are for twice the bytes then.
// The folder peers holds a module of its own for gomlx, so that weft does not depend on it, numpy_pytorch_cpu.py, which times
// NumPy, PyTorch and gonum on the CPU beside BenchmarkPeer (make peers), and pytorch_gpu.py, which times PyTorch on a GPU.
package benchmarks
