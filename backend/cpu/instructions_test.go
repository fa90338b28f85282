package cpu

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu/internal/asm"
	"github.com/weft-go/weft/ops"
)

func TestChooseInstructions(t *testing.T) {
	intel, old, arm := []asm.Set{asm.Generic, asm.AVX2, asm.AVX512}, []asm.Set{asm.Generic, asm.AVX2}, []asm.Set{asm.Generic, asm.NEON}
	for _, tc := range []struct {
		name string
		sets []asm.Set
		want asm.Set
		ok   bool
	}{
		{"", old, asm.AVX2, true},
		{"", arm, asm.NEON, true},
		{"generic", intel, asm.Generic, true},
		{"avx2", intel, asm.AVX2, true},
		{"avx512", intel, asm.AVX512, true},
		{"neon", arm, asm.NEON, true},
		{"avx512", old, asm.AVX2, false},
		{"avx2", []asm.Set{asm.Generic}, asm.Generic, false},
		{"avx2", arm, asm.NEON, false},
		{"neon", old, asm.AVX2, false},
		{"mmx", old, asm.AVX2, false},
	} {
		got, err := chooseInstructions(tc.name, tc.sets)
		if got != tc.want || (err == nil) != tc.ok || err != nil && !errors.Is(err, backend.ErrDevice) {
			t.Errorf("%q of %v: %s, %v; want %s", tc.name, tc.sets, got, err, tc.want)
		}
	}
	if errInstructions != nil {
		t.Error(errInstructions)
	}
}

// sets runs f for each instruction set with assembly that the processor has.
func sets(t *testing.T, f func(t *testing.T, s asm.Set)) {
	for _, s := range asm.Sets()[1:] {
		t.Run(s.String(), func(t *testing.T) { f(t, s) })
	}
}

// loopSets is sets for those that have more than elementwise kernels and products.
func loopSets(t *testing.T, f func(t *testing.T, s asm.Set)) {
	sets(t, func(t *testing.T, s asm.Set) {
		if s.Loops() == nil {
			t.Skipf("%s has no loops", s)
		}
		f(t, s)
	})
}

// TestFunctionsByBits holds the functions on Float32 in assembly to their definitions, at numbers spread evenly over
// all bit patterns and at those around the limits of formulas.
func TestFunctionsByBits(t *testing.T) {
	step := uint32(1021)
	if testing.Short() {
		step = 65521
	}
	var xs []float32
	for b := uint64(0); b < 1<<32; b += uint64(step) {
		xs = append(xs, math.Float32frombits(uint32(b)))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1 << 17 / (1 + step>>12) {
		xs = append(xs, float32(r.NormFloat64()), float32(r.NormFloat64()*20), float32(r.NormFloat64()*60), 1+float32(r.NormFloat64())/1e3)
	}
	for _, x := range edges32() {
		for d := range uint32(9) {
			xs = append(xs, math.Float32frombits(math.Float32bits(x)+d-4))
		}
	}
	sets(t, func(t *testing.T, s asm.Set) {
		for _, k := range s.Kernels() {
			o := ops.ByName(k.Op)
			if k.DType != "float32" || o.Arity != 1 || o.Rule.ToBool {
				continue
			}
			zs := make([]float32, len(xs))
			f := newTable(s)[rowKey{k.Op, ops.Float32}].v
			f(unsafe.Pointer(&zs[0]), unsafe.Pointer(&xs[0]), nil, nil, len(xs))
			worst, at, bad := 0.0, float32(0), 0
			for i, x := range xs {
				arg, got := ops.FloatValue(ops.Float32, float64(x)), ops.FloatValue(ops.Float32, float64(zs[i]))
				if u := ops.ULPs(got, o.Eval(arg)); u > worst {
					worst, at = u, x
				}
				if !o.Within(got, arg) {
					if bad++; bad < 5 {
						t.Errorf("%s(%g) = %g, want %g", o.Name, x, zs[i], o.Eval(arg).F)
					}
				}
			}
			t.Logf("%s: %g ULP at %g", o.Name, worst, at)
		}
	})
}

// edges32 are numbers at which results or their formulas change.
func edges32() []float32 {
	inf := float32(math.Inf(1))
	edges := []float32{
		0, 1, 2, 0.5, math.Sqrt2, math.Sqrt2 / 2, math.Pi, math.Pi / 2, math.Ln2, math.Ln2 / 2, inf, float32(math.NaN()), math.MaxFloat32,
		math.SmallestNonzeroFloat32, 0x1p-126, 0x1p-26, 0x1p-13, 0x1p24, 44, 88, 88.72284, 89.4, 90, 95, 103.97, 104, 115, 126, 127, 128, 149, 150, 20, 30,
		4, 3.92, 9.2, 10.05, 11, 14.2, 15, 1e5, 2e5, 1e9, 1e30,
	}
	for _, x := range edges {
		edges = append(edges, -x)
	}
	return edges
}

// TestAssembly compares the kernels in assembly with their twins in Go, for every length of a few vectors, at all
// alignments, in place and not, and looks for writes beyond the end.
func TestAssembly(t *testing.T) {
	sets(t, func(t *testing.T, s asm.Set) {
		twins, table := newTable(asm.Generic), newTable(s)
		for _, k := range s.Kernels() {
			d, err := ops.ParseDType(k.DType)
			if err != nil {
				t.Fatal(err)
			}
			c := twinCase{op: ops.ByName(k.Op), dtype: d, kernel: k}
			c.twin = twins[rowKey{k.Op, d}].v
			if c.fn = table[rowKey{k.Op, d}].v; k.Lone != 0 {
				c.fn = table[rowKey{k.Op, d}].lone[k.Lone]
			}
			if c.twin == nil {
				c.twin = defined(c.op, d)
			}
			t.Run(fmt.Sprintf("%s/%s/%d", k.Op, k.DType, k.Lone), c.test)
		}
	})
}

type twinCase struct {
	op     *ops.Op
	dtype  ops.DType
	kernel asm.Kernel
	fn     block // the kernel, with what the table puts around it
	twin   block
}

func (c *twinCase) test(t *testing.T) {
	r := rand.New(rand.NewPCG(3, uint64(c.dtype)))
	for n := range 201 {
		if n > 70 && n%13 != 0 {
			continue
		}
		c.length(t, r, n, n%7, false)
		c.length(t, r, n, n%7, true)
		if t.Failed() {
			return
		}
	}
}

const guard = 64

// length compares results for n elements that begin off elements after an aligned place.
func (c *twinCase) length(t *testing.T, r *rand.Rand, n, off int, inPlace bool) {
	out := c.dtype
	if c.op.Rule.ToBool {
		out = ops.Bool
	}
	var args, full [3]unsafe.Pointer // full: with lone elements repeated, as the twin takes them
	var place unsafe.Pointer
	vals := make([][]ops.Value, c.op.Arity)
	for i := range c.op.Arity {
		d := c.dtype
		if i == 0 && c.op.Rule.Cond {
			d = ops.Bool
		}
		lone := c.kernel.Lone>>i&1 != 0
		args[i], full[i], vals[i] = randomBlock(r, d, n, off, lone)
		if inPlace && !lone && regSize(d) == regSize(out) {
			place = args[i]
		}
	}
	if place != nil {
		c.compare(t, out, place, args, full, vals, n)
		return
	}
	mem := make([]uint64, n+off+2*guard)
	z := unsafe.Add(unsafe.Pointer(&mem[0]), guard*8/2+off*regSize(out))
	c.compare(t, out, z, args, full, vals, n)
}

func (c *twinCase) compare(t *testing.T, out ops.DType, z unsafe.Pointer, args, full [3]unsafe.Pointer, vals [][]ops.Value, n int) {
	size := regSize(out)
	want := make([]uint64, n+1)
	c.twin(unsafe.Pointer(&want[0]), full[0], full[1], full[2], n)
	before := append([]byte(nil), vec[byte](unsafe.Add(z, -guard), guard)...)
	after := append([]byte(nil), vec[byte](unsafe.Add(z, n*size), guard)...)
	c.fn(z, args[0], args[1], args[2], n)
	for i := range n {
		got, w := getValue(out, unsafe.Add(z, i*size)), getValue(out, unsafe.Add(unsafe.Pointer(&want[0]), i*size))
		operands := make([]ops.Value, len(vals))
		for k := range vals {
			operands[k] = vals[k][i]
		}
		exact := got == w || got.F != got.F && w.F != w.F
		sign := math.Signbit(got.F) // of a zero: that of the definition
		if exact && got.F == 0 && sign != math.Signbit(w.F) && sign != math.Signbit(c.op.Eval(operands...).F) || !exact && !c.op.Within(got, operands...) {
			t.Errorf("%d of %d: %s of %v = %v, want %v", i, n, c.op.Name, operands, got, w)
			return
		}
	}
	if string(before) != string(vec[byte](unsafe.Add(z, -guard), guard)) || string(after) != string(vec[byte](unsafe.Add(z, n*size), guard)) {
		t.Errorf("%d elements: bytes around the result changed", n)
	}
}

// randomBlock returns n elements with room around them: as operand of a kernel, one by one, and as values.
func randomBlock(r *rand.Rand, d ops.DType, n, off int, lone bool) (p, full unsafe.Pointer, vals []ops.Value) {
	size := regSize(d)
	mem, spread := make([]uint64, n+off+2*guard), make([]uint64, n+off+2*guard)
	p = unsafe.Add(unsafe.Pointer(&mem[0]), guard*8/2+off*size)
	full = unsafe.Add(unsafe.Pointer(&spread[0]), guard*8/2)
	vals = make([]ops.Value, n)
	first := randomValue(r, d)
	putValue(d, p, first)
	for i := range vals {
		v := first
		if !lone {
			v = randomValue(r, d)
			putValue(d, unsafe.Add(p, i*size), v)
		}
		putValue(d, unsafe.Add(full, i*size), v)
		vals[i] = v
	}
	return p, full, vals
}

// randomValue returns an element of type d: of moderate size, or an edge, or of random bits.
func randomValue(r *rand.Rand, d ops.DType) ops.Value {
	switch {
	case d == ops.Bool:
		return ops.IntValue(d, r.Int64N(2))
	case !d.IsFloat() && r.IntN(2) == 0:
		return ops.IntValue(d, r.Int64()>>r.IntN(64))
	case !d.IsFloat():
		return ops.IntValue(d, r.Int64N(21)-10)
	}
	switch edges := edges32(); r.IntN(4) {
	case 0:
		return ops.FloatValue(d, float64(edges[r.IntN(len(edges))]))
	case 1:
		return ops.FromBits(d, r.Uint64())
	}
	return ops.FloatValue(d, r.NormFloat64()*4)
}

// TestCastAssembly compares conversions in assembly with those in Go, for every length of a few vectors.
func TestCastAssembly(t *testing.T) {
	loopSets(t, func(t *testing.T, s asm.Set) {
		r := rand.New(rand.NewPCG(10, 11))
		for _, k := range s.Loops().Casts {
			to, err := ops.ParseDType(k.To)
			if err != nil {
				t.Fatal(err)
			}
			from, err := ops.ParseDType(k.From)
			if err != nil {
				t.Fatal(err)
			}
			for n := range 80 {
				x, _, vals := randomBlock(r, from, n, n%5, false)
				mem := make([]uint64, n+2)
				want := append([]uint64(nil), mem...)
				k.Block(unsafe.Pointer(&mem[0]), x, nil, nil, n)
				castGo(to, from)(unsafe.Pointer(&want[0]), x, nil, nil, n)
				for i := range n + 1 {
					at := i * regSize(to)
					got, w := getValue(to, unsafe.Add(unsafe.Pointer(&mem[0]), at)), getValue(to, unsafe.Add(unsafe.Pointer(&want[0]), at))
					if got != w && (got.F == got.F || w.F == w.F) {
						t.Fatalf("%s to %s, %d of %d: %v, want %v (of %v)", from, to, i, n, got, w, vals)
					}
				}
			}
		}
	})
}

// TestHalvesAssembly compares the conversions of half-precision numbers with Go's: all of them, and rounding.
func TestHalvesAssembly(t *testing.T) {
	loopSets(t, func(t *testing.T, s asm.Set) {
		r := rand.New(rand.NewPCG(12, 13))
		for d, h := range map[ops.DType]*asm.Halves{ops.Float16: &s.Loops().Float16, ops.BFloat16: &s.Loops().BFloat16} {
			for n := range 70 {
				mem := make([]float32, n+1)
				half := vec[uint16](unsafe.Pointer(&mem[0]), 2*n+2)[n : 2*n] // the last half of the result
				bits := make([]uint16, n)
				for i := range half {
					half[i] = uint16(r.Uint32())
					bits[i] = half[i]
				}
				if n == 0 {
					continue
				}
				h.Widen(unsafe.Pointer(&mem[0]), unsafe.Pointer(&half[0]), nil, nil, n)
				back := make([]uint16, n+1)
				h.Narrow(unsafe.Pointer(&back[0]), unsafe.Pointer(&mem[0]), nil, nil, n)
				for i, b := range bits {
					want := ops.FromBits(d, uint64(b)).F
					if got := float64(mem[i]); got != want && (got == got || want == want) {
						t.Fatalf("%s %#x widened: %v, want %v", d, b, got, want)
					}
					if want == want && back[i] != b {
						t.Fatalf("%s %#x narrowed: %#x", d, b, back[i])
					}
				}
				x := make([]float32, n+1)
				for i := range x {
					x[i] = float32(randomValue(r, ops.Float32).F)
				}
				z := append([]float32(nil), x...)
				h.Round(unsafe.Pointer(&z[0]), unsafe.Pointer(&z[0]), nil, nil, n)
				for i := range n {
					if want := ops.RoundFloat(d, float64(x[i])); float64(z[i]) != want && (z[i] == z[i] || want == want) {
						t.Fatalf("%v rounded to %s: %v, want %v", x[i], d, z[i], want)
					}
				}
				if back[n] != 0 || z[n] != x[n] && x[n] == x[n] {
					t.Fatalf("%s: bytes beyond %d elements changed", d, n)
				}
			}
		}
	})
}
