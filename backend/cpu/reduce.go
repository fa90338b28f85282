package cpu

import "github.com/weft-go/weft/backend"

func (j *job) runReduce(*backend.Reduce) error { return backend.ErrUnsupported }
