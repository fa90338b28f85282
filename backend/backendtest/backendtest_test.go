package backendtest

import "testing"

// TestReference runs the suite on the reference, which shows that the suite asks for nothing impossible. It draws
// as few inputs as with -short: both sides are slow.
func TestReference(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("TestSound runs parts of it")
	}
	s := newSuite(Reference())
	s.short = true
	s.run(testingT{t})
}
