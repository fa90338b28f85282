package cpu_test

import (
	"testing"

	"github.com/weft-go/weft/backend/backendtest"
)

func TestConformance(t *testing.T) { backendtest.Run(t, device(t)) }
