package tensor

import (
	"fmt"
	"sync"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
)

// A Var is a tensor that changes: a cache of keys and values, a running state. [Var.Set] writes a part
// of it, in place where nobody can tell. It may be used by several goroutines at once.
//
// The order in which operations are recorded is the order that counts: what was recorded on the elements
// before a Set sees those, whenever it is computed, and what is recorded later sees the new ones. A Set
// writes in place if all that was recorded on the elements before it has been computed, and copies the
// whole Var first otherwise. So compute what reads a Var before the next Set, as a loop over tokens
// does, and it costs only the part that is written.
//
// After a Set in place the elements before it are gone. A tensor that [Var.Tensor] gave earlier, or a
// lazy result of it that was computed as a mere step towards another, then cannot be read any more: an
// error of kind [ErrDevice] says so. Wrong elements are never read.
type Var struct {
	mu  sync.Mutex
	now *Tensor
}

// NewVar returns a Var that holds the elements of t. Its shape, element type and device stay t's.
func NewVar(t *Tensor) *Var { return &Var{now: t} }

// Tensor returns the elements as they are now, to record operations on.
func (v *Var) Tensor() *Tensor {
	if v == nil {
		return fail("var", errNil, "variable is nil")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// Set writes t, converted to v's element type, to the part of v that ranges select as [Tensor.Slice]
// does; to all of it without any. t broadcasts to the part. Nothing is computed yet. After an error, of
// kind [ErrShape], [ErrAxis], [ErrIndex] or [ErrDevice] or one that t or v carry, v is as it was.
func (v *Var) Set(t *Tensor, ranges ...Range) error {
	if v == nil {
		return fail("set", errNil, "variable is nil", t).Err()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	now, ok := v.now.ready("set")
	if !ok {
		return now.Err()
	}
	part, err := sliced(backend.Dense(now.layout.Shape), ranges)
	if err != nil {
		return failWith("set", err, now).Err()
	}
	x := array(t)
	dev, bad := common("set", []operand{{t: now}, x})
	if bad != nil {
		return bad.Err()
	}
	if _, err := repeat(x.shape()).BroadcastTo(part.Shape); err != nil {
		return failWith("set", err, now, t).Err()
	}
	if x.weak && !x.scalar.fits(now.node.DType) {
		return fail("set", ErrDType, fmt.Sprintf("%d does not fit %s", x.scalar.i, now.node.DType), now).Err()
	}
	if part.Len() == 0 {
		return nil
	}
	in := x.edge(dev, now.node.DType, part.Shape)
	v.now = whole(dev, graph.Update(now.Contiguous().node, part, in))
	return nil
}
