package cpu

import "github.com/weft-go/weft/backend"

func (j *job) runGather(*backend.Gather) error { return backend.ErrUnsupported }
