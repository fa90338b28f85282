//go:build !linux

package cpu

import "runtime"

// memoryLimit returns a size that no tensor has by intention.
func memoryLimit() int { return defaultMemory }

// processorName returns the architecture.
func processorName() string { return runtime.GOARCH }
