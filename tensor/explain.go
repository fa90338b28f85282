package tensor

import (
	"time"

	"github.com/weft-go/weft/internal/graph"
)

// An Explanation lists the kernels that computing some tensors would run, in order.
type Explanation struct{ Kernels []KernelInfo }

// A KernelInfo describes one kernel.
type KernelInfo struct {
	Family string   // how it loops: "map", "reduce", "row", "scan", "matmul", "conv", "pool", "gather"
	Ops    []string // the operations fused into it, in order
	Shape  []int    // what it loops over
	In     []string // what it reads, such as "float32 [2 3]"
	Out    []string // what it writes
	Bytes  int      // read and written
	Flops  int      // operations on elements; a product of matrices takes two for each pair

	// Expected is the time it takes if it is limited by nothing but what [Measure] has found of the device: the bytes,
	// the operations or the launch, whichever takes longest. It is 0 before Measure.
	Expected time.Duration
}

// Explain returns the kernels that [Eval] of the tensors would run now. It runs nothing.
func Explain(ts ...*Tensor) (Explanation, error) {
	nodes, err := nodesOf("explain", ts, nil)
	if err != nil {
		return Explanation{}, err
	}
	g, err := graph.Explain(nodes...)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{Kernels: make([]KernelInfo, len(g.Kernels))}
	for i, k := range g.Kernels {
		e.Kernels[i] = kernelInfo(k)
	}
	return e, nil
}

func kernelInfo(k graph.KernelInfo) KernelInfo {
	return KernelInfo{
		Family: k.Family, Ops: k.Ops, Shape: k.Shape, In: k.In, Out: k.Out, Bytes: k.Bytes, Flops: k.Flops, Expected: k.Expected,
	}
}

// String prints a kernel a line.
func (e Explanation) String() string {
	g := graph.Explanation{Kernels: make([]graph.KernelInfo, len(e.Kernels))}
	for i, k := range e.Kernels {
		g.Kernels[i] = graph.KernelInfo{
			Family: k.Family, Ops: k.Ops, Shape: k.Shape, In: k.In, Out: k.Out, Bytes: k.Bytes, Flops: k.Flops, Expected: k.Expected,
		}
	}
	return g.String()
}

// Counters are what a device has done since it was opened, and the memory it uses now.
type Counters struct {
	Evals     int64 // evaluations that had something to compute
	Plans     int64 // of them, those that had to be planned
	PlanHits  int64 // of them, those that found a plan of the same structure
	Kernels   int64 // kernels run
	Compiled  int64 // kernels compiled
	Fallbacks int64 // kernels that another device had to run
	Allocated int64 // pieces of memory asked of the system, or of the GPU's driver
	Bound     int64 // lists of buffers made known to a GPU

	BytesInUse  int // held by tensors; on the CPU without those of at most 4 KiB
	BytesPooled int // freed, and kept for reuse
	BytesPeak   int // the most that BytesInUse has been
}

// Stats returns the counters of a device, or of the default one for nil. A warm evaluation, of a
// structure seen before, adds to PlanHits and neither to Plans nor to Compiled; nor, if the results of the
// one before are released, to Allocated and Bound.
func Stats(d *Device) Counters {
	if d.none() {
		var err error
		if d, err = Default(); err != nil {
			return Counters{}
		}
	}
	s := d.g.Stats()
	return Counters{
		Evals: s.Evals, Plans: s.Plans, PlanHits: s.PlanHits, Kernels: s.Kernels, Compiled: s.Compiled, Fallbacks: s.Fallbacks,
		Allocated: s.Allocated, Bound: s.Bound,
		BytesInUse: s.BytesInUse, BytesPooled: s.BytesPooled, BytesPeak: s.BytesPeak,
	}
}
