package hostmem_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"unsafe"

	"github.com/weft-go/weft/internal/hostmem"
)

func TestMake(t *testing.T) {
	for _, n := range []int{0, 1, 63, 8191, 8192, 8193, 65536, 1<<19 + 3, 1 << 20} {
		var all [][]float64
		for range 4 {
			x := hostmem.Make[float64](n)
			if len(x) != n {
				t.Fatalf("%d elements, want %d", len(x), n)
			}
			if n > 0 && uintptr(unsafe.Pointer(&x[0]))%8 != 0 {
				t.Errorf("%d elements are at %p, not aligned", n, &x[0])
			}
			for i := range x {
				x[i] = float64(len(all)*n + i)
			}
			all = append(all, x)
			runtime.GC()
		}
		for k, x := range all {
			for i, v := range x {
				if v != float64(k*n+i) {
					t.Fatalf("element %d of slice %d of %d was overwritten: %v", i, k, n, v)
				}
			}
		}
	}
}

// Absurd lengths are refused as the builtin refuses them.
func TestMakeAbsurd(t *testing.T) {
	for _, n := range []int{-1, math.MaxInt, math.MaxInt / 4} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("made %d elements", n)
				}
			}()
			hostmem.Make[float64](n)
		}()
	}
}

var sink []float32

// BenchmarkMake copies to new memory, beside the builtin's.
func BenchmarkMake(b *testing.B) {
	for _, n := range []int{1 << 16, 1 << 20, 10_000_000} {
		src := make([]float32, n)
		for name, f := range map[string]func(int) []float32{
			"builtin": func(n int) []float32 { return make([]float32, n) },
			"hostmem": hostmem.Make[float32],
		} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				b.SetBytes(int64(4 * n))
				for b.Loop() {
					sink = f(n)
					copy(sink, src)
				}
			})
		}
	}
}
