package backendtest

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// runScatter takes the updates of each row in, one after the other.
func (s *step) runScatter(k *backend.Scatter) error {
	last := len(s.Shape) - 1
	n, m := s.Shape[last], s.In[1].Layout.Shape[last]
	found := s.values(0, positions(s.In[0].Layout))
	indices, updates := s.values(1, positions(s.In[1].Layout)), s.values(2, positions(s.In[2].Layout))
	sums := make([]dot, len(found))
	for i, v := range found {
		sums[i].d = k.DType
		sums[i].addOne(v)
	}
	touched := make([]bool, len(found))
	for j, v := range indices {
		at := v.I
		if at < 0 {
			at += int64(n)
		}
		if at < 0 || at >= int64(n) {
			return fmt.Errorf("scatter: index %d of an axis of extent %d: %w", v.I, n, backend.ErrIndex)
		}
		to := j/m*n + int(at)
		found[to], touched[to] = updates[j], true
		sums[to].addOne(updates[j])
	}
	for i := range found {
		if k.Add && touched[i] {
			found[i] = sums[i].value()
		}
	}
	return s.finish(&k.Post, 3, found)
}

// addOne adds a value: of Bool it is the logical or.
func (s *dot) addOne(v ops.Value) {
	if s.d == ops.Bool {
		s.i |= v.I
		return
	}
	s.i += v.I
	s.f.add(v.F)
}

// testScatter tests writes through an index, of every type by every integer type.
func (s *suite) testScatter(t tb) {
	for _, d := range ops.DTypes() {
		for i, index := range ops.DTypes() {
			for _, add := range []bool{false, true} {
				if index.IsInt() && (!s.short || add == (i%2 == 0)) {
					s.leaf(t, fmt.Sprintf("%s by %s, add %v", d, index, add), func(t tb) { s.testScatterOn(t, d, index, add) })
				}
			}
		}
	}
}

func (s *suite) testScatterOn(t tb, d, index ops.DType, add bool) {
	in := s.draw(t)
	var trials []*trial
	for i, how := range readable {
		cases := []scattering{
			{shape: backend.Shape{4, 5}, updates: 7},
			{shape: backend.Shape{2, 3, 40}, updates: 11},
			{shape: backend.Shape{7}, updates: 300},
			{shape: backend.Shape{0, 3}, updates: 4},
			{shape: backend.Shape{257}, updates: 3},
			{shape: backend.Shape{3, 100}, updates: 0},
			{shape: backend.Shape{1}, updates: 1000},
			{shape: backend.Shape{2, 127}, updates: 1030},
		}
		if s.short {
			cases = sample(in, cases, 2)
		}
		for _, c := range cases {
			c.d, c.index, c.add = d, index, add
			c.how = [3]string{how, readable[in.IntN(len(readable))], readable[in.IntN(len(readable))]}
			c.post = posters(d)[(i+len(c.shape))%len(posters(d))]
			if d == ops.Bool {
				c.post = posters(d)[0]
			}
			trials = append(trials, c.trial(in, pickUpdates(in, add)))
		}
	}
	// Rows of a table, which the same updates go to: the index does not vary from column to column.
	c := scattering{d: d, index: index, add: add, shape: backend.Shape{6, 50}, updates: 33, how: [3]string{"transposed", "broadcast row", "transposed"}, post: posters(d)[0]}
	trials = append(trials, c.trial(in, exactly))
	if d.IsFloat() {
		c.how = [3]string{"dense", "dense", "dense"}
		trials = append(trials, c.trial(in, infinitely))
	}
	s.check(t, trials...)
}

// A scattering says what a trial writes through an index.
type scattering struct {
	d, index ops.DType
	add      bool
	shape    backend.Shape
	updates  int       // of a row
	how      [3]string // the arrangements of what is updated, the index, and the updates
	post     poster
}

// An updating says what a scatter is of.
type updating int

const (
	exactly    updating = iota // whole numbers, whose sums are exact
	roughly                    // others
	anything                   // what is set, not added
	infinitely                 // some are infinite, or NaN
)

func pickUpdates(in *inputs, add bool) updating {
	if !add {
		return anything
	}
	return updating(in.IntN(2))
}

func (c *scattering) trial(in *inputs, of updating) *trial {
	f := map[updating]fill{exactly: in.whole, roughly: in.normal, anything: in.special(in.any, 9), infinitely: in.special(in.normal, 9)}[of]
	last := len(c.shape) - 1
	few := append(c.shape[:last:last], c.updates)
	tr := &trial{
		name: fmt.Sprintf("scatter (add %v) of %d updates to each row of %v, %s, index %s, updates %s, %s",
			c.add, c.updates, c.shape, c.how[0], c.how[1], c.how[2], c.post.name),
		shape: c.shape,
	}
	tr.in = []operand{in.tensor(c.d, c.how[0], c.shape, f), in.tensor(c.index, c.how[1], few, in.positionsIn(c.shape[last])), in.tensor(c.d, c.how[2], few, f)}
	if c.add && c.d.IsFloat() && of != exactly {
		tr.ulp, tr.bound = 1, 20+roundings(c.updates, c.how[2])
	}
	k := &backend.Scatter{DType: c.d, Add: c.add}
	k.Post = c.post.apply(in, tr, c.d, sample(in, writable, 1)[0], in.ordinary)
	tr.kernel = k
	return tr
}
