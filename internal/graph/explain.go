package graph

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/backend"
)

// An Explanation lists the kernels that an Eval would run, in order.
type Explanation struct{ Kernels []KernelInfo }

// A KernelInfo describes a kernel of a plan.
type KernelInfo struct {
	Family  string   // of the kernel, as [backend.Kernel] gives it; "transfer" for a copy between devices
	Ops     []string // what was fused into it, in the order of its program
	Shape   backend.Shape
	In, Out []string // "float32 [2 3]"
	Bytes   int      // read and written
}

// String prints a kernel a line.
func (e Explanation) String() string {
	var s strings.Builder
	for i, k := range e.Kernels {
		fmt.Fprintf(&s, "%d %s %v: %s (%s) -> (%s), %d bytes\n", i, k.Family, k.Shape,
			strings.Join(k.Ops, " "), strings.Join(k.In, ", "), strings.Join(k.Out, ", "), k.Bytes)
	}
	return s.String()
}
