package driver

import (
	"syscall"
	"time"
)

// nap sleeps for a time far below a millisecond, which time.Sleep rounds up
// to one on Linux when the process is idle (go.dev/issue/44343).
func nap(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil) // cut short by a signal: the caller looks again
}
