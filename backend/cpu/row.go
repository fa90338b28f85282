package cpu

import "github.com/weft-go/weft/backend"

func (j *job) runRow(*backend.Row) error { return backend.ErrUnsupported }
