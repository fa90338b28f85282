package tensor_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/tensor"
)

// longOr returns long, or short in a short test.
func longOr(long, short int) int {
	if testing.Short() {
		return short
	}
	return long
}

// ownDevice opens the default device a second time, for tests that close it or look at its counters.
func ownDevice(t testing.TB) *tensor.Device {
	t.Helper()
	def, err := tensor.Default()
	if err != nil {
		t.Fatal(err)
	}
	base, number, _ := strings.Cut(def.Name(), ":")
	index := 0
	if number != "" {
		if index, err = strconv.Atoi(number); err != nil {
			t.Fatal(err)
		}
	}
	b, err := backend.Open(base, index)
	if err != nil {
		t.Fatal(err)
	}
	d := tensor.NewDevice("own", b)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// resident returns the bytes of memory that the process occupies, 0 where the system does not say.
func resident(t testing.TB) int {
	t.Helper()
	runtime.GC()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.Atoi(strings.Fields(string(raw))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// flat runs f n times and checks that neither the process nor the device then has more than 50 MB more than after the
// first tenth. The memory of the CPU is the program's own, of which dead tensors may hold some more before they are collected.
func flat(t *testing.T, what string, d *tensor.Device, n int, f func(i int)) {
	t.Helper()
	allowed := 50 << 20
	if d.Info().Name == "cpu" {
		allowed = 1 << 30 // what the pool may keep
	}
	var before, device int
	for i := range n {
		if i == n/10 {
			info := d.Info()
			before, device = resident(t), info.BytesInUse+info.BytesPooled
		}
		if f(i); t.Failed() {
			return
		}
	}
	info := d.Info()
	after, held := resident(t), info.BytesInUse+info.BytesPooled
	t.Logf("%s, %d times: resident %d MB, then %d MB; the device holds %d kB, then %d kB", what, n, before>>20, after>>20,
		device>>10, held>>10)
	if after > before+allowed || held > device+allowed {
		t.Errorf("%s: memory grows", what)
	}
}

// tracel-ai/burn#2042; gfx-rs/wgpu#5397, #5940, #5648: memory grows with small operations, uploads and devices.
func caseG07(t *testing.T) {
	d := ownDevice(t)
	x := tensor.Ones(tensor.Float32, 256).To(d)
	flat(t, "an operation", d, longOr(100_000, 3000), func(int) {
		if err := tensor.Eval(ctx, x.AddScalar(1)); err != nil {
			t.Error(err)
		}
	})
	data := make([]float32, 1024)
	flat(t, "an upload", d, longOr(20_000, 1000), func(i int) {
		data[0] = float32(i)
		up := tensor.New(data).To(d)
		if err := tensor.Eval(ctx, up); err != nil {
			t.Error(err)
		}
		if i%1000 == 0 {
			want(t, up.Narrow(0, 0, 2), nil, float32(i), 0)
		}
	})
	flat(t, "a device", d, longOr(100, 5), func(int) {
		own := ownDevice(t)
		want(t, x.To(own).Narrow(0, 0, 2).AddScalar(1), nil, 2, float32(2))
		if err := own.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("300 uploads", func(t *testing.T) { // before the first kernel: none waits for one
		d := ownDevice(t)
		ups := make([]*tensor.Tensor, 300)
		for i := range ups {
			ups[i] = tensor.New([]float32{float32(i), 1}).To(d)
		}
		if err := tensor.Eval(ctx, ups...); err != nil {
			t.Fatal(err)
		}
		for i, up := range ups {
			want(t, up.MulScalar(2), nil, float32(2*i), 2)
		}
	})
}

// pygfx/wgpu-py#781; gfx-rs/wgpu#152, #6412, #4885; mrdoob/three.js#29293: goroutines that read while others submit.
func caseG09(t *testing.T) {
	rounds := longOr(500, 30)
	done, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var workers, uploader sync.WaitGroup
	uploader.Go(func() {
		data := make([]float32, longOr(16<<20, 1<<20))
		for i := 0; done.Err() == nil; i++ {
			data[len(data)-1] = float32(i)
			last, err := tensor.Item[float32](done, tensor.New(data).Select(0, -1).AddScalar(1))
			if err != nil && done.Err() == nil || err == nil && last != float32(i)+1 {
				t.Errorf("upload %d: read %v, %v", i, last, err)
				return
			}
		}
	})
	for g := range 8 {
		workers.Go(func() {
			for i := range rounds {
				x := tensor.Full(tensor.Float32, g, 1000)
				got, err := tensor.Data[float32](done, x.MulScalar(2).AddScalar(g))
				if err != nil {
					t.Errorf("goroutine %d, round %d: %v", g, i, err)
					return
				}
				for k, v := range got {
					if v != float32(3*g) {
						t.Errorf("goroutine %d, round %d: element %d is %v, want %d", g, i, k, v, 3*g)
						return
					}
				}
			}
		})
	}
	workers.Wait()
	cancel()
	uploader.Wait()
}

// gpuweb/gpuweb#3126; tracel-ai/cubecl#512; gfx-rs/wgpu#5926: what is closed or freed.
func caseG11(t *testing.T) {
	device := func(err error, what string) {
		t.Helper()
		if !errors.Is(err, tensor.ErrDevice) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	t.Run("close", func(t *testing.T) {
		d := ownDevice(t)
		x := tensor.Ones(tensor.Float32, 1000).To(d)
		computed, pending := x.AddScalar(1), x.AddScalar(2)
		if err := tensor.Eval(ctx, computed); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.Close(), d.Close()); err != nil {
			t.Error(err)
		}
		device(tensor.Eval(ctx, pending), "pending")
		_, err := tensor.Data[float32](ctx, computed)
		device(err, "computed")
		_, err = tensor.Data[float32](ctx, computed.Neg())
		device(err, "built on it")
		device(tensor.Eval(ctx, tensor.New([]float32{1}).To(d).Neg()), "brought there")
		computed.Release()
	})
	t.Run("free", func(t *testing.T) {
		for range longOr(200, 20) {
			x := tensor.Ones(tensor.Float32, 5000).AddScalar(1)
			if err := tensor.Eval(ctx, x); err != nil {
				t.Fatal(err)
			}
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() { x.Release() })
			}
			got, err := tensor.Data[float32](ctx, x)
			both.Wait()
			if err != nil {
				device(err, "freed by others")
				continue
			}
			each(t, got, func(int) float32 { return 2 })
		}
	})
	t.Run("close while reading", func(t *testing.T) {
		for i := range longOr(20, 3) {
			d := ownDevice(t)
			x := tensor.Iota(tensor.Float32, 1<<20).To(d).AddScalar(1)
			var closing sync.WaitGroup
			closing.Go(func() {
				time.Sleep(time.Duration(i) * 200 * time.Microsecond)
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			})
			got, err := tensor.Data[float32](ctx, x)
			closing.Wait()
			if err != nil {
				device(err, "closed while it was read")
				continue
			}
			each(t, got, func(i int) float32 { return float32(i) + 1 })
		}
	})
}

// gpuweb/gpuweb#1371; gfx-rs/wgpu-rs#228; gfx-rs/wgpu#3396; ruffle-rs/ruffle#19824: more than there is room for.
func caseG13(t *testing.T) {
	small := func() {
		t.Helper()
		want(t, tensor.New([]float32{1, 2}).AddScalar(1), nil, 2, float32(3))
	}
	memory := func(x *tensor.Tensor) {
		t.Helper()
		if err := tensor.Eval(ctx, x.AddScalar(1)); !errors.Is(err, tensor.ErrMemory) {
			t.Errorf("error %v", err)
		}
		_, err := tensor.Data[uint8](ctx, x.IsNaN().Cast(tensor.Uint8).AddScalar(2))
		if !errors.Is(err, tensor.ErrMemory) {
			t.Errorf("error %v", err)
		}
		small()
	}
	memory(tensor.Zeros(tensor.Uint8, 1<<40))
	memory(tensor.Zeros(tensor.Float64, 1<<20, 1<<20))
	def, err := tensor.Default()
	if err != nil {
		t.Fatal(err)
	}
	if most := def.Info().MaxBytes; most < 1<<40 { // just beyond the limit
		memory(tensor.Zeros(tensor.Uint8, most/16+1, 16))
	}
	t.Run("fill", fill)
}

// fill fills the memory of a device, in a process of its own whose address space is bounded: software Vulkan would take
// the memory of the whole machine. A real GPU it fills up to 64 GiB.
func fill(t *testing.T) {
	def, err := tensor.Default()
	switch {
	case err != nil:
		t.Fatal(err)
	case def.Info().Name == "cpu":
		t.Skip("the memory is the program's own: Go ends a program that has none left")
	case os.Getenv("WEFT_TEST_FILL") == "" && def.Info().Software:
		if err := inBoundedProcess("WEFT_TEST_FILL", "^TestCasesGPU$/^G13$/^fill$"); err != nil {
			t.Error(err)
		}
		return
	case testing.Short() && !def.Info().Software:
		t.Skip("would fill a GPU that others use")
	}
	size := 1 << 30
	if def.Info().Software {
		boundAddressSpace(t, 2<<30)
		size = 128 << 20
	}
	for range 2 {
		var all []*tensor.Tensor
		var err error
		for err == nil && len(all) < 64 {
			x := tensor.Zeros(tensor.Uint8, size).AddScalar(len(all))
			all = append(all, x)
			err = tensor.Eval(ctx, x)
		}
		if err != nil && !errors.Is(err, tensor.ErrMemory) || def.Info().Software && err == nil {
			t.Fatalf("%d tensors: error %v", len(all), err)
		}
		t.Logf("%d tensors of %d MB: %v", len(all), size>>20, err)
		for i, x := range all[:len(all)-1] {
			if got := read[uint8](t, x.Narrow(0, size/2, 1)); got[0] != uint8(i) {
				t.Errorf("element of tensor %d is %d", i, got[0])
			}
			x.Release()
		}
		want(t, tensor.New([]float32{1, 2}).AddScalar(1), nil, 2, float32(3))
	}
}

// A kernel gets memory that others have left full of NaNs, and does not see them.
func TestPoisonedPool(t *testing.T) {
	for _, n := range []int{1, 3, 16, 63, 1000, 4097, 100_000} {
		full := make([]*tensor.Tensor, 4)
		for i := range full {
			full[i] = tensor.Full(tensor.Float32, nan, n).AddScalar(i)
		}
		if err := tensor.Eval(ctx, full...); err != nil {
			t.Fatal(err)
		}
		for _, x := range full {
			x.Release()
		}
		x := tensor.Ones(tensor.Float32, n).AddScalar(1)
		want(t, x.Sum(), []int{}, float32(2*n))
		want(t, x.Max(), []int{}, float32(2))
		each(t, read[float32](t, x), func(int) float32 { return 2 })
		each(t, read[float32](t, x.CumSum(0)), func(i int) float32 { return float32(2 * (i + 1)) })
		each(t, read[float32](t, tensor.Concat(0, x, x.Neg()).Pad(7, [2]int{1, 1})), func(i int) float32 {
			switch {
			case i == 0 || i == 2*n+1:
				return 7
			case i <= n:
				return 2
			}
			return -2
		})
		bytes := x.Cast(tensor.Uint8).Narrow(0, 0, (n+1)/2)
		each(t, read[uint8](t, bytes.AddScalar(1)), func(int) uint8 { return 3 })
		each(t, read[float32](t, x.Reshape(n, 1).MatMul(tensor.Ones(tensor.Float32, 1, 3))), func(int) float32 { return 2 })
		each(t, read[float32](t, x.Reshape(1, n).MatMul(tensor.Ones(tensor.Float32, n, 1))), func(int) float32 { return float32(2 * n) })
	}
}
