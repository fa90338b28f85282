package wgpu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// checks are the indices that one Run has the GPU check: for each gather or scatter three words of a buffer, which say whether one was
// out of range, and its value. They make Run wait for what it recorded, so they are for tests and for finding faults
// (WEFT_CHECK=1).
type checks struct {
	status  *buffer
	step    int // that is recorded
	indexed []indexCheck
}

// An indexCheck is a step whose indices are checked.
type indexCheck struct {
	family string // of its kernel: gather or scatter
	step   int
	extent int // of the axis indexed
}

const (
	checkWords = 3
	mostChecks = 64 // between waits
)

// add returns the buffer and the word of it in which a kernel of the family reports that indexes an axis of the given
// extent.
func (c *checks) add(e *engine, family string, extent int) (*buffer, int, error) {
	if len(c.indexed) == mostChecks {
		if err := c.verify(e.life, e); err != nil {
			return nil, 0, err
		}
	}
	if c.status == nil {
		b, err := e.alloc(mostChecks * checkWords * 4)
		if err != nil {
			return nil, 0, err
		}
		c.status = b
	}
	if len(c.indexed) == 0 {
		b := c.status
		e.batch.commands = append(e.batch.commands, driver.Command{Op: driver.Clear, Dst: b.memory.handle, Size: uint64(b.size)})
		b.batch = e.batch.id
	}
	c.indexed = append(c.indexed, indexCheck{family, c.step, extent})
	return c.status, (len(c.indexed) - 1) * checkWords, nil
}

// verify waits for the steps recorded, and returns an error if an index of theirs was out of range.
func (c *checks) verify(ctx context.Context, e *engine) error {
	if len(c.indexed) == 0 {
		return nil
	}
	words := make([]byte, len(c.indexed)*checkWords*4)
	if err := e.fetch(ctx, c.status, 0, words); err != nil {
		return err
	}
	for i, g := range c.indexed {
		if w := words[i*checkWords*4:]; binary.LittleEndian.Uint32(w) != 0 {
			index := int64(binary.LittleEndian.Uint64(w[4:]))
			return &backend.StepError{
				Step: g.step,
				Err:  fmt.Errorf("wgpu: %s: index %d of an axis of extent %d: %w", g.family, index, g.extent, backend.ErrIndex),
			}
		}
	}
	c.indexed = c.indexed[:0]
	return nil
}

// release gives the buffer back.
func (c *checks) release(e *engine) {
	if c.status != nil {
		e.release(c.status)
	}
}

// stepError returns the error of a step, or of ctx where it comes of that, or of an earlier step whose checks had to be looked
// at.
func stepError(ctx context.Context, step int, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var earlier *backend.StepError
	if errors.As(err, &earlier) {
		return earlier
	}
	return &backend.StepError{Step: step, Err: fmt.Errorf("wgpu: %w", err)}
}
