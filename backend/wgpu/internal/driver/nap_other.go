//go:build !linux

package driver

import "time"

// nap sleeps for a time that may be far below a millisecond.
func nap(d time.Duration) { time.Sleep(d) }
