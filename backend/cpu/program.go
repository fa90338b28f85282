package cpu

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A program is an elementwise Expr compiled to calls of block functions. It is shared by all runs.
type program struct {
	expr *ops.Expr
	fns  []blocks // of each Apply and Cast

	mu    sync.RWMutex
	plans map[uint64]*plan
}

// compile returns the program of e, which must be free of reductions and scans.
func compile(e *ops.Expr) (*program, error) {
	p := &program{expr: e, fns: make([]blocks, len(e.Code)), plans: make(map[uint64]*plan)}
	for i := range e.Code {
		switch in := &e.Code[i]; in.Kind {
		case ops.Apply:
			p.fns[i] = lookup(in.Op, e.Code[in.Args[in.Op.Arity-1]].DType)
		case ops.Cast:
			p.fns[i] = blocks{v: castBlock(in.DType, e.Code[in.Args[0]].DType)}
		case ops.Reduce, ops.Scan:
			return nil, fmt.Errorf("%s in an elementwise program: %w", in.String(), backend.ErrUnsupported)
		}
	}
	return p, nil
}

// A binding is a program with the operands, results and constants of one step. Frames of several
// goroutines may run it at once.
type binding struct {
	plan    *plan
	in, out []source
	consts  []uint64
	alias   bool // a result shares memory with an operand
	streams bool // a result goes past the caches
}

// bind joins p to its operands, in the order of Expr.In, and its results, in the order of Expr.Out.
func (p *program) bind(in, out []source, consts []uint64) (*binding, error) {
	b := new(binding)
	return b, b.set(p, in, out, consts)
}

// set is bind in memory there is.
func (b *binding) set(p *program, in, out []source, consts []uint64) error {
	if len(in) != len(p.expr.In) || len(out) != len(p.expr.Out) {
		return fmt.Errorf("%d operands and %d results for a program of %d and %d: %w",
			len(in), len(out), len(p.expr.In), len(p.expr.Out), backend.ErrShape)
	}
	var mask uint64
	for k := range in {
		if in[k].dtype != p.expr.In[k] {
			return fmt.Errorf("operand %d is %s, want %s: %w", k, in[k].dtype, p.expr.In[k], backend.ErrDType)
		}
		if in[k].uniform && k < 64 {
			mask |= 1 << k
		}
	}
	if err := p.check(in, out, consts); err != nil {
		return err
	}
	*b = binding{plan: p.plan(mask), in: in, out: out, consts: consts, alias: overlaps(in, out)}
	return nil
}

// fence puts what went past the caches before what is written from now on.
func (b *binding) fence() {
	if b.streams {
		loops.StoreFence()
	}
}

// check returns an error if an operand that is loaded or a result has no memory, or a constant no value.
func (p *program) check(in, out []source, consts []uint64) error {
	for i := range p.expr.Code {
		switch c := &p.expr.Code[i]; c.Kind {
		case ops.Const:
			if c.Args[0] < 0 || int(c.Args[0]) >= len(consts) {
				return fmt.Errorf("constant %d of %d: %w", c.Args[0], len(consts), backend.ErrShape)
			}
		case ops.Load:
			if s := &in[c.Args[0]]; s.mem == nil && !s.given {
				return fmt.Errorf("operand %d has no memory: %w", c.Args[0], backend.ErrDevice)
			}
		}
	}
	for k := range out {
		if s := &out[k]; s.mem == nil && !s.given && !s.held {
			return fmt.Errorf("result %d has no memory: %w", k, backend.ErrDevice)
		}
	}
	return nil
}

// plan returns the plan for operands of which those in mask are uniform.
func (p *program) plan(mask uint64) *plan {
	p.mu.RLock()
	pl := p.plans[mask]
	p.mu.RUnlock()
	if pl != nil {
		return pl
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if pl = p.plans[mask]; pl == nil {
		pl = newPlan(p, mask)
		p.plans[mask] = pl
	}
	return pl
}

// maxPrograms bounds a cache of compiled kernels.
const maxPrograms = 4096

// A cache holds what kernels were compiled to, by pointer and by content, so that a kernel seen before
// costs one map access. When it is full it starts anew.
type cache struct {
	compiled atomic.Int64

	mu        sync.RWMutex
	byPointer map[any]any
	byKey     map[string]any
}

// cached returns what make made of the kernel k, now or before.
func cached[T any](c *cache, k backend.Kernel, make func() (T, error)) (T, error) {
	c.mu.RLock()
	v, ok := c.byPointer[k]
	c.mu.RUnlock()
	if ok {
		return v.(T), nil
	}
	key := string(k.AppendKey(nil))
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byPointer) >= maxPrograms || c.byPointer == nil {
		c.byPointer = map[any]any{}
		c.byKey = map[string]any{}
	}
	if v, ok := c.byKey[key]; ok {
		c.byPointer[k] = v
		return v.(T), nil
	}
	t, err := make()
	if err != nil {
		return t, err
	}
	c.compiled.Add(1)
	c.byPointer[k], c.byKey[key] = t, t
	return t, nil
}
