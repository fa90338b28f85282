package driver

import "errors"

// A handle is device serial (16 bits) | generation (24) | row (24), so that
// a freed, foreign or made-up handle is never taken for a live one.
const (
	rowBits = 24
	genBits = 24
	rowMask = 1<<rowBits - 1
	genMask = 1<<genBits - 1
)

// table owns the objects of one kind of one device.
type table[T any] struct {
	serial uint64 // of the device, not 0
	rows   []row[T]
	free   []uint32
	live   int
}

type row[T any] struct {
	gen uint32
	v   *T // nil: free
}

// Why a handle is refused.
var (
	errNone    = errors.New("no handle")
	errForeign = errors.New("handle of another device")
	errFreed   = errors.New("handle was freed")
	errFull    = errors.New("too many objects")
)

// put stores v and returns its handle.
func (t *table[T]) put(v *T) (uint64, error) {
	var i uint32
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		if len(t.rows) > rowMask {
			return 0, errFull
		}
		i = uint32(len(t.rows))
		t.rows = append(t.rows, row[T]{})
	}
	r := &t.rows[i]
	r.v = v
	t.live++
	return t.serial<<(rowBits+genBits) | uint64(r.gen)<<rowBits | uint64(i), nil
}

// get returns the object of a handle.
func (t *table[T]) get(h uint64) (*T, error) {
	i := h & rowMask
	switch {
	case h == 0:
		return nil, errNone
	case h>>(rowBits+genBits) != t.serial:
		return nil, errForeign
	case i >= uint64(len(t.rows)) || t.rows[i].v == nil || uint64(t.rows[i].gen) != h>>rowBits&genMask:
		return nil, errFreed
	}
	return t.rows[i].v, nil
}

// drop removes and returns the object of a handle, or nil.
func (t *table[T]) drop(h uint64) *T {
	v, err := t.get(h)
	if err != nil {
		return nil
	}
	i := uint32(h & rowMask)
	r := &t.rows[i]
	r.v = nil
	t.live--
	// A row whose generations are used up is retired.
	if r.gen++; r.gen <= genMask {
		t.free = append(t.free, i)
	}
	return v
}

// each calls f with every object.
func (t *table[T]) each(f func(*T)) {
	for i := range t.rows {
		if v := t.rows[i].v; v != nil {
			f(v)
		}
	}
}
