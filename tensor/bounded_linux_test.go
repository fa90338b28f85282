package tensor_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// inBoundedProcess runs the tests that pattern names in a process of their own, with the environment variable name set.
func inBoundedProcess(name, pattern string) error {
	c := exec.Command(os.Args[0], "-test.run", pattern, "-test.v")
	c.Env = append(os.Environ(), name+"=1")
	out, err := c.CombinedOutput()
	switch {
	case err != nil:
		return fmt.Errorf("%w:\n%s", err, out)
	case !strings.Contains(string(out), "--- PASS: "):
		return fmt.Errorf("%s ran nothing:\n%s", pattern, out)
	}
	return nil
}

// boundAddressSpace lets this process have as many bytes more than it has.
func boundAddressSpace(t *testing.T, more uint64) {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseUint(strings.Fields(string(raw))[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	bound := pages*uint64(os.Getpagesize()) + more
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: bound, Max: bound}); err != nil {
		t.Fatal(err)
	}
}
