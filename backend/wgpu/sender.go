package wgpu

import (
	"bytes"
	"context"
	"sync"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// A sender submits sealed batches in order, one goroutine at a time. It has a lock of its own, never held in a submission, so
// that the next batch is recorded while one is submitted. Who holds the lock of the engine may wait for a sender, but not the
// other way round.
type sender struct {
	dev   driver.Device
	arena driver.Buffer // parameters of a batch
	held  []byte        // what the arena begins with. Of the goroutine that submits
	timer *timer

	mu    sync.Mutex
	turn  sync.Cond // a batch has been submitted
	queue []*batch  // the first is being submitted, if busy
	busy  bool
	sent  []sent // and not yet collected
	spare []sent
}

// sent is a batch that has been submitted.
type sent struct {
	*batch
	ticket driver.Ticket
	err    error
}

// mostQueued bounds the batches that wait for their submission.
const mostQueued = 8

// push adds a batch. It waits where there are too many.
func (s *sender) push(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) >= mostQueued {
		s.next()
	}
	s.queue = append(s.queue, b)
}

// submitAll returns when all batches have been submitted.
func (s *sender) submitAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 {
		s.next()
	}
}

// next submits the first batch, or waits for whoever does that. It is called with the lock and gives it up meanwhile.
func (s *sender) next() {
	if s.busy {
		s.turn.Wait()
		return
	}
	b := s.queue[0]
	s.busy = true
	s.mu.Unlock()
	t, err := s.submit(b)
	s.mu.Lock()
	s.busy = false
	n := copy(s.queue, s.queue[1:])
	s.queue[n] = nil
	s.queue = s.queue[:n]
	s.sent = append(s.sent, sent{b, t, err})
	s.turn.Broadcast()
}

func (s *sender) submit(b *batch) (driver.Ticket, error) {
	defer backend.Begin("submit").End()
	// The write is ordered between the submissions before and this one, so one arena serves all batches.
	// A plan that runs again mostly finds its own parameters there.
	if !bytes.HasPrefix(s.held, b.args) {
		s.held = s.held[:0]
		if err := s.dev.Write(context.Background(), s.arena, 0, b.args); err != nil {
			return 0, translate(err)
		}
		s.held = append(s.held, b.args...)
	}
	if len(b.notes) > 0 {
		return s.timer.submit(b)
	}
	t, err := s.dev.Submit(b.commands)
	return t, translate(err)
}

// waiting returns the number of batches not yet submitted.
func (s *sender) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// takeSent returns what has been submitted since the last call. The list is good until the next.
func (s *sender) takeSent() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.spare)
	s.sent, s.spare = s.spare[:0], s.sent
	return s.spare
}
