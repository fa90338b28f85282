package backendtest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// TestEveryRow shows that in each row of the table, on each type, an error of one unit in the last place
// more than the tolerance in one element is caught. With -short each row is tried on some types.
func TestEveryRow(t *testing.T) {
	t.Parallel()
	some := rand.IntN(4)
	for _, o := range ops.All() {
		for _, d := range ops.DTypes() {
			if arg, _, err := o.Infer(operandTypes(o, d)...); err != nil || arg != d {
				continue
			}
			if testing.Short() && (o.ID()+int(d))%4 != some {
				continue
			}
			m := &mutant{spoil: func(s *backend.Step, _ [][]byte) { nudge(s, o) }}
			caught(t, o.Name+" "+d.String(), m, func(s *suite, t tb) { s.testOpOn(t, o, d) })
		}
	}
}

// nudge moves one element of the result of o as little as its tolerance forbids.
func nudge(s *backend.Step, o *ops.Op) {
	out := s.Out[0]
	mem := out.Buf.(*refBuffer).data
	for i, at := range out.Layout.All() {
		v := load(out.DType, mem, at)
		if math.IsNaN(v.F) || math.IsInf(v.F, 0) {
			continue
		}
		args := operandsOf(s, i)
		for range 100 { // where operands cancel much more is tolerated
			switch {
			case out.DType == ops.Bool:
				v.I = 1 - v.I
			case out.DType.IsInt():
				v = ops.IntValue(v.DType, v.I+1)
			default:
				v = ops.FromBits(v.DType, v.Bits()+1)
			}
			if math.IsNaN(v.F) || math.IsInf(v.F, 0) {
				break // tolerated to the end of the range
			}
			if !o.Within(v, args...) {
				store(mem, at, v)
				return
			}
		}
	}
}

// operandsOf returns the operands of the only operation of a step, for element i.
func operandsOf(s *backend.Step, i int) []ops.Value {
	e := &s.Kernel.(*backend.Map).Body
	in := e.Code[len(e.Code)-1]
	var args []ops.Value
	for _, a := range in.Operands() {
		def := e.Code[a]
		if def.Kind == ops.Const {
			args = append(args, ops.FromBits(def.DType, s.Consts[def.Args[0]]))
			continue
		}
		o := s.In[def.Args[0]]
		args = append(args, load(o.DType, o.Buf.(*refBuffer).data, o.Layout.At(unravel(s.Shape, i)...)))
	}
	return args
}
