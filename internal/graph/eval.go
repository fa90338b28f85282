package graph

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/hostmem"
)

// Eval computes nodes, of one device or of several, and what they need. Other goroutines may call it at the
// same time, for the same nodes too. After an error nothing has changed, and Eval may be called again.
func Eval(ctx context.Context, nodes ...*Node) error {
	ctx = live(ctx)
	err := compute(ctx, nodes...)
	for i, n := range nodes {
		if d := n.Device; d.starter != nil && !hasDevice(nodes[:i], d) {
			d.starter.Start()
		}
	}
	return err
}

// compute is Eval for a caller who reads the results next: the device may wait for that.
func compute(ctx context.Context, nodes ...*Node) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, n := range nodes {
		if i > 0 && hasDevice(nodes[:i], n.Device) {
			continue
		}
		if err := n.Device.eval(ctx, nodes[i:]); err != nil {
			return err
		}
	}
	return nil
}

func hasDevice(nodes []*Node, d *Device) bool {
	for _, n := range nodes {
		if n.Device == d {
			return true
		}
	}
	return false
}

// eval computes those of nodes that are on d.
func (d *Device) eval(ctx context.Context, nodes []*Node) error {
	if d.evalSmall(ctx, nodes) {
		return nil
	}
	for {
		f := newFlight(d)
		again, err := f.fly(ctx, nodes)
		f.recycle()
		if !again {
			return err
		}
	}
}

// fly computes nodes. It reports again if it has only made ready for that: brought data to the device, or
// waited for another flight.
func (f *flight) fly(ctx context.Context, nodes []*Node) (again bool, err error) {
	d := f.d
	if err := d.lock.Lock(ctx); err != nil {
		return false, err
	}
	m := backend.Begin("walk")
	err = f.walk(nodes)
	m.End()
	if err != nil || f.work == 0 {
		d.lock.Unlock()
		return false, err
	}
	if f.busy != nil {
		wait := f.busy.wait()
		d.lock.Unlock()
		select {
		case <-wait:
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	if f.moves > 0 {
		f.takeMoves()
		d.lock.Unlock()
		err = f.move(ctx)
		f.landMoves(err == nil)
		return err == nil, err
	}
	m = backend.Begin("plan")
	f.binding, err = d.binding(&f.key, f.order, f.facts)
	if m.End(); err != nil {
		d.lock.Unlock()
		return false, err
	}
	f.take()
	d.lock.Unlock()
	d.stats.evals.Add(1)
	err = f.run(ctx)
	f.land(err == nil)
	return false, err
}

// take claims what f computes. The caller holds the lock.
func (f *flight) take() {
	if n := len(f.order); cap(f.bufs) < n {
		f.bufs = make([]backend.Buffer, n)
	} else {
		f.bufs = f.bufs[:n]
	}
	for i, n := range f.order {
		switch s := n.mem.Load(); {
		case s != nil:
			s.pins++
			f.bufs[i] = s.buffer(f.d)
		case f.facts[i].todo:
			n.claim = f
		}
		if f.facts[i].inPlace {
			n.in()[0].Node.gone = goneTorn // from now on it has the old content no more
		}
	}
}

// wait returns a channel that is closed when f is done. The caller holds the lock.
func (f *flight) wait() <-chan struct{} {
	if f.done == nil {
		f.done = make(chan struct{})
	}
	return f.done
}

// land ends the claims of f and, if all went well, gives the nodes their results.
func (f *flight) land(ok bool) {
	f.d.lock.must()
	defer f.d.lock.Unlock()
	for i, n := range f.order {
		switch s := n.mem.Load(); {
		case s != nil:
			s.unpin()
		case f.facts[i].todo:
			n.claim = nil
		}
		if f.facts[i].inPlace && !ok && !f.began {
			n.in()[0].Node.gone = 0
		}
	}
	for _, buf := range f.slots {
		buf.Release()
	}
	if ok {
		f.publish()
	} else {
		for _, buf := range f.fresh {
			buf.Release()
		}
	}
	if f.done != nil {
		close(f.done)
	}
}

// publish gives the nodes their results.
func (f *flight) publish() {
	for _, r := range f.binding.results {
		n := f.order[r.node]
		var s *storage
		switch r.slot {
		case ownSlot:
			s = newStorage(f.d, f.bufs[r.node])
		case inPlaceSlot:
			prev := n.in()[0].Node
			s = prev.mem.Load()
			prev.mem.Store(nil)
			prev.gone = goneOverwritten
		default:
			continue
		}
		n.mem.Store(s) // for a version that is overwritten within f, until that has happened
	}
	for i, n := range f.order {
		if !f.facts[i].todo {
			continue
		}
		n.takePart()
		if s := n.mem.Load(); s != nil {
			n.settle(s, f.facts[i].must || f.facts[i].outside)
		}
	}
}

// takePart takes n, which has taken part in an Eval, from the readers of its inputs.
func (n *Node) takePart() {
	if n.stage == counted {
		n.addToReaders(-1)
	}
	n.stage = took
}

// settle lets n, which has its result in s, forget how it came about, or the result if it is not wanted.
func (n *Node) settle(s *storage, keep bool) {
	if keep && n.gone == 0 {
		n.forget()
		return
	}
	n.mem.Store(nil)
	s.free()
}

// forget lets go of what n was computed from. More inputs than a few may be in one piece of memory with n, so they are cleared.
func (n *Node) forget() {
	if n.more != nil {
		clear(*n.more)
	}
	n.few, n.more = [2]Edge{}, nil
	if n.kind != kindApply { // whose operation keeps no memory
		n.attr = nil
	}
}

// takeMoves claims data to be brought to the device: all that is the program's, or else what one transfer
// brings. While it waits for another device a flight must not hold anything that may be needed there.
func (f *flight) takeMoves() {
	for _, k := range [...]kind{kindData, kindTransfer} {
		for _, n := range f.order {
			if n.kind != k || n.mem.Load() != nil {
				continue
			}
			n.claim = f
			f.moved = append(f.moved, moved{n: n})
			if k == kindTransfer {
				return
			}
		}
		if len(f.moved) > 0 {
			return
		}
	}
}

// move brings data of the program and of other devices to the device.
func (f *flight) move(ctx context.Context) error {
	for i := range f.moved {
		m := &f.moved[i]
		data, _ := m.n.attr.([]byte)
		var err error
		if m.n.kind == kindTransfer {
			if data, err = f.d.fetch(ctx, m.n.in()[0]); err != nil {
				return fmt.Errorf("graph: to %s: %w", f.d.name, err)
			}
		}
		if m.buf, err = f.d.upload(data); err != nil {
			return err
		}
	}
	return nil
}

// landMoves ends the claims of takeMoves.
func (f *flight) landMoves(ok bool) {
	f.d.lock.must()
	defer f.d.lock.Unlock()
	for _, m := range f.moved {
		m.n.claim = nil
		switch {
		case m.buf == nil:
		case !ok || m.n.gone != 0:
			m.buf.Release()
		default:
			m.n.mem.Store(newStorage(f.d, m.buf))
			m.n.takePart()
			m.n.forget()
		}
	}
	if f.done != nil {
		close(f.done)
	}
}

// fetch returns the elements of e, which is on another device, for an upload to d.
func (d *Device) fetch(ctx context.Context, e Edge) ([]byte, error) {
	if d.host == nil {
		return Bytes(ctx, e)
	}
	data := hostmem.Make[byte](e.Node.DType.Bytes(e.Layout.Len())) // d will keep it
	return data, Read(ctx, e, data)
}

// upload returns a buffer that holds data, or that is data where the device can use it in place.
func (d *Device) upload(data []byte) (backend.Buffer, error) {
	if d.host != nil {
		return d.host.Wrap(data), nil
	}
	buf, err := d.alloc(len(data))
	if err != nil {
		return nil, err
	}
	m := backend.Begin("write")
	err = d.b.Write(buf, 0, data)
	if m.End(); err != nil {
		buf.Release()
		return nil, fmt.Errorf("graph: write of %d bytes to %s: %w", len(data), d.name, err)
	}
	return buf, nil
}
