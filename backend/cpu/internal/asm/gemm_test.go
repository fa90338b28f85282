//go:build amd64

package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

type float interface{ float32 | float64 }

// products calls f with the products of each instruction set that the processor has.
func products(t *testing.T, f32, f64 func(t *testing.T, p *Product)) {
	for _, s := range Sets()[1:] {
		t.Run(s.String()+"/float32", func(t *testing.T) { f32(t, &s.Loops().ProductFloat32) })
		t.Run(s.String()+"/float64", func(t *testing.T) { f64(t, &s.Loops().ProductFloat64) })
	}
}

func address[T float](x []T, at int) unsafe.Pointer { return unsafe.Pointer(&x[at]) }

// whole returns n whole numbers, so small that their products have exact sums, among NaN that begin at 0 and follow them.
func whole[T float](r *rand.Rand, n int) []T {
	x := make([]T, n+16)
	for i := range x {
		x[i] = T(math.NaN())
	}
	for i := range n {
		x[8+i] = T(r.IntN(17) - 8)
	}
	return x
}

// check compares c with want, where that is not NaN, and elsewhere wants that c is still the number that was there.
func check[T float](t *testing.T, c, want []T, was T) {
	t.Helper()
	for i, w := range want {
		if w != w {
			w = was
		}
		if c[i] != w {
			t.Fatalf("element %d is %v, want %v", i, c[i], w)
		}
	}
}

// tile runs one tile, of n columns, whose factors lie at some distances, and compares it with plain loops.
func tile[T float](t *testing.T, s Tile, n, k, row, col, add int) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), uint64(k)))
	size := int(unsafe.Sizeof(T(0)))
	a := whole[T](r, (s.Rows-1)*row+(k-1)*col+1)
	ldb, ldc := n+3, n+2
	b := make([]T, k*ldb+n) // NaN beyond the columns
	at := make([]int, k)
	for i := range b {
		b[i] = T(math.NaN())
	}
	for l := range k {
		first := (k - 1 - l) * ldb // rows in the opposite order
		at[l] = first * size
		for j := range n {
			b[first+j] = T(r.IntN(17) - 8)
		}
	}
	const was = 1000
	c, want := make([]T, s.Rows*ldc+8), make([]T, s.Rows*ldc+8)
	for i := range c {
		c[i], want[i] = was, T(math.NaN())
	}
	for i := range s.Rows {
		for j := range n {
			sum := T(0)
			if add != 0 {
				sum = was
			}
			for l := range k {
				sum += a[8+i*row+l*col] * b[at[l]/size+j]
			}
			want[i*ldc+j] = sum
		}
	}
	s.Mul(address(c, 0), address(a, 8), address(b, 0), unsafe.Pointer(&at[0]), k, row, col, ldc, n, add)
	check(t, c, want, was)
}

func testTiles[T float](t *testing.T, p *Product) {
	for name, list := range map[string][]Tile{"tiles": p.Tiles, "unit": p.Unit, "part": p.Part, "narrow": p.Narrow, "wide": p.Wide} {
		for _, s := range list {
			t.Run(fmt.Sprintf("%s/%dx%d", name, s.Rows, s.Columns), func(t *testing.T) {
				for n := 1; n <= s.Columns; n++ {
					if n < s.Columns && (name != "part" && name != "narrow") {
						continue
					}
					for _, k := range []int{1, 2, 3, 7, 40} {
						for add := range 2 {
							tile[T](t, s, n, k, k+2, 1, add)
							if name != "unit" {
								tile[T](t, s, n, k, 1, s.Rows+1, add)
							}
						}
					}
				}
			})
		}
	}
}

func TestTiles(t *testing.T) { products(t, testTiles[float32], testTiles[float64]) }

func testDots[T float](t *testing.T, p *Product) {
	for _, s := range p.Dots {
		t.Run(fmt.Sprintf("%dx%d", s.Rows, s.Columns), func(t *testing.T) {
			for k := 1; k < 70; k++ {
				for add := range 2 {
					dots[T](t, s, k, add)
				}
			}
		})
	}
}

func dots[T float](t *testing.T, s Dot, k, add int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(k)))
	row, col, ldc := k+1, k+3, s.Columns+2
	a, b := whole[T](r, (s.Rows-1)*row+k), whole[T](r, (s.Columns-1)*col+k)
	const was = 1000
	c, want := make([]T, s.Rows*ldc+8), make([]T, s.Rows*ldc+8)
	for i := range c {
		c[i], want[i] = was, T(math.NaN())
	}
	for i := range s.Rows {
		for j := range s.Columns {
			sum := T(0)
			if add != 0 {
				sum = was
			}
			for l := range k {
				sum += a[8+i*row+l] * b[8+j*col+l]
			}
			want[i*ldc+j] = sum
		}
	}
	s.Mul(address(c, 0), address(a, 8), address(b, 8), k, row, col, ldc, add)
	check(t, c, want, was)
}

// testPasses adds terms by passes as the last tile does, to the same bits.
func testPasses[T float](t *testing.T, p *Product) {
	columns := p.Tiles[0].Columns
	r := rand.New(rand.NewPCG(3, 4))
	for _, k := range []int{1, 2, 3, 7, 8, 9, 31} {
		n, ldb := 5*columns/2, 5*columns/2+3
		a, b, at := make([]T, 2*k), make([]T, k*ldb), make([]int, k)
		for i := range a {
			a[i] = T(r.NormFloat64())
		}
		for i := range b {
			b[i] = T(r.NormFloat64())
		}
		for l := range at {
			at[l] = l * ldb * int(unsafe.Sizeof(T(0)))
		}
		c, want := make([]T, n+1), make([]T, n+1)
		for j := 0; j < n; j += columns / 2 {
			p.Narrow[len(p.Narrow)-1].Mul(address(want, j), address(a, 0), address(b, j), unsafe.Pointer(&at[0]), k, 0, 2, n, columns/2, 0)
		}
		for l := 0; l < k; {
			for _, s := range p.Passes {
				if s.Terms <= k-l {
					s.Mul(address(c, 0), address(a, 2*l), address(b, 0), unsafe.Pointer(&at[l]), 2, n, l)
					l += s.Terms
					break
				}
			}
		}
		check(t, c, want, 0)
	}
}

func TestPasses(t *testing.T) { products(t, testPasses[float32], testPasses[float64]) }

func TestDots(t *testing.T) { products(t, testDots[float32], testDots[float64]) }

func testPack[T float](t *testing.T, p *Product) {
	columns, size := p.Tiles[0].Columns, int(unsafe.Sizeof(T(0)))
	for _, n := range []int{1, 3, 4, 8, 40} {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		stride := columns + n + 1
		x := whole[T](r, columns*stride+n*stride)
		lines, want := make([]T, n*columns+8), make([]T, n*columns+8)
		clear := func() {
			for i := range lines {
				lines[i], want[i] = -1, T(math.NaN())
			}
		}
		clear()
		p.PackLines(address(lines, 0), address(x, 8), stride*size, n)
		for i := range n {
			copy(want[i*columns:], x[8+i*stride:][:columns])
		}
		check(t, lines, want, -1)
		if n%4 != 0 {
			continue
		}
		clear()
		p.PackColumns(address(lines, 0), address(x, 8), stride*size, n)
		for i := range n {
			for j := range columns {
				want[i*columns+j] = x[8+j*stride+i]
			}
		}
		check(t, lines, want, -1)
	}
}

func TestPack(t *testing.T) { products(t, testPack[float32], testPack[float64]) }
