package graph

import (
	"slices"

	"github.com/weft-go/weft/ops"
)

// Limits of what is fused into one kernel.
const (
	maxFused   = 1024 // sums and the like, so that a kernel compiles quickly
	heavyFused = 16   // of those a function, a reduction or the like counts for
	maxShare   = 4    // kernels that compute a shared node again for themselves
	shareCost  = 6    // the cost of a shared node up to which they do
	repeatCost = 3    // the cost of a node up to which it is computed again where it is broadcast: no function
	rowCost    = 12   // the same for a node that needs a reduction, which may yet come into the kernel and make it a row's
	maxCost    = 255
)

// A planner divides a part of the graph into kernels. It goes from the results to the data, so that it meets
// a node after all those who read it.
type planner struct {
	nodes []*Node
	facts []facts // of each node
	limit int     // operands a kernel may have; 0 if any number
	uses  [][]use // by those already met
	done  []*group
}

// facts are what the planner is told and finds out about a node before it begins.
type facts struct {
	todo    bool  // to be computed
	must    bool  // and to be kept
	outside bool  // others read it too: to be kept if it has memory of its own
	inPlace bool  // an update that takes over the memory of the version before
	apart   level // how far it is to be kept from others
	cost    uint8 // of computing it once more from memory
	heavy   bool  // that would compute more than elementwise operations
	fixed   bool  // it depends on constants alone
}

// A level says how far a node must be kept from others, because the device does not support a kernel of
// them.
type level uint8

const (
	free        level = iota
	apartHeavy        // no operation but elementwise ones shares a kernel with what reads it
	apartAlways       // none does
)

// A use is a reader of a node: a value of a group.
type use struct {
	g *group
	v int32
}

// divide returns the kernels that compute what there is to do, in the order of their execution.
func (p *planner) divide() []*group {
	p.uses = make([][]use, len(p.nodes))
	p.done = nil
	p.weigh()
	for i := len(p.nodes) - 1; i >= 0; i-- {
		p.decide(int32(i))
	}
	slices.Reverse(p.done)
	return p.done
}

// weigh fills in the facts that depend on inputs.
func (p *planner) weigh() {
	for i, n := range p.nodes {
		f := &p.facts[i]
		if !f.todo {
			f.fixed = n.kind == kindConst
			continue
		}
		cost := n.cost()
		f.heavy, f.fixed = !n.kind.elementwise(), n.kind.elementwise()
		for _, e := range n.in() {
			in := &p.facts[e.Node.id]
			f.fixed = f.fixed && in.fixed
			if in.todo && n.kind.elementwise() {
				cost += int(in.cost)
				f.heavy = f.heavy || in.heavy
			}
		}
		f.cost = uint8(min(cost, maxCost))
	}
}

// cost returns roughly how many simple operations one element of n takes.
func (n *Node) cost() int {
	switch {
	case n.kind == kindApply && n.op() == ops.RandBits:
		return 16 // ten rounds of multiplications
	case n.kind == kindApply && (n.op().Int == nil || n.op() == ops.Pow):
		return 4 // a function such as exp
	case n.kind == kindApply, n.kind == kindCast:
		return 1
	}
	return 0
}

// fusedAs returns how many operations n counts for in the size of a kernel.
func (n *Node) fusedAs() int {
	if n.kind.elementwise() && n.cost() <= 1 {
		return 1
	}
	return heavyFused
}

// decide says where node i is computed: in the kernels that read it, or in one of its own.
func (p *planner) decide(i int32) {
	n := p.nodes[i]
	switch {
	case !p.facts[i].todo:
		if n.kind.memoryless() && p.readAsOperand(i) {
			p.done = append(p.done, newGroup(p.nodes, i))
		}
	case n.kind == kindAssemble:
		for k := range n.in() {
			p.writePart(i, k)
		}
	case n.kind == kindUpdate: // the last group found is the first to run
		p.writePart(i, 1)
		if !p.facts[i].inPlace {
			p.writePart(i, 0)
		}
	case !p.absorb(i) && !p.joinSibling(i):
		g := newGroup(p.nodes, i)
		p.fuse(g, 0)
		p.done = append(p.done, g)
	}
}

// writePart adds the group that writes input k of node i, which is still to be met.
func (p *planner) writePart(i int32, k int) {
	g := newPart(p.nodes, i, int32(k))
	in := g.values[0].node
	p.uses[in] = append(p.uses[in], use{g, 0})
	p.done = append(p.done, g)
}

// memoryless reports whether a kernel computes the node's elements from nothing.
func (k kind) memoryless() bool { return k == kindConst || k == kindIndex }

// readAsOperand reports whether a kernel reads node i in a way of its own.
func (p *planner) readAsOperand(i int32) bool {
	for _, u := range p.uses[i] {
		if u.g.values[u.v].in != inDomain {
			return true
		}
	}
	return false
}

// absorb computes node i in the kernels that read it, and reports whether that is possible for all of them.
func (p *planner) absorb(i int32) bool {
	n, f, uses := p.nodes[i], &p.facts[i], p.uses[i]
	limit := apartHeavy
	if n.kind.elementwise() {
		limit = apartAlways
	}
	switch {
	case len(uses) == 0 || f.apart >= limit:
		return false
	case len(uses) > 1 && (f.must || f.heavy || f.cost > shareCost || len(uses) > maxShare):
		return false
	case f.must:
		return p.absorbKept(i, uses[0])
	}
	all := true
	for _, u := range uses {
		all = p.fuse(u.g, u.v) && all
	}
	return all
}

// absorbKept is absorb for a node whose result is kept: the kernel that reads it writes it too.
func (p *planner) absorbKept(i int32, u use) bool {
	g := u.g
	at := g.dom.places[u.v]
	if at.in != inDomain || p.facts[i].fixed {
		return false
	}
	l := at.Layout
	if kept := len(l.Shape) - g.dom.axes; g.dom.axes > 0 && constant(l, kept) {
		l = head(l, kept)
	}
	if _, ok := onto(l, p.nodes[i].Layout.Len()); !ok {
		return false
	}
	count := len(g.outs)
	g.outs = append(g.outs, output{value: u.v, at: u.v, node: i, part: whole})
	if !p.fuse(g, u.v) {
		g.outs = g.outs[:count]
		return false
	}
	return true
}

// fuse computes value v in its group g, if that can be done.
func (p *planner) fuse(g *group, v int32) bool {
	n := p.nodes[g.values[v].node]
	if g.fused+n.fusedAs() > maxFused || len(g.log) > 0 && p.repeats(g, v) {
		return false
	}
	for _, a := range g.actions(n, v) {
		if p.enter(g, v, a) {
			return true
		}
	}
	return false
}

// repeats reports whether g would compute value v so often for one element of its node that it had better
// be read.
func (p *planner) repeats(g *group, v int32) bool {
	i := g.values[v].node
	at := g.dom.places[v]
	times := at.Len()
	if kept := len(at.Shape) - g.dom.axes; g.dom.axes > 0 && constant(at.Layout, kept) {
		times = at.Shape[:kept].Len()
	}
	limit := uint8(repeatCost)
	if p.facts[i].heavy {
		limit = rowCost
	}
	return times > p.nodes[i].Layout.Len() && p.facts[i].cost > limit
}

// actions returns the ways in which n may come into g as value v, the best first.
func (g *group) actions(n *Node, v int32) []action {
	at := g.values[v].in
	switch {
	case at == inOperand, at != inDomain && n.kind != kindCast:
		return nil
	case at != inDomain:
		return []action{actExpand}
	case n.kind.elementwise():
		return []action{actExpand, actAlign}
	case n.kind == kindReduce && g.dom.axes > 0:
		return []action{actNextRow}
	case n.kind == kindReduce:
		return []action{actExtend, actRows}
	case n.kind == kindScan:
		return []action{actScan}
	case n.kind == kindAssemble, n.kind == kindUpdate:
		return nil
	}
	return []action{actAnchor}
}

// enter lets value v into g by action a, unless the kernel would then have too many operands.
func (p *planner) enter(g *group, v int32, a action) bool {
	before := g.dom
	n := p.nodes[g.values[v].node]
	ins, ok := g.dom.enter(n, int(v), a)
	if !ok {
		return false
	}
	count, first := len(g.values), len(g.log) == 0
	var from [maxIn]int32
	for k, e := range n.in() {
		in := inputSpace(n.kind, k, g.values[v].in)
		if from[k] = g.find(e.Node.id, in, ins[k]); from[k] < 0 {
			from[k] = int32(len(g.values))
			g.values = append(g.values, value{node: e.Node.id, in: in})
			g.dom.places = append(g.dom.places, place{ins[k], in})
		}
	}
	g.values[v].fused = true
	if p.limit > 0 && !first && g.operands(p.nodes) > p.limit {
		g.values[v].fused = false
		g.values, g.dom = g.values[:count], before
		return false
	}
	g.values[v].from = from
	for i := count; i < len(g.values); i++ {
		node := g.values[i].node
		p.uses[node] = append(p.uses[node], use{g, int32(i)})
	}
	if !n.kind.elementwise() && g.anchor < 0 {
		g.anchor = v
	}
	g.log = append(g.log, entry{v, a})
	g.fused += n.fusedAs()
	return true
}
