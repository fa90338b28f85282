package tensor_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-go/weft/tensor"
)

// The soak tests run for WEFT_SOAK, a duration, each; by default they take moments. They run on a device of their own, of
// the kind of the default one.

// soakFor returns how long a soak test is to run.
func soakFor(t *testing.T) time.Duration {
	t.Helper()
	s := os.Getenv("WEFT_SOAK")
	switch {
	case s != "":
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	case testing.Short():
		return 300 * time.Millisecond
	}
	return 2 * time.Second
}

// A soaker is a goroutine with computations whose results are known.
type soaker struct {
	d   *tensor.Device
	id  int
	rng *rand.Rand
}

func newSoaker(d *tensor.Device, id int) *soaker {
	return &soaker{d: d, id: id, rng: rand.New(rand.NewPCG(7, uint64(id)))}
}

// iota returns 0, 1, 2, … on the device.
func (s *soaker) iota(shape ...int) *tensor.Tensor {
	return tensor.Iota(tensor.Float32, shape...).To(s.d)
}

// A work computes a tensor for a size n and a number k, and knows its elements; all are whole numbers that float32 holds.
type work struct {
	name  string
	build func(s *soaker, n, k int) *tensor.Tensor
	want  func(i, n, k int) int
}

var works = []work{
	{"map", func(s *soaker, n, k int) *tensor.Tensor {
		return s.iota(n).MulScalar(2).AddScalar(k).Neg().Abs()
	}, func(i, _, k int) int { return 2*i + k }},
	{"upload", func(s *soaker, n, k int) *tensor.Tensor {
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(i % 7)
		}
		return tensor.New(data).To(s.d).MulScalar(k)
	}, func(i, _, k int) int { return i % 7 * k }},
	{"bytes", func(s *soaker, n, k int) *tensor.Tensor {
		return s.iota(n).ModScalar(50).Cast(tensor.Uint8).AddScalar(k % 100).Cast(tensor.Float32)
	}, func(i, _, k int) int { return i%50 + k%100 }},
	{"reduce", func(s *soaker, n, k int) *tensor.Tensor {
		return s.iota(n, 1).Add(tensor.Full(tensor.Float32, k, 1, 5).To(s.d)).Sum(1)
	}, func(i, _, k int) int { return 5 * (i + k) }},
	{"row", func(s *soaker, n, k int) *tensor.Tensor {
		x := s.iota(3, n).ModScalar(k + 2)
		return x.Sub(x.Max(1).Unsqueeze(1)).Min(1).AddScalar(n)
	}, func(i, n, k int) int {
		lo, hi := i*n%(k+2), i*n%(k+2)
		for j := range n {
			lo, hi = min(lo, (i*n+j)%(k+2)), max(hi, (i*n+j)%(k+2))
		}
		return lo - hi + n
	}},
	{"scan", func(s *soaker, n, k int) *tensor.Tensor {
		return tensor.Full(tensor.Float32, k, 2, n).To(s.d).CumSum(1)
	}, func(i, n, k int) int { return (i%n + 1) * k }},
	{"matmul", func(s *soaker, n, k int) *tensor.Tensor {
		return s.iota(n, 1).ModScalar(9).BroadcastTo(n, 6).MatMul(tensor.Full(tensor.Float32, k, 6, 3).To(s.d)).AddScalar(1)
	}, func(i, _, k int) int { return 6*(i/3%9)*k + 1 }},
	{"gather", func(s *soaker, n, k int) *tensor.Tensor {
		back := tensor.Iota(tensor.Int32, n).To(s.d).Neg().SubScalar(1)
		return s.iota(n).AddScalar(k).Take(0, back)
	}, func(i, n, k int) int { return n - 1 - i + k }},
	{"sort", func(s *soaker, n, k int) *tensor.Tensor {
		return s.iota(n).Neg().AddScalar(k).Sort(0)
	}, func(i, n, k int) int { return i - n + 1 + k }},
	{"join", func(s *soaker, n, k int) *tensor.Tensor {
		x := s.iota(n)
		return tensor.Concat(0, x.Flip(), x.AddScalar(k)).Pad(-1, [2]int{1, 0})
	}, func(i, n, k int) int {
		switch {
		case i == 0:
			return -1
		case i <= n:
			return n - i
		}
		return i - 1 - n + k
	}},
	{"variable", func(s *soaker, n, k int) *tensor.Tensor {
		v := tensor.NewVar(s.iota(n))
		if err := v.Set(tensor.Full(tensor.Float32, -k).To(s.d), tensor.At(n/2)); err != nil {
			return tensor.Fail("set", err)
		}
		return v.Tensor().Neg()
	}, func(i, n, k int) int {
		if i == n/2 {
			return k
		}
		return -i
	}},
	{"convolution", func(s *soaker, n, k int) *tensor.Tensor {
		x := s.iota(1, 1, n+2)
		return x.Conv1d(tensor.Full(tensor.Float32, k, 1, 1, 3).To(s.d), tensor.ConvOptions{}).ReLU()
	}, func(i, _, k int) int { return 3 * (i + 1) * k }},
	{"pool", func(s *soaker, n, k int) *tensor.Tensor {
		return s.iota(2, n+1).AddScalar(k).MaxPool1d(tensor.PoolOptions{Window: []int{2}, Stride: []int{1}})
	}, func(i, n, k int) int { return i/n*(n+1) + i%n + 1 + k }},
}

// round computes one of the works at a random size, and compares it.
func (s *soaker) round(ctx context.Context) error {
	w := &works[s.rng.IntN(len(works))]
	return s.run(ctx, w, 1+s.rng.IntN(3000), s.rng.IntN(40))
}

func (s *soaker) run(ctx context.Context, w *work, n, k int) error {
	y := w.build(s, n, k)
	if s.rng.IntN(4) == 0 {
		defer y.Release()
	}
	got, err := tensor.Data[float32](ctx, y)
	if err != nil {
		return fmt.Errorf("goroutine %d: %s(%d, %d): %w", s.id, w.name, n, k, err)
	}
	wrong, first := 0, -1
	for i, v := range got {
		if v != float32(w.want(i, n, k)) {
			if wrong++; first < 0 {
				first = i
			}
		}
	}
	if wrong > 0 {
		return fmt.Errorf("goroutine %d: %s(%d, %d): %d elements of %d are wrong, from %d on: %v, want %v", s.id, w.name, n, k,
			wrong, len(got), first, got[first:min(first+4, len(got))], w.want(first, n, k))
	}
	return nil
}

// mistake makes an error that shows when the device computes, and checks that it is this goroutine's own: the index is
// one that no other goroutine uses.
func (s *soaker) mistake(ctx context.Context) error {
	n := 1 + s.rng.IntN(100)
	bad := 1000*(s.id+1) + s.rng.IntN(1000)
	index := tensor.Iota(tensor.Int32, 1).To(s.d).AddScalar(bad)
	err := tensor.Eval(ctx, s.iota(n).AddScalar(1).Take(0, index))
	if !errors.Is(err, tensor.ErrIndex) || !says(err, "index "+fmt.Sprint(bad), "of extent "+fmt.Sprint(n)+" (") {
		return fmt.Errorf("goroutine %d: error %v, want index %d of %d", s.id, err, bad, n) //nolint:errorlint // may be nil
	}
	huge := tensor.Zeros(tensor.Float32, 1<<30+s.id, 1<<10).To(s.d).AddScalar(1)
	if err := tensor.Eval(ctx, huge); !errors.Is(err, tensor.ErrMemory) || !says(err, fmt.Sprint(4<<10*(1<<30+s.id))) {
		return fmt.Errorf("goroutine %d: error %v, want out of memory", s.id, err) //nolint:errorlint // may be nil
	}
	return nil
}

func says(err error, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			return false
		}
	}
	return true
}

// TestSoakCollected has four goroutines compute, right and wrong, under collection of garbage without a pause. Values must
// be right, and errors their owners'.
func TestSoakCollected(t *testing.T) {
	t.Setenv("WEFT_CHECK", "1")
	d := ownDevice(t)
	var workers, collector sync.WaitGroup
	var stop atomic.Bool
	var rounds atomic.Int64
	collector.Go(func() {
		for !stop.Load() {
			runtime.GC()
		}
	})
	end := time.Now().Add(soakFor(t))
	for id := range 4 {
		workers.Go(func() {
			s := newSoaker(d, id)
			for i := 0; time.Now().Before(end) && !t.Failed(); i++ {
				err := s.round(ctx)
				if i%20 == 0 && err == nil {
					err = s.mistake(ctx)
				}
				if err != nil {
					t.Error(err)
				}
				rounds.Add(1)
			}
		})
	}
	workers.Wait()
	stop.Store(true)
	collector.Wait()
	t.Logf("%d rounds, %+v, resident %d MB", rounds.Load(), tensor.Stats(d), resident(t)>>20)
}

// TestSoakRounds builds, evaluates and drops graphs of many sizes, 100,000 times if WEFT_SOAK is set. Memory stays flat.
func TestSoakRounds(t *testing.T) {
	d := ownDevice(t)
	n := longOr(3000, 500)
	if os.Getenv("WEFT_SOAK") != "" {
		n = 100_000
	}
	s := newSoaker(d, 0)
	start := time.Now()
	flat(t, "a graph", d, n, func(int) {
		if err := s.round(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%v a round, %+v", time.Since(start)/time.Duration(n), tensor.Stats(d))
}

// TestSoakGraphs has eight goroutines evaluate different graphs on one device.
func TestSoakGraphs(t *testing.T) {
	d := ownDevice(t)
	end := time.Now().Add(soakFor(t))
	var workers sync.WaitGroup
	var rounds atomic.Int64
	for id := range 8 {
		workers.Go(func() {
			s := newSoaker(d, id)
			for time.Now().Before(end) && !t.Failed() {
				w := &works[(id+8*s.rng.IntN(2))%len(works)]
				if err := s.run(ctx, w, 1+s.rng.IntN(20_000)*s.rng.IntN(2), s.rng.IntN(20)); err != nil {
					t.Error(err)
				}
				rounds.Add(1)
			}
		})
	}
	workers.Wait()
	t.Logf("%d rounds, %+v", rounds.Load(), tensor.Stats(d))
}

// TestSoakCancelled has goroutines whose contexts end at any time, in the middle of an evaluation or a read. Nothing but
// that error comes of it, for nobody else.
func TestSoakCancelled(t *testing.T) {
	d := ownDevice(t)
	end := time.Now().Add(soakFor(t))
	var workers sync.WaitGroup
	var cancelled, rounds atomic.Int64
	for id := range 4 {
		workers.Go(func() {
			s := newSoaker(d, id)
			for i := 0; time.Now().Before(end) && !t.Failed(); i++ {
				brief, cancel := ctx, context.CancelFunc(func() {})
				if i%2 == id%2 {
					brief, cancel = context.WithTimeout(ctx, time.Duration(s.rng.IntN(2000))*time.Microsecond)
				}
				err := s.round(brief)
				cancel()
				switch {
				case err != nil && brief != ctx && errors.Is(err, context.DeadlineExceeded):
					cancelled.Add(1)
				case err != nil:
					t.Error(err)
				}
				rounds.Add(1)
			}
		})
	}
	workers.Wait()
	if cancelled.Load() == 0 && rounds.Load() > 100 {
		t.Error("no evaluation was cancelled")
	}
	if err := newSoaker(d, 0).run(ctx, &works[0], 1000, 3); err != nil {
		t.Error(err)
	}
	t.Logf("%d rounds, of them %d cancelled, %+v", rounds.Load(), cancelled.Load(), tensor.Stats(d))
}
