//go:build !linux

package cpu

// memoryLimit returns a size that no tensor has by intention.
func memoryLimit() int { return defaultMemory }
