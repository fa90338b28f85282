package driver

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"time"
)

// poller runs the library's callbacks while somebody waits: nothing else
// does. It never asks the library to wait, because that would hold up every
// Submit until the device is idle (and, with the old binding, end early with
// stale data). It is a goroutine of its own so that a waiter obeys its
// context even when the native call is held up by another goroutine's Submit.
type poller struct {
	mu      sync.Mutex
	waiting int
	running bool
	stopped bool
	turn    chan struct{} // closed and renewed when submissions completed
	seen    uint64        // completed when turn was last renewed
	done    sync.WaitGroup
}

func (p *poller) init() { p.turn = make(chan struct{}) }

// A wait polls without pause for spinFor, as most answers come in that time,
// then sleeps a sixteenth of the time waited so far, within the bounds.
const (
	spinFor  = 60 * time.Microsecond
	sleepMin = 20 * time.Microsecond
	sleepMax = time.Millisecond
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
	start := time.Now()
	for {
		d.b.poll()
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
		if waited := time.Since(start); waited < spinFor {
			runtime.Gosched()
		} else {
			time.Sleep(min(max(waited/16, sleepMin), sleepMax))
		}
	}
}

// turnDone is closed at the next completion of a submission.
func (p *poller) turnDone() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turn
}

func (d *device) Wait(ctx context.Context, t Ticket) error {
	if Ticket(d.completed.Load()) >= t {
		return nil
	}
	if err := cmp.Or(ctx.Err(), d.Err()); err != nil {
		return &Error{Op: "wait", Err: err}
	}
	if last := Ticket(d.submitted.Load()); t > last {
		return fail(ErrValidation, "wait", "", "submission %d of %d", t, last)
	}
	if !d.joinPoll() {
		return &Error{Op: "wait", Err: ErrClosed}
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
			return &Error{Op: "wait", Err: ctx.Err()}
		case <-d.gone:
			return &Error{Op: "wait", Err: d.Err()}
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
		d.b.poll()
		p.done.Done()
	}
	return Ticket(d.completed.Load())
}
