// Package ops says what weft's operations mean. It is the leaf of the module: every other package may
// import it, and it imports none of them.
//
// # Element types
//
// A [DType] is the type of a tensor's elements. [Promote] gives the type of an operation between two arrays
// and [PromoteWeak] of one between an array and a Go scalar, both by NumPy's rules. A [Value] is one element, and
// [Value.Convert] how it becomes one of another type.
//
// # Operations
//
// An [Op] is one elementwise operation, written down once: its name, the function of float64 that defines it
// on floats and that of int64 on integers, the WGSL expression a GPU computes it with, the element types it takes
// (a [Rule]), and the tolerance within which a backend must meet the definition (a [Tol]). The rows are the package
// variables [Add], [Exp], and so on; [All] lists them. The name in a row is that of the variable, in lower case.
//
// On floats a result is the definition, at the exact values of the operands, rounded once to the element type. On
// integers it wraps, on Bool all but 0 is 1. Everywhere:
//
//   - NaN comes through every function of it, except where a row says otherwise: [Fmax], [Where], [Pow].
//   - Functions have their limits at the infinities, and give no NaN for a finite operand in their domain.
//   - Integer division by 0 gives 0; the least integer over -1 is itself; a shift by the width or more leaves nothing.
//   - Functions of floats ([Exp], [Div], [Sqrt]) take integers and bools as [DefaultFloat].
//
// Golden files made by NumPy (testdata/golden.py) hold the definitions to a few units of float64; package backendtest
// holds the backends to the definitions, with [Op.Within].
//
// # Adding one
//
// A row goes into the file of its group, and with a line in testdata/golden.py and a method in package tensor it
// is there: the tests, both backends and the conformance suite find it in the table. If its WGSL needs a function that
// does not exist yet, that goes into shaders/prelude.
//
// # Programs
//
// An [Expr] is the body of a kernel, a straight-line program whose instructions apply operations to values; a
// [Builder] writes one. The CPU backend runs it block by block, the WebGPU backend prints it as WGSL. A result is
// rounded to its type after every instruction, so that fusing operations into one kernel changes no bit
// of an elementwise result. Sums, and what is made of them (means, norms, softmax), may differ in the last bits.
//
// A [ReduceOp] combines the elements of a row, in a reduction or a scan. [Philox] is the source of random bits.
package ops
