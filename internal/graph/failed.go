package graph

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/backend"
)

// A RunError is what a device said of a kernel.
type RunError struct {
	Kernel string // its family and what was fused into it: "gather.exp"
	Origin any    // what the node that can go wrong was recorded with, nil if there is none
	Err    error
}

// Error returns a text such as "gather.exp: cpu: gather [2]: index 7 at [0] is out of range for an axis of extent 3".
func (e *RunError) Error() string { return e.Kernel + ": " + e.Err.Error() }

// Unwrap returns what the device said.
func (e *RunError) Unwrap() error { return e.Err }

// failed returns the error of a run as that of the kernel it tells of.
func (f *flight) failed(err error) error {
	var at *backend.StepError
	if !errors.As(err, &at) || at.Step < 0 || at.Step >= len(f.binding.steps) || isEnd(err) {
		return fmt.Errorf("graph: run of %d kernels on %s: %w", len(f.binding.steps), f.d.name, err)
	}
	s := &f.binding.steps[at.Step]
	e := &RunError{Kernel: f.info(s).name(), Err: at.Err}
	for _, entry := range s.kernel.log {
		switch n := f.order[s.kernel.values[entry.value].node]; {
		case n.kind == kindGather && n.attr != nil:
			e.Origin = n.attr
		case n.kind == kindScatter:
			e.Origin = n.attr.(*ScatterAttr).Origin
		}
	}
	return e
}

// live returns ctx, or for a nil one that of a program that does not mind to wait.
func live(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// isEnd reports whether err is that of a context that has ended.
func isEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
