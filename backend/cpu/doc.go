// Package cpu runs weft's kernels on the processor, on all of its cores. Importing it registers the
// backend "cpu", of rank 0: what a program gets when no other device is there.
//
// The body of a kernel, an [ops.Expr], is compiled to a program (program.go) of block functions (table.go),
// each of which computes one operation for a block of elements that fits the first-level cache. An operation
// and element type for which the package has no block function of its own runs by the definition in its row
// (defined.go), so that a new row needs no change here. Operands are read in place where their elements follow
// each other in memory, and gathered into registers where they do not (view.go, source.go).
//
// On amd64 many block functions are assembly, for AVX2 (with FMA and F16C) and AVX-512 (F, DQ, BW, VL), generated
// from one description (internal/asm); on arm64 arithmetic and products of matrices are, for NEON. The process uses the greatest
// set that its processor has. The environment variable WEFT_CPU names another: generic (Go alone), avx2, avx512 or neon; opening
// the device fails if the processor has not what it names. [Backend.Info] says which one is in use. Sets may differ in the last places of a result.
//
// A Map goes through its domain in the order of memory, in tiles where operands lie across each other (domains.go); a
// copy across turns squares in registers (transpose.go). A Reduce, Row or Scan is cut into elementwise programs
// (split.go) with accumulators or scanners between them, which work on rows, or on columns if those are what lies
// together in memory (rows.go). What softmax and the normalisations do with a row between reductions is one call of
// assembly (row_quick.go). Rows that are long are reduced in segments of a fixed size. Rows are sorted by keys, integers
// in the order of the elements (sort_keys.go): by a quicksort in assembly where there is one (sort_quick.go), else by
// their digits (sort_radix.go). Results of many megabytes are written past the caches by copies, rows, and maps that the memory
// keeps waiting (plan.go).
//
// Matrix products and convolutions are computed in tiles, from panels of their factors that are packed to lie in
// cache, with the programs before and after run on a tile's own elements. On amd64 a tile of float32 or float64 is a kernel in
// assembly, which writes to the result itself if no program comes after (matmul_blocked.go), and reads the windows of a
// convolution from a copy of some lines of the image (conv_direct.go). A program that has a faster
// library of linear algebra gives it to gonum, and large products of floats go there:
//
//	blas32.Use(netlib.Implementation{}) // gonum.org/v1/netlib/blas/netlib
//	blas64.Use(netlib.Implementation{})
//
// All kernels share one limit on goroutines, which stay for a moment after a loop in case another comes (parallel.go, helpers.go).
// What a result is does not depend on their number.
package cpu
