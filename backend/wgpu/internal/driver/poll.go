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
// stale data). It is a goroutine of its own so that a waiter obeys its
// context even when the native call is held up by another goroutine's Submit.
type poller struct {
	// native is held in native polls, and while a mapping is taken back: the
	// library loses track of a mapping that completes in one thread while
	// another cancels it, and a later submission would end the process.
	native sync.Mutex

	mu      sync.Mutex // of the fields below; never held in a native call
	waiting int
	running bool
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
	spinFor         = 200 * time.Microsecond
	spinForSoftware = 30 * time.Microsecond
	napMin          = 20 * time.Microsecond
	napMax          = time.Millisecond
)

// joinPoll keeps the device polled until leavePoll. It reports false after stop.
func (d *device) joinPoll() bool {
	p := &d.poll
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return false
	}
	p.waiting++
	if !p.running {
		p.running = true
		p.done.Add(1)
		go d.pollLoop()
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

func (d *device) pollLoop() {
	p := &d.poll
	defer p.done.Done()
	spin := spinFor
	if d.info.Type == Software {
		spin = spinForSoftware
	}
	start := time.Now()
	for {
		d.pollOnce()
		p.mu.Lock()
		if now := d.completed.Load(); now != p.seen {
			close(p.turn)
			p.turn, p.seen = make(chan struct{}), now
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
	if !d.joinPoll() {
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
