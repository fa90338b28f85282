package cpu

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// bindPost joins the program that a kernel runs on its results to the operands rest and the results out,
// which are over domain. Operand 0, of type d, is given to each run.
func bindPost(p *program, d ops.DType, domain backend.Shape, rest, out []operand, consts []uint64, lone ...int) (*binding, error) {
	e := p.expr
	if len(e.In) != 1+len(rest) || len(e.Out) != len(out) {
		return nil, fmt.Errorf("%d inputs and %d outputs for a program of %d and %d: %w",
			1+len(rest), len(out), len(e.In), len(e.Out), backend.ErrShape)
	}
	for _, list := range [][]operand{rest, out} {
		for i := range list {
			if s := list[i].layout.Shape; !s.Equal(domain) {
				return nil, fmt.Errorf("operand of shape %v, want %v: %w", s, domain, backend.ErrShape)
			}
		}
	}
	for i, v := range e.Out {
		if want := e.Code[v].DType; out[i].dtype != want {
			return nil, fmt.Errorf("output of type %s, want %s: %w", out[i].dtype, want, backend.ErrDType)
		}
	}
	in, err := sources(rest)
	if err != nil {
		return nil, err
	}
	for _, i := range lone {
		in[i] = given(rest[i].dtype, true)
	}
	to, err := sources(out)
	if err != nil {
		return nil, err
	}
	return p.bind(append([]source{given(d, false)}, in...), to, consts)
}
