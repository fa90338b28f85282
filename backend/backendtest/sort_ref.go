package backendtest

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// runSort sorts the positions of each row by their elements.
func (s *step) runSort(k *backend.Sort) error {
	src := s.In[0].Layout
	last := len(s.Shape) - 1
	rows := positions(backend.Layout{Shape: src.Shape[:last], Strides: src.Strides[:last], Offset: src.Offset})
	n, kept := src.Shape[last], s.Shape[last]
	at, order := make([]int, n), make([]int, n)
	found := make([]ops.Value, 0, len(rows)*kept)
	for _, first := range rows {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		for i := range n {
			at[i], order[i] = first+i*src.Strides[last], i
		}
		row := s.values(0, at)
		slices.SortStableFunc(order, func(i, j int) int { return compareOrder(row[i], row[j], k.Descending) })
		for _, i := range order[:kept] {
			if k.Index {
				found = append(found, ops.IntValue(ops.Int32, int64(i)))
			} else {
				found = append(found, row[i])
			}
		}
	}
	return s.finish(&k.Post, 1, found)
}

// compareOrder returns -1 if x comes before y in a sorted row, 1 if after, and 0 if they are equal.
func compareOrder(x, y ops.Value, descending bool) int {
	if x.DType.IsFloat() && (math.IsNaN(x.F) || math.IsNaN(y.F)) {
		switch {
		case !math.IsNaN(y.F):
			return 1
		case !math.IsNaN(x.F):
			return -1
		}
		return 0
	}
	if descending {
		x, y = y, x
	}
	if x.DType.IsFloat() {
		return cmp.Compare(x.F, y.F)
	}
	return cmp.Compare(x.I, y.I)
}
