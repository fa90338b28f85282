package cpu

import (
	"bytes"
	"context"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// Apply gives the bits that a Map of one operation gives, whichever of its operands are single elements.
func TestApply(t *testing.T) {
	b := New()
	defer b.Close()
	const n = 37
	for _, op := range ops.All() {
		for _, d := range ops.DTypes() {
			types := make([]ops.DType, op.Arity)
			for k := range types {
				if types[k] = d; op.Rule.Cond && k == 0 {
					types[k] = ops.Bool
				}
			}
			arg, out, err := op.Infer(types...)
			if err != nil || arg != d {
				continue
			}
			for lone := range 1 << op.Arity {
				var in [3][]byte
				var mem [][]byte
				for k, t := range types {
					var m []byte
					for i := range n {
						m = appendElement(m, ops.FloatValue(ops.Float64, float64((i*7+k*3)%11)-4).Convert(t))
					}
					mem = append(mem, m)
					if in[k] = m; lone>>k&1 == 1 {
						in[k] = m[:t.Size()]
					}
				}
				got := make([]byte, out.Size()*n)
				if !b.Apply(op, d, n, got, in[0], in[1], in[2]) {
					if lone == 0 && !d.IsHalf() {
						t.Errorf("%s of %s is not computed", op.Name, d)
					}
					continue
				}
				if want := mapped(t, b, op, types, out, mem, lone, n); !bytes.Equal(got, want) {
					t.Errorf("%s of %s, single %b: %v, want %v", op.Name, d, lone, got, want)
				}
			}
		}
	}
}

// mapped is the result of a Map.
func mapped(t *testing.T, b *Backend, op *ops.Op, types []ops.DType, out ops.DType, mem [][]byte, lone, n int) []byte {
	t.Helper()
	var e ops.Builder
	step := backend.Step{Shape: backend.Shape{n}}
	var args []ops.Ref
	for k, d := range types {
		args = append(args, e.Load(e.Operand(d), false))
		stride := 1 - lone>>k&1
		step.In = append(step.In, backend.Operand{
			Buf: b.Wrap(mem[k]), DType: d, Layout: backend.Layout{Shape: backend.Shape{n}, Strides: []int{stride}},
		})
	}
	e.Result(e.Apply(op, args...))
	step.Kernel = &backend.Map{Body: e.Expr()}
	z := make([]byte, out.Size()*n)
	step.Out = []backend.Operand{{Buf: b.Wrap(z), DType: out, Layout: backend.Dense(backend.Shape{n})}}
	if err := b.Run(context.Background(), []backend.Step{step}); err != nil {
		t.Fatal(err)
	}
	return z
}

// Convert gives what the definition of a conversion gives.
func TestConvert(t *testing.T) {
	b := New()
	defer b.Close()
	const n = 37
	for _, from := range ops.DTypes() {
		for _, to := range ops.DTypes() {
			z := make([]byte, n*to.Size())
			var x, want []byte
			for i := range n {
				v := ops.FloatValue(ops.Float64, float64((i*7)%11)*30.5-100).Convert(from)
				x, want = appendElement(x, v), appendElement(want, v.Convert(to))
			}
			if b.Convert(to, from, n, z, x) {
				if !bytes.Equal(z, want) {
					t.Errorf("%s to %s: %v, want %v", from, to, z, want)
				}
			} else if !to.IsHalf() && !from.IsHalf() {
				t.Errorf("%s to %s is not computed", from, to)
			}
		}
	}
}

// appendElement appends v as it is in memory.
func appendElement(m []byte, v ops.Value) []byte {
	for j := range v.DType.Size() {
		m = append(m, byte(v.Bits()>>(8*j)))
	}
	return m
}
