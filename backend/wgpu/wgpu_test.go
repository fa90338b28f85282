package wgpu

import (
	"os"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/backendtest"
)

// openTest opens the first adapter. Without a GPU the test is skipped; where WEFT_GPU=require is set it runs on software
// Vulkan too, and fails without that.
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
	if b.Info().Software && os.Getenv("WEFT_GPU") != "require" {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		t.Skip("software Vulkan, on which this takes minutes: WEFT_GPU=require runs it")
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b.(*engine)
}

func TestConformance(t *testing.T) { backendtest.Run(t, openTest(t)) }
