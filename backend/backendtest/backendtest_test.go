package backendtest

import "testing"

func TestReference(t *testing.T) { Run(t, Reference()) }
