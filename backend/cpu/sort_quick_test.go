package cpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
)

// TestSortAssembly holds the parts of the quicksort, and the sort, to package slices.
func TestSortAssembly(t *testing.T) {
	loopSets(t, func(t *testing.T, s asm.Set) {
		t.Run("32", func(t *testing.T) { sortParts[int32](t, &s.Loops().Sort32) })
		t.Run("64", func(t *testing.T) { sortParts[int64](t, &s.Loops().Sort64) })
	})
}

// patterns are ways to make n integers.
var patterns = map[string]func(r *rand.Rand, i, n int) int{
	"random":     func(r *rand.Rand, _, _ int) int { return int(r.Int64()) },
	"bits":       func(r *rand.Rand, _, _ int) int { return r.IntN(2) },
	"few":        func(r *rand.Rand, _, _ int) int { return r.IntN(7) - 3 },
	"same":       func(*rand.Rand, int, int) int { return 5 },
	"ascending":  func(_ *rand.Rand, i, _ int) int { return i },
	"descending": func(_ *rand.Rand, i, _ int) int { return -i },
	"organ":      func(_ *rand.Rand, i, n int) int { return min(i, n-i) },
	"saw":        func(_ *rand.Rand, i, _ int) int { return i % 17 },
	"ends": func(r *rand.Rand, _, _ int) int {
		return []int{math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32}[r.IntN(4)]
	},
}

func sortParts[Q quickKey](t *testing.T, q *asm.Sort) {
	r := rand.New(rand.NewPCG(1, 2))
	lengths := []int{0, 1, 1000, 1023, 20_000}
	for n := range 2*q.Most + 3 {
		lengths = append(lengths, n)
	}
	for name, next := range patterns {
		for _, n := range lengths {
			const before, after = 3, 70 // elements around those to sort
			mem := make([]Q, before+n+after)
			for i := range mem {
				mem[i] = Q(next(r, i, n))
			}
			x, want := mem[before:before+n:before+n], slices.Clone(mem)
			slices.Sort(want[before : before+n])
			given := slices.Clone(mem)
			if 0 < n && n <= q.Most {
				q.Few(unsafe.Pointer(&x[0]), n)
				if !slices.Equal(mem, want) {
					t.Fatalf("%s, few %d: %v\nwant %v", name, n, x, want)
				}
				copy(mem, given)
			}
			if n > 0 {
				partitionCase(t, q, mem, before, n, r.IntN(n), r.IntN(2))
				copy(mem, given)
			}
			quickAlone(t.Context(), q, x, make([]Q, n))
			if !slices.Equal(mem, want) {
				t.Fatalf("%s, %d: not sorted, or more than that", name, n)
			}
			copy(mem, given)
			quick(t.Context(), q, x, make([]Q, n), 2) // the depth runs out
			if !slices.Equal(mem, want) {
				t.Fatalf("%s, %d, depth 2: not sorted, or more than that", name, n)
			}
		}
	}
}

// partitionCase parts the n elements from before on at one of them, less a number.
func partitionCase[Q quickKey](t *testing.T, q *asm.Sort, mem []Q, before, n, at, less int) {
	x, given := mem[before:before+n], slices.Clone(mem)
	p := x[at]
	if p > ^greatestKey[Q]() {
		p -= Q(less)
	}
	y := make([]Q, n+70)
	fill(y, 77)
	m := q.Partition(unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), n, int(p))
	var low, high []Q
	for _, v := range given[before : before+n] {
		if v <= p {
			low = append(low, v)
		} else {
			high = append(high, v)
		}
	}
	if m != len(low) || !slices.Equal(x[:m], low) || !slices.Equal(y[:n-m], high) {
		t.Fatalf("%d at %d: %d %v %v, want %d %v %v", n, p, m, x[:m], y[:n-m], len(low), low, high)
	}
	for i, v := range y[n:] {
		if v != 77 {
			t.Fatalf("%d at %d: element %d beyond y was written", n, p, i)
		}
	}
	if !slices.Equal(mem[:before], given[:before]) || !slices.Equal(mem[before+n:], given[before+n:]) {
		t.Fatalf("%d at %d: elements around were written", n, p)
	}
}

// TestFloatKeys compares the keys of floats with those that the radix sort has, which differ in the first bit.
func TestFloatKeys(t *testing.T) {
	loopSets(t, func(t *testing.T, s asm.Set) {
		r := rand.New(rand.NewPCG(5, 6))
		for n := 1; n < 60; n++ {
			for _, descending := range []bool{false, true} {
				for _, odd := range []bool{false, true} {
					x32, x64 := make([]uint32, n), make([]uint64, n)
					for i := range n {
						x32[i], x64[i] = math.Float32bits(float32(r.NormFloat64())), math.Float64bits(r.NormFloat64())
						switch r.IntN(12) {
						case 0:
							x32[i], x64[i] = 0, 0
						case 1:
							x32[i], x64[i] = math.Float32bits(float32(math.Inf(1-2*r.IntN(2)))), math.Float64bits(math.Inf(1-2*r.IntN(2)))
						}
					}
					if odd {
						i := r.IntN(n)
						x32[i], x64[i] = uint32(1)<<31|uint32(r.IntN(2)*0x7fc00001), uint64(1)<<63|uint64(r.IntN(2)*0x7ff0000000000001)
					}
					floatKeyCase[int32](t, &s.Loops().Sort32, x32, ordering{32, 1 << 31, 0x7f800000, 1<<32 - 1, descending})
					floatKeyCase[int64](t, &s.Loops().Sort64, x64, ordering{64, 1 << 63, 0x7ff0000000000000, 1<<64 - 1, descending})
				}
			}
		}
	})
}

func floatKeyCase[Q quickKey, K sortKey](t *testing.T, q *asm.Sort, x []K, o ordering) {
	n := len(x)
	want := make([]K, n)
	wantOdd := orderKeys(&o, want, x)
	got := make([]Q, n+1)
	got[n] = 77
	odd := q.FloatKeys(unsafe.Pointer(&got[0]), unsafe.Pointer(&x[0]), n, o.flip())
	for i, k := range want {
		if K(got[i])^K(o.sign) != k {
			t.Fatalf("%#x, descending %v: key %#x, want %#x", x[i], o.descending, got[i], k)
		}
	}
	if odd != 0 != wantOdd || got[n] != 77 {
		t.Fatalf("%#x: odd %d, want %v, and %d beyond", x, odd, wantOdd, got[n])
	}
	back, wantBack := make([]K, n+1), make([]K, n)
	elementsOf(&o, wantBack, want)
	q.KeyFloats(unsafe.Pointer(&back[0]), unsafe.Pointer(&got[0]), n, o.flip())
	for i, v := range wantBack {
		if back[i] != v && (back[i]&^K(o.sign) <= K(o.inf) || v&^K(o.sign) <= K(o.inf)) {
			t.Fatalf("%#x, descending %v: back to %#x, want %#x", x[i], o.descending, back[i], v)
		}
	}
	if back[n] != 0 {
		t.Fatal("an element beyond was written")
	}
}

// TestSortTogether sorts by several goroutines.
func TestSortTogether(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	loopSets(t, func(t *testing.T, s asm.Set) {
		j := &job{Backend: New(), ctx: context.Background()}
		r := rand.New(rand.NewPCG(7, 8))
		for name, next := range patterns {
			t.Run(fmt.Sprint(name), func(t *testing.T) {
				x := make([]int32, 200_001)
				for i := range x {
					x[i] = int32(next(r, i, len(x)))
				}
				want := slices.Clone(x)
				slices.Sort(want)
				if err := quickSortKeys(t.Context(), &s.Loops().Sort32, j, x, make([]int32, len(x))); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(x, want) {
					t.Error("not sorted")
				}
			})
		}
	})
}
