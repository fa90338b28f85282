// Package graph records operations lazily, fuses them into kernels and runs those on a device.
//
// A [Node] is an operation on the results of other nodes, or data. It is recorded with its element type
// and shape, and computed when a caller asks [Eval] for it; then it holds its result, dense and row-major,
// and forgets its inputs, so that what only it needed can go. An [Edge] is a node seen through a layout:
// views are edges, not nodes, and cost nothing.
//
// # The life of an Eval
//
// One Eval on one device is a flight. Under the lock of the device it walks from the nodes asked for to the
// data they need (flight.walk), numbering the nodes so that inputs come before their readers and writing
// down the structure of what it sees (key). If another flight computes one of them at the moment, it waits
// and walks again; if data of the program or of another device is not on the device yet, it is brought
// there first. Then it finds a plan, claims the nodes, and gives the lock back. It gets memory, runs the
// kernels, takes the lock again, and publishes the results or, after an error, changes nothing. Flights
// that do not touch each other run at the same time.
//
// Of the results that got memory those stay that were asked for, those that other nodes have been recorded on,
// and those that had to be computed a second time. The rest share memory that is given back at the end of
// the flight.
//
// # How kernels are found
//
// The planner goes from results to data, so that it meets a node after all its readers, and decides once for
// each node: computed in the kernel that reads it, or with memory of its own, by a kernel of its own that
// then waits for what the node reads. As a node joins a kernel only if nobody outside reads it, kernels
// never wait for each other in a circle.
//
// A kernel in the making is a group: values, each of a node at a place. The place is a layout of the shape
// of the kernel's domain; it says which element of the node's dense result the kernel has in hand at each
// point of the domain. The first value is the node the kernel is for, at its own layout. When the node of an
// operand joins, its inputs become operands in turn, at places that compose the place of the node with
// the layouts of its edges: that is how views dissolve. If no layout can express the composition the node
// keeps its memory.
//
// An elementwise node joins where it is. The others are particular about the domain, and each kernel takes one
// of them. Before one is in, the domain may still be permuted and reshaped to suit it (domain.enter):
//
//   - A reduction joins a domain of its results, which gets its rows as further axes: so what
//     follows a reduction is computed with it. Or it joins a domain over which its result is broadcast, and
//     the axes of the broadcast become the row: so softmax finds its sum. Once a domain has rows, more
//     reductions of the same rows may join: so it finds its maximum. The family of the kernel is Row if it
//     has to go over the row again after a reduction, else Reduce.
//   - A scan, a product of matrices, a convolution, a pooling, a gather, a scatter, a sort or an attention joins a domain of its own shape, and what
//     was in the group already is what its results go through before they are written.
//
// A node with several readers is computed by each of them if that is cheap, and otherwise gets memory.
// Assemble and Update are not kernels: each of their parts is a group that writes to its place.
//
// No program of a kernel holds a constant's value or a size, and a value is rounded to its type after
// every instruction, so that elementwise results are the same bits, fused or not.
//
// # Plans
//
// A plan holds for every graph of the same structure: the same operations and types, connected in the same
// way, with the same strides 0 or negative and the same extents 0 or 1. It is kept under a hash of the structure,
// which is compared in full when found. At other sizes the groups are put together again by their logs (plan.bind),
// which says how they were; should the sizes not allow that, there is another plan for them. What that gives, a
// binding, is kept too, under the sizes. A warm Eval walks, finds its binding, fills in memory and constants, and
// runs.
//
// Where the device does not support a kernel the planner keeps the nodes in it apart, first from what comes
// after a reduction or the like, then from everything, and plans again. A kernel of one node that is not
// supported either runs on the CPU.
//
// # Variables
//
// A variable is a chain of [Update] nodes, each a version. The next version takes over the memory of the one
// before if that is a version too, not asked for, and has no other reader that has not taken part in an Eval;
// else it copies. A version that was overwritten gives an error to those who come late, never new elements.
package graph
