package driver

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/weft-go/weft/backend"
)

// poller runs the library's callbacks while somebody waits: nothing else
// does. It never asks the library to wait, because that would hold up every
// Submit until the device is idle (and, with the old binding, end early with
// stale data). One goroutine polls at a time: at first one that waits, as most
// answers come sooner than another thread wakes; then one of the poller's own.
type poller struct {
	// native is held in native polls and submissions, and while a mapping is
	// taken back: the library loses track of a mapping that completes in one
	// thread while another cancels it, and a later submission would end the
	// process. A waiter that polls tries it only: it obeys its context even
	// when another goroutine's Submit is held up.
	native sync.Mutex

	mu      sync.Mutex // of the fields below; never held in a native call
	waiting int
	running bool // somebody polls
	stopped bool
	turn    chan struct{} // closed and renewed when submissions completed
	seen    uint64        // completed when turn was last renewed
	done    sync.WaitGroup
}

func (p *poller) init() { p.turn = make(chan struct{}) }

// A wait polls without pause at first, as most answers come in that time,
// then naps for a sixteenth of the time waited so far, within the bounds. A
// software adapter needs the processor itself.
const (
	keepFor         = 50 * time.Microsecond // in which a waiter that polls yields to no other goroutine
	spinFor         = 200 * time.Microsecond
	spinForSoftware = 30 * time.Microsecond
	napMin          = 20 * time.Microsecond
	napMax          = time.Millisecond
)

// joinPoll keeps the device polled until leavePoll. It may do so itself for
// a while, until over reports true. It reports false after stop.
func (d *device) joinPoll(over func() bool) bool {
	p := &d.poll
	p.mu.Lock()
	if p.stopped {
		p.mu.Unlock()
		return false
	}
	p.waiting++
	mine := !p.running
	if mine {
		p.running = true
		p.done.Add(1)
	}
	p.mu.Unlock()
	switch {
	case !mine:
	case d.b.exclusive(), d.info.Type == Software:
		go d.pollLoop(time.Now())
	default:
		d.pollHere(over)
	}
	return true
}

func (d *device) leavePoll() {
	d.poll.mu.Lock()
	d.poll.waiting--
	d.poll.mu.Unlock()
}

// stop waits until no poll is under way and lets none begin.
func (p *poller) stop() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.done.Wait()
}

// pollHere polls in the goroutine of a waiter, and leaves what is not over
// after a while, or for others, to pollLoop.
func (d *device) pollHere(over func() bool) {
	p := &d.poll
	start := time.Now()
	ended := over()
	for waited := time.Duration(0); !ended && waited < spinFor; waited = time.Since(start) {
		free := p.native.TryLock()
		if free {
			d.b.poll()
			p.native.Unlock()
			p.mu.Lock()
			p.renew(d.completed.Load())
			p.mu.Unlock()
		}
		if ended = over(); !ended && (!free || waited > keepFor) {
			runtime.Gosched()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || ended && p.waiting == 1 {
		p.running = false
		p.done.Done()
		return
	}
	if ended { // for the others
		start = time.Now()
	}
	go d.pollLoop(start)
}

func (d *device) pollLoop(start time.Time) {
	p := &d.poll
	defer p.done.Done()
	spin := spinFor
	if d.info.Type == Software {
		spin = spinForSoftware
	}
	for {
		d.pollOnce()
		p.mu.Lock()
		if p.renew(d.completed.Load()) {
			start = time.Now()
		}
		if p.waiting == 0 || p.stopped {
			p.running = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		if waited := time.Since(start); waited < spin {
			runtime.Gosched()
		} else {
			nap(min(max(waited/16, napMin), napMax))
		}
	}
}

func (d *device) pollOnce() {
	if d.b.exclusive() {
		d.sem <- struct{}{}
		defer d.unlock()
	}
	d.poll.native.Lock()
	defer d.poll.native.Unlock()
	d.b.poll()
}

// renew reports whether submissions have completed since the last call, and
// wakes who waits for that. p.mu is held.
func (p *poller) renew(completed uint64) bool {
	if completed == p.seen {
		return false
	}
	close(p.turn)
	p.turn, p.seen = make(chan struct{}), completed
	return true
}

// turnDone is closed at the next completion of a submission.
func (p *poller) turnDone() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turn
}

func (d *device) Wait(ctx context.Context, t Ticket) error { return d.wait(ctx, "wait", "", t) }

// wait is Wait as a part of another operation on a named thing.
func (d *device) wait(ctx context.Context, op, label string, t Ticket) error {
	if Ticket(d.completed.Load()) >= t {
		return nil
	}
	if err := cmp.Or(ctx.Err(), d.Err()); err != nil {
		return &Error{Op: op, Label: label, Err: err}
	}
	if last := Ticket(d.submitted.Load()); t > last {
		return fail(ErrValidation, op, label, "submission %d of %d", t, last)
	}
	defer backend.Begin("wait").End()
	over := func() bool { return Ticket(d.completed.Load()) >= t || ctx.Err() != nil || d.Err() != nil }
	if !d.joinPoll(over) {
		return &Error{Op: op, Label: label, Err: ErrClosed}
	}
	defer d.leavePoll()
	for {
		turn := d.poll.turnDone()
		if Ticket(d.completed.Load()) >= t {
			return nil
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return &Error{Op: op, Label: label, Err: ctx.Err()}
		case <-d.gone:
			return &Error{Op: op, Label: label, Err: d.Err()}
		}
	}
}

func (d *device) Poll() Ticket {
	p := &d.poll
	p.mu.Lock()
	stopped := p.stopped
	if !stopped {
		p.done.Add(1)
	}
	p.mu.Unlock()
	if !stopped {
		d.pollOnce()
		p.done.Done()
	}
	return Ticket(d.completed.Load())
}
