package wgpu

import (
	"os"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/backendtest"
)

// openTest opens the first adapter. Without one the test is skipped, or fails where WEFT_GPU=require is set.
func openTest(t testing.TB) *engine {
	t.Helper()
	t.Setenv("WEFT_CHECK", "1")
	b, err := backend.Open("wgpu", 0)
	if err != nil {
		if os.Getenv("WEFT_GPU") == "require" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b.(*engine)
}

func TestConformance(t *testing.T) { backendtest.Run(t, openTest(t)) }
