package backendtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// testContract tests what a backend promises besides right results.
func (s *suite) testContract(t tb) {
	t.Run("memory", s.testMemory)
	t.Run("ranges", s.testRanges)
	t.Run("absurd sizes", s.testAbsurd)
	t.Run("order", s.testOrder)
	t.Run("release", s.testRelease)
	t.Run("foreign memory", s.testForeign)
	t.Run("malformed steps", s.testMalformed)
	t.Run("failed run", s.testFailedRun)
	t.Run("cancelled", s.testCancelled)
	t.Run("cancelled in the middle", s.testCancelledInTheMiddle)
	t.Run("goroutines", s.testGoroutines)
	t.Run("same again", s.testSameAgain)
	t.Run("info", s.testInfo)
	t.Run("host memory", s.testHost)
}

// background is the context of calls that nobody cancels.
var background = context.Background()

// adder returns a step that computes out = x + c over n float32.
func adder(x, out backend.Buffer, n int, c float64) backend.Step {
	var b ops.Builder
	b.Result(b.Apply(ops.Add, b.Load(b.Operand(ops.Float32), false), b.Const(0, ops.Float32)))
	l := backend.Dense(backend.Shape{n})
	return backend.Step{
		Kernel: &backend.Map{Body: b.Expr()}, Shape: l.Shape, Consts: []uint64{number(ops.Float32, c)},
		In:  []backend.Operand{{Buf: x, DType: ops.Float32, Layout: l}},
		Out: []backend.Operand{{Buf: out, DType: ops.Float32, Layout: l}},
	}
}

// floats returns n float32 of value x in memory.
func floats(n int, x float64) []byte {
	mem := make([]byte, 4*n)
	for i := range n {
		storeBits(ops.Float32, mem, i, number(ops.Float32, x))
	}
	return mem
}

// holds reports an error unless b holds float32 of value x alone.
func (s *suite) holds(t tb, what string, b backend.Buffer, x float64) {
	t.Helper()
	got := s.read(t, b)
	for i := range len(got) / 4 {
		if v := load(ops.Float32, got, i); v.F != x {
			t.Errorf("%s: element %d is %s, want %g", what, i, show(v), x)
			return
		}
	}
}

// usable reports an error unless the backend still computes.
func (s *suite) usable(t tb, after string) {
	t.Helper()
	var p pile
	defer p.release()
	x, out := s.buffer(t, &p, floats(100, 1)), s.buffer(t, &p, poisoned(400))
	if err := s.b.Run(background, []backend.Step{adder(x, out, 100, 2)}); err != nil {
		t.Errorf("after %s: Run: %v", after, err)
		return
	}
	s.holds(t, "after "+after, out, 3)
}

// testOrder tests that steps, runs, writes and reads take effect in the order they are asked for.
func (s *suite) testOrder(t tb) {
	const n, deep = 1000, 200
	var p pile
	defer p.release()
	x, y := s.buffer(t, &p, floats(n, 0)), s.buffer(t, &p, poisoned(4*n))
	var steps []backend.Step
	for range deep / 2 { // each reads what the one before wrote
		steps = append(steps, adder(x, y, n, 1), adder(y, x, n, 1))
	}
	s.run1(t, steps...)
	s.holds(t, "200 dependent steps", x, deep)
	for range 20 {
		s.run1(t, adder(x, y, n, 1))
		s.run1(t, adder(y, x, n, 1))
	}
	s.holds(t, "40 dependent runs", x, deep+40)

	s.run1(t, adder(x, y, n, 1)) // reads x before the next line writes it
	s.write(t, x, 0, floats(n, -1))
	s.holds(t, "a run before a write", y, deep+41)
	s.run1(t, adder(x, y, n, 1))
	s.holds(t, "a run after a write", y, 0)

	st := adder(x, y, n, 5)
	s.run1(t, st)
	st.In[0], st.Out[0], st.Consts[0] = backend.Operand{}, backend.Operand{}, 0 // Run keeps no step
	s.holds(t, "a step changed after Run", y, 4)

	src := floats(n, 7)
	s.write(t, x, 0, src)
	copy(src, floats(n, 8)) // Write has its own copy
	s.holds(t, "a source changed after Write", x, 7)
	s.run1(t) // no steps
}

func (s *suite) run1(t tb, steps ...backend.Step) {
	t.Helper()
	if err := s.b.Run(background, steps); err != nil {
		t.Errorf("Run of %d steps: %v", len(steps), err)
	}
}

func (s *suite) write(t tb, b backend.Buffer, off int, src []byte) {
	t.Helper()
	if err := s.b.Write(b, off, src); err != nil {
		t.Errorf("Write of %d bytes at %d: %v", len(src), off, err)
	}
}

// testMalformed tests that a step that does not fit its memory, or makes no sense, is an error and no more.
func (s *suite) testMalformed(t tb) {
	var p pile
	defer p.release()
	x, y := s.buffer(t, &p, floats(10, 1)), s.buffer(t, &p, floats(10, 2))
	for _, c := range malformed {
		st := adder(x, y, 10, 1)
		c.spoil(&st)
		err := s.runSafely(st)
		if err == nil {
			err = s.b.Read(background, nil, y, 0)
		}
		if err == nil {
			t.Errorf("%s: no error", c.name)
		} else if errors.Is(err, errPanic) {
			t.Errorf("%s: %v", c.name, err)
		}
		s.holds(t, c.name+": the output", y, 2)
	}
	s.usable(t, "malformed steps")
}

var errPanic = errors.New("panic")

// runSafely runs a step, and returns a panic as an error.
func (s *suite) runSafely(st backend.Step) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	return s.b.Run(background, []backend.Step{st})
}

// malformed are ways to make nonsense of a step that adds over ten elements.
var malformed = []struct {
	name  string
	spoil func(*backend.Step)
}{
	{"no kernel", func(st *backend.Step) { st.Kernel = nil }},
	{"no inputs", func(st *backend.Step) { st.In = nil }},
	{"no outputs", func(st *backend.Step) { st.Out = nil }},
	{"no constants", func(st *backend.Step) { st.Consts = nil }},
	{"input without memory", func(st *backend.Step) { st.In[0].Buf = nil }},
	{"output without memory", func(st *backend.Step) { st.Out[0].Buf = nil }},
	{"input past its memory", func(st *backend.Step) { st.In[0].Layout.Offset = 1 }},
	{"output past its memory", func(st *backend.Step) { st.Out[0].Layout.Offset = 1 }},
	{"input before its memory", func(st *backend.Step) { st.In[0].Layout.Offset = -1 }},
	{"output before its memory", func(st *backend.Step) { st.Out[0].Layout.Offset = -1 }},
	{"stride past its memory", func(st *backend.Step) { st.In[0].Layout.Strides = []int{2} }},
	{"negative stride", func(st *backend.Step) { st.Out[0].Layout.Strides = []int{-1} }},
	{"more elements than memory", func(st *backend.Step) { resize(st, 11) }},
	{"another type of input", func(st *backend.Step) { st.In[0].DType = ops.Int32 }},
	{"another type of output", func(st *backend.Step) { st.Out[0].DType = ops.Bool }},
	{"another shape of input", func(st *backend.Step) { st.In[0].Layout = backend.Dense(backend.Shape{9}) }},
	{"another rank of output", func(st *backend.Step) { st.Out[0].Layout = backend.Dense(backend.Shape{2, 5}) }},
	{"a domain of a negative size", func(st *backend.Step) { resize(st, -1) }},
}

func resize(st *backend.Step, n int) {
	l := backend.Layout{Shape: backend.Shape{n}, Strides: []int{1}}
	st.Shape, st.In[0].Layout, st.Out[0].Layout = l.Shape, l, l
}

// gatherStep returns the step out[i] = x[at] over n float32 of x.
func gatherStep(x, index, out backend.Buffer, n int) backend.Step {
	var b ops.Builder
	b.Result(b.Load(b.Operand(ops.Float32), false))
	shape := backend.Shape{n}
	return backend.Step{
		Kernel: &backend.Gather{Post: b.Expr()}, Shape: shape,
		In: []backend.Operand{
			{Buf: x, DType: ops.Float32, Layout: backend.Layout{Shape: backend.Shape{n, n}, Strides: []int{0, 1}}},
			{Buf: index, DType: ops.Int32, Layout: backend.Dense(shape)},
		},
		Out: []backend.Operand{{Buf: out, DType: ops.Float32, Layout: backend.Dense(shape)}},
	}
}

// scatterStep returns the step out = x with x[at] added at each index, over n float32.
func scatterStep(x, index, out backend.Buffer, n int) backend.Step {
	st := gatherStep(x, index, out, n)
	st.Kernel = &backend.Scatter{DType: ops.Float32, Add: true, Post: st.Kernel.(*backend.Gather).Post}
	st.In[0].Layout = st.Out[0].Layout
	st.In = append(st.In, st.In[0])
	return st
}

// testFailedRun tests that a run which fails touches nothing but its outputs, and that an index out of range
// is an error where it is checked.
func (s *suite) testFailedRun(t tb) {
	const n = 10
	var p pile
	defer p.release()
	x, other, out := s.buffer(t, &p, floats(n, 1)), s.buffer(t, &p, floats(n, 2)), s.buffer(t, &p, floats(n, 3))
	for i, bad := range []int64{n, -n - 1, math.MaxInt32, math.MinInt32, n, -n - 1, math.MaxInt32, math.MinInt32} {
		mem := make([]byte, 4*n)
		store(mem, n/2, ops.IntValue(ops.Int32, bad))
		step := gatherStep
		if i >= 4 {
			step = scatterStep
		}
		st := step(x, s.buffer(t, &p, mem), out, n)
		if !s.b.Supports(st.Kernel) {
			t.Logf("%s is not supported", st.Kernel.Family())
			continue
		}
		err := s.b.Run(background, []backend.Step{st})
		if err == nil {
			err = s.b.Read(background, nil, out, 0)
		}
		switch {
		case err == nil:
			t.Logf("index %d of %d elements: not checked", bad, n)
		case !errors.Is(err, backend.ErrIndex):
			t.Errorf("index %d of %d elements: %v, want an error of kind ErrIndex", bad, n, err)
		}
		s.holds(t, "the source of a failed run", x, 1)
		s.holds(t, "a bystander of a failed run", other, 2)
		s.usable(t, "a failed run")
	}
}

// testCancelled tests calls whose context has ended.
func (s *suite) testCancelled(t tb) {
	ctx, cancel := context.WithCancel(background)
	cancel()
	var p pile
	defer p.release()
	x, out := s.buffer(t, &p, floats(10, 1)), s.buffer(t, &p, floats(10, 2))
	if err := s.b.Run(ctx, []backend.Step{adder(x, out, 10, 1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v, want context.Canceled", err)
	}
	if err := s.b.Read(ctx, make([]byte, 40), x, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Read: %v, want context.Canceled", err)
	}
	s.holds(t, "the input of a cancelled run", x, 1)
	s.usable(t, "a cancelled run")
}

// testCancelledInTheMiddle cancels a run that would take long.
func (s *suite) testCancelledInTheMiddle(t tb) {
	const n, deep = 1 << 18, 3000
	var p pile
	defer p.release()
	x, y := s.buffer(t, &p, floats(n, 1)), s.buffer(t, &p, floats(n, 2))
	var steps []backend.Step
	for range deep / 2 {
		steps = append(steps, adder(x, y, n, 1), adder(y, x, n, 1))
	}
	ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := s.b.Run(ctx, steps)
	if err == nil { // it may return before the steps are done; reading waits
		err = s.b.Read(ctx, make([]byte, 4), x, 0)
	}
	took := time.Since(start)
	switch {
	case err == nil:
		t.Logf("%d steps over %d elements were done in time, in %v", deep, n, took)
	case !errors.Is(err, context.DeadlineExceeded):
		t.Errorf("%v, want context.DeadlineExceeded", err)
	case took > 5*time.Second:
		t.Errorf("cancelling took %v", took)
	}
	s.usable(t, "a run cancelled in the middle")
}

// testGoroutines uses the backend from eight goroutines at once.
func (s *suite) testGoroutines(t tb) {
	const workers, n = 8, 5000
	rounds := 20
	if s.short {
		rounds = 5
	}
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for r := range rounds {
				if errs[w] = s.roundTrip(n+w, float64(w), float64(r)); errs[w] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for w, err := range errs {
		if err != nil {
			t.Errorf("goroutine %d: %v", w, err)
		}
	}
}

// roundTrip computes x + c + c on n elements and checks it.
func (s *suite) roundTrip(n int, x, c float64) error {
	bufs := make([]backend.Buffer, 3)
	for i := range bufs {
		b, err := s.b.Alloc(4 * n)
		if err != nil {
			return err
		}
		defer b.Release()
		bufs[i] = b
	}
	if err := s.b.Write(bufs[0], 0, floats(n, x)); err != nil {
		return err
	}
	if err := s.b.Run(background, []backend.Step{adder(bufs[0], bufs[1], n, c), adder(bufs[1], bufs[2], n, c)}); err != nil {
		return err
	}
	got := make([]byte, 4*n)
	if err := s.b.Read(background, got, bufs[2], 0); err != nil {
		return err
	}
	if i := differs(got, floats(n, x+2*c)); i >= 0 {
		return fmt.Errorf("%g + 2·%g is wrong at byte %d", x, c, i)
	}
	return nil
}
