package cpu

import "github.com/weft-go/weft/backend"

func (j *job) runConv(*backend.Conv) error { return backend.ErrUnsupported }
