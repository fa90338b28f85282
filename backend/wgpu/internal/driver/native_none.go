//go:build !cgo || js

package driver

import (
	"context"
	"errors"
	"runtime"
)

// here says why this build has no device.
var here native = none{}

type none struct{}

var errNoBinding = func() error {
	if runtime.GOOS == "js" {
		return errors.New("no binding for browsers yet")
	}
	return errors.New("built without cgo (set CGO_ENABLED=1 and install a C compiler)")
}()

func (none) adapters() ([]Info, error) { return nil, errNoBinding }

func (none) open(context.Context, int, Options) (binding, Limits, Features, error) {
	return nil, Limits{}, 0, errNoBinding
}
