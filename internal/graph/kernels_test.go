package graph_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// TestEpilogues checks that what follows convolutions, poolings and gathers is computed with them, to the
// same bits as after them.
func TestEpilogues(t *testing.T) {
	b, err := backend.Open("cpu", 0)
	if err != nil {
		t.Fatal(err)
	}
	d := graph.NewDevice("cpu", b)
	defer d.Close()
	r := rand.New(rand.NewPCG(1, 2))
	random := func(shape ...int) graph.Edge {
		var data []byte
		for range backend.Shape(shape).Len() {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(r.NormFloat64())))
		}
		return graph.Of(graph.Host(d, ops.Float32, shape, data))
	}
	image := random(2, 3, 6, 5)
	for _, c := range []struct {
		family string
		make   func() *graph.Node
	}{
		{"conv", func() *graph.Node {
			return graph.Conv(image, random(4, 3, 3, 3), backend.Shape{2, 4, 6, 5},
				graph.ConvAttr{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}, Groups: 1})
		}},
		{"pool", func() *graph.Node {
			return graph.Pool(image, backend.Shape{2, 3, 3, 2}, graph.PoolAttr{
				Op: ops.ReduceMax, Window: []int{2, 2},
				Stride: []int{2, 2}, Dilation: []int{1, 1}, Pad: []int{0, 0}, PadEnd: []int{0, 0},
			})
		}},
		{"gather", func() *graph.Node {
			index := graph.Of(graph.Index(d, ops.Int32, 4))
			index.Layout = &backend.Layout{Shape: backend.Shape{2, 4}, Strides: []int{0, 1}}
			return graph.Gather(backend.Shape{2, 4}, random(2, 4, 7), index, nil)
		}},
		{"scatter", func() *graph.Node {
			index := graph.Host(d, ops.Uint8, backend.Shape{2, 5}, []byte{0, 1, 2, 2, 3, 3, 2, 3, 1, 1})
			return graph.Scatter(random(2, 4), graph.Of(index), random(2, 5), graph.ScatterAttr{Add: true})
		}},
		{"attention", func() *graph.Node {
			return graph.Attention(random(2, 3, 5), random(2, 4, 5), random(2, 4, 6), random(2, 3, 4), graph.AttentionAttr{Causal: true, Scale: 0.5})
		}},
		{"sort", func() *graph.Node {
			return graph.Sort(random(2, 4, 7), 5, graph.SortAttr{Descending: true})
		}},
	} {
		t.Run(c.family, func(t *testing.T) {
			n := c.make()
			bias := graph.Edge{Node: random(1).Node, Layout: new(backend.Layout{Shape: n.Layout.Shape, Strides: make([]int, len(n.Layout.Shape))})}
			after := func(n *graph.Node) *graph.Node {
				y := graph.Apply(ops.Add, n.Layout.Shape, graph.Of(n), bias)
				return graph.Apply(ops.ReLU, n.Layout.Shape, graph.Of(y))
			}
			fused := after(n)
			x, err := graph.Explain(fused)
			if err != nil {
				t.Fatal(err)
			}
			families := map[string]int{}
			for _, k := range x.Kernels {
				families[k.Family]++
			}
			if families[c.family] != 1 || c.family != "gather" && len(x.Kernels) != 1 {
				t.Errorf("kernels:\n%v", x)
			}
			got, err := graph.Bytes(context.Background(), graph.Of(fused))
			if err != nil {
				t.Fatal(err)
			}
			if err := graph.Eval(context.Background(), n); err != nil {
				t.Fatal(err)
			}
			want, err := graph.Bytes(context.Background(), graph.Of(after(n)))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("fused % x, apart % x", got, want)
			}
		})
	}
}
