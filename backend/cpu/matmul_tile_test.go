package cpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
	"github.com/weft-go/weft/ops"
)

// mulCase is a product with factors of any strides.
type mulCase[T term] struct {
	m, n, k int
	a, b    matrix[T]
}

// strided returns r rows of k numbers at one of several strides.
func strided[T term](rng *rand.Rand, r, k int, how string, gen func() T) matrix[T] {
	m := matrix[T]{row: k, col: 1}
	size := r*k + r + k
	switch how {
	case "transposed":
		m.row, m.col = 1, r
	case "sliced":
		m.off, m.row, m.col = 3, 2*k+5, 2
		size = 3 + r*(2*k+5)
	case "reversed":
		m.off, m.row, m.col = max(0, size-1), -k, -1
	case "broadcast":
		m.row, m.col = 0, 1
	case "overlapping":
		m.row, m.col = 1, 1
	case "offset":
		m.off, m.row = 1, k+1
		size = 1 + r*(k+1)
	}
	m.data = make([]T, size+1)
	for i := range m.data {
		m.data[i] = gen()
	}
	return m
}

var strideKinds = []string{"dense", "transposed", "sliced", "reversed", "broadcast", "offset", "overlapping"}

// product runs c and returns its result, of type d.
func (c mulCase[T]) product(t testing.TB, kern *gemmKernel[T], d ops.DType) []byte {
	out := make([]byte, c.m*c.n*d.Size())
	for i := range out {
		out[i] = 0xff
	}
	factors := func(int) (factor[T], factor[T]) { return factor[T]{matrix: c.a}, factor[T]{matrix: c.b} }
	j := &job{Backend: New(), ctx: context.Background()}
	post := store(t, out, d, c.m*c.n)
	var err error
	switch any(T(0)).(type) {
	case float32:
		p := gemm[T, float64]{batch: 1, m: c.m, n: c.n, k: c.k, kern: kern, factors: factors, acc: d, post: post}
		err = p.run(j)
	case int32:
		p := gemm[T, int64]{batch: 1, m: c.m, n: c.n, k: c.k, kern: kern, factors: factors, acc: d, post: post}
		err = p.run(j)
	default:
		p := gemm[T, T]{batch: 1, m: c.m, n: c.n, k: c.k, kern: kern, factors: factors, acc: d, post: post}
		err = p.run(j)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (m matrix[T]) at(r, k int) T { return m.data[m.off+r*m.row+k*m.col] }

// store returns the program that puts operand 0 into n elements of out.
func store(t testing.TB, out []byte, d ops.DType, n int) *binding {
	var eb ops.Builder
	eb.Result(eb.Load(eb.Operand(d), false))
	e := eb.Expr()
	p, err := compile(&e)
	if err != nil {
		t.Fatal(err)
	}
	x, err := p.bind([]source{given(d, false)}, []source{denseSource(out, d, n)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// checkFloat compares with sums in float64, within k·eps·Σ|a||b|.
func checkFloat[T float32 | float64](t *testing.T, c mulCase[T], got []T, eps float64) {
	t.Helper()
	for i := range c.m {
		for j := range c.n {
			var want, size float64
			for k := range c.k {
				v := float64(c.a.at(i, k)) * float64(c.b.at(j, k))
				want, size = want+v, size+math.Abs(v)
			}
			if g := float64(got[i*c.n+j]); !(math.Abs(g-want) <= float64(c.k)*eps*size) {
				t.Fatalf("c[%d, %d] = %v, want %v within %v", i, j, g, want, float64(c.k)*eps*size)
			}
		}
	}
}

var tileSizes = [][3]int{
	{1, 1, 1},
	{1, 129, 17},
	{17, 33, 1},
	{3, 1, 40},
	{4, 20, 30},
	{5, 5, 5},
	{2, 1025, 3},
	{33, 67, 257},
	{129, 65, 33},
	{65, 70, 129},
	{1, 300, 1030},
	{3, 700, 530},
	{130, 257, 16},
	{0, 3, 2},
	{3, 0, 2},
	{2, 2, 0},
	{600, 1, 7},
}

// pairs returns with how many strides of the right factor each of the left is tried.
func pairs() int {
	if testing.Short() {
		return 1
	}
	return 3
}

func TestProductFloat(t *testing.T) {
	for _, size := range tileSizes {
		for i, as := range strideKinds {
			for _, bs := range strideKinds[i%2*3:][:pairs()] {
				rng := rand.New(rand.NewPCG(1, 2))
				c := mulCase[float32]{m: size[0], n: size[1], k: size[2]}
				gen := func() float32 { return rng.Float32()*2 - 1 }
				c.a, c.b = strided(rng, c.m, c.k, as, gen), strided(rng, c.n, c.k, bs, gen)
				c64 := mulCase[float64]{m: size[0], n: size[1], k: size[2]}
				gen64 := func() float64 { return rng.Float64()*2 - 1 }
				c64.a, c64.b = strided(rng, c.m, c.k, as, gen64), strided(rng, c.n, c.k, bs, gen64)
				t.Run(fmt.Sprintf("%v/%s/%s", size, as, bs), func(t *testing.T) {
					for _, kern := range kernels32() {
						checkFloat(t, c, typed[float32](c.product(t, kern, ops.Float32)), 0x1p-23)
					}
					for _, kern := range kernels64() {
						checkFloat(t, c64, typed[float64](c64.product(t, kern, ops.Float64)), 0x1p-52)
					}
				})
			}
		}
	}
}

func TestProductInt(t *testing.T) {
	for _, size := range tileSizes {
		for i, as := range strideKinds {
			bs := strideKinds[(i+2)%len(strideKinds)]
			rng := rand.New(rand.NewPCG(1, 2))
			c := mulCase[int32]{m: size[0], n: size[1], k: size[2]}
			gen := func() int32 { return int32(rng.Uint32()) }
			c.a, c.b = strided(rng, c.m, c.k, as, gen), strided(rng, c.n, c.k, bs, gen)
			got := typed[int32](c.product(t, &portableKernels.i32, ops.Int32))
			for i := range c.m {
				for j := range c.n {
					want := int32(0)
					for k := range c.k {
						want += c.a.at(i, k) * c.b.at(j, k)
					}
					if got[i*c.n+j] != want {
						t.Fatalf("%v %s %s: c[%d, %d] = %d, want %d", size, as, bs, i, j, got[i*c.n+j], want)
					}
				}
			}
		}
	}
}

// A zero times NaN or infinity is NaN, wherever it is: BLAS routines that skip zeros lose it.
func TestProductNaN(t *testing.T) {
	for _, size := range [][3]int{{1, 40, 600}, {3, 64, 20}, {20, 30, 40}, {40, 1, 700}, {5, 5, 3}} {
		for _, as := range strideKinds[:2] {
			for _, bs := range strideKinds[:2] {
				for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
					c := mulCase[float32]{m: size[0], n: size[1], k: size[2]}
					zero := func() float32 { return 0 }
					c.a, c.b = strided(nil, c.m, c.k, as, zero), strided(nil, c.n, c.k, bs, zero)
					c64 := mulCase[float64]{m: size[0], n: size[1], k: size[2]}
					zero64 := func() float64 { return 0 }
					c64.a, c64.b = strided(nil, c.m, c.k, as, zero64), strided(nil, c.n, c.k, bs, zero64)
					j, k := c.n-1, c.k-1
					c.b.data[j*c.b.row+k*c.b.col] = bad
					c64.b.data[j*c.b.row+k*c.b.col] = float64(bad)
					for _, kern := range kernels32() {
						checkNaN(t, c, typed[float32](c.product(t, kern, ops.Float32)))
					}
					for _, kern := range kernels64() {
						checkNaN(t, c64, typed[float64](c64.product(t, kern, ops.Float64)))
					}
				}
			}
		}
	}
}

// checkNaN wants NaN in the last column and 0 elsewhere.
func checkNaN[T float32 | float64](t *testing.T, c mulCase[T], got []T) {
	t.Helper()
	for i, v := range got {
		if last := i%c.n == c.n-1; last != (v != v) || !last && v != 0 {
			t.Fatalf("%dx%dx%d: c[%d, %d] = %v", c.m, c.k, c.n, i/c.n, i%c.n, v)
		}
	}
}

func TestProductThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rng := rand.New(rand.NewPCG(1, 2))
	gen := func() float32 { return rng.Float32()*2 - 1 }
	gen64 := func() float64 { return rng.Float64()*2 - 1 }
	for _, size := range [][3]int{{150, 157, 600}, {3, 2000, 300}, {2, 1100, 700}, {301, 1, 1100}, {64, 64, 64}} {
		m, n, k := size[0], size[1], size[2]
		c := mulCase[float32]{m, n, k, strided(rng, m, k, "dense", gen), strided(rng, n, k, "transposed", gen)}
		c64 := mulCase[float64]{m, n, k, strided(rng, m, k, "dense", gen64), strided(rng, n, k, "transposed", gen64)}
		if size[0] == 3 {
			c.b.row, c.b.col = 1, 300 // rows that overlap
		}
		var want, want64 string
		for _, procs := range []int{1, 2, 4, 16} {
			runtime.GOMAXPROCS(procs)
			got := string(c.product(t, productKernel[float32](k), ops.Float32))
			got64 := string(c64.product(t, productKernel[float64](k), ops.Float64))
			if procs == 1 {
				want, want64 = got, got64
			}
			if got != want || got64 != want64 {
				t.Errorf("%v: %d threads give other bits than 1", size, procs)
			}
		}
	}
}

// kernels32 and kernels64 are those that this processor has.
func kernels32() []*gemmKernel[float32] {
	list := []*gemmKernel[float32]{&dotKernel, &portableKernels.f32}
	for _, s := range asm.Sets() {
		if k, _ := tileKernels(s); k != nil {
			list = append(list, k)
		}
		if m, _ := s.Micros(); m != nil {
			list = append(list, microKernel[float32](m))
		}
	}
	return list
}

func kernels64() []*gemmKernel[float64] {
	list := []*gemmKernel[float64]{&gemvKernel, &portableKernels.f64}
	for _, s := range asm.Sets() {
		if _, k := tileKernels(s); k != nil {
			list = append(list, k)
		}
		if _, m := s.Micros(); m != nil {
			list = append(list, microKernel[float64](m))
		}
	}
	return list
}
