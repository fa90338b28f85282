package backendtest

import "testing"

// TestReference runs the suite on the reference, which shows that the suite asks for nothing impossible.
func TestReference(t *testing.T) {
	if testing.Short() {
		t.Skip("TestSound runs parts of it")
	}
	Run(t, Reference())
}
