package wgpu

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

func init() {
	backend.Register("wgpu", backend.Registration{Open: open, Rank: 10})
}

// wanted are the features kernels make use of where a device has them.
const wanted = driver.F16 | driver.F64 | driver.I64 | driver.Subgroups | driver.Timestamps

// open opens adapter number index, 0 being the most capable.
func open(index int) (backend.Backend, error) {
	list, err := driver.Adapters()
	if err != nil {
		return nil, translate(err)
	}
	if index < 0 || index >= len(list) {
		return nil, fmt.Errorf("wgpu: adapter %d of %d: %w", index, len(list), backend.ErrDevice)
	}
	dev, err := driver.Open(context.Background(), list[index].Index, driver.Options{Features: wanted})
	if err != nil {
		return nil, translate(err)
	}
	e, err := newEngine(dev)
	if err != nil {
		return nil, err
	}
	for _, probe := range []func() error{e.probe, e.probeUnpack, e.probeSubgroups} {
		if err := probe(); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, nil
}
