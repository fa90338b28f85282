package tensor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/tensor"
)

// profiled evaluates a graph of three kernels a few times under Profile.
func profiled(t *testing.T, rounds int) *tensor.Report {
	t.Helper()
	x := tensor.Randn(tensor.Float32, 1, 40, 50)
	if err := tensor.Eval(ctx, x); err != nil {
		t.Fatal(err)
	}
	r, err := tensor.Profile(ctx, func() error {
		for range rounds {
			y := x.AddScalar(1).MulScalar(2)
			z := x.MatMul(x.T()).Softmax(-1)
			if err := tensor.Eval(ctx, y, z); err != nil {
				return err
			}
			if _, err := tensor.Data[float32](ctx, z); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if backend.Tracing() {
		t.Error("still tracing")
	}
	return r
}

func TestProfile(t *testing.T) {
	const rounds = 3
	r := profiled(t, rounds)
	share, families := 0.0, []string{}
	for i, k := range r.Kernels {
		share += k.Share
		families = append(families, k.Family)
		if k.Launches != rounds || k.Total <= 0 || k.Mean() != k.Total/rounds || k.Device == "" || !strings.HasPrefix(k.Name, k.Family) {
			t.Errorf("%+v", k)
		}
		if i > 0 && k.Total > r.Kernels[i-1].Total {
			t.Errorf("the order is not that of time: %+v", r.Kernels)
		}
		if k.Name == "map.add.mul" && (k.Bytes != rounds*2*4*40*50 || math.Abs(k.GBs()-float64(k.Bytes)/float64(k.Total)) > 1e-9) {
			t.Errorf("%+v", k)
		}
	}
	slices.Sort(families)
	if !slices.Equal(families, []string{"map", "matmul", "row"}) || math.Abs(share-1) > 1e-6 {
		t.Errorf("%v, shares of %v together", families, share)
	}
	if r.Device <= 0 || r.Wall < r.Device {
		t.Errorf("%v of kernels in %v", r.Device, r.Wall)
	}
	for _, w := range []string{"kernel ", "map.add.mul", "launches", "GB/s", "share", " of kernels in "} {
		if !strings.Contains(r.String(), w) {
			t.Errorf("the table does not say %q:\n%s", w, r)
		}
	}
	broken := errors.New("broken")
	if r, err := tensor.Profile(ctx, func() error { return broken }); !errors.Is(err, broken) || len(r.Kernels) != 0 {
		t.Errorf("%v, %v", r, err)
	}
}

// A traceFile is a Chrome trace, as far as it is checked.
type traceFile struct {
	DisplayTimeUnit string
	TraceEvents     []struct {
		Name, Cat, Ph string
		TS, Dur       *float64
		PID, TID      *int
		Args          map[string]any
	}
}

// TestWriteTrace checks a trace against the format, and that its times fit into each other.
func TestWriteTrace(t *testing.T) {
	r := profiled(t, 2)
	var text bytes.Buffer
	if err := r.WriteTrace(&text); err != nil {
		t.Fatal(err)
	}
	var f traceFile
	decoder := json.NewDecoder(&text)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		t.Fatal(err)
	}
	processes, host, kernels := map[int]string{}, map[string]int{}, 0
	type span struct{ from, to float64 }
	lanes := map[[2]int][]span{}
	wall := float64(r.Wall.Nanoseconds())/1e3 + 1
	for _, e := range f.TraceEvents {
		if e.TS == nil || e.Dur == nil || e.PID == nil || e.TID == nil || e.Name == "" {
			t.Fatalf("fields are missing: %+v", e)
		}
		if e.Ph == "M" {
			processes[*e.PID], _ = e.Args["name"].(string)
			continue
		}
		if e.Ph != "X" || e.Cat == "" || *e.TS < 0 || *e.Dur < 0 || *e.TS+*e.Dur > wall || processes[*e.PID] == "" {
			t.Errorf("%+v in %v µs", e, wall)
		}
		lane := [2]int{*e.PID, *e.TID}
		lanes[lane] = append(lanes[lane], span{*e.TS, *e.TS + *e.Dur})
		if processes[*e.PID] == "program" {
			host[e.Name]++
			continue
		}
		kernels++
		if b, ok := e.Args["bytes"].(float64); !ok || b <= 0 {
			t.Errorf("kernel without bytes: %+v", e)
		}
	}
	for lane, spans := range lanes { // spans of a lane lie beside or within each other
		for i, a := range spans {
			for _, b := range spans[:i] {
				const slack = 0.01 // of a microsecond, for rounding
				if a.from < b.from-slack && b.from < a.to-slack && a.to < b.to-slack ||
					b.from < a.from-slack && a.from < b.to-slack && b.to < a.to-slack {
					t.Errorf("lane %v: %v and %v overlap", lane, a, b)
				}
			}
		}
	}
	names := []string{"walk", "plan", "allocate", "read"}
	if tensor.Ones(tensor.Bool, 1).Device().Info().Name == "wgpu" {
		names = append(names, "record", "submit", "encode", "wait")
	}
	for _, w := range names {
		if host[w] == 0 {
			t.Errorf("no span %q: %v", w, host)
		}
	}
	if kernels != 6 || len(processes) < 2 {
		t.Errorf("%d kernels, processes %v", kernels, processes)
	}
}

// TestMeasure measures a device of its own, after which explanations expect times.
func TestMeasure(t *testing.T) {
	d := ownDevice(t)
	x := tensor.Iota(tensor.Float32, 1000, 10).To(d).Exp()
	first, err := tensor.Explain(x)
	if err != nil || first.Kernels[len(first.Kernels)-1].Expected != 0 {
		t.Errorf("%v, %v", first, err)
	}
	p, err := tensor.Measure(ctx, d)
	if err != nil || p.Bytes < 1e6 || p.Flops < 1e6 || p.Launch <= 0 {
		t.Fatalf("%v, %v", p, err)
	}
	t.Log(p)
	if again, err := tensor.Measure(ctx, d); err != nil || again != p {
		t.Errorf("measured again: %v, %v", again, err)
	}
	e, err := tensor.Explain(x)
	if err != nil {
		t.Fatal(err)
	}
	k := e.Kernels[len(e.Kernels)-1]
	seconds := max(float64(k.Bytes)/p.Bytes, float64(k.Flops)/p.Flops, p.Launch.Seconds())
	if k.Flops != 10_000 || math.Abs(k.Expected.Seconds()-seconds) > 1e-8 || !strings.Contains(e.String(), "µs expected") {
		t.Errorf("%+v, want %v s", k, seconds)
	}
}

// TestGatherBytes checks that a look-up in a table counts what it finds, not the table.
func TestGatherBytes(t *testing.T) {
	table := tensor.New(make([]float32, 1000*8), 1000, 8)
	e, err := tensor.Explain(table.Take(0, tensor.New([]int32{3, 4})))
	if err != nil || len(e.Kernels) != 1 || e.Kernels[0].Bytes != 2*2*8*4+2*4 {
		t.Errorf("%v, %v", e, err)
	}
}

// TestFlops checks the operations that kernels count.
func TestFlops(t *testing.T) {
	ones := func(shape ...int) *tensor.Tensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return tensor.New(make([]float32, n), shape...)
	}
	for name, c := range map[string]struct {
		x    *tensor.Tensor
		want int
	}{
		"map":    {ones(3, 4).AddScalar(1).Exp(), 24},
		"matmul": {ones(2, 3, 5).MatMul(ones(5, 7)), 2 * 2 * 3 * 5 * 7},
		"conv":   {ones(2, 4, 9).Conv1d(ones(6, 2, 3), tensor.ConvOptions{Groups: 2}), 2 * 2 * 6 * 7 * 2 * 3},
		"convT":  {ones(2, 4, 9).ConvTranspose1d(ones(4, 5, 3), tensor.ConvOptions{}), 2 * 2 * 4 * 9 * 5 * 3},
		"pool":   {ones(2, 8).MaxPool1d(tensor.PoolOptions{Window: []int{2}}), 2 * 4 * 2},
		"sort":   {ones(3, 5).Sort(1), 3 * 5 * 3},
		"attend": {
			tensor.ScaledDotProductAttention(ones(2, 3, 5), ones(2, 4, 5), ones(2, 4, 6), tensor.AttentionOptions{}),
			2 * 2 * 3 * 4 * (5 + 6),
		},
		"reduce": {ones(3, 4).Exp().Sum(1), 24},
	} {
		e, err := tensor.Explain(c.x)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Kernels[len(e.Kernels)-1].Flops; got != c.want {
			t.Errorf("%s: %d operations, want %d\n%v", name, got, c.want, e)
		}
	}
}

// TestProfileBusy profiles, several times at once, while goroutines compute and devices are opened and closed.
func TestProfileBusy(t *testing.T) {
	d := ownDevice(t)
	var workers, profilers sync.WaitGroup
	var stop atomic.Bool
	for id := range 3 {
		workers.Go(func() {
			s := newSoaker(d, id)
			for !stop.Load() && !t.Failed() {
				if err := s.round(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		profilers.Go(func() {
			for i := range longOr(10, 3) {
				r, err := tensor.Profile(ctx, func() error {
					own := ownDevice(t)
					x := tensor.Iota(tensor.Float32, 1000).To(own).AddScalar(i)
					got, err := tensor.Data[float32](ctx, x)
					if err == nil && got[999] != float32(999+i) {
						t.Errorf("got %v", got[999])
					}
					return errors.Join(err, own.Close())
				})
				if err != nil || len(r.Kernels) == 0 {
					t.Errorf("%v, %v", r, err)
				}
			}
		})
	}
	profilers.Wait()
	stop.Store(true)
	workers.Wait()
	if backend.Tracing() {
		t.Error("still tracing")
	}
}
