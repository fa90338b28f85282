package backendtest

import (
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// runAttention computes one query after the other, its scores and then its softmax as they are defined.
func (s *step) runAttention(k *backend.Attention) error {
	lead := len(s.Shape) - 2
	batch, m, width := s.Shape[:lead], s.Shape[lead], s.Shape[lead+1]
	depth, n := s.In[0].Layout.Shape[lead+1], s.In[1].Layout.Shape[lead]
	first := 3
	if k.Mask != 0 {
		first++
	}
	starts := make([][]int, first) // of the matrices of each input
	for i := range starts {
		l := s.In[i].Layout
		starts[i] = positions(backend.Layout{Shape: batch, Strides: l.Strides[:lead], Offset: l.Offset})
	}
	at := func(input, b, row, column int) ops.Value {
		st := s.In[input].Layout.Strides[lead:]
		return load(s.In[input].DType, s.mem[input], starts[input][b]+row*st[0]+column*st[1])
	}
	sums := make([]ops.Value, 0, s.Shape.Len())
	scores := make([]float64, n)
	for b := range batch.Len() {
		for q := range m {
			if err := s.ctx.Err(); err != nil {
				return err
			}
			for j := range n {
				var x double
				for d := range depth {
					x.addProduct(at(0, b, q, d).F, at(1, b, j, d).F)
				}
				scores[j] = x.value() * k.Scale
				switch {
				case k.Causal && j-q > n-m, k.Mask == ops.Bool && at(3, b, q, j).I == 0:
					scores[j] = math.Inf(-1)
				case k.Mask != 0 && k.Mask != ops.Bool:
					scores[j] += at(3, b, q, j).F
				}
			}
			softmaxOf(scores)
			for c := range width {
				var x double
				for j, w := range scores {
					if w != 0 {
						x.addProduct(w, at(2, b, j, c).F)
					}
				}
				sums = append(sums, ops.FloatValue(k.DType, x.value()))
			}
		}
	}
	return s.finish(&k.Post, first, sums)
}

// softmaxOf turns scores into weights: of those that are not all -∞ the softmax, else zeros.
func softmaxOf(scores []float64) {
	most := math.Inf(-1)
	for _, x := range scores {
		most = max(most, x)
	}
	var sum double
	for j, x := range scores {
		if scores[j] = 0; !math.IsInf(x, -1) {
			scores[j] = math.Exp(x - most)
		}
		sum.add(scores[j])
	}
	for j := range scores {
		if scores[j] != 0 {
			scores[j] /= sum.value()
		}
	}
}
