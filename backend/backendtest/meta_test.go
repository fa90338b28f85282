package backendtest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A recorder is a tb that keeps the failures. Errors past Fatalf end its Run, as those of a testing.T.
type recorder struct {
	name   string
	errors *[]string
}

type fatal struct{}

func newRecorder(name string) recorder { return recorder{name: name, errors: new([]string)} }

func (r recorder) Helper()             {}
func (r recorder) Name() string        { return r.name }
func (r recorder) Logf(string, ...any) {}
func (r recorder) Errorf(format string, args ...any) {
	*r.errors = append(*r.errors, r.name+": "+fmt.Sprintf(format, args...))
}
func (r recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(fatal{})
}

func (r recorder) Run(name string, f func(tb)) bool {
	before := len(*r.errors)
	defer func() {
		if p := recover(); p != nil && p != (fatal{}) {
			panic(p)
		}
	}()
	f(recorder{r.name + "/" + name, r.errors})
	return len(*r.errors) == before
}

// A mutant is the reference with a fault: change may alter a step before it runs, spoil what it has written.
type mutant struct {
	*reference
	change func(*backend.Step)
	spoil  func(s *backend.Step, before [][]byte)
}

func (m *mutant) Run(ctx context.Context, steps []backend.Step) error {
	for _, s := range steps {
		s.In, s.Out = append([]backend.Operand(nil), s.In...), append([]backend.Operand(nil), s.Out...)
		var before [][]byte
		for _, o := range s.Out {
			before = append(before, append([]byte(nil), o.Buf.(*refBuffer).data...))
		}
		if m.change != nil {
			m.change(&s)
		}
		if err := m.reference.Run(ctx, []backend.Step{s}); err != nil {
			return err
		}
		if m.spoil != nil {
			m.spoil(&s, before)
		}
	}
	return nil
}

// caught runs part of the suite on a faulty backend, and reports an error if it passes.
func caught(t *testing.T, what string, m *mutant, part func(*suite, tb)) {
	t.Helper()
	m.reference = &reference{}
	s := newSuite(m)
	s.short = true
	r := newRecorder("fault")
	r.Run(what, func(t tb) { part(s, t) })
	if len(*r.errors) == 0 {
		t.Errorf("%s: not caught (WEFT_SEED=%d)", what, s.seed)
	}
	for _, e := range *r.errors {
		if !strings.HasPrefix(e, "fault/"+what) {
			t.Errorf("an error without the name of its test: %s", e)
		}
	}
}

// TestEveryRow shows that in each row of the table, on each type, an error of one unit in the last place
// more than the tolerance in one element is caught. With -short each row is tried on some types.
func TestEveryRow(t *testing.T) {
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
		for {
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
