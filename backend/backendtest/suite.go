package backendtest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/env"
)

// Run tests b: every family of kernels on every element type and arrangement in memory against the
// definitions, and the promises of [backend.Backend]. It closes b.
//
// Inputs are random, and the seed is logged: WEFT_SEED=n repeats a run. With -short fewer inputs are drawn, but
// no operation, type or arrangement is left out, unless the device is a [backend.Info].Software one. Kernels that b
// does not support are skipped and counted; with WEFT_STRICT=1 each is a failure.
func Run(t *testing.T, b backend.Backend) {
	t.Helper()
	s := newSuite(b)
	s.short = testing.Short()
	s.sparse = s.short && b.Info().Software
	s.strict = env.On("WEFT_STRICT", false)
	s.run(testingT{t})
}

// A tb is the part of [testing.T] the suite uses, so that its own tests can watch it fail.
type tb interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Run(name string, f func(tb)) bool
}

// A testingT is a [testing.T] as a tb.
type testingT struct{ *testing.T }

func (t testingT) Run(name string, f func(tb)) bool {
	return t.T.Run(name, func(t *testing.T) { f(testingT{t}) })
}

// A suite is the tests of one backend.
type suite struct {
	b      backend.Backend
	seed   uint64
	short  bool
	strict bool
	sparse bool           // run one in eight leaves
	flush  bool           // the backend takes subnormal numbers for 0
	kept   int            // trials run
	skips  map[string]int // kernels not supported, by family and type
}

func newSuite(b backend.Backend) *suite {
	seed := rand.Uint64() % 1_000_000
	if n, err := strconv.ParseUint(os.Getenv("WEFT_SEED"), 10, 64); err == nil {
		seed = n
	}
	flush := slices.Contains(b.Info().Features, backend.FlushesSubnormals)
	return &suite{b: b, seed: seed, flush: flush, skips: make(map[string]int)}
}

// groups are the parts of the suite, in the order they run. The last closes the backend.
var groups = []struct {
	name string
	run  func(*suite, tb)
}{
	{"map", (*suite).testMap},
	{"reduce", (*suite).testReduce},
	{"row", (*suite).testRow},
	{"scan", (*suite).testScan},
	{"matmul", (*suite).testMatMul},
	{"conv", (*suite).testConv},
	{"pool", (*suite).testPool},
	{"gather", (*suite).testGather},
	{"scatter", (*suite).testScatter},
	{"sort", (*suite).testSort},
	{"topk", (*suite).testTopK},
	{"attention", (*suite).testAttention},
	{"contract", (*suite).testContract},
	{"close", (*suite).testClose},
}

func (s *suite) run(t tb) {
	t.Helper()
	t.Logf("backendtest: %s (%s), inputs of WEFT_SEED=%d", s.b.Info().Name, s.b.Info().Adapter, s.seed)
	for _, g := range groups {
		t.Run(g.name, func(t tb) { g.run(s, t) })
	}
	t.Logf("backendtest: %d kernels tested%s", s.kept, s.skipped())
}

// skip counts a kernel that the backend does not support.
func (s *suite) skip(t tb, tr *trial) {
	t.Helper()
	if s.strict {
		t.Errorf("%s: not supported by the backend: %s", tr.name, tr.types())
	}
	s.skips[tr.kernel.Family()+" of "+tr.types()]++
}

// skipped says which kernels were skipped and how many of each.
func (s *suite) skipped() string {
	if len(s.skips) == 0 {
		return ""
	}
	var list []string
	total := 0
	for what, n := range s.skips {
		list = append(list, fmt.Sprintf("%d %s", n, what))
		total += n
	}
	slices.Sort(list)
	return fmt.Sprintf(", %d skipped as not supported:\n\t%s", total, strings.Join(list, "\n\t"))
}

// draw returns the source of random inputs of test t: the same whichever other tests run.
func (s *suite) draw(t tb) *inputs { return s.source(t.Name()) }

func (s *suite) source(name string) *inputs {
	h := fnv.New64a()
	if i := strings.IndexByte(name, '/'); i >= 0 {
		name = name[i:] // without the name of the test that calls Run
	}
	h.Write([]byte(name)) // never fails
	return &inputs{rand.New(rand.NewPCG(s.seed, h.Sum64())), s.flush}
}

// leaf runs a subtest, one of many that differ in an operation or a type alone.
func (s *suite) leaf(t tb, name string, f func(tb)) {
	if !s.sparse || s.source(t.Name()+"/"+name).IntN(8) == 0 {
		t.Run(name, f)
	}
}
