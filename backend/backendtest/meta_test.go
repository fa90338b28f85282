package backendtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend"
)

// A recorder is a tb that keeps the failures. Fatalf ends its Run, as that of a testing.T; with first, the first
// error ends them all.
type recorder struct {
	name   string
	errors *[]string
	first  bool
}

type fatal struct{}

func newRecorder(name string) recorder { return recorder{name: name, errors: new([]string)} }

func (r recorder) Helper()             {}
func (r recorder) Name() string        { return r.name }
func (r recorder) Logf(string, ...any) {}
func (r recorder) Errorf(format string, args ...any) {
	*r.errors = append(*r.errors, r.name+": "+fmt.Sprintf(format, args...))
	if r.first {
		panic(fatal{})
	}
}

func (r recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(fatal{})
}

func (r recorder) Run(name string, f func(tb)) bool {
	before := len(*r.errors)
	if r.first && before > 0 {
		return false
	}
	defer func() {
		if p := recover(); p != nil && p != (fatal{}) {
			panic(p)
		}
	}()
	f(recorder{r.name + "/" + name, r.errors, r.first})
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
	r.first = true
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
