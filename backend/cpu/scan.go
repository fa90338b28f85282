package cpu

import "github.com/weft-go/weft/backend"

func (j *job) runScan(*backend.Scan) error { return backend.ErrUnsupported }
