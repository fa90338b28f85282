package backendtest

import (
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// testAttention tests attention of every floating-point type.
func (s *suite) testAttention(t tb) {
	for _, d := range ops.DTypes() {
		if d.IsFloat() {
			s.leaf(t, d.String(), func(t tb) { s.testAttentionOn(t, d) })
		}
	}
}

// An attending says what a trial attends to.
type attending struct {
	d, mask       ops.DType
	causal        bool
	batch         backend.Shape
	m, n          int // queries and keys
	depth, width  int
	shared        bool // keys and values are the same along the last axis of batch
	how, howOther string
	out           string
	post          poster
}

func (s *suite) testAttentionOn(t tb, d ops.DType) {
	in := s.draw(t)
	sizes := [][4]int{ // m, n, depth, width
		{1, 1, 1, 1},
		{3, 5, 4, 2},
		{1, 70, 64, 64},
		{7, 33, 16, 40},
		{16, 16, 32, 32},
		{33, 65, 64, 64},
		{65, 129, 20, 9},
		{5, 2, 8, 8},
		{2, 700, 33, 17},
		{64, 64, 128, 128},
		{4, 9, 3, 300},
		{70, 31, 80, 96},
		{1, 3000, 128, 128},
		{100, 257, 16, 256},
	}
	small := sizes[:4:4]
	if s.short {
		sizes = sample(in, sizes, 6)
	}
	var trials []*trial
	for i, size := range sizes {
		a := attending{d: d, m: size[0], n: size[1], depth: size[2], width: size[3], how: "dense", howOther: "dense", out: "dense"}
		a.mask = []ops.DType{0, ops.Bool, ops.Float32}[(i+in.IntN(2))%3]
		a.causal, a.shared = in.IntN(2) == 0, in.IntN(2) == 0
		if a.batch = (backend.Shape{1 + in.IntN(2), 1 + in.IntN(3)}); a.m*a.n > 4000 {
			a.batch = backend.Shape{1 + in.IntN(2)}
		}
		a.post = posters(d)[in.IntN(3)]
		trials = append(trials, a.trial(in))
	}
	for i, how := range readable {
		size := sample(in, small, 1)[0]
		a := attending{
			d: d, mask: []ops.DType{0, ops.Bool, d}[i%3], causal: i%2 == 0, batch: []backend.Shape{{}, {2}, {2, 3}}[in.IntN(3)],
			m: size[0], n: size[1], depth: size[2], width: size[3], shared: i%4 == 1,
			how: how, howOther: readable[in.IntN(len(readable))], out: sample(in, writable, 1)[0], post: posters(d)[i%len(posters(d))],
		}
		trials = append(trials, a.trial(in))
	}
	for _, size := range [][4]int{{0, 3, 4, 4}, {3, 0, 4, 4}, {3, 3, 0, 4}, {3, 3, 4, 0}} {
		a := attending{d: d, m: size[0], n: size[1], depth: size[2], width: size[3], batch: backend.Shape{2}, how: "dense", howOther: "dense", out: "offset", post: posters(d)[0]}
		trials = append(trials, a.trial(in))
	}
	trials = append(trials, in.excluded(d, false), in.excluded(d, true), in.indifferent(d))
	s.check(t, trials...)
}

// trial returns the trial of a.
func (a *attending) trial(in *inputs) *trial {
	lead := len(a.batch)
	shape := append(a.batch.Clone(), a.m, a.width)
	scale := 1 / math.Sqrt(max(1, float64(a.depth)))
	k := &backend.Attention{DType: a.d, Mask: a.mask, Causal: a.causal, Scale: scale}
	tr := &trial{
		name: fmt.Sprintf("attention of %v × %d queries of %d to %d keys, values of %d (mask %s, causal %v, shared %v), %s, the others %s, %s",
			a.batch, a.m, a.depth, a.n, a.width, a.mask, a.causal, a.shared, a.how, a.howOther, a.post.name),
		shape: shape,
		// Roundings of scores and sums go both ways; weights and values are of magnitude 1.
		ulp: 1, abs: 100 + 10*math.Sqrt(float64(a.depth)) + 10*math.Sqrt(float64(a.n)),
	}
	keysOf := a.batch
	if a.shared && lead > 0 {
		keysOf = a.batch.Clone()
		keysOf[lead-1] = 1
	}
	other := func(rows, columns int) operand {
		o := in.tensor(a.d, a.howOther, append(keysOf.Clone(), rows, columns), in.normal)
		l, err := o.layout.BroadcastTo(append(a.batch.Clone(), rows, columns))
		if err != nil {
			panic("backendtest: " + err.Error()) // the suite is wrong
		}
		o.layout = l
		return o
	}
	tr.in = []operand{in.tensor(a.d, a.how, append(a.batch.Clone(), a.m, a.depth), in.normal), other(a.n, a.depth), other(a.n, a.width)}
	if a.mask != 0 {
		tr.in = append(tr.in, in.tensor(a.mask, readable[in.IntN(len(readable))], append(a.batch.Clone(), a.m, a.n), in.masks))
	}
	k.Post = a.post.apply(in, tr, a.d, a.out, in.normal)
	if a.d.IsHalf() && len(k.Post.Code) > 1 {
		tr.abs += map[ops.DType]float64{ops.Float16: 1 << 14, ops.BFloat16: 1 << 17}[a.d] // what follows may magnify the rounding
	}
	tr.kernel = k
	return tr
}

// indifferent returns a trial in which all keys are alike and a power of two in number: the results are means of whole
// numbers, and exact.
func (in *inputs) indifferent(d ops.DType) *trial {
	a := attending{d: d, m: 18, n: 32, depth: 16, width: 20, batch: backend.Shape{2}, how: "offset", howOther: "sliced", out: "stepped", post: posters(d)[0]}
	tr := a.trial(in)
	tr.name += ", no key is preferred"
	tr.ulp, tr.abs = 0, 0
	for _, at := range tr.in[0].layout.All() {
		storeBits(d, tr.in[0].mem, at, 0)
	}
	for i, at := range tr.in[2].layout.All() {
		storeBits(d, tr.in[2].mem, at, in.whole(d, i))
	}
	return tr
}

// masks draws the elements of a mask: true and false, or numbers and -∞.
func (in *inputs) masks(d ops.DType, i int) uint64 {
	switch {
	case d == ops.Bool:
		return in.Uint64() & 1
	case in.IntN(3) == 0:
		return number(d, math.Inf(-1))
	}
	return in.normal(d, i)
}

// excluded returns a trial in which the keys and values that are excluded, by the mask or because they are later, hold NaN
// and infinities: nothing of them shows. A query sees nothing at all.
func (in *inputs) excluded(d ops.DType, causal bool) *trial {
	const m, n, depth, width = 20, 40, 8, 24
	mask := ops.Bool
	if causal {
		mask = 0
	}
	a := attending{d: d, mask: mask, causal: causal, m: m, n: n, depth: depth, width: width, how: "dense", howOther: "dense", out: "dense", post: posters(d)[0]}
	tr := a.trial(in)
	tr.name += ", excluded values are not finite"
	nan, inf := number(d, math.NaN()), number(d, math.Inf(1))
	for j := range n {
		hidden := j%3 == 1
		if causal {
			hidden = j >= n-m+10 // query 9 is the last that sees no such key
		}
		if !hidden {
			continue
		}
		for c := range width {
			storeBits(d, tr.in[2].mem, j*width+c, []uint64{nan, inf}[c%2])
		}
		if causal {
			continue
		}
		for c := range depth {
			storeBits(d, tr.in[1].mem, j*depth+c, nan)
		}
		for q := range m {
			storeBits(ops.Bool, tr.in[3].mem, tr.in[3].layout.At(q, j), 0)
		}
	}
	if !causal {
		for j := range n {
			storeBits(ops.Bool, tr.in[3].mem, tr.in[3].layout.At(5, j), 0)
		}
	}
	return tr
}
