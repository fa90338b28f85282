package cpu

import (
	"sort"
	"sync"

	"github.com/weft-go/weft/backend"
)

// A pass is a domain of rows in the order in which it is worked on: groups of rows, whose elements are
// neighbours in that order. With cols a group holds the first element of each of its rows, then the
// second, and so on; otherwise row after row.
type pass struct {
	elems   []view // of the operands, over the elements in order
	rowwise []view // of the operands, over the rows in order
	rows    int
	c       int // elements of a row
	r       int // rows of a group; with cols it divides rows
	cols    bool
	single  bool // programs run over the elements of one row at a time: row values are one element

	block  int // elements that a program runs over at once
	segLen int // elements of a segment of a group
	segs   int // segments of a group

	works sync.Pool // what runs of this pass have used, for others
}

// groupRoom is the most elements of a group of long rows, whose phases follow each other while the second-level cache has them.
const groupRoom = 8 * blockLen

// A domain is the operands' layouts of a pass, while it is made.
type domain struct {
	elems, rowwise []backend.Layout
	rows, c, r     int
	cols, single   bool
}

// pass returns the pass over d.
func (d *domain) pass() (*pass, error) {
	p := &pass{rows: d.rows, c: d.c, r: d.r, cols: d.cols, single: d.single || d.r == 1}
	var err error
	if p.elems, err = newViews(d.elems); err != nil {
		return nil, err
	}
	if p.rowwise, err = newViews(d.rowwise); err != nil {
		return nil, err
	}
	p.block, p.segLen, p.segs = p.blocks()
	return p, nil
}

func newViews(ls []backend.Layout) ([]view, error) {
	vs := make([]view, len(ls))
	for i, l := range ls {
		if err := vs[i].set(l); err != nil {
			return nil, err
		}
	}
	return vs, nil
}

// segment is the number of elements, more or less, that are reduced on their own before their results are
// combined: by the shape alone, never by the number of goroutines.
const segment = 64 * blockLen

// blocks returns what the fields of the same names hold. A block and a segment are multiples of the rows
// that lie side by side.
func (p *pass) blocks() (block, segLen, segs int) {
	block = blockLen
	switch {
	case p.cols:
		block = max(blockLen/p.r, 1) * p.r
	case p.r > 1 && !p.single:
		block = p.r * max(p.c, 1)
	}
	segLen = segment
	if p.cols { // where there are as many results as rows to combine
		segLen *= 4
	}
	segLen = max(segLen/block, 1) * block
	return block, segLen, max((p.r*p.c+segLen-1)/segLen, 1)
}

// groups returns the number of groups.
func (p *pass) groups() int { return (p.rows + p.r - 1) / p.r }

// rowsOf returns the number of the first row of group g and how many rows it has.
func (p *pass) rowsOf(g int) (first, n int) { return g * p.r, min(p.r, p.rows-g*p.r) }

// A rowsPlan says how rows may be grouped.
type rowsPlan struct {
	axes    int  // trailing axes that a row spans
	ordered bool // the elements of a row must keep their order
	wide    int  // most rows of a group with cols
	room    int  // elements that a group with cols should not exceed, if it has more than minColumns rows

	together int // elements of several long rows that may be a group
}

// minColumns is the least width of a group of columns: whole cache lines of most types.
const minColumns = 16

// plan orders the domain that layouts share, so that elements which are neighbours in the memory of the
// lead, one of them, are worked on together.
func (rp rowsPlan) plan(layouts []backend.Layout, lead int) []domain {
	shape := layouts[lead].Shape
	keep := len(shape) - rp.axes
	axes := make([]int, len(shape))
	for i := range axes {
		axes[i] = i
	}
	sortAxes(axes[:keep], layouts[lead].Strides)
	if !rp.ordered {
		sortAxes(axes[keep:], layouts[lead].Strides)
	}
	ordered := make([]backend.Layout, len(layouts))
	for i, l := range layouts {
		ordered[i] = permute(l, axes)
	}
	ls, keep := backend.Collapse(ordered, keep)
	d := domain{elems: ls, rows: ls[lead].Shape[:keep].Len(), c: ls[lead].Shape[keep:].Len()}
	if !byColumns(ls[lead], keep) {
		if d.c < blockLen/4 {
			d.r = min(blockLen/max(d.c, 1), d.rows)
		} else {
			d.r = min(max(rp.together/d.c, 1), d.rows)
			d.single = true
		}
		d.rowwise = firstAxes(ls, keep)
		return []domain{d}
	}
	return rp.columns(d, keep)
}

// byColumns reports whether rows of l, which has keep axes of rows, are nearer to each other in memory than
// the elements of a row. A few rows are better gathered one by one.
func byColumns(l backend.Layout, keep int) bool {
	if keep == 0 || keep == len(l.Shape) {
		return false
	}
	across, along := abs(l.Strides[keep-1]), abs(l.Strides[len(l.Strides)-1])
	return across != 0 && across < along && l.Shape[keep-1] >= 8
}

// columns moves the last axis of rows, cut into pieces, behind the axes of the row.
func (rp rowsPlan) columns(d domain, keep int) []domain {
	n := d.elems[0].Shape[keep-1]
	r := min(rp.wide, max(rp.room/max(d.c, 1), minColumns), n)
	var parts []domain
	if whole := n / r * r; whole > 0 {
		parts = append(parts, columnPart(d, keep, 0, whole, r))
	}
	if rest := n % r; rest > 0 {
		parts = append(parts, columnPart(d, keep, n-rest, rest, rest))
	}
	return parts
}

// columnPart is the pass over positions from … from+n of the last axis of rows, r at a time.
func columnPart(d domain, keep, from, n, r int) domain {
	q := domain{rows: d.rows / d.elems[0].Shape[keep-1] * n, c: d.c, r: r, cols: true}
	for _, l := range d.elems {
		s := l.Strides[keep-1]
		var m backend.Layout
		m.Offset = l.Offset + from*s
		m.Shape = append(append(m.Shape, l.Shape[:keep-1]...), n/r)
		m.Strides = append(append(m.Strides, l.Strides[:keep-1]...), s*r)
		row := m
		row.Shape = append(m.Shape.Clone(), r)
		row.Strides = append(append([]int(nil), m.Strides...), s)
		m.Shape = append(append(m.Shape, l.Shape[keep:]...), r)
		m.Strides = append(append(m.Strides, l.Strides[keep:]...), s)
		q.elems, q.rowwise = append(q.elems, m), append(q.rowwise, row)
	}
	return q
}

// sortAxes orders axes by falling stride: the last is the one along which elements are nearest. Axes
// along which nothing moves come first.
func sortAxes(axes, strides []int) {
	key := func(a int) int {
		if s := abs(strides[a]); s != 0 {
			return s
		}
		return int(^uint(0) >> 1)
	}
	sort.SliceStable(axes, func(i, j int) bool { return key(axes[i]) > key(axes[j]) })
}

func permute(l backend.Layout, axes []int) backend.Layout {
	m := backend.Layout{Shape: make(backend.Shape, len(axes)), Strides: make([]int, len(axes)), Offset: l.Offset}
	for i, a := range axes {
		m.Shape[i], m.Strides[i] = l.Shape[a], l.Strides[a]
	}
	return m
}

// firstAxes returns the layouts of the first elements along all but the first keep axes.
func firstAxes(ls []backend.Layout, keep int) []backend.Layout {
	out := make([]backend.Layout, len(ls))
	for i, l := range ls {
		out[i] = backend.Layout{Shape: l.Shape[:keep], Strides: l.Strides[:keep], Offset: l.Offset}
	}
	return out
}
