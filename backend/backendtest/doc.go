// Package backendtest holds the tests that every backend passes. They are the definition of right: what a
// kernel computes, to which accuracy, and what a [backend.Backend] promises besides.
//
// # Testing a backend
//
// One line in a test of the backend's package is all:
//
//	func TestConformance(t *testing.T) { backendtest.Run(t, open(t)) }
//
// The subtests are named by family, operation and element type, so that
//
//	go test -run 'Conformance/map/exp/float32' ./backend/cpu
//
// runs one of them. Inputs are random and differ from run to run; the seed is logged, and WEFT_SEED=n repeats
// it, whichever subtests run. With -short fewer inputs are drawn, and on a software device, which compiles slowly
// what it runs slowly, one in eight of the subtests for a type runs, others with another seed. A kernel for which the
// backend's Supports is false is skipped and counted at the end of the log, which -v shows; WEFT_STRICT=1 makes
// each a failure.
//
// # What is tested
//
// Map: each row of package ops on each type it takes, on edge values and random bits; casts between all types;
// copies; positions; constants; several outputs. The suite builds its programs from the table, so that a
// new row is tested by itself. Random programs of many instructions must give the bits that the same
// instructions give one kernel at a time.
//
// Reduce, Row and Scan: each reduction on each type, over rows of no elements to 100,003 and of one axis or
// several; softmax, norms and other programs. MatMul, Conv, Pool and Gather: sizes around those of tiles,
// mixtures of types, and work before and after. Sort: rows of which many elements are equal, whole and the first few, with
// NaN and zeros of both signs. Attention: any numbers of queries and keys, shared keys, masks of both kinds, and NaN in
// what is excluded. Scatter: updates that meet, to set and to add.
//
// Operands lie dense, at odd offsets, transposed, sliced, stepped, reversed and broadcast, and have no elements
// or no axes. Memory is filled with 0xff bytes first, NaN in each floating-point type: inputs hold them
// outside of their elements, outputs everywhere. A result that was not written shows, and so does a byte
// written outside of the output, or an input that changed.
//
// The contract: memory of any size and alignment, sizes beyond reason, the order of effects, steps that make no
// sense, failed and cancelled runs, use from many goroutines, release during use, and closing.
//
// # How close is right
//
// A kernel of one operation is judged by the row's tolerance, see [ops.Op.Within]; casts, copies, gathers,
// maxima and positions are exact. Sums are exact where small whole numbers make every order exact. On other
// numbers they may be off, in rounding units of the type they are summed in (float32 for 16-bit types) times
// the sum of magnitudes, by
//
//	2·log₂ n + 20   a sum of n elements: pairwise, in blocks with several accumulators
//	n + 1           a product of n
//	K + 4           an element of a matrix product or convolution over K products
//	n + 16          the n-th element of a scan, at most 272
//	√n·6 + 20       a scatter that adds n updates to a row
//	100 + 10·(√D + √N)  an element of attention to N keys of D elements, times 1: inputs are of mean 0 and deviation 1
//
// and by one unit in the last place of the result's type. A device that takes subnormal numbers for 0 says so
// by [backend.FlushesSubnormals].
//
// # Reading a failure
//
//	exp of reversed: float32 → float32: element [0 0 1] of output 0, dense [2 3 4] (strides [12 4 1], offset 0)
//		input 0, reversed [2 3 4] (strides [-12 -4 -1], offset 26): -0.287983507 (0xbe937293)
//		got  0.749774158 (0x3f3ff133)
//		want 0.749773979 (0x3f3ff130)
//		3 ULP apart; exp may be 2 off (range reduction and a polynomial in float32)
//		WEFT_SEED=271828
//
// The first line says which kernel on which types, and which element of which output is wrong; the next where
// each input lies and what the element was computed from: its value, or the first of its row. A line without
// values says what was promised and not kept.
//
// [Reference] is a backend that runs any kernel by these definitions, for tests of what stands above backends.
package backendtest
