package cpu

import "github.com/weft-go/weft/backend"

func (j *job) runPool(*backend.Pool) error { return backend.ErrUnsupported }
