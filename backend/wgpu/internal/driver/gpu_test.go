package driver_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"testing"

	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// open opens the first adapter for a test. Without a GPU the test is skipped; if
// WEFT_GPU=require it runs on software Vulkan too, and fails without that.
func open(t testing.TB, o driver.Options) driver.Device {
	t.Helper()
	list, err := driver.Adapters()
	if errors.Is(err, driver.ErrUnavailable) && os.Getenv("WEFT_GPU") != "require" {
		t.Skipf("no GPU: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Type == driver.Software && os.Getenv("WEFT_GPU") != "require" {
		t.Skip("software Vulkan: WEFT_GPU=require runs this on it")
	}
	d, err := driver.Open(t.Context(), list[0].Index, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d
}

// must returns v or fails the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rig is a device with what most tests need.
type rig struct {
	driver.Device
	t     testing.TB
	align uint32
}

func newRig(t testing.TB, o driver.Options) *rig {
	d := open(t, o)
	return &rig{Device: d, t: t, align: d.Info().Limits.UniformAlign}
}

func (r *rig) buffer(label string, size uint64, u driver.Usage) driver.Buffer {
	r.t.Helper()
	return must(r.NewBuffer(label, size, u))(r.t)
}

func (r *rig) pipeline(label, wgsl string, slots ...driver.Slot) driver.Pipeline {
	r.t.Helper()
	return must(r.NewPipeline(driver.PipelineDesc{Label: label, WGSL: wgsl, Slots: slots}))(r.t)
}

func (r *rig) group(p driver.Pipeline, b ...driver.Binding) driver.Group {
	r.t.Helper()
	return must(r.NewGroup("group", p, b))(r.t)
}

func (r *rig) submit(cmds ...driver.Command) driver.Ticket {
	r.t.Helper()
	return must(r.Submit(cmds))(r.t)
}

func (r *rig) write(b driver.Buffer, data []byte) {
	r.t.Helper()
	ok(r.t, r.Write(context.Background(), b, 0, data))
}

// read copies n bytes at off of a storage buffer back through a new buffer.
func (r *rig) read(b driver.Buffer, off, n uint64) []byte {
	r.t.Helper()
	back := r.buffer("back", n, driver.Readback)
	defer r.FreeBuffer(back)
	r.submit(driver.Command{Op: driver.Copy, Src: b, SrcOff: off, Dst: back, Size: (n + 3) &^ 3})
	out := make([]byte, n)
	ok(r.t, r.Read(context.Background(), back, 0, out))
	return out
}

func f32Bytes(v ...float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func u32Bytes(v ...uint32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

func f32s(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

// scaleWGSL computes a[i] = a[i]*mul + add.
const scaleWGSL = `struct P { mul: f32, add: f32 }
@group(0) @binding(0) var<uniform> p: P;
@group(0) @binding(1) var<storage, read_write> a: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>) {
  if (g.x < arrayLength(&a)) { a[g.x] = a[g.x] * p.mul + p.add; }
}`

var scaleSlots = []driver.Slot{{Kind: driver.Params, Min: 8}, {Kind: driver.ReadWrite}}

// fillWGSL sets every word of a to 1.
const fillWGSL = `@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>) {
  if (g.x < arrayLength(&a)) { a[g.x] = 1u; }
}`

var fillSlots = []driver.Slot{{Kind: driver.ReadWrite}}
