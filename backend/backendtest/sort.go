package backendtest

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// testSort tests sorts of whole rows, of every type.
func (s *suite) testSort(t tb) {
	for _, d := range ops.DTypes() {
		s.leaf(t, d.String(), func(t tb) { s.testSortOn(t, d) })
	}
}

// testTopK tests sorts of which only the first elements are wanted.
func (s *suite) testTopK(t tb) {
	for _, d := range ops.DTypes() {
		s.leaf(t, d.String(), func(t tb) { s.testTopKOn(t, d) })
	}
}

// sortLengths are lengths of rows around the powers of two that networks of comparisons and blocks of threads have.
var sortLengths = []int{1, 2, 3, 5, 16, 31, 33, 64, 100, 257, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 4097, 10_000}

// longSort is a row of several blocks of any kind.
const longSort = 70_001

func (s *suite) testSortOn(t tb, d ops.DType) {
	in := s.draw(t)
	var trials []*trial
	for mode := range 4 {
		lengths := sortLengths
		if s.short {
			lengths = sample(in, lengths, 4)
		}
		if mode == int(s.seed)%4 && (d.Size() == 4 || !s.short) {
			lengths = append(lengths[:len(lengths):len(lengths)], longSort)
		}
		for _, n := range lengths {
			rows := 1 + in.IntN(5)
			if n >= 1000 {
				rows = 1 + in.IntN(2)
			}
			shape := backend.Shape{rows, n}
			trials = append(trials, in.sorting(d, mode, shape, n, sample(in, readable[:len(writable)], 1)[0]))
		}
		for _, how := range readable {
			shapes := []backend.Shape{{4, 5, 6}, {2, 3, 33}, {19}, {33, 4}}
			if s.short {
				shapes = sample(in, shapes, 1)
			}
			for _, shape := range shapes {
				trials = append(trials, in.sorting(d, mode, shape, shape[len(shape)-1], how))
			}
		}
		for _, shape := range []backend.Shape{{1}, {0}, {0, 4}, {4, 0}, {1031, 3}} {
			trials = append(trials, in.sorting(d, mode, shape, shape[len(shape)-1], "dense"))
		}
	}
	s.check(t, trials...)
}

func (s *suite) testTopKOn(t tb, d ops.DType) {
	in := s.draw(t)
	var trials []*trial
	for mode := range 4 {
		wants := []struct{ rows, n, k int }{
			{3, 10, 1},
			{3, 10, 9},
			{2, 1024, 5},
			{1, 1025, 128},
			{2, 3000, 129},
			{1, 5000, 300},
			{1, 20_000, 50},
			{5, 2049, 2048},
			{2, 100, 0},
			{0, 5, 2},
			{700, 40, 3},
			{1, longSort, 1},
			{1, longSort, 1000},
		}
		if s.short {
			wants = sample(in, wants, 5)
		}
		for i, w := range wants {
			trials = append(trials, in.sorting(d, mode, backend.Shape{w.rows, w.k}, w.n, readable[(i+mode)%len(readable)]))
		}
		trials = append(trials, in.sorting(d, mode, backend.Shape{2, 3, 2}, 17, "transposed"), in.sorting(d, mode, backend.Shape{4}, 9, "reversed"),
			in.sortingOf(d, mode, backend.Shape{3, 32}, 33, "offset", "edge values", in.edge))
	}
	s.check(t, trials...)
}

// keys draws the elements of a row to sort: those of edge, numbers of which many are equal, or numbers as programs have
// them.
func (in *inputs) keys() (string, fill) {
	switch in.IntN(4) {
	case 0:
		return "edge values", in.edge
	case 1:
		return "bits", func(d ops.DType, i int) uint64 { return in.flushed(d, in.bits(d, i)) }
	case 2:
		return "whole numbers", in.whole
	}
	return "numbers", in.ordinary
}

// sorting returns a trial that sorts rows of n elements and wants as many of them as shape has along its last axis. Bit
// 0 of mode makes it descending, bit 1 asks for positions.
func (in *inputs) sorting(d ops.DType, mode int, shape backend.Shape, n int, how string) *trial {
	of, draw := in.keys()
	return in.sortingOf(d, mode, shape, n, how, of, draw)
}

// sortingOf is sorting of given elements.
func (in *inputs) sortingOf(d ops.DType, mode int, shape backend.Shape, n int, how, of string, draw fill) *trial {
	k := &backend.Sort{DType: d, Descending: mode&1 != 0, Index: mode&2 != 0}
	found := d
	if k.Index {
		found = ops.Int32
	}
	last := len(shape) - 1
	post := posters(found)[in.IntN(len(posters(found)))]
	if d == ops.Bool && !k.Index {
		post = posters(found)[0]
	}
	tr := &trial{
		name: fmt.Sprintf("sort (descending %v, index %v) of %v rows of %d %s, the first %d, %s, %s",
			k.Descending, k.Index, shape[:last], n, of, shape[last], how, post.name),
		shape: shape, signs: post.name == "plain",
	}
	tr.in = []operand{in.tensor(d, how, append(shape[:last:last], n), draw)}
	k.Post = post.apply(in, tr, found, sample(in, writable, 1)[0], in.ordinary)
	tr.kernel = k
	return tr
}
