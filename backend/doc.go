// Package backend says what a device does for weft: it is the contract between the graph that plans
// kernels and the packages that run them, such as backend/cpu and backend/wgpu.
//
// A [Shape] is the extents of a tensor, a [Layout] where its elements are in memory. Views change a
// Layout and move nothing; a kernel reads through any Layout and writes to any that is injective.
//
// A [Kernel] is plain data: its family ([Map], [Reduce], [Row], [Scan], [MatMul], [Conv], [Pool], [Gather],
// [Scatter], [Sort], [Attention]) says how it loops, and the programs in it, of type [ops.Expr], what it computes for each element. A
// [Step] joins a kernel with operands and sizes. A [Backend] runs lists of steps and knows no operation by
// name, so that it does not grow with the operations.
//
// A backend makes itself known with [Register], in the init function of its package, and is opened by
// name. Package backendtest holds the suite that every backend passes: it is the definition of right.
package backend
