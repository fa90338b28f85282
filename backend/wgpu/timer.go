package wgpu

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// While somebody traces, batches go to the GPU with time stamps around each dispatch. The GPU then runs one dispatch after
// the other, each in a pass of its own, which costs it some microseconds.

// A note is what a trace tells of a dispatch.
type note struct {
	at            int // which of the batch's commands it is
	label, family string
	bytes         int
}

// A stepNote is what the dispatches of a step have in common.
type stepNote struct {
	family string
	bytes  int
	label  string // of the first dispatch
}

// note notes the launch that has just been recorded.
func (e *engine) note(l *launch) {
	s, b := &e.current, e.batch
	if s.family == "" || !e.out.timer.times() {
		return
	}
	n := note{len(b.commands) - 1, l.pipeline.label, s.family, l.bytes}
	switch s.label {
	case "": // the first stands for the step, as far as it is of its kind
		s.label, n.bytes = n.label, s.bytes
	case n.label:
		n.bytes = 0
	}
	b.notes = append(b.notes, n)
}

// noteStep notes the step that is about to be recorded.
func (e *engine) noteStep(s *backend.Step) {
	e.current = stepNote{}
	if !backend.Tracing() {
		return
	}
	e.current.family = s.Kernel.Family()
	for i, o := range s.In {
		if o.Buf != nil {
			e.current.bytes += backend.Reads(s.Kernel, i, s.In, s.Out) * o.DType.Size()
		}
	}
	for _, o := range s.Out {
		e.current.bytes += o.Layout.Touched() * o.DType.Size()
	}
}

// A timer adds time stamps to batches, reads them when the GPU has written them, and emits spans.
type timer struct {
	dev    driver.Device
	life   context.Context // of the engine
	period float64         // nanoseconds a tick; 0 if the device has no clock
	name   string

	zero time.Time // when the GPU's clock was at 0; the zero Time before it is known. Of the goroutine that submits

	mu      sync.Mutex
	idle    []*stamps
	pending map[chan struct{}]bool // of batches with spans to emit: closed when they have been
}

// stamps are places for the time stamps of a batch.
type stamps struct {
	queries  driver.Queries
	results  driver.Buffer
	readback driver.Buffer
}

// mostStamps is how many a batch may need: each dispatch two, if copies stand between them.
const mostStamps = 2*batchDispatches + 2

func newTimer(life context.Context, dev driver.Device) *timer {
	return &timer{
		dev: dev, life: life, period: dev.TimestampPeriod(), name: dev.Info().Name,
		pending: make(map[chan struct{}]bool),
	}
}

// times reports whether the device has a clock.
func (t *timer) times() bool { return t.period > 0 }

// Times implements [backend.Timer].
func (e *engine) Times() bool { return e.out.timer.times() }

// Timed implements [backend.Timer].
func (e *engine) Timed(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return errClosed
	}
	e.flush() //nolint:errcheck // the error is with the buffers
	e.mu.Unlock()
	return e.out.timer.wait(ctx)
}

// wait waits until all batches submitted so far have been emitted.
func (t *timer) wait(ctx context.Context) error {
	t.mu.Lock()
	var all []chan struct{}
	for done := range t.pending {
		all = append(all, done)
	}
	t.mu.Unlock()
	for _, done := range all {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// submit submits a batch with time stamps. What they say is emitted later, by a goroutine that ends soon after the batch.
func (t *timer) submit(b *batch) (driver.Ticket, error) {
	s, err := t.take()
	if err != nil {
		return 0, translate(err)
	}
	if t.zero.IsZero() {
		if err := t.calibrate(s); err != nil {
			t.give(s)
			return 0, translate(err)
		}
	}
	commands, ends := s.around(b.commands, b.notes)
	start := time.Now()
	ticket, err := t.dev.Submit(commands)
	if err != nil {
		t.give(s)
		return 0, translate(err)
	}
	notes := append([]note(nil), b.notes...) // the batch is used again
	done, zero := make(chan struct{}), t.zero
	t.mu.Lock()
	t.pending[done] = true
	t.mu.Unlock()
	go func() {
		t.emit(s, notes, ends, start, zero)
		t.mu.Lock()
		delete(t.pending, done)
		t.mu.Unlock()
		close(done)
	}()
	return ticket, nil
}

// take returns stamps that are not in use.
func (t *timer) take() (*stamps, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.idle); n > 0 {
		s := t.idle[n-1]
		t.idle = t.idle[:n-1]
		return s, nil
	}
	s := new(stamps)
	var err error
	if s.queries, err = t.dev.NewQueries("profile", mostStamps); err != nil {
		return nil, err
	}
	if s.results, err = t.dev.NewBuffer("profile", 8*mostStamps, driver.Results); err != nil {
		return nil, err
	}
	s.readback, err = t.dev.NewBuffer("profile", 8*mostStamps, driver.Readback)
	return s, err
}

func (t *timer) give(s *stamps) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = append(t.idle, s)
}

// around returns commands with a stamp before and after each dispatch that has a note, and for each the number of the stamp
// after it; that before it is the one before that.
func (s *stamps) around(commands []driver.Command, notes []note) (all []driver.Command, ends []int) {
	next := uint32(0)
	stamp := func() {
		all = append(all, driver.Command{Op: driver.Timestamp, Queries: s.queries, Query: next})
		next++
	}
	fresh := false // the last stamp is that of the end of the command before
	for i, c := range commands {
		if len(ends) == len(notes) || notes[len(ends)].at != i {
			all, fresh = append(all, c), false
			continue
		}
		if !fresh {
			stamp()
		}
		all = append(all, c)
		ends = append(ends, int(next))
		stamp()
		fresh = true
	}
	return append(all, s.resolve(next)...), ends
}

// resolve returns the commands that bring the first n stamps to the readback buffer.
func (s *stamps) resolve(n uint32) []driver.Command {
	return []driver.Command{
		{Op: driver.Resolve, Queries: s.queries, Count: n, Dst: s.results},
		{Op: driver.Copy, Src: s.results, Dst: s.readback, Size: 8 * uint64(n)},
	}
}

// read returns the first n stamps, in nanoseconds of the GPU's clock, after the submission that makes them.
func (t *timer) read(s *stamps, n int) ([]time.Duration, error) {
	raw := make([]byte, 8*n)
	if err := t.dev.Read(t.life, s.readback, 0, raw); err != nil {
		return nil, err
	}
	times := make([]time.Duration, n)
	for i := range times {
		times[i] = time.Duration(float64(binary.LittleEndian.Uint64(raw[8*i:])) * t.period)
	}
	return times, nil
}

// calibrate finds out when the GPU's clock was at 0: it looks at both clocks a few times and takes the look that took the
// shortest time. The first waits for what runs before.
func (t *timer) calibrate(s *stamps) error {
	best := time.Duration(-1)
	for range 4 {
		start := time.Now()
		_, err := t.dev.Submit(append([]driver.Command{{Op: driver.Timestamp, Queries: s.queries}}, s.resolve(1)...))
		if err != nil {
			return err
		}
		stamp, err := t.read(s, 1)
		if err != nil {
			return err
		}
		if took := time.Since(start); best < 0 || took < best {
			best = took
			t.zero = start.Add(took / 2).Add(-stamp[0])
		}
	}
	return nil
}

// emit reads the stamps of a batch submitted at start, and emits a span for each of its dispatches.
func (t *timer) emit(s *stamps, notes []note, ends []int, start, zero time.Time) {
	times, err := t.read(s, ends[len(ends)-1]+1)
	t.give(s)
	if err != nil {
		return // the device is closed or lost, which those who read results are told
	}
	// The clocks run apart by some millionths. No kernel begins before it is submitted or ends after it is read.
	first, last := zero.Add(times[0]), zero.Add(times[len(times)-1])
	if early := start.Sub(first); early > 0 {
		zero = zero.Add(early)
	} else if late := time.Since(last); late < 0 {
		zero = zero.Add(max(late, early))
	}
	for i, n := range notes {
		from, to := times[ends[i]-1], times[ends[i]]
		backend.Emit(backend.Span{
			Name: n.label, Start: zero.Add(from), Duration: max(to-from, 0), Device: t.name, Family: n.family, Bytes: n.bytes,
		})
	}
}
