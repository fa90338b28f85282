package cpu

import "github.com/weft-go/weft/backend"

func (j *job) runMatMul(*backend.MatMul) error { return backend.ErrUnsupported }
