package graph

import (
	"math"
	"math/bits"
	"slices"

	"github.com/weft-go/weft/backend"
)

// A plan says how a part of the graph is computed, whatever the sizes of its data.
type plan struct {
	structure []uint64 // of the part it was made for
	kernels   []*kernel
	fallbacks int    // how many of the kernels another device runs
	used      uint64 // when it was last used
}

// How many kernels the plans and how many steps the bindings have together that a device keeps.
const (
	maxKernels = 1 << 14
	maxSteps   = 1 << 15
)

// A cache holds the plans of a device under the structure of what they compute, and their bindings under
// the sizes too. Both are found by a hash and then compared word by word, so that no collision of hashes
// ever gives a wrong plan.
type cache struct {
	plans          map[uint64][]*plan
	bindings       map[uint64][]*binding
	kernels, steps int // of them all, and one more for each
	clock          uint64
	hash           func(seed uint64, words []uint64) uint64
}

func newCache() cache {
	return cache{plans: map[uint64][]*plan{}, bindings: map[uint64][]*binding{}, hash: hashWords}
}

// lookup returns the binding for a part of the graph, or what is there to make one: plans of its structure.
func (c *cache) lookup(key *key) (*binding, []*plan) {
	c.clock++
	key.hash = c.hash(0, key.structure)
	key.sized = c.hash(key.hash, key.sizes)
	for _, b := range c.bindings[key.sized] {
		if slices.Equal(b.sizes, key.sizes) && slices.Equal(b.plan.structure, key.structure) {
			b.used, b.plan.used = c.clock, c.clock
			return b, nil
		}
	}
	var plans []*plan
	for _, p := range c.plans[key.hash] {
		if slices.Equal(p.structure, key.structure) {
			plans = append(plans, p)
		}
	}
	return nil, plans
}

// addPlan keeps p under key.
func (c *cache) addPlan(key *key, p *plan) {
	p.structure = slices.Clone(key.structure)
	p.used = c.clock
	c.plans[key.hash] = append(c.plans[key.hash], p)
	if c.kernels += 1 + len(p.kernels); c.kernels > maxKernels {
		c.kernels = evict(c.plans, func(p *plan) (uint64, int) { return p.used, 1 + len(p.kernels) })
	}
}

// addBinding keeps b under key.
func (c *cache) addBinding(key *key, b *binding) {
	b.sizes = slices.Clone(key.sizes)
	b.used, b.plan.used = c.clock, c.clock
	c.bindings[key.sized] = append(c.bindings[key.sized], b)
	if c.steps += 1 + len(b.steps); c.steps > maxSteps {
		c.steps = evict(c.bindings, func(b *binding) (uint64, int) { return b.used, 1 + len(b.steps) })
	}
}

// evict removes the half of m that was used longest ago, and returns the size of the rest. Look tells when an
// entry was used and its size.
func evict[T any](m map[uint64][]T, look func(T) (used uint64, size int)) (left int) {
	var times []uint64
	for _, list := range m {
		for _, x := range list {
			used, _ := look(x)
			times = append(times, used)
		}
	}
	slices.Sort(times)
	middle := times[len(times)/2]
	for h, list := range m {
		list = slices.DeleteFunc(list, func(x T) bool {
			used, size := look(x)
			if used >= middle {
				left += size
			}
			return used < middle
		})
		if m[h] = list; len(list) == 0 {
			delete(m, h)
		}
	}
	return left
}

// hashWords mixes words into seed, as wyhash does.
func hashWords(seed uint64, words []uint64) uint64 {
	const k0, k1 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db
	h := seed ^ k0
	for _, w := range words {
		hi, lo := bits.Mul64(h^w, k1)
		h = hi ^ lo + k0
	}
	return h ^ uint64(len(words))
}

// A key describes a part of the graph, node by node in the order of a walk.
type key struct {
	structure   []uint64 // without sizes and the values of constants
	sizes       []uint64
	hash, sized uint64 // of structure, and of both
}

// add describes n, whose inputs have been described. A node that is computed is data, wherever it came from.
func (k *key) add(n *Node, todo bool) {
	t := n.kind
	if !todo && !t.memoryless() {
		t = kindData
	}
	w := uint64(t) | uint64(n.DType)<<8 | uint64(len(n.Layout.Shape))<<16
	if !todo {
		k.structure = append(k.structure, w)
		k.shape(n.Layout.Shape)
		return
	}
	w |= uint64(n.red)<<24 | uint64(uint8(n.axes))<<32 | uint64(n.scan)<<62
	if n.kind == kindApply {
		w |= uint64(n.op().ID()) << 40
	}
	k.structure = append(k.structure, w)
	if n.kind == kindAssemble || n.kind == kindAttention {
		k.structure = append(k.structure, uint64(len(n.in())))
	}
	known := n.kind.elementwise() || n.kind == kindScan // the shape is that of an input
	for _, e := range n.in() {
		same := e.Layout == e.Node.Layout || sameSlice(e.Layout.Shape, e.Node.Layout.Shape) && sameSlice(e.Layout.Strides, e.Node.Layout.Strides) && e.Layout.Offset == 0
		if same {
			k.structure = append(k.structure, uint64(e.Node.id))
			continue
		}
		k.structure = append(k.structure, uint64(e.Node.id)|1<<40)
		k.layout(e.Layout)
	}
	if !known {
		k.shape(n.Layout.Shape)
	}
	k.attr(n)
}

// attr describes what only some kinds of nodes have.
func (k *key) attr(n *Node) {
	switch a := n.attr.(type) {
	case *ConvAttr:
		k.ints(a.Stride, a.Dilation, a.Pad, []int{a.Groups})
		if a.Transposed {
			k.structure = append(k.structure, 1)
		}
	case *PoolAttr:
		k.ints(a.Window, a.Stride, a.Dilation, a.Pad, a.PadEnd, []int{int(a.Op)})
		if a.CountPad {
			k.structure = append(k.structure, 1)
		}
	case *ScatterAttr:
		k.flag(a.Add)
	case *SortAttr:
		k.flag(a.Descending)
		k.flag(a.Index)
	case *AttentionAttr:
		k.flag(a.Causal)
		k.structure = append(k.structure, math.Float64bits(a.Scale))
	case []backend.Layout:
		for i := range a {
			k.layout(&a[i])
		}
	}
}

// flag describes a choice of two.
func (k *key) flag(f bool) {
	var w uint64
	if f {
		w = 1
	}
	k.structure = append(k.structure, w)
}

// ints describes numbers that a kernel is compiled for.
func (k *key) ints(lists ...[]int) {
	for _, l := range lists {
		k.structure = append(k.structure, uint64(len(l)))
		for _, x := range l {
			k.structure = append(k.structure, uint64(x))
		}
	}
}

// shape describes a shape: which extents are 0 or 1 belongs to the structure.
func (k *key) shape(s backend.Shape) {
	var class uint64
	for _, d := range s {
		class = class<<2 | uint64(min(d, 2))
		k.sizes = append(k.sizes, uint64(d))
	}
	k.structure = append(k.structure, class)
}

// layout describes a layout: which strides are 0 or negative belongs to the structure.
func (k *key) layout(l *backend.Layout) {
	k.structure = append(k.structure, uint64(len(l.Shape)))
	k.shape(l.Shape)
	var class uint64
	for _, s := range l.Strides {
		class = class<<2 | uint64(1+min(max(s, -1), 1))
		k.sizes = append(k.sizes, uint64(s))
	}
	k.structure = append(k.structure, class)
	k.sizes = append(k.sizes, uint64(l.Offset))
}

// flags describes what is to become of the nodes.
func (k *key) flags(fs []facts) {
	var w uint64
	for i := range fs {
		w <<= 3
		if fs[i].must {
			w |= 1
		}
		if fs[i].inPlace {
			w |= 2
		}
		if fs[i].outside {
			w |= 4
		}
		if i%21 == 20 || i == len(fs)-1 {
			k.structure = append(k.structure, w)
			w = 0
		}
	}
}

// sameSlice reports whether a and b are equal, at once if they are one slice.
func sameSlice[S ~[]int, T ~[]int](a S, b T) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
