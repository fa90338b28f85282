package tensor

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-go/weft/internal/graph"
)

// A Peak is how fast a device is at its best, as [Measure] finds it.
type Peak struct {
	Bytes  float64       // moved to and from memory in a second, by float32 elementwise kernels
	Flops  float64       // float32 operations in a second, in a product of large matrices
	Launch time.Duration // that the smallest kernel takes
}

// String returns the figures.
func (p Peak) String() string {
	return fmt.Sprintf("%.1f GB/s, %.1f GFLOP/s, %s a kernel", p.Bytes/1e9, p.Flops/1e9, micro(p.Launch))
}

// Measure times a few kernels on a device, or on the default one for nil, unless it has done so before, and returns what
// the device can do. From then on [Explain] says how long each kernel should take. It takes a fraction of a second on a GPU;
// on a processor that poses as one, seconds. The errors are those of [Eval].
func Measure(ctx context.Context, d *Device) (Peak, error) {
	if d.none() {
		var err error
		if d, err = Default(); err != nil {
			return Peak{}, err
		}
	}
	if p := d.g.Peak(); p != nil {
		return Peak(*p), nil
	}
	large, side := 1<<24, 2048 // elements, of matrices the rows
	if i := d.Info(); i.Software || i.Name == "cpu" {
		large, side = 1<<22, 512
	}
	large = min(large, max(d.Info().MaxBytes/16, 1))
	m := measurer{ctx: ctx, d: d}
	x, few, a := m.data(large), m.data(16), m.data(side, side)
	p := Peak{
		Bytes:  8 * float64(large) / m.seconds(func() *Tensor { return x.AddScalar(1) }),
		Flops:  2 * float64(side) * float64(side) * float64(side) / m.seconds(func() *Tensor { return a.MatMul(a) }),
		Launch: time.Duration(1e9 * m.seconds(func() *Tensor { return few.AddScalar(1) })),
	}
	if m.err != nil {
		return Peak{}, fmt.Errorf("tensor: measure %s: %w", d.Name(), m.err)
	}
	g := graph.Peak(p)
	d.g.SetPeak(&g)
	return p, nil
}

// A measurer times kernels on a device. It does nothing after an error.
type measurer struct {
	ctx context.Context
	d   *Device
	err error
}

// data returns numbers in the memory of the device.
func (m *measurer) data(shape ...int) *Tensor {
	x := Iota(Float32, shape...).To(m.d).Sin()
	if m.err == nil {
		m.err = Eval(m.ctx, x)
	}
	return x
}

// seconds returns the shortest of the times that the device takes for the kernels of what build records.
func (m *measurer) seconds(build func() *Tensor) float64 {
	const tries = 6
	best := time.Duration(-1)
	for range tries {
		if m.err != nil {
			return 1
		}
		var r *Report
		r, m.err = Profile(m.ctx, func() error {
			y := build()
			defer y.Release()
			return Eval(m.ctx, y)
		})
		if best < 0 || r.Device < best {
			best = r.Device
		}
	}
	return max(best, time.Nanosecond).Seconds()
}
