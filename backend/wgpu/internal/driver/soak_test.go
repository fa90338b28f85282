package driver_test

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

	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// TestSoak has four goroutines work on one device, each with right and wrong
// calls, while two collect garbage without a pause. Values must be right and
// errors must name their owner's things. WEFT_SOAK is its length (10m); by
// default it is a second.
func TestSoak(t *testing.T) {
	length := time.Second
	if s := os.Getenv("WEFT_SOAK"); s != "" {
		length = must(time.ParseDuration(s))(t)
	} else if testing.Short() {
		length = 300 * time.Millisecond
	}
	r := newRig(t, driver.Options{})
	end := time.Now().Add(length)
	var collectors, workers sync.WaitGroup
	var stop atomic.Bool
	for range 2 {
		collectors.Go(func() {
			for !stop.Load() {
				runtime.GC()
			}
		})
	}
	var rounds atomic.Int64
	for id := range 4 {
		workers.Go(func() {
			w := &soaker{rig: r, id: id, rng: rand.New(rand.NewPCG(1, uint64(id)))}
			for time.Now().Before(end) && !t.Failed() {
				if err := w.round(); err != nil {
					t.Errorf("goroutine %d, round %d: %v", id, w.n, err)
				}
				rounds.Add(1)
			}
		})
	}
	workers.Wait()
	stop.Store(true)
	collectors.Wait()
	s := r.Stats()
	t.Logf("%d rounds, %+v", rounds.Load(), s)
	if s.Buffers+s.Pipelines+s.Groups != 0 {
		t.Errorf("left behind: %+v", s)
	}
	r.works(t)
}

// soaker is one goroutine of TestSoak.
type soaker struct {
	*rig
	id, n int
	rng   *rand.Rand
}

// name is a label that no other goroutine and no other round has.
func (w *soaker) name(what string) string { return fmt.Sprintf("%s_%d_%d", what, w.id, w.n) }

// round is a computation, in the middle of which come mistakes.
func (w *soaker) round() (err error) {
	w.n++
	words := 1 + w.rng.IntN(5000)
	n := uint64(4 * words)
	var bufs [4]driver.Buffer
	for i, u := range []driver.Usage{driver.Storage, driver.Uniform, driver.Readback, driver.Upload} {
		if bufs[i], err = w.NewBuffer(w.name("buf"), max(n, 256), u); err != nil {
			return err
		}
		defer w.FreeBuffer(bufs[i])
	}
	x, args, back, up := bufs[0], bufs[1], bufs[2], bufs[3]
	p, err := w.NewPipeline(driver.PipelineDesc{Label: w.name("scale"), WGSL: scaleWGSL, Slots: scaleSlots})
	if err != nil {
		return err
	}
	defer w.FreePipeline(p)
	g, err := w.NewGroup(w.name("scale"), p, []driver.Binding{{Buffer: args, Size: 8}, {Buffer: x}})
	if err != nil {
		return err
	}
	defer w.FreeGroup(g)
	if err := w.mistakes(x); err != nil {
		return err
	}

	mul, add := float32(w.rng.IntN(8)), float32(w.rng.IntN(100))
	in := make([]float32, words)
	for i := range in {
		in[i] = float32(w.rng.IntN(1000))
	}
	src := x
	if w.n%2 == 0 {
		src = up
	}
	if err := errors.Join(w.Write(bg, args, 0, f32Bytes(mul, add)), w.Write(bg, src, 0, f32Bytes(in...))); err != nil {
		return err
	}
	var cmds []driver.Command
	if src == up {
		cmds = append(cmds, driver.Command{Op: driver.Copy, Src: up, Dst: x, Size: n})
	}
	cmds = append(cmds,
		driver.Command{Op: driver.Dispatch, Pipeline: p, Group: g, Grid: [3]uint32{uint32(words+63) / 64, 1, 1}},
		driver.Command{Op: driver.Copy, Src: x, Dst: back, Size: n})
	if _, err := w.Submit(cmds); err != nil {
		return err
	}
	return w.check(back, in, mul, add)
}

// check reads the results, now and then after a read that is cut short.
func (w *soaker) check(back driver.Buffer, in []float32, mul, add float32) error {
	if w.n%3 == 0 {
		ctx, cancel := context.WithTimeout(bg, time.Duration(w.rng.IntN(50))*time.Microsecond)
		err := w.Read(ctx, back, 0, make([]byte, 8))
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	out := make([]byte, 4*len(in))
	if err := w.Read(bg, back, 0, out); err != nil {
		return err
	}
	for i, v := range f32s(out) {
		if want := in[i]*mul + add; v != want {
			return fmt.Errorf("x[%d] = %v, want %v", i, v, want)
		}
	}
	return nil
}

// mistakes makes wrong calls, of which the library refuses two, and checks
// that each error is of its kind and names what was given to that very call.
func (w *soaker) mistakes(x driver.Buffer) error {
	type mistake struct {
		err, want error
		name      string
	}
	unknown := w.name("unknown")
	_, shader := w.NewPipeline(driver.PipelineDesc{Label: "bad", WGSL: strings.Replace(fillWGSL, "1u;", unknown+";", 1), Slots: fillSlots})
	_, size := w.NewBuffer(w.name("huge"), 1<<62, driver.Storage)
	all := []mistake{
		{shader, driver.ErrShader, unknown},
		{size, driver.ErrLimit, w.name("huge")},
		{w.Write(bg, x, 2, make([]byte, 4)), driver.ErrValidation, w.name("buf")},
	}
	if !strings.HasPrefix(w.Info().Binding, "cogentcore") { // which does not look
		label, late := w.tooSmall(x)
		all = append(all, mistake{late, driver.ErrValidation, label})
	}
	for _, m := range all {
		if !errors.Is(m.err, m.want) || !strings.Contains(m.err.Error(), m.name) {
			return fmt.Errorf("got error %w, want %w about %s", m.err, m.want, m.name)
		}
	}
	return nil
}

// tooSmall submits a dispatch with a binding smaller than its type, which the
// library finds when the recording is finished.
func (w *soaker) tooSmall(x driver.Buffer) (label string, err error) {
	label = w.name("small")
	p, err := w.NewPipeline(driver.PipelineDesc{Label: label, Slots: fillSlots, WGSL: `
@group(0) @binding(0) var<storage, read_write> a: array<vec4<f32>, 2>;
@compute @workgroup_size(1) fn main() { a[0] = a[1]; }`})
	if err != nil {
		return label, err
	}
	defer w.FreePipeline(p)
	g, err := w.NewGroup(label, p, []driver.Binding{{Buffer: x, Size: 16}})
	if err != nil {
		return label, err
	}
	defer w.FreeGroup(g)
	_, err = w.Submit([]driver.Command{{Op: driver.Dispatch, Pipeline: p, Group: g, Grid: [3]uint32{1, 1, 1}}})
	return label, err
}
