package graph

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/backend"
)

// Eval computes nodes, of one device or of several, and what they need. Other goroutines may call it at the
// same time, for the same nodes too. After an error nothing has changed, and Eval may be called again.
func Eval(ctx context.Context, nodes ...*Node) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, n := range nodes {
		d := n.Device
		if i > 0 && seenDevice(nodes[:i], d) {
			continue
		}
		if err := d.eval(ctx, nodes[i:]); err != nil {
			return err
		}
	}
	return nil
}

func seenDevice(nodes []*Node, d *Device) bool {
	for _, n := range nodes {
		if n.Device == d {
			return true
		}
	}
	return false
}

// eval computes those of nodes that are on d.
func (d *Device) eval(ctx context.Context, nodes []*Node) error {
	for {
		f := &flight{d: d}
		if err := d.lock.Lock(ctx); err != nil {
			return err
		}
		err := f.walk(nodes)
		switch {
		case err != nil || f.work == 0:
			d.lock.Unlock()
			return err
		case f.busy != nil:
			wait := f.busy.wait()
			d.lock.Unlock()
			select {
			case <-wait:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		f.take()
		d.lock.Unlock()
		if f.moves > 0 {
			err = f.move(ctx)
		} else {
			d.stats.evals.Add(1)
			err = f.run(ctx)
		}
		f.land(err == nil)
		if err != nil || f.moves == 0 {
			return err
		}
	}
}

// A flight is one Eval on one device: what it computes, from the walk over the graph to the results.
type flight struct {
	d     *Device
	done  chan struct{} // closed at the end, if anybody waits
	order []*Node       // what the nodes asked for need, inputs before those who read them
	stack []frame
	work  int     // how many of order are to be computed
	moves int     // how many of order are data to be brought to the device first
	busy  *flight // another that computes one of them at the moment

	results []result
}

// A result is the memory that a flight computes a node into.
type result struct {
	n *Node
	s *storage
}

type frame struct {
	n    *Node
	next int // input to visit
}

// walk lists what the nodes on f's device need. The caller holds the lock.
func (f *flight) walk(nodes []*Node) error {
	f.d.walks++
	for _, n := range nodes {
		if n.Device != f.d {
			continue
		}
		if err := f.visit(n); err != nil {
			return err
		}
	}
	return nil
}

func (f *flight) visit(root *Node) error {
	if root.mark == f.d.walks || root.mem.Load() != nil {
		return root.available()
	}
	f.stack = append(f.stack[:0], frame{n: root})
	root.mark = f.d.walks
	for len(f.stack) > 0 {
		top := &f.stack[len(f.stack)-1]
		n := top.n
		if top.next == 0 {
			if err := n.available(); err != nil {
				return err
			}
		}
		if n.mem.Load() == nil && n.kind != kindTransfer && top.next < len(n.in) {
			m := n.in[top.next].Node
			top.next++
			if m.mark != f.d.walks {
				m.mark = f.d.walks
				f.stack = append(f.stack, frame{n: m})
			}
			continue
		}
		f.stack = f.stack[:len(f.stack)-1]
		f.add(n)
	}
	return nil
}

func (f *flight) add(n *Node) {
	n.id = int32(len(f.order))
	f.order = append(f.order, n)
	if n.mem.Load() != nil {
		return
	}
	if n.claim != nil {
		f.busy = n.claim
	}
	f.work++
	if n.kind == kindData || n.kind == kindTransfer {
		f.moves++
	}
}

// take claims what f will compute. The caller holds the lock.
func (f *flight) take() {
	for _, n := range f.order {
		if s := n.mem.Load(); s != nil {
			s.pins++
			continue
		}
		if f.moves == 0 || n.kind == kindData || n.kind == kindTransfer {
			n.claim = f
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
	d := f.d
	if d.lock.Lock(context.Background()) != nil {
		return // cannot happen: the context never ends
	}
	defer d.lock.Unlock()
	for _, n := range f.order {
		if n.claim == f {
			n.claim = nil
		} else if s := n.mem.Load(); s != nil {
			s.unpin()
		}
	}
	for _, r := range f.results {
		if !ok {
			r.s.free()
			continue
		}
		r.n.publish(r.s)
	}
	if f.done != nil {
		close(f.done)
	}
}

// publish gives n its result and forgets how it came about.
func (n *Node) publish(s *storage) {
	if n.gone == goneReleased { // while it was computed
		s.free()
		return
	}
	n.mem.Store(s)
	for _, e := range n.in {
		e.Node.readers.Add(-1)
	}
	n.in, n.attr = nil, nil
}

// move brings data of the program and of other devices to the device.
func (f *flight) move(ctx context.Context) error {
	for _, n := range f.order {
		if n.claim != f {
			continue
		}
		data, ok := n.attr.([]byte)
		if n.kind == kindTransfer {
			var err error
			if data, err = Bytes(ctx, n.in[0]); err != nil {
				return fmt.Errorf("graph: to %s: %w", f.d.name, err)
			}
		} else if !ok {
			continue
		}
		buf, err := f.d.upload(data)
		if err != nil {
			return err
		}
		f.results = append(f.results, result{n, newStorage(buf)})
	}
	return nil
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
	if err := d.b.Write(buf, 0, data); err != nil {
		buf.Release()
		return nil, fmt.Errorf("graph: write of %d bytes to %s: %w", len(data), d.name, err)
	}
	return buf, nil
}
