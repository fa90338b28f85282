// Package cpu runs weft's kernels on the processor, on all of its cores. Importing it registers the
// backend "cpu", of rank 0: what a program gets when no other device is there.
//
// The body of a kernel, an [ops.Expr], is compiled to a program of block functions, each of which computes
// one operation for a block of elements that fits the first-level cache. An operation and element type for
// which the package has no block function of its own runs by the definition in its row, so that a new row
// needs no change here. Rows, reductions and scans split their bodies into such programs. Results do not
// depend on the number of threads.
//
// Matrix products and convolutions are computed in tiles, from panels of their factors that are packed to lie in
// cache, with the programs before and after run on a tile's own elements. A program that has a faster
// library of linear algebra gives it to gonum, and large products of floats go there:
//
//	blas32.Use(netlib.Implementation{}) // gonum.org/v1/netlib/blas/netlib
//	blas64.Use(netlib.Implementation{})
package cpu
