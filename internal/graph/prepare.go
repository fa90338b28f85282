package graph

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/weft-go/weft/backend"
)

// binding returns how to compute nodes: a binding that is there already, one of a plan that is there, or one
// of a new plan. The caller holds the lock.
func (d *Device) binding(k *key, nodes []*Node, facts []facts) (*binding, error) {
	b, plans := d.cache.lookup(k)
	if b != nil {
		d.stats.planHits.Add(1)
		return b, nil
	}
	for _, p := range plans {
		if b := p.bind(nodes, facts); b != nil {
			d.cache.addBinding(k, b)
			d.stats.planHits.Add(1)
			return b, nil
		}
	}
	p, err := d.plan(nodes, facts)
	if err != nil {
		return nil, err
	}
	d.stats.plans.Add(1)
	if b = p.bind(nodes, facts); b == nil {
		return nil, errUnsuited(p)
	}
	d.cache.addPlan(k, p)
	d.cache.addBinding(k, b)
	return b, nil
}

// errUnsuited is an error in this package: a plan is for what it was made for at least.
func errUnsuited(p *plan) error {
	return fmt.Errorf("graph: a plan of %d kernels does not suit what it was made for", len(p.kernels))
}

// plan divides the part of the graph into kernels that the device supports. Where it does not support one,
// the nodes in it are kept apart and the plan is made again; a node that is not supported by itself is left
// to another device.
func (d *Device) plan(nodes []*Node, facts []facts) (*plan, error) {
	if d.unfused {
		for i := range facts {
			facts[i].apart = apartAlways
		}
	}
	for {
		p := planner{nodes: nodes, facts: facts, limit: d.limit}
		pl, again := &plan{}, false
		for _, g := range p.divide() {
			k, err := emit(nodes, g)
			if err == nil && d.b.Supports(k.kernel) {
				pl.kernels = append(pl.kernels, k)
				continue
			}
			if g.part(facts) {
				again = true
				continue
			}
			if err == nil {
				err = d.fallBack(k, nodes)
			}
			if err != nil {
				return nil, err
			}
			k.fallback = true
			pl.fallbacks++
			pl.kernels = append(pl.kernels, k)
		}
		if !again {
			return pl, nil
		}
	}
}

// part asks that the nodes of g be kept apart, further than before. It reports false if there is only one.
func (g *group) part(facts []facts) bool {
	if len(g.log) < 2 {
		return false
	}
	next := apartHeavy
	if g.anchor < 0 {
		next = apartAlways
	}
	for _, e := range g.log {
		next = max(next, min(facts[g.values[e.value].node].apart+1, apartAlways))
	}
	for _, e := range g.log {
		f := &facts[g.values[e.value].node]
		f.apart = max(f.apart, next)
	}
	return true // an operation that shares a kernel with another could be kept further apart
}

// fallBack prepares for another device to run k, or returns an error of kind [backend.ErrUnsupported].
func (d *Device) fallBack(k *kernel, nodes []*Node) error {
	name := k.title(nodes)
	if d.strict {
		return fmt.Errorf("graph: %s on %s, and WEFT_STRICT=1: %w", name, d.name, backend.ErrUnsupported)
	}
	if err := d.openFallback(); err != nil {
		return fmt.Errorf("graph: %s on %s: %w (%w)", name, d.name, backend.ErrUnsupported, err)
	}
	if !d.warned[name] {
		d.warned[name] = true
		slog.Warn("weft: not supported by the device, computed by another", "kernel", name, "device", d.name,
			"by", d.fallback.Info().Name)
	}
	return nil
}

// title returns what people know k by: its family and the types it takes, and those it gives where they are others, as
// "argsort of float64 to int32".
func (k *kernel) title(nodes []*Node) string {
	name := k.kernel.Family()
	for _, e := range k.log {
		n := nodes[k.values[e.value].node]
		a, ok := n.attr.(*SortAttr)
		switch {
		case !ok || !a.Index:
		case n.Layout.Shape[len(n.Layout.Shape)-1] < n.in()[0].Layout.Shape[len(n.Layout.Shape)-1]:
			name = "top-k"
		default:
			name = "argsort"
		}
	}
	var in, out []string
	for _, o := range k.operands {
		in = append(in, nodes[k.values[o.value].node].DType.String())
	}
	for _, o := range k.outs {
		out = append(out, nodes[o.node].DType.String())
	}
	slices.Sort(in)
	slices.Sort(out)
	in, out = slices.Compact(in), slices.Compact(out)
	if len(in) > 0 {
		name += " of " + strings.Join(in, ", ")
	}
	if !slices.Equal(in, out) {
		name += " to " + strings.Join(out, ", ")
	}
	return name
}

// openFallback opens the device for kernels that d does not support: the CPU, which supports all.
func (d *Device) openFallback() error {
	if d.fallback != nil {
		return nil
	}
	const cpu = "cpu"
	if d.b.Info().Name == cpu {
		return fmt.Errorf("%s is the last resort", cpu)
	}
	b, err := backend.Open(cpu, 0)
	if err != nil {
		return err
	}
	d.fallback = b
	return nil
}
