package driver

import (
	"context"
	"sync"
	"sync/atomic"
)

// registry lists the adapters once a process and opens devices one at a time.
var registry struct {
	sync.Mutex
	list []Info
	err  error
	done bool
}

// serials number the devices of the process, for their handles.
var serials atomic.Uint32

// Adapters lists the adapters of this machine, the most capable first:
// discrete, integrated, other, software. The list is made once a process.
// With none it fails with ErrUnavailable and says what is missing.
func Adapters() ([]Info, error) {
	registry.Lock()
	defer registry.Unlock()
	return adapters()
}

func adapters() ([]Info, error) {
	r := &registry
	if !r.done {
		r.list, r.err = here.adapters()
		r.done = true
	}
	if r.err != nil {
		return nil, &Error{Op: "adapters", Err: ErrUnavailable, Detail: r.err.Error()}
	}
	return append([]Info(nil), r.list...), nil
}

// Open opens the adapter with the given Info.Index, with the adapter's own
// limits unless o says otherwise.
func Open(ctx context.Context, index int, o Options) (Device, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Error{Op: "open", Err: err}
	}
	registry.Lock()
	defer registry.Unlock()
	list, err := adapters()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(list) {
		return nil, fail(ErrUnavailable, "open", "", "adapter %d of %d", index, len(list))
	}
	info := list[index]
	o.Features &= info.Features
	b, lim, feat, err := here.open(ctx, index, o)
	if err != nil {
		return nil, &Error{Op: "open", Label: info.Name, Err: ErrUnavailable, Detail: oneLine(err.Error())}
	}
	info.Limits, info.Features = lim, feat
	return newDevice(info, b), nil
}
