package graph

import (
	"github.com/weft-go/weft/backend"
)

// A group is what one kernel computes: values of nodes, each at a place in the kernel's domain. Value 0 is
// the first result; others come in as operands, and an operand may turn into a value computed in the
// kernel, with operands of its own.
//
// Nothing in a group depends on sizes except its domain, which a plan computes anew for other sizes by
// doing the steps of log again.
type group struct {
	values []value
	outs   []output
	log    []entry
	fused  int   // the size of what log brought in, see maxFused
	anchor int32 // the value that gives the kernel its family; -1 in a Map
	dom    domain
}

// A value is what a node computes, at a place of the domain.
type value struct {
	node  int32
	in    space
	fused bool         // computed in the kernel from the values from; else read from memory
	from  [maxIn]int32 // as many as the node has inputs
}

// An output is a result written to the memory of a node.
type output struct {
	value int32
	at    int32 // the value whose place is that of the result: the same, except in a part
	node  int32 // to whose memory
	part  int32 // which input of the assemble or update it is; -1 for a result that is the whole node
	row   bool  // one value for each row
}

const whole = -1

// maxIn is how many inputs a node may have that comes into a kernel.
const maxIn = 4

// An entry says that a value came into the kernel.
type entry struct {
	value int32
	act   action
}

// newGroup returns the group whose result is node i as it is.
func newGroup(nodes []*Node, i int32) *group {
	return &group{
		values: []value{{node: i, in: inDomain}},
		outs:   []output{{node: i, part: whole}},
		anchor: -1,
		dom:    begin(place{*nodes[i].Layout, inDomain}),
	}
}

// newPart returns the group that writes input part of node i, an assemble or update, to its place. Value 1
// stands for that place and is never computed.
func newPart(nodes []*Node, i, part int32) *group {
	in, at := nodes[i].part(int(part))
	return &group{
		values: []value{{node: in.Node.id, in: inDomain}, {node: i, in: inDomain, fused: true}},
		outs:   []output{{at: 1, node: i, part: part}},
		anchor: -1,
		dom:    begin(place{*in.Layout, inDomain}, place{at, inDomain}),
	}
}

func begin(places ...place) domain { return domain{shape: places[0].Shape, places: places} }

// part returns input k of an assemble or update, and where it goes.
func (n *Node) part(k int) (in Edge, at backend.Layout) {
	ats := n.attr.([]backend.Layout)
	switch {
	case n.kind == kindAssemble:
		at = ats[k]
	case k == 0:
		at = *n.Layout
	default:
		at = ats[0]
	}
	return n.in()[k], at
}

// find returns the value of node at l, or -1.
func (g *group) find(node int32, in space, l backend.Layout) int32 {
	for i := range g.values {
		if v := &g.values[i]; v.node == node && v.in == in && g.dom.places[i].Equal(l) {
			return int32(i)
		}
	}
	return -1
}

// operands counts the operands and results that have memory.
func (g *group) operands(nodes []*Node) int {
	count := len(g.outs)
	for i := range g.values {
		if v := &g.values[i]; !v.fused && (v.in != inDomain || !nodes[v.node].kind.memoryless()) {
			count++
		}
	}
	return count
}

// inputSpace returns the space of the place of input k of a node of kind t whose own value is in space s.
func inputSpace(t kind, k int, s space) space {
	switch t {
	case kindMatMul:
		return inA + space(k)
	case kindConv, kindPool, kindGather, kindScatter, kindSort, kindAttention:
		return inOperand
	default:
		return s
	}
}
