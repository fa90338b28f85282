package wgpu

import (
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A sorting is a Sort under way: rows of n elements by their keys, of which the first kept are wanted.
type sorting struct {
	temporaries
	rows, n, kept int
	keys          *buffer
	width         int     // words of a key
	bits          int     // of a key that differ
	values        bool    // are wanted, not positions
	sorted        *buffer // keys in order, of which the values are made
}

const (
	// segment is how many elements one workgroup sorts in its own memory.
	segment = 1024
	// mostChosen is how many of a longer row are chosen; more are the first of the sorted row.
	mostChosen = 512
	// leastChoice is how many elements a row has at least of which it is faster to choose a few than to sort all.
	leastChoice = 512
)

// lowerSort records a sort. Keys of the elements are unsigned integers in their order. Rows of up to
// segment elements are sorted in the memory of a workgroup, longer ones by radix; where a few elements of the latter are
// wanted, they are chosen first. The last kernel reads the elements found, or has their positions.
func (e *engine) lowerSort(s *backend.Step, k *backend.Sort) error {
	if s.Shape.Len() == 0 {
		return nil
	}
	e.checks = nil // the indices are our own
	last := len(s.Shape) - 1
	o := newSorting(e, s)
	o.values = !k.Index
	defer o.release()
	places, each, err := o.places(s.In[0], k.Descending)
	if err != nil {
		return err
	}
	index := o.head(places, ops.Int32, s.Shape, each)
	if o.sorted != nil {
		return o.read(s, k, index)
	}
	flat := backend.Step{Shape: s.Shape, In: append([]backend.Operand{index}, s.In[1:]...), Out: s.Out, Consts: s.Consts}
	if k.Index {
		return e.lowerMap(&flat, &backend.Map{Body: k.Post})
	}
	row := s.In[0]
	l := backend.Layout{Shape: append(s.Shape.Clone(), o.n), Offset: row.Layout.Offset}
	l.Strides = append(append(append([]int(nil), row.Layout.Strides[:last]...), 0), row.Layout.Strides[last])
	row.Layout = l
	flat.In = append([]backend.Operand{row}, flat.In...)
	return e.lowerGather(&flat, &backend.Gather{Post: k.Post})
}

// head is the first of each row of words of the engine's own.
func (o *sorting) head(b *buffer, d ops.DType, shape backend.Shape, each int) backend.Operand {
	x := dense(b, d, shape)
	last := len(shape) - 1
	x.Layout.Strides = append(shape[:last:last], each).Strides()
	return x
}

func newSorting(e *engine, s *backend.Step) *sorting {
	last := len(s.Shape) - 1
	size := s.In[0].DType.Size()
	return &sorting{
		temporaries: temporaries{e: e}, rows: s.Shape[:last].Len(), n: s.In[0].Layout.Shape[last], kept: s.Shape[last],
		width: (size + 3) / 4, bits: 8 * size,
	}
}

// encode records the kernel that makes the keys of x, dense.
func (o *sorting) encode(x backend.Operand, descending bool) (*buffer, error) {
	keys, err := o.words(o.rows * o.n * o.width)
	if err != nil {
		return nil, err
	}
	to := ops.Uint32
	if o.width == 2 {
		to = ops.Int64
	}
	s := backend.Step{Shape: x.Layout.Shape, In: []backend.Operand{x}, Out: []backend.Operand{dense(keys, to, x.Layout.Shape)}}
	p := postKernel{mapKernel: mapKernel{domain: o.e.newDomain(&s), body: loads[to]}}
	grid := o.e.spread(&p.mapKernel, nil)
	r := reader{domain: &p.domain, places: p.places}
	p.found = func(t *text) { r.address(t, 0, "i0", &p.in[0]) }
	p.value = func(t *text, lane int) string { return sortKey(x.DType, descending, r.load(t, 0, x.DType, lane)) }
	pipe, err := o.e.pipeline(p.appendKey([]byte{'k', 'e', 'y', flag(descending)}), func() (source, error) {
		return p.source("sort.keys", "", p.write)
	})
	if err != nil {
		return nil, err
	}
	return keys, o.e.record(p.launch(pipe, grid, &p.block))
}

// sortKey returns the key of v, a register of type d: a u32, or of 64 bits a vec2<u32>.
func sortKey(d ops.DType, descending bool, v string) string {
	mask := fmt.Sprintf("0x%xu", uint32(1<<min(8*d.Size(), 32)-1))
	key := encode(d, v)
	switch d {
	case ops.Int64:
		if descending {
			return fmt.Sprintf("(%s ^ vec2<u32>(0xffffffffu, 0x7fffffffu))", key)
		}
		return fmt.Sprintf("(%s ^ vec2<u32>(0u, 0x80000000u))", key)
	case ops.Float32:
		key = fmt.Sprintf("key_f32_(%s)", v)
	case ops.Float16:
		key = fmt.Sprintf("key_half_(%s, 0x7c00u)", key)
	case ops.BFloat16:
		key = fmt.Sprintf("key_half_(%s, 0x7f80u)", key)
	case ops.Int8:
		key = fmt.Sprintf("(%s ^ 0x80u)", key)
	case ops.Int32:
		key = fmt.Sprintf("(%s ^ 0x80000000u)", key)
	}
	switch {
	case !descending:
		return key
	case d.IsFloat():
		return fmt.Sprintf("descending_(%s, %s)", key, mask)
	}
	return fmt.Sprintf("(%s ^ %s)", key, mask)
}

// places records what finds the positions of the elements of x in order: each words a row, of which the first kept are wanted.
func (o *sorting) places(x backend.Operand, descending bool) (places *buffer, each int, err error) {
	if o.n > segment && o.kept <= mostChosen || o.n > leastChoice && o.kept <= o.n/4 && o.kept <= mostLeast {
		places, err = o.choose(x, descending, o.e.selectEach())
		return places, o.kept, err
	}
	if o.keys, err = o.encode(x, descending); err != nil {
		return nil, 0, err
	}
	if o.n <= segment {
		places, err = o.segments()
		return places, o.kept, err
	}
	keyed := o.values && o.width == 1
	places, err = o.radix(o.e.radixBlock(), keyed, keyed && !x.DType.IsFloat())
	return places, o.n, err
}
