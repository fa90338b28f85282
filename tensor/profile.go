package tensor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/internal/trace"
)

// A Report says what kernels ran while [Profile] watched, and what time they took. In a nil or zero one none did.
type Report struct {
	Kernels []KernelTime  // the longest total first
	Wall    time.Duration // of the whole
	Device  time.Duration // that kernels took together

	begin time.Time
	spans []backend.Span
}

// A KernelTime is what the launches of one kernel took together.
type KernelTime struct {
	Device   string // that ran it
	Name     string // its family and the operations in it, as "map.mul.add"
	Family   string // "map", "reduce", "row", "scan", "matmul", …
	Launches int
	Total    time.Duration
	Bytes    int64   // read and written by them all
	Share    float64 // of the time of all kernels, 0 to 1
}

// Mean returns the time of a launch.
func (k KernelTime) Mean() time.Duration { return k.Total / time.Duration(max(k.Launches, 1)) }

// GBs returns how many gigabytes a second were read and written.
func (k KernelTime) GBs() float64 { return float64(k.Bytes) / float64(max(k.Total.Nanoseconds(), 1)) }

// Profile runs f and reports the kernels that ran meanwhile on any device, those of other goroutines too. GPUs time
// kernels by their own clock, each between two time stamps, with nothing else under way; that makes an evaluation
// slower by some microseconds a kernel. Where there is no such clock, and on the CPU, kernels run one at a time and are
// waited for. The compiling
// that weft asks for is not in a kernel's time, nor the waiting for the device. But a driver may put off compiling until a
// kernel first runs, as Mesa's do, and then the first run of a kernel includes that. The error is that of f, or
// of ctx, which bounds the waiting for the device at the end. When nobody profiles, that it could be done costs nothing.
//
// The environment variable WEFT_TRACE, with the name of a file, has all of a program's spans written there.
func Profile(ctx context.Context, f func() error) (*Report, error) {
	r := &Report{begin: time.Now()}
	if f == nil {
		return r, fail("profile", errNil, "function is nil").Err()
	}
	var err error
	r.spans, err = graph.Profile(ctx, func() error {
		defer func() { r.Wall = time.Since(r.begin) }()
		return f()
	})
	type id struct{ device, name string }
	rows := map[id]*KernelTime{}
	for _, s := range r.spans {
		if s.Device == "" {
			continue
		}
		k := rows[id{s.Device, s.Name}]
		if k == nil {
			k = &KernelTime{Device: s.Device, Name: s.Name, Family: s.Family}
			rows[id{s.Device, s.Name}] = k
		}
		k.Launches++
		k.Total += s.Duration
		k.Bytes += int64(s.Bytes)
		r.Device += s.Duration
	}
	for _, k := range rows {
		k.Share = float64(k.Total) / float64(max(r.Device, 1))
		r.Kernels = append(r.Kernels, *k)
	}
	slices.SortFunc(r.Kernels, func(a, b KernelTime) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), strings.Compare(a.Name, b.Name))
	})
	return r, err
}

// String returns a table: a kernel a line, the longest total first.
func (r *Report) String() string {
	if r == nil {
		r = new(Report)
	}
	width := len("kernel")
	for _, k := range r.Kernels {
		width = max(width, len(k.Name))
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%-*s %8s %12s %12s %10s %8s %6s\n", width, "kernel", "launches", "total", "mean", "MB", "GB/s", "share")
	for _, k := range r.Kernels {
		fmt.Fprintf(&s, "%-*s %8d %12s %12s %10.3f %8.1f %5.1f%%\n", width, k.Name, k.Launches, micro(k.Total), micro(k.Mean()),
			float64(k.Bytes)/1e6, k.GBs(), 100*k.Share)
	}
	fmt.Fprintf(&s, "%s of kernels in %s\n", micro(r.Device), micro(r.Wall))
	return s.String()
}

// micro prints a time in microseconds.
func micro(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d)/1e3) }

// WriteTrace writes what happened as a Chrome trace, for chrome://tracing or ui.perfetto.dev: kernels on their devices,
// and what goroutines did for them: walk and plan (of the graph), allocate, write (to the device), record and compile (of
// kernels), submit, within it encode, read, within it wait.
func (r *Report) WriteTrace(w io.Writer) error {
	switch {
	case w == nil:
		return fail("writetrace", errNil, "writer is nil").Err()
	case r == nil:
		r = new(Report)
	}
	return trace.Write(w, r.begin, r.spans)
}
