package wgpu

import (
	"slices"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
	"github.com/weft-go/weft/ops"
)

// Reductions and kernels of rows. A workgroup takes one or more rows, each of which a team of its threads shares. The four
// lanes of a thread are neighbours along the row where that is how elements lie in memory. Else they are neighbouring
// rows (the columns of a matrix that is summed over its first axis), and so are the threads beside it.
//
// Rows that fit are read once and kept in registers until their last phase. Longer ones are read again by each
// phase, and where there are too few of them to occupy the GPU, several workgroups share a row: a kernel for each phase,
// whose workgroups leave their states in memory for those of the next. Threads of a team exchange their states by subgroup
// operations, where kernels may use these, and in workgroup memory.
const (
	rowTrips = 1 << 14 // of all loops of a thread: software Vulkan loses count at four times as many
	rowPlain = 1 << 11 // elements below which a software device reaches each by itself
)

// A rowKernel is one variant of a kernel of rows.
type rowKernel struct {
	domain
	rowProgram
	family string

	// The variant.
	columns   bool // lanes are neighbouring rows
	ragged    bool // the last quad of a row is not full
	rowPreset      // threads of a workgroup, and of those that share a row, or the rows of their lanes
	copies    int  // units a thread takes at once
	held      bool // which are all it has of a row
	full      bool // and no fewer the last time
	stage     int  // the only phase of this kernel, where rows are split; else 0
	subgroup  int  // threads that exchange states without workgroup memory, or 0

	// The work: rows are counted in groups of those that a thread has in its lanes, their elements in units.
	lines, span   []int // axes that count groups and units
	groups, units int
	pieces        int // of each row
	length        int // units of a piece: a multiple of what a team takes at once

	words   rowWords
	block   block
	scratch *buffer // states of pieces
}

// rowWords says where the parameters are.
type rowWords struct {
	columns, groups, units, pieces, length, trips int
	quads                                         int // of the last axis
	infinity                                      int
	extents                                       int
	places                                        []place
	consts                                        int
}

func (e *engine) lowerReduce(s *backend.Step, k *backend.Reduce) error {
	return e.lowerRows(s, k, &k.Body, k.Axes)
}

func (e *engine) lowerRow(s *backend.Step, k *backend.Row) error {
	return e.lowerRows(s, k, &k.Body, k.Axes)
}

func (e *engine) lowerRows(s *backend.Step, kernel backend.Kernel, body *ops.Expr, axes int) error {
	if s.Shape[:len(s.Shape)-axes].Len() == 0 {
		return nil
	}
	k := e.planRows(s, kernel, body, axes)
	if k.units == 0 {
		standIns, err := e.standIns(k.slots)
		defer func() {
			for _, b := range standIns {
				e.release(b)
			}
		}()
		if err != nil {
			return err
		}
	}
	return e.recordRows(k, kernel)
}

// planRows chooses the variant for a step.
func (e *engine) planRows(s *backend.Step, kernel backend.Kernel, body *ops.Expr, axes int) *rowKernel {
	k := e.planProgram(s, kernel, newRowProgram(body, false), axes)
	if !k.held && k.units > 0 {
		if p := newRowProgram(body, true); len(p.moments) > 0 {
			return e.planProgram(s, kernel, p, axes)
		}
	}
	return k
}

func (e *engine) planProgram(s *backend.Step, kernel backend.Kernel, p rowProgram, axes int) *rowKernel {
	k := &rowKernel{rowProgram: p, family: kernel.Family(), subgroup: e.subgroup}
	// A software device takes longer to compile a kernel than to run a small one.
	k.plain = e.info.Type == driver.Software && s.Shape.Len() < rowPlain
	k.merge(sorted(s, axes, k.ordered()), axes)
	k.orient(s)
	k.reach(s)
	k.choose(int(e.info.Limits.Invocations), len(k.slots) < int(min(e.info.Limits.StorageSlots, maxSlots)))
	k.parameters(s)
	return k
}

// standIns gives slots whose buffers are empty some memory, because there is no binding of none: rows without elements have
// results all the same. The caller releases it.
func (e *engine) standIns(slots []slot) (list []*buffer, err error) {
	for i := range slots {
		if s := &slots[i]; s.buffer.memory.handle == 0 {
			b, err := e.alloc(16)
			if err != nil {
				return list, err
			}
			list = append(list, b)
			s.buffer = b
		}
	}
	return list, nil
}

// sorted returns the layouts of s with the axes of the largest input in the order they have in memory, so that more of them
// merge and the last is the one of neighbours: rows come in any order, and so do the elements of one unless that is
// ordered.
func sorted(s *backend.Step, axes int, ordered bool) *backend.Step {
	var main *backend.Layout
	most := 0
	for i := range s.In {
		if n := span(s.In[i].Layout) * s.In[i].DType.Size(); n > most && s.In[i].Buf != nil {
			main, most = &s.In[i].Layout, n
		}
	}
	if main == nil {
		return s
	}
	rank := len(s.Shape)
	order := make([]int, rank)
	for a := range order {
		order[a] = a
	}
	byStride := func(a, b int) int { return abs(main.Strides[b]) - abs(main.Strides[a]) }
	for _, part := range [][]int{order[:rank-axes], order[rank-axes:]} {
		if ordered && len(part) > 0 && part[0] >= rank-axes {
			continue
		}
		if !slices.ContainsFunc(part, func(a int) bool { return main.Strides[a] == 0 }) {
			slices.SortStableFunc(part, byStride)
		}
	}
	if slices.IsSorted(order) {
		return s
	}
	c := *s
	c.Shape = permuted(s.Shape, order)
	for _, list := range []*[]backend.Operand{&c.In, &c.Out} {
		*list = slices.Clone(*list)
		for i := range *list {
			l := &(*list)[i].Layout
			l.Shape, l.Strides = permuted(l.Shape, order), permuted(l.Strides, order)
		}
	}
	return &c
}

// span returns the number of elements of l that are not the same in memory.
func span(l backend.Layout) int {
	n := 1
	for a, d := range l.Shape {
		if l.Strides[a] != 0 {
			n *= d
		}
	}
	return n
}

func permuted(s []int, order []int) []int {
	out := make([]int, len(s))
	for i, a := range order {
		out[i] = s[a]
	}
	return out
}

func abs(x int) int { return max(x, -x) }

// orient decides which axis the lanes lie along, and makes it the last.
func (k *rowKernel) orient(s *backend.Step) {
	rank := len(k.shape)
	along, across := 0, 0 // bytes that are neighbours along the row and from row to row
	for i, o := range s.In {
		l := k.layouts[i]
		size := span(l) * o.DType.Size()
		if one(l, rank-1) {
			along += size
		}
		if k.kept > 0 && one(l, k.kept-1) {
			across += size
		}
	}
	const short = 8 // elements of a row
	k.columns = k.kept > 0 && (k.shape[k.kept:].Len() < short || across > along)
	axis := k.kept - 1
	for a := range rank {
		switch {
		case a >= k.kept && k.columns:
			k.span = append(k.span, a-1)
		case a >= k.kept:
			k.span = append(k.span, a)
		case a != axis || !k.columns:
			k.lines = append(k.lines, a)
		}
	}
	if !k.columns {
		return
	}
	k.lines = append(k.lines, rank-1)
	move(k.shape, axis)
	for i := range k.layouts {
		move(k.layouts[i].Strides, axis)
		k.layouts[i].Shape = k.shape
	}
}

// one reports whether neighbours along an axis are neighbours in memory.
func one(l backend.Layout, axis int) bool { return l.Strides[axis] == 1 || l.Strides[axis] == -1 }

// move brings element i of s to its end.
func move(s []int, i int) {
	v := s[i]
	copy(s[i:], s[i+1:])
	s[len(s)-1] = v
}

// parameters fills the block, but for the number of workgroups side by side, which is its first word.
func (k *rowKernel) parameters(s *backend.Step) {
	b, w := &k.block, &k.words
	last := len(k.shape) - 1
	w.columns = b.add(0)
	w.groups, w.units, w.pieces, w.length = b.add(k.groups), b.add(k.units), b.add(k.pieces), b.add(k.length)
	w.trips = b.add(k.length / (k.team * k.copies))
	w.quads = b.add((k.shape[last] + 3) / 4)
	w.infinity = b.add(0x7f800000)
	w.extents = len(b.words)
	for _, d := range k.shape {
		b.add(d)
	}
	w.places = make([]place, len(k.layouts))
	for i, l := range k.layouts {
		w.places[i] = b.addLayout(l)
	}
	w.consts = b.addConsts(s.Consts)
}

// recordRows records the kernel, or those of its phases.
func (e *engine) recordRows(k *rowKernel, kernel backend.Kernel) error {
	if k.stage == 0 {
		l, err := e.launchRows(k, kernel)
		if err != nil {
			return err
		}
		return e.record(l)
	}
	bytes := 4 * k.groups * k.pieces * k.stateWords()
	scratch, err := e.alloc(bytes)
	if err != nil {
		return err
	}
	defer e.release(scratch) // later commands come after those recorded here
	k.scratch = scratch
	k.slots = append(k.slots, slot{buffer: scratch, write: true})
	launches := make([]launch, 0, k.phases+1)
	for k.stage = 1; k.stage <= k.phases+1; k.stage++ {
		l, err := e.launchRows(k, kernel)
		if err != nil {
			return err
		}
		launches = append(launches, l)
	}
	for _, l := range launches {
		if err := e.record(l); err != nil {
			return err
		}
	}
	return nil
}

// launchRows makes the dispatch of one kernel.
func (e *engine) launchRows(k *rowKernel, kernel backend.Kernel) (launch, error) {
	n := k.blocks()
	if k.stage > 0 && (k.stage <= k.phases || k.varies()) {
		n *= k.pieces
	}
	grid := e.grid(n)
	k.block.words[k.words.columns] = grid[0]
	key := k.appendKey(kernel.AppendKey(e.kernels.key[:0]))
	e.kernels.key = key
	p, err := e.pipeline(key, k.source)
	if err != nil {
		return launch{}, err
	}
	return k.launch(p, grid, &k.block), nil
}

// appendKey appends what tells variants of one body apart.
func (k *rowKernel) appendKey(b []byte) []byte {
	b = append(b, byte(len(k.shape)), byte(len(k.span)), byte(k.stage), byte(k.copies), byte(k.threads/8), byte(k.threads/k.team>>1),
		flag(k.columns)|flag(k.ragged)<<1|flag(k.held)<<2|flag(k.subgroup > 0)<<3|flag(k.full)<<4|flag(k.apart > 0)<<5|flag(len(k.moments) > 0)<<6)
	return k.domain.appendKey(b)
}

// lanes returns how many states a thread has of a reduction: one, or that of each row.
func (k *rowKernel) lanes() int {
	if k.columns {
		return 4
	}
	return 1
}

// stateWords returns the words of the states of all reductions, of one group of rows.
func (k *rowKernel) stateWords() int {
	n := 0
	for i := range k.Code {
		if k.combines(i) && !k.follows(i) {
			n += k.reduction(ops.Ref(i)).words() * k.lanes()
		}
	}
	return n
}
