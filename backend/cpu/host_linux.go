package cpu

import (
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// memoryLimit returns the bytes of memory that the machine, or the control group of the process, has.
// Go cannot recover from running out of memory, so asking for more must be refused beforehand.
func memoryLimit() int {
	limit := uint64(defaultMemory)
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err == nil {
		limit = uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // Totalram has 32 bits on some processors
	}
	if s, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(s)), 10, 64); err == nil {
			limit = min(limit, n)
		}
	}
	return int(min(limit, math.MaxInt))
}

// processorName returns the name that the system gives the processor, or its architecture.
func processorName() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}
