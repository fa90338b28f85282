package backendtest

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// testGather tests reads through an index, of every type by every integer type.
func (s *suite) testGather(t tb) {
	for _, d := range ops.DTypes() {
		for _, index := range ops.DTypes() {
			if index.IsInt() {
				s.leaf(t, d.String()+" by "+index.String(), func(t tb) { s.testGatherOn(t, d, index) })
			}
		}
	}
}

func (s *suite) testGatherOn(t tb, d, index ops.DType) {
	in := s.draw(t)
	var trials []*trial
	for i, how := range readable {
		shapes := []backend.Shape{{4, 5}, {2, 3, 4}, {7}, {}, {0, 3}, {257}}
		if s.short {
			shapes = append(sample(in, shapes[2:], 1), shapes[1])
		}
		for _, shape := range shapes {
			extent := 1 + in.IntN(100)
			g := gathering{d: d, index: index, shape: shape, extent: extent, how: how, howIndex: readable[in.IntN(len(readable))]}
			g.post = posters(d)[(i+len(shape))%len(posters(d))]
			if d == ops.Bool {
				g.post = posters(d)[0]
			}
			trials = append(trials, g.trial(in))
		}
	}
	trials = append(trials, in.embedding(d, index, 19, 5, 100), in.embedding(d, index, 3, 300, 7), in.embedding(d, index, 0, 3, 1), in.embedding(d, index, 4, 0, 2))
	s.check(t, trials...)
}

// A gathering says what a trial reads through an index.
type gathering struct {
	d, index      ops.DType
	shape         backend.Shape
	extent        int
	how, howIndex string
	post          poster
}

// positionsIn draws indices into an axis, from its end too where the type is signed.
func (in *inputs) positionsIn(extent int) fill {
	return func(d ops.DType, _ int) uint64 {
		i := int64(in.IntN(extent))
		if d.Signed() && in.IntN(3) == 0 {
			i -= int64(extent)
		}
		return ops.IntValue(d, i).Bits()
	}
}

// trial returns the trial of g: the source has its own elements for each element of the domain.
func (g *gathering) trial(in *inputs) *trial {
	tr := &trial{name: fmt.Sprintf("gather %v of %d, source %s, index %s, %s", g.shape, g.extent, g.how, g.howIndex, g.post.name), shape: g.shape}
	tr.in = []operand{
		in.tensor(g.d, g.how, append(g.shape.Clone(), g.extent), in.special(in.any, 9)),
		in.tensor(g.index, g.howIndex, g.shape, in.positionsIn(g.extent)),
	}
	tr.kernel = &backend.Gather{Post: g.post.apply(in, tr, g.d, sample(in, writable, 1)[0], in.ordinary)}
	return tr
}

// embedding returns the trial that takes whole rows of a table: the index does not vary along a row, nor the
// table from one index to the next.
func (in *inputs) embedding(d, index ops.DType, count, width, rows int) *trial {
	shape := backend.Shape{count, width}
	table := in.tensor(d, "dense", backend.Shape{rows, width}, in.ordinary)
	table.how = "table"
	table.layout = backend.Layout{Shape: backend.Shape{count, width, rows}, Strides: []int{0, 1, width}}
	ids := in.tensor(index, "offset", backend.Shape{count}, in.positionsIn(rows))
	tr := &trial{name: fmt.Sprintf("gather %d rows of a table [%d %d]", count, rows, width), shape: shape, in: []operand{table, perRow(ids, shape, 1)}}
	post := posters(d)[0]
	tr.kernel = &backend.Gather{Post: post.apply(in, tr, d, "offset", in.ordinary)}
	return tr
}
