package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
	"github.com/weft-go/weft/ops"
)

// TestReductions compares the reductions in assembly with the loops in Go, for all short lengths and some of
// several vectors, with and without NaN.
func TestReductions(t *testing.T) {
	loopSets(t, func(t *testing.T, s asm.Set) {
		r := rand.New(rand.NewPCG(5, 6))
		for n := 1; n < 300; n++ {
			for round := range 8 {
				testReductions(t, r, &s.Loops().Float32, n, round)
				testReductions(t, r, &s.Loops().Float64, n, round)
			}
		}
	})
}

func testReductions[T float32 | float64](t *testing.T, r *rand.Rand, l *asm.Reductions[T], n, round int) {
	t.Helper()
	mem := make([]T, n+16)
	for i := range mem {
		mem[i] = T(math.NaN()) // beyond the elements: must not be seen
	}
	x := mem[n%8 : n%8+n]
	for i := range x {
		x[i] = T(r.NormFloat64() * 10)
	}
	switch nan := T(math.NaN()); round {
	case 0:
		x[r.IntN(n)] = nan
	case 1:
		x[0], x[n-1] = nan, nan
	case 2:
		fill(x, T(math.Inf(-1)))
	case 3:
		fill(x, T(math.Inf(1)))
	case 4:
		x[r.IntN(n)] = x[r.IntN(n)]
	}
	p := unsafe.Pointer(&x[0])
	if got, want := l.Sum(p, n), sum[T, float64](x); math.Abs(got-want) > 1e-10*float64(n) || (got != got) != (want != want) {
		t.Errorf("sum of %d: %v, want %v", n, got, want)
	}
	for _, c := range []struct {
		name      string
		f         func(x unsafe.Pointer, n int) T
		want, one T
		at        int
	}{
		{"max", l.Max, greatest(x), T(math.Inf(-1)), firstGreatest(x)},
		{"min", l.Min, least(x), T(math.Inf(1)), firstLeast(x)},
	} {
		got := c.f(p, n)
		if got != c.want && (got == got || c.want == c.want) {
			t.Errorf("%s of %d: %v, want %v", c.name, n, got, c.want)
		}
		if at := l.First(p, unsafe.Pointer(&got), n); at != c.at {
			t.Errorf("%s of %d at %d, want %d", c.name, n, at, c.at)
		}
	}
	testParts(t, l, p, n)
	other := T(1000)
	if at := l.First(p, unsafe.Pointer(&other), n); round > 3 && at != n {
		t.Errorf("found what is not there at %d of %d", at, n)
	}
}

// testParts holds what is reduced of four parts of x, which overlap, to what is of each.
func testParts[T float32 | float64](t *testing.T, l *asm.Reductions[T], x unsafe.Pointer, n int) {
	t.Helper()
	stride := n / 4
	n -= 3 * stride
	var sums [5]float64
	var maxes, mins [5]T
	sums[4], maxes[4], mins[4] = 77, 77, 77
	l.Sums(unsafe.Pointer(&sums), x, n, stride)
	l.Maxes(unsafe.Pointer(&maxes), x, n, stride)
	l.Mins(unsafe.Pointer(&mins), x, n, stride)
	for i := range 4 {
		p := unsafe.Add(x, i*stride*int(unsafe.Sizeof(T(0))))
		if want := l.Sum(p, n); sums[i] != want && want == want {
			t.Errorf("sum of part %d of %d: %v, alone %v", i, n, sums[i], want)
		}
		if want := l.Max(p, n); maxes[i] != want && (want == want || maxes[i] == maxes[i]) {
			t.Errorf("max of part %d of %d: %v, alone %v", i, n, maxes[i], want)
		}
		if want := l.Min(p, n); mins[i] != want && (want == want || mins[i] == mins[i]) {
			t.Errorf("min of part %d of %d: %v, alone %v", i, n, mins[i], want)
		}
	}
	if sums[4] != 77 || maxes[4] != 77 || mins[4] != 77 {
		t.Errorf("parts of %d: one beyond was written", n)
	}
}

// TestLongRows holds the reductions of rows that are cut into parts and halves to the loops in Go, and those of four rows at once to
// those of each.
func TestLongRows(t *testing.T) {
	if loops == nil {
		t.Skip("no assembly")
	}
	for _, n := range []int{shortAssembly, blockLen, blockLen + 1, 5*blockLen + 3, partedRow - 1, partedRow, partedRow + 5, 3*partedRow + 77} {
		testLongRow(t, ops.Float32, &loops.Float32, n)
		testLongRow(t, ops.Float64, &loops.Float64, n)
	}
}

func testLongRow[T float32 | float64](t *testing.T, d ops.DType, l *asm.Reductions[T], n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 8))
	x := make([]T, 4*n)
	for i := range x {
		x[i] = T(r.NormFloat64())
	}
	sums := newFloatAccumulator[T](ops.ReduceSum, d).(*fold[T, float64])
	quicken(sums, ops.ReduceSum, d, l)
	maxes := newFloatAccumulator[T](ops.ReduceMax, d).(*fold[T, T])
	quicken(maxes, ops.ReduceMax, d, l)
	four := sums.four(unsafe.Pointer(&x[0]), n, n)
	for i := range four {
		row := x[i*n : (i+1)*n]
		if got, want := sums.row(row), sum[T, float64](row); math.Abs(got-want) > 1e-13*float64(n) {
			t.Errorf("%s: sum of %d: %v, want %v", d, n, got, want)
		} else if n < partedRow && four[i] != got {
			t.Errorf("%s: sum of row %d of four of %d: %v, alone %v", d, i, n, four[i], got)
		}
		if got, want := maxes.row(row), greatest(row); got != want {
			t.Errorf("%s: max of %d: %v, want %v", d, n, got, want)
		}
		row[n-1-i] = T(math.NaN())
		if got := maxes.row(row); got == got {
			t.Errorf("%s: max of %d with a NaN: %v", d, n, got)
		}
	}
}

// TestLines compares the reductions of lines.
func TestLines(t *testing.T) {
	loopSets(t, func(t *testing.T, s asm.Set) {
		for n := 1; n < 80; n++ {
			for _, lines := range []int{1, 2, 7, 8, 9, 17} {
				testLines(t, &s.Loops().Float32, n, lines)
				testLines(t, &s.Loops().Float64, n, lines)
			}
		}
	})
}

func testLines[T float32 | float64](t *testing.T, l *asm.Reductions[T], n, lines int) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, uint64(n)))
	x := make([]T, n*lines)
	for i := range x {
		if x[i] = T(r.NormFloat64()); r.IntN(20) == 0 {
			x[i] = T(math.NaN())
		}
	}
	got, want := make([]float64, n+8), make([]float64, n+8)
	sumLines(want[:n], x)
	l.SumLines(unsafe.Pointer(&got[0]), unsafe.Pointer(&x[0]), n, lines, n)
	sameLines(t, fmt.Sprintf("sum of %d lines of %d", lines, n), got, want)
	for _, c := range []struct {
		name string
		f    func(state, x unsafe.Pointer, n, lines, stride int)
		twin func(state, x []T)
	}{{"max", l.MaxLines, greatestLines[T]}, {"min", l.MinLines, leastLines[T]}} {
		got, want := make([]T, n+8), make([]T, n+8)
		c.twin(want[:n], x)
		c.f(unsafe.Pointer(&got[0]), unsafe.Pointer(&x[0]), n, lines, n)
		sameLines(t, fmt.Sprintf("%s of %d lines of %d", c.name, lines, n), got, want)
	}
}

// sameLines compares states, which end with elements that are none of theirs.
func sameLines[T float32 | float64](t *testing.T, what string, got, want []T) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] && (got[i] == got[i] || want[i] == want[i]) {
			t.Errorf("%s: column %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// TestScanSum compares the running sum in assembly with Go's, in place too.
func TestScanSum(t *testing.T) {
	loopSets(t, func(t *testing.T, s asm.Set) {
		r := rand.New(rand.NewPCG(8, 9))
		for n := range 100 {
			x, want := make([]float32, n+8), make([]float32, n+8)
			for i := range x {
				x[i] = float32(r.IntN(100)) // sums are exact
			}
			c := [2]float64{1000, 10}
			copy(want[n:], x[n:])
			last := scanSum(want[:n], x[:n], c[0], c[1])
			s.Loops().ScanSum(unsafe.Pointer(&x[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&c), n)
			if sameLines(t, fmt.Sprintf("scan of %d", n), x, want); c != [2]float64{1000, last} {
				t.Errorf("scan of %d ends with %v, want %v", n, c, last)
			}
		}
	})
}
