package driver

import (
	"context"
	"strings"
)

func (d *device) Submit(cmds []Command) (Ticket, error) {
	if err := d.lock(context.Background(), "submit", ""); err != nil {
		return 0, err
	}
	defer d.unlock()
	return d.submit("submit", "", cmds)
}

// submit is Submit under the lock. With no commands it hands the library an
// empty list, which makes it take the writes so far to the device.
func (d *device) submit(op, label string, cmds []Command) (Ticket, error) {
	steps, err := d.resolve(cmds)
	// The scratch keeps no objects alive after the call.
	defer func() { clear(steps); d.steps = steps[:0] }()
	if err != nil {
		return 0, err
	}
	commands, err := d.b.encode(steps)
	if err != nil {
		if label == "" {
			label = d.culprit(err.Error(), cmds)
		}
		return 0, d.failed(op, label, err)
	}
	t := d.submitted.Load() + 1
	d.poll.native.Lock()
	d.b.submit(commands, func() { d.complete(t) })
	d.submitted.Store(t)
	d.b.poll() // or nothing that earlier submissions held is freed
	d.poll.native.Unlock()
	d.pending = 0
	return Ticket(t), nil
}

// complete notes that submission t is done. It runs inside native calls.
func (d *device) complete(t uint64) {
	for {
		now := d.completed.Load()
		if now >= t || d.completed.CompareAndSwap(now, t) {
			return
		}
	}
}

// culprit is the label of the kernel that the library's error names, or of
// all kernels if it names none.
func (d *device) culprit(text string, cmds []Command) string {
	var labels []string
	seen := map[Pipeline]bool{}
	for i := range cmds {
		c := &cmds[i]
		if c.Op != Dispatch || seen[c.Pipeline] {
			continue
		}
		seen[c.Pipeline] = true
		p, err := d.pipelines.get(uint64(c.Pipeline))
		if err != nil || p.label == "" {
			continue
		}
		if strings.Contains(text, "'"+p.label+"'") {
			return p.label
		}
		labels = append(labels, p.label)
	}
	const most = 4
	if len(labels) > most {
		labels = append(labels[:most], "…")
	}
	return strings.Join(labels, ", ")
}

// resolve checks the commands and turns them into steps. The result uses the
// device's scratch, also after an error.
func (d *device) resolve(cmds []Command) ([]step, error) {
	s := stepper{d: d, cmds: cmds, steps: d.steps[:0]}
	for i := range cmds {
		if err := s.add(i); err != nil {
			return s.steps, err
		}
	}
	s.end()
	return s.steps, nil
}

// stepper turns commands into steps, putting dispatches into passes.
type stepper struct {
	d     *device
	cmds  []Command
	steps []step
	open  bool // a pass is open

	// The last pipeline and group seen, as most dispatches repeat one.
	pipeline Pipeline
	group    Group
	p        *pipeline
	g        *group
}

func (s *stepper) add(i int) error {
	switch c := &s.cmds[i]; c.Op {
	case Dispatch:
		return s.dispatch(i, c)
	case Copy:
		s.end()
		return s.copy(i, c)
	case Clear:
		s.end()
		return s.clear(i, c)
	case Timestamp:
		return s.timestamp(i, c)
	case Resolve:
		s.end()
		return s.resolve(i, c)
	default:
		return fail(ErrValidation, "submit", "", "command %d: op %d", i, c.Op)
	}
}

// begin opens a pass for the dispatches from command i on. A time stamp that
// ends the run of dispatches is written by the pass, so it is looked for here.
func (s *stepper) begin(i int) error {
	st := step{kind: stepBegin, x: noQuery, y: noQuery}
	for ; i < len(s.cmds) && s.cmds[i].Op == Dispatch; i++ {
	}
	if i < len(s.cmds) && s.cmds[i].Op == Timestamp {
		q, err := s.queries(i, &s.cmds[i])
		if err != nil {
			return err
		}
		st.obj, st.y = q.obj, s.cmds[i].Query
	}
	s.steps = append(s.steps, st)
	s.open = true
	return nil
}

func (s *stepper) end() {
	if s.open {
		s.steps = append(s.steps, step{kind: stepEnd})
		s.open = false
	}
}

// timestamp ends the open pass, which writes it, or makes an empty pass.
func (s *stepper) timestamp(i int, c *Command) error {
	if s.open {
		s.end()
		return nil
	}
	q, err := s.queries(i, c)
	if err != nil {
		return err
	}
	s.steps = append(s.steps, step{kind: stepBegin, obj: q.obj, x: c.Query, y: noQuery}, step{kind: stepEnd})
	return nil
}

func (s *stepper) queries(i int, c *Command) (*queries, error) {
	q, err := s.d.queries.get(uint64(c.Queries))
	if err != nil {
		return nil, fail(ErrHandle, "submit", "", "command %d: queries: %v", i, err)
	}
	if c.Query >= q.n {
		return nil, fail(ErrValidation, "submit", q.label, "command %d: query %d of %d", i, c.Query, q.n)
	}
	return q, nil
}

func (s *stepper) dispatch(i int, c *Command) error {
	if err := s.kernel(i, c); err != nil {
		return err
	}
	g, lim := s.g, &s.d.info.Limits
	for _, n := range c.Grid {
		if n > lim.Groups {
			return fail(ErrLimit, "submit", s.p.label, "command %d: grid %v, the limit is %d in each dimension", i, c.Grid, lim.Groups)
		}
	}
	switch {
	case !g.dynamic && c.Offset != 0:
		return fail(ErrValidation, "submit", s.p.label, "command %d: offset %d without a Params slot", i, c.Offset)
	case c.Offset%lim.UniformAlign != 0:
		return fail(ErrValidation, "submit", s.p.label, "command %d: offset %d is not a multiple of %d", i, c.Offset, lim.UniformAlign)
	case uint64(c.Offset) > g.params:
		return fail(ErrValidation, "submit", s.p.label, "command %d: offset %d, the last possible is %d", i, c.Offset, g.params)
	}
	if !s.open {
		if err := s.begin(i); err != nil {
			return err
		}
	}
	s.steps = append(s.steps, step{
		kind: stepDispatch, pipeline: s.p.obj, group: g.obj, dynamic: g.dynamic,
		offset: c.Offset, x: c.Grid[0], y: c.Grid[1], z: c.Grid[2],
	})
	return nil
}

// kernel looks up the pipeline and the group of a dispatch.
func (s *stepper) kernel(i int, c *Command) error {
	d := s.d
	if s.p != nil && c.Pipeline == s.pipeline && c.Group == s.group {
		return nil
	}
	p, err := d.pipelines.get(uint64(c.Pipeline))
	if err != nil {
		return fail(ErrHandle, "submit", "", "command %d: pipeline: %v", i, err)
	}
	g, err := d.groups.get(uint64(c.Group))
	if err != nil {
		return fail(ErrHandle, "submit", p.label, "command %d: group: %v", i, err)
	}
	if p.key != g.key {
		return fail(ErrValidation, "submit", p.label, "command %d: group %s has the slots %s, the kernel %s", i, g.label, g.key, p.key)
	}
	for k, h := range g.bufs {
		if _, err := d.buffers.get(uint64(h)); err != nil {
			return fail(ErrHandle, "submit", p.label, "command %d: binding %d: %v", i, k, err)
		}
	}
	s.pipeline, s.group, s.p, s.g = c.Pipeline, c.Group, p, g
	return nil
}

// buffer looks up a buffer of one of the uses and checks a range of it.
func (s *stepper) buffer(i int, what string, h Buffer, off, size uint64, uses ...Usage) (*buffer, error) {
	b, err := s.d.buffers.get(uint64(h))
	if err != nil {
		return nil, fail(ErrHandle, "submit", "", "command %d: %s: %v", i, what, err)
	}
	usable := false
	for _, u := range uses {
		usable = usable || b.usage == u
	}
	switch {
	case !usable:
		return nil, fail(ErrValidation, "submit", b.label, "command %d: %s: a %v buffer cannot be one", i, what, b.usage)
	case off%4 != 0 || size%4 != 0:
		return nil, fail(ErrValidation, "submit", b.label, "command %d: %s: %d bytes at %d, multiples of 4 are needed", i, what, size, off)
	case !b.holds(off, size):
		return nil, fail(ErrValidation, "submit", b.label, "command %d: %s: %d bytes at %d of %d", i, what, size, off, b.size)
	}
	return b, s.d.settle("submit", b)
}

func (s *stepper) copy(i int, c *Command) error {
	src, err := s.buffer(i, "source", c.Src, c.SrcOff, c.Size, Storage, Upload, Results)
	if err != nil {
		return err
	}
	dst, err := s.buffer(i, "destination", c.Dst, c.DstOff, c.Size, Storage, Uniform, Readback)
	if err != nil {
		return err
	}
	if src == dst {
		return fail(ErrValidation, "submit", src.label, "command %d: copy within one buffer", i)
	}
	s.steps = append(s.steps, step{kind: stepCopy, obj: src.obj, off: c.SrcOff, dst: dst.obj, dstOff: c.DstOff, size: c.Size})
	return nil
}

func (s *stepper) clear(i int, c *Command) error {
	dst, err := s.buffer(i, "destination", c.Dst, c.DstOff, c.Size, Storage, Uniform)
	if err != nil || c.Size == 0 {
		return err
	}
	s.steps = append(s.steps, step{kind: stepClear, dst: dst.obj, dstOff: c.DstOff, size: c.Size})
	return nil
}

func (s *stepper) resolve(i int, c *Command) error {
	q, err := s.queries(i, c)
	if err != nil {
		return err
	}
	if c.Count == 0 || c.Count > q.n-c.Query {
		return fail(ErrValidation, "submit", q.label, "command %d: %d queries from %d of %d", i, c.Count, c.Query, q.n)
	}
	const align = 256 // WebGPU's for the destination of a resolve
	if c.DstOff%align != 0 {
		return fail(ErrValidation, "submit", q.label, "command %d: offset %d is not a multiple of %d", i, c.DstOff, align)
	}
	dst, err := s.buffer(i, "destination", c.Dst, c.DstOff, 8*uint64(c.Count), Results)
	if err != nil {
		return err
	}
	s.steps = append(s.steps, step{kind: stepResolve, obj: q.obj, x: c.Query, y: c.Count, dst: dst.obj, dstOff: c.DstOff})
	return nil
}
