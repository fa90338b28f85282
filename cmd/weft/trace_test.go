package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTrace runs a program with WEFT_TRACE: this test again, in a process of its own. It does not end properly, and the trace
// is complete all the same.
func TestTrace(t *testing.T) {
	if os.Getenv("WEFT_TRACE") != "" {
		if err := examine(t.Context(), os.Getenv("WEFT_TEST_ON")); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	}
	devices := []string{"cpu"}
	if os.Getenv("WEFT_GPU") == "require" {
		devices = append(devices, "wgpu")
	}
	for _, device := range devices {
		name := filepath.Join(t.TempDir(), "trace.json")
		c := exec.Command(os.Args[0], "-test.run", "^TestTrace$")
		c.Env = append(os.Environ(), "WEFT_TRACE="+name, "WEFT_TEST_ON="+device)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var trace struct {
			TraceEvents []struct{ Name, Cat string }
		}
		if err := json.Unmarshal(raw, &trace); err != nil {
			t.Fatalf("%v:\n%s", err, raw)
		}
		seen := map[string]int{}
		for _, e := range trace.TraceEvents {
			seen[e.Cat]++
		}
		for _, family := range []string{"host", "map", "reduce", "row", "matmul", "scan", "gather"} {
			if seen[family] == 0 {
				t.Errorf("%s: no span of kind %s: %v", device, family, seen)
			}
		}
	}
	c := exec.Command(os.Args[0], "-test.run", "^TestTrace$")
	c.Env = append(os.Environ(), "WEFT_TRACE=/nonexistent/trace.json", "WEFT_TEST_ON=cpu")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("a file that cannot be made ends the program: %v:\n%s", err, out)
	}
}
