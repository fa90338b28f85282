package driver

import "context"

// queries is a set of places for time stamps.
type queries struct {
	label string
	n     uint32
	obj   object
}

// maxQueries is WebGPU's limit for one set.
const maxQueries = 4096

func (d *device) NewQueries(label string, n uint32) (Queries, error) {
	switch {
	case !ascii(label):
		return 0, fail(ErrValidation, "queries", "", "label %q is not ASCII", label)
	case !d.info.Features.Has(Timestamps):
		return 0, fail(ErrUnsupported, "queries", label, "feature %v", Timestamps)
	case n == 0 || n > maxQueries:
		return 0, fail(ErrLimit, "queries", label, "%d places, from 1 to %d are possible", n, maxQueries)
	}
	if err := d.lock(context.Background(), "queries", label); err != nil {
		return 0, err
	}
	defer d.unlock()
	obj, err := d.b.newQueries(label, n)
	if err != nil {
		return 0, d.failed("queries", label, err)
	}
	h, err := d.queries.put(&queries{label: label, n: n, obj: obj})
	if err != nil {
		obj.Release()
		return 0, fail(ErrLimit, "queries", label, "%v", err)
	}
	return Queries(h), nil
}

func (d *device) FreeQueries(h Queries) {
	if !d.free() {
		return
	}
	defer d.unlock()
	if q := d.queries.drop(uint64(h)); q != nil {
		q.obj.Release()
	}
}

func (d *device) TimestampPeriod() float64 {
	if !d.info.Features.Has(Timestamps) || !d.free() {
		return 0
	}
	defer d.unlock()
	return d.b.timestampPeriod()
}
