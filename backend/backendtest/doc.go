// Package backendtest holds the tests that every backend passes. They are the definition of right: what a
// kernel computes, to which accuracy, and what a [backend.Backend] promises besides.
//
// # Testing a backend
//
// One line in a test of the backend's package is all:
//
//	func TestConformance(t *testing.T) { backendtest.Run(t, open(t)) }
//
// The subtests are named by family, operation and element type, as in
//
//	go test -run 'Conformance/map/exp/float32' ./backend/cpu
//
// Inputs are random and differ from run to run; the seed is logged, and WEFT_SEED=n repeats it. With -short
// fewer inputs are drawn. A kernel for which the backend's Supports is false is skipped and counted at the
// end of the log; WEFT_STRICT=1 makes each a failure.
//
// # What is tested
//
// Every step runs on memory filled with 0xff bytes, which are NaN in each floating-point type. Inputs hold
// them outside of their elements, outputs everywhere; a result that was not written shows, and so does a byte
// written outside of the output. Operands lie dense, at odd offsets, transposed, sliced, stepped, reversed
// and broadcast, and have no elements or no axes.
//
// The suite builds its programs from the rows of package ops, so that a new row is tested by itself, and
// judges each result by the row's tolerance. Programs of many instructions must give the bits that the same
// instructions give one kernel at a time.
//
// # Reading a failure
//
//	exp of reversed: float32 → float32: element [2 0 3] of output 0, dense [3 4 5] (strides [20 5 1], offset 0)
//		input 0, reversed [3 4 5] (strides [-20 -5 -1], offset 62): 88.8000031 (0x42b1999a)
//		got  +Inf (0x7f800000)
//		want 3.6e+38 (0x7f7fffff)
//		1 ULP apart; exp may be 2 off (range reduction and a polynomial in float32)
//		WEFT_SEED=271828
//
// The first line says which kernel on which types, and which element of which output is wrong; the next where
// each input lies and what the element was computed from: its value, or the first of its row.
//
// [Reference] is a backend that runs any kernel by these definitions, for tests of what stands above backends.
package backendtest
