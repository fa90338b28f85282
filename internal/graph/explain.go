package graph

import (
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
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
	Flops   int      // operations on elements

	// Expected is the time it takes if the device is as fast as its [Peak]; 0 if that is not known.
	Expected time.Duration
}

// Explain lists the kernels that an Eval of nodes would run now. It runs nothing.
func Explain(nodes ...*Node) (Explanation, error) {
	var e Explanation
	seen := map[*Node]bool{}
	for i, n := range nodes {
		if i > 0 && hasDevice(nodes[:i], n.Device) {
			continue
		}
		if err := e.add(n.Device, nodes[i:], seen); err != nil {
			return Explanation{}, err
		}
	}
	return e, nil
}

// add adds the kernels for those of nodes that are on d. Seen are the transfers already explained.
func (e *Explanation) add(d *Device, nodes []*Node, seen map[*Node]bool) error {
	f := newFlight(d)
	defer f.recycle()
	moves, err := f.explain(nodes)
	if err != nil {
		return err
	}
	for i, n := range moves {
		if seen[n] {
			continue
		}
		seen[n] = true
		from := f.sources[i]
		if err := e.add(from.Node.Device, []*Node{from.Node}, seen); err != nil {
			return err
		}
		e.Kernels = append(e.Kernels, KernelInfo{
			Family: "transfer",
			Shape:  n.Layout.Shape,
			In:     []string{describe(n.DType, n.Layout.Shape)},
			Out:    []string{describe(n.DType, n.Layout.Shape)},
			Bytes:  2 * n.Layout.Len() * n.DType.Size(),
		})
	}
	if f.binding != nil {
		for i := range f.binding.steps {
			k := f.info(&f.binding.steps[i])
			k.expect(d.Peak())
			e.Kernels = append(e.Kernels, k)
		}
	}
	return nil
}

// explain finds the plan of nodes, and the transfers that come first with where they come from.
func (f *flight) explain(nodes []*Node) (moves []*Node, err error) {
	d := f.d
	d.lock.must()
	defer d.lock.Unlock()
	f.explaining = true
	if err := f.walk(nodes); err != nil {
		return nil, err
	}
	work := false
	for i, n := range f.order {
		if n.kind == kindTransfer && f.facts[i].todo {
			moves = append(moves, n)
			f.sources = append(f.sources, n.in()[0])
		}
		if n.kind == kindTransfer || n.kind == kindData {
			f.facts[i].todo = false // as it will be by then
		}
		work = work || f.facts[i].todo
	}
	if !work {
		return moves, nil
	}
	p, err := d.plan(f.order, f.facts)
	if err != nil {
		return nil, err
	}
	if f.binding = p.bind(f.order, f.facts); f.binding == nil {
		return nil, errUnsuited(p)
	}
	return moves, nil
}

// info describes a step.
func (f *flight) info(s *boundStep) KernelInfo {
	k := KernelInfo{Family: s.kernel.kernel.Family(), Shape: s.shape}
	for i, o := range s.in {
		n := f.order[s.kernel.values[s.kernel.operands[i].value].node]
		k.In = append(k.In, describe(n.DType, n.Layout.Shape))
		if s.inNode[i] >= 0 {
			k.Bytes += o.DType.Bytes(backend.Reads(s.kernel.kernel, i, s.in, s.out))
		}
	}
	for i, o := range s.out {
		n := f.order[s.outNode[i]]
		k.Out = append(k.Out, describe(n.DType, n.Layout.Shape))
		k.Bytes += o.DType.Bytes(o.Layout.Touched())
	}
	for i := len(s.kernel.log) - 1; i >= 0; i-- { // what is read came in after its reader
		entry := s.kernel.log[i]
		n := f.order[s.kernel.values[entry.value].node]
		if name := n.opName(); name != "" && entry.act != actBeside {
			k.Ops = append(k.Ops, name)
			k.Flops += n.flops(s.shape)
		}
	}
	return k
}

func describe(t ops.DType, s backend.Shape) string { return t.String() + " " + s.String() }

// opName returns the name of what n does, or "" for what needs no mention.
func (n *Node) opName() string {
	switch n.kind {
	case kindApply:
		return n.op().Name
	case kindCast:
		return n.DType.String()
	case kindReduce:
		return n.red.String()
	case kindScan:
		return "cum" + n.red.String()
	case kindMatMul, kindConv, kindPool, kindGather, kindScatter, kindSort, kindAttention:
		return [...]string{"matmul", "conv", "pool", "gather", "scatter", "sort", "attention"}[n.kind-kindMatMul]
	default:
		return ""
	}
}

// String prints a kernel a line.
func (e Explanation) String() string {
	var s strings.Builder
	for i, k := range e.Kernels {
		fmt.Fprintf(&s, "%d %s %v: %s (%s) -> (%s), %d bytes, %d operations", i, k.Family, k.Shape,
			strings.Join(k.Ops, " "), strings.Join(k.In, ", "), strings.Join(k.Out, ", "), k.Bytes, k.Flops)
		if k.Expected > 0 {
			fmt.Fprintf(&s, ", %.1f µs expected", float64(k.Expected)/1e3)
		}
		s.WriteByte('\n')
	}
	return s.String()
}
