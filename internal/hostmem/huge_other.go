//go:build !linux

package hostmem

func preferHuge([]byte) {}
