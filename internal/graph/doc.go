// Package graph records operations lazily, fuses them into kernels and runs those on a device.
//
// A [Node] is an operation on the results of other nodes, or data. It is recorded with its element type
// and shape, and computed when a caller asks [Eval] for it; then it holds its result and forgets its
// inputs, so that what only it needed can go. An [Edge] is a node seen through a layout: views are edges,
// not nodes, and cost nothing.
//
// [Eval] plans the part of the graph that its nodes need: it decides which nodes are computed inside the
// kernel of another and which get memory of their own, and writes the kernels. A plan is kept under a hash
// of the structure of that part, without sizes, so that the same computation is planned once.
package graph
