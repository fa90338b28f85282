package graph

import (
	"math/bits"
	"time"

	"github.com/weft-go/weft/backend"
)

// A Peak is how fast a device is at its best.
type Peak struct {
	Bytes, Flops float64       // in a second
	Launch       time.Duration // of the smallest kernel
}

// Peak returns what SetPeak was given, nil before.
func (d *Device) Peak() *Peak { return d.peak.Load() }

// SetPeak lets explanations expect times by p.
func (d *Device) SetPeak(p *Peak) { d.peak.Store(p) }

// expect fills in the time expected of k: that of its bytes, its operations, or its launch, whichever is longest.
func (k *KernelInfo) expect(p *Peak) {
	if p != nil && p.Bytes > 0 && p.Flops > 0 {
		seconds := max(float64(k.Bytes)/p.Bytes, float64(k.Flops)/p.Flops)
		k.Expected = max(time.Duration(seconds*1e9), p.Launch)
	}
}

// flops returns how many operations n takes in a kernel over shape: one for each element, of whatever kind; two for each
// pair of elements that a product, a convolution or an attention multiplies and adds; a comparison for each element and
// bit of its position in a sort.
func (n *Node) flops(shape backend.Shape) int {
	switch a := n.attr.(type) {
	case *ConvAttr:
		w := n.in()[1].Layout.Shape
		if a.Transposed {
			return 2 * n.in()[0].Layout.Len() * w[1:].Len()
		}
		return 2 * n.Layout.Len() * w[1:].Len()
	case *PoolAttr:
		return n.Layout.Len() * backend.Shape(a.Window).Len()
	case *AttentionAttr:
		keys := n.in()[1].Layout.Shape
		return 2 * keys[len(keys)-2] * (n.in()[0].Layout.Len() + n.Layout.Len())
	case *SortAttr:
		in := n.in()[0].Layout.Shape
		return in.Len() * bits.Len(uint(max(in[len(in)-1], 1)-1))
	}
	if n.kind == kindMatMul {
		in := n.in()[0].Layout.Shape
		return 2 * n.Layout.Len() * in[len(in)-1]
	}
	return shape.Len()
}
