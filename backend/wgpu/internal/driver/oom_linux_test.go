package driver_test

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// TestOutOfMemory fills the memory of a software adapter, in a process of its
// own whose address space is bounded.
func TestOutOfMemory(t *testing.T) {
	if os.Getenv("WEFT_TEST_OOM") != "" {
		errOutOfMemory(t)
		return
	}
	if open(t, driver.Options{}).Info().Type != driver.Software {
		t.Skip("would fill a GPU that others use")
	}
	c := exec.Command(os.Args[0], "-test.run", "^TestOutOfMemory$", "-test.v")
	c.Env = append(os.Environ(), "WEFT_TEST_OOM=1")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestOutOfMemory") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func errOutOfMemory(t *testing.T) {
	r := newRig(t, driver.Options{})
	r.works(t)
	const size = 128 << 20
	bound := addressSpace(t) + 1<<30
	ok(t, syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: bound, Max: bound}))
	for range 2 {
		var all []driver.Buffer
		var err error
		for err == nil && len(all) < 100 {
			var b driver.Buffer
			if b, err = r.NewBuffer("filler", size, driver.Storage); err == nil {
				all = append(all, b)
			}
		}
		if !errors.Is(err, driver.ErrMemory) || !strings.Contains(err.Error(), "filler") {
			t.Fatalf("after %d buffers: %v", len(all), err)
		}
		if r.Err() != nil {
			t.Fatalf("the device is %v", r.Err())
		}
		for _, b := range all {
			r.FreeBuffer(b)
		}
		r.works(t)
	}
}

// addressSpace is the size of this process's in bytes.
func addressSpace(t *testing.T) uint64 {
	raw := must(os.ReadFile("/proc/self/statm"))(t)
	pages := must(strconv.ParseUint(strings.Fields(string(raw))[0], 10, 64))(t)
	return pages * uint64(os.Getpagesize())
}
