package graph

// maxTail is how many elementwise operations after a reduction are looked through for it.
const maxTail = 8

// joinSibling computes node i, which nothing here reads, in a kernel that reduces the same rows for another
// such result: then the rows are read once. That makes no circle, as nobody waits for either result.
func (p *planner) joinSibling(i int32) bool {
	if len(p.uses[i]) > 0 || p.facts[i].apart > free {
		return false
	}
	r := p.reduction(p.nodes[i])
	if r == nil {
		return false
	}
	for _, g := range p.done {
		if g.dom.axes > 0 && p.last(g) && p.reduces(g, r) && p.addBeside(g, i) {
			return true
		}
	}
	return false
}

// reduction returns the reduction whose result n is, but for elementwise operations.
func (p *planner) reduction(n *Node) *Node {
	for range maxTail {
		if n.kind == kindReduce {
			return n
		}
		if !n.kind.elementwise() {
			return nil
		}
		next := (*Node)(nil)
		for _, e := range n.in() {
			if p.facts[e.Node.id].heavy && e.Layout.IsDense() {
				next = e.Node
				break
			}
		}
		if n = next; n == nil {
			return nil
		}
	}
	return nil
}

// last reports whether nothing here reads the results of g.
func (p *planner) last(g *group) bool {
	for _, o := range g.outs {
		if o.part != whole || len(p.uses[o.node]) > 0 && !p.inside(g, o.node) {
			return false
		}
	}
	return true
}

// inside reports whether g alone reads node i.
func (p *planner) inside(g *group, i int32) bool {
	for _, u := range p.uses[i] {
		if u.g != g {
			return false
		}
	}
	return true
}

// reduces reports whether g reduces the rows that r reduces.
func (p *planner) reduces(g *group, r *Node) bool {
	for _, e := range g.log {
		n := p.nodes[g.values[e.value].node]
		if n.kind == kindReduce && n.axes == r.axes && n.in()[0].Node == r.in()[0].Node && n.in()[0].Layout.Equal(*r.in()[0].Layout) {
			return true
		}
	}
	return false
}

// addBeside adds the result of node i to g.
func (p *planner) addBeside(g *group, i int32) bool {
	if g.fused+p.nodes[i].fusedAs() > maxFused || p.limit > 0 && g.operands(p.nodes)+len(p.nodes[i].in()) >= p.limit {
		return false
	}
	before, log := g.dom, len(g.log)
	v := int32(len(g.values))
	g.values = append(g.values, value{node: i, in: inDomain})
	g.dom.places = append(g.dom.places, place{})
	if _, ok := g.dom.enter(p.nodes[i], int(v), actBeside); ok {
		g.log = append(g.log, entry{v, actBeside})
		g.outs = append(g.outs, output{value: v, at: v, node: i, part: whole})
		if p.fuse(g, v) {
			return true
		}
		g.outs = g.outs[:len(g.outs)-1]
	}
	g.values, g.dom, g.log = g.values[:v], before, g.log[:log]
	return false
}
