// Package ops says what weft's operations mean. It is the leaf of the module: every other package may
// import it, and it imports none of them.
//
// A [DType] is the type of a tensor's elements. [Promote] gives the type of an operation between two
// arrays and [PromoteWeak] of one between an array and a Go scalar, both by NumPy's rules.
//
// An [Op] is one elementwise operation, written down once: its name, the scalar function that defines it
// on floats and on integers, the WGSL expression a GPU computes it with, the element types it takes, and
// the tolerance within which a backend must meet the definition. [All] lists them. Golden files made
// by NumPy (testdata) hold the definitions; package backendtest holds the backends to the definitions.
//
// An [Expr] is the body of a kernel, a straight-line program whose instructions apply operations to
// values. The CPU backend runs it block by block, the WebGPU backend prints it as WGSL. A result is
// rounded to its type after every instruction, so that fusing operations into one kernel changes no bit.
//
// A [ReduceOp] combines the elements of a row, in a reduction or a scan.
package ops
