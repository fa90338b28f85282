package wgpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
	"github.com/weft-go/weft/internal/env"
)

// An engine is the backend over one device. One lock guards all of its state and is held while commands are
// recorded, never while the GPU is waited for (but for an allocation under memory pressure).
type engine struct {
	dev  driver.Device
	info driver.Info

	flushes  bool // subnormal float32 numbers are taken for 0
	unpacks  bool // unpack2x16float is right for all numbers
	trusts   bool // the GPU's driver checks the bounds of buffers itself, so trusted kernels need no checks
	subgroup int  // threads of a subgroup; 0 where kernels must not use them

	life context.Context // ends with Close
	end  context.CancelFunc

	mu      sync.Mutex
	closed  bool
	pool    pool
	batch   *batch // what has been recorded since the last was sealed
	out     sender
	sending bool      // a goroutine is in send
	started time.Time // of the last call of startIdle
	spare   []*batch  // for reuse
	sent    uint64    // the last batch known to have been submitted
	dropped []dropped
	pacer   pacer

	remembering bool     // record keeps what it is given. An allocation that gives up the lock ends that
	launches    []launch // there
	operands    []*buffer
	slotted     []*buffer // scratch of replay
	written     []*buffer
	args        []byte
	groups      groups
	kernels     kernels
	tuner       *tuner        // if WEFT_TUNE=1
	last        driver.Ticket // of the last submission
	staging     []memory      // readback buffers not in use
	checked     bool          // WEFT_CHECK=1: indices out of range are errors
	checks      *checks       // of the Run that is recording, if checked

	dispatches int64
	current    stepNote // the step that is being recorded, where somebody traces
}

var errClosed = fmt.Errorf("wgpu: device closed: %w", backend.ErrDevice)

// newEngine takes over dev.
func newEngine(dev driver.Device) (*engine, error) {
	e := &engine{dev: dev, info: dev.Info()}
	e.trusts = e.info.VendorID == nvidia && e.info.API == "vulkan"
	e.life, e.end = context.WithCancel(context.Background())
	e.batch = &batch{id: 1}
	e.pool = pool{free: make(map[int][]pooled), limit: poolLimit}
	e.groups = groups{byKey: make(map[groupKey]driver.Group), byBuffer: make(map[driver.Buffer][]groupKey)}
	e.kernels = newKernels()
	e.checked = env.On("WEFT_CHECK", false)
	if env.On("WEFT_TUNE", false) {
		e.tuner = newTuner(&e.info, tuneDir())
	}
	var err error
	e.out.dev = dev
	e.out.turn.L = &e.out.mu
	e.out.timer = newTimer(e.life, dev)
	if e.out.arena, err = dev.NewBuffer("parameters", batchArgs, driver.Uniform); err != nil {
		return nil, errors.Join(translate(err), dev.Close())
	}
	return e, nil
}

// poolLimit is how many bytes of released memory are kept for reuse.
const poolLimit = min(8<<30, math.MaxInt)

// Run records the steps. They run when the batch they are in is submitted; what fails then comes out of the
// next Run or Read of what they wrote.
func (e *engine) Run(ctx context.Context, steps []backend.Step) error {
	defer backend.Begin("record").End()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.collect(0) //nolint:errcheck // they are with the buffers
	var mine *checks
	if e.checked {
		mine = &checks{}
		defer mine.release(e)
	}
	for i := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.closed {
			return errClosed
		}
		if e.checks = mine; mine != nil {
			mine.step = i
		}
		if err := e.step(&steps[i]); err != nil {
			return stepError(ctx, i, err)
		}
	}
	if mine != nil {
		if err := mine.verify(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// Start implements [backend.Starter].
func (e *engine) Start() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.startIdle()
	}
}

// step records the dispatches of a step.
func (e *engine) step(s *backend.Step) error {
	for _, list := range [][]backend.Operand{s.In, s.Out} {
		for _, o := range list {
			if o.Buf == nil {
				continue
			}
			if _, err := e.use(o.Buf); err != nil {
				return err
			}
		}
	}
	known := e.recall(s)
	if known == nil {
		if err := s.Check(); err != nil {
			return err
		}
	}
	for _, in := range s.In {
		if in.Buf == nil {
			continue
		}
		if err := in.Buf.(*buffer).err; err != nil {
			return err
		}
	}
	e.noteStep(s)
	if err := e.dispatch(s, known); err != nil {
		return fmt.Errorf("%s%v: %w", s.Kernel.Family(), s.Shape, err)
	}
	for _, out := range s.Out {
		out.Buf.(*buffer).err = nil
	}
	return nil
}

// recall returns the memo of a step like s, or nil.
func (e *engine) recall(s *backend.Step) *memo {
	if s.Memo == nil || e.checked {
		return nil
	}
	if m, _ := s.Memo.Value.(*memo); m != nil && m.suits(e, s) {
		return m
	}
	return nil
}

// dispatch records the dispatches of a step: those it came to the last time, or by lowering it.
func (e *engine) dispatch(s *backend.Step, known *memo) error {
	switch {
	case known != nil:
		return e.replay(known, s)
	case s.Memo == nil, e.checked:
		return e.lower(s)
	}
	e.launches, e.remembering = e.launches[:0], true
	err := e.lower(s)
	if e.remembering && err == nil {
		s.Memo.Value = e.remember(s, e.launches)
	}
	e.remembering = false
	clear(e.launches)
	return err
}

// Close waits for submitted work and frees everything.
func (e *engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.flush()                       //nolint:errcheck // the error is with the buffers
	err := e.out.timer.wait(e.life) // so that what ran is traced
	e.closed = true
	e.end()
	return errors.Join(err, translate(e.dev.Close()))
}

// Info implements [backend.Backend].
func (e *engine) Info() backend.Info {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := backend.Info{
		Name:        "wgpu",
		Adapter:     fmt.Sprintf("%s (%s, %s)", e.info.Name, e.info.API, e.info.Driver),
		Features:    []string{e.info.Features.String()},
		Software:    e.info.Type == driver.Software,
		MaxBytes:    e.maxBytes(),
		MaxOperands: int(min(e.info.Limits.StorageSlots, maxSlots)) - int(flag(e.checked)), // a slot is for reports
		Kernels:     e.dispatches,
		Compiled:    e.kernels.compiled,
		Allocated:   e.pool.made,
		Bound:       e.groups.created,
		BytesInUse:  e.pool.inUse,
		BytesPooled: e.pool.bytes,
		BytesPeak:   e.pool.peak,
	}
	if e.flushes {
		i.Features = append(i.Features, backend.FlushesSubnormals)
	}
	return i
}

// translate gives an error of the driver the kind that the contract knows.
func translate(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, driver.ErrMemory):
		return fmt.Errorf("%w: %w", backend.ErrMemory, err)
	case errors.Is(err, driver.ErrUnsupported):
		return fmt.Errorf("%w: %w", backend.ErrUnsupported, err)
	}
	return fmt.Errorf("%w: %w", backend.ErrDevice, err)
}
