package cpu_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
)

// A tensor is an operand of a test with its elements in row-major order.
type tensor struct {
	backend.Operand
	vals []ops.Value
}

// device opens a backend for the test.
func device(t testing.TB) *cpu.Backend {
	t.Helper()
	b := cpu.New()
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// operand returns a tensor of layout l in memory of its own, each element made by next.
func operand(t testing.TB, b *cpu.Backend, d ops.DType, l backend.Layout, next func(i int) ops.Value) tensor {
	t.Helper()
	_, hi := l.Bounds()
	mem := make([]byte, (hi+1)*d.Size())
	x := tensor{vals: make([]ops.Value, l.Len())}
	written := map[int]ops.Value{}
	for i, at := range l.All() {
		v, ok := written[at]
		if !ok {
			v = next(i)
			written[at] = v
			encode(mem, d, at, v)
		}
		x.vals[i] = v
	}
	buf, err := b.Alloc(len(mem))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Write(buf, 0, mem); err != nil {
		t.Fatal(err)
	}
	x.Operand = backend.Operand{Buf: buf, DType: d, Layout: l}
	return x
}

// result returns an operand of layout l to write to, filled with ones in every bit.
func result(t testing.TB, b *cpu.Backend, d ops.DType, l backend.Layout) backend.Operand {
	t.Helper()
	_, hi := l.Bounds()
	mem := make([]byte, (hi+1)*d.Size())
	for i := range mem {
		mem[i] = 0xff
	}
	buf, err := b.Alloc(len(mem))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Write(buf, 0, mem); err != nil {
		t.Fatal(err)
	}
	return backend.Operand{Buf: buf, DType: d, Layout: l}
}

// read returns the elements of o.
func read(t testing.TB, b *cpu.Backend, o backend.Operand) []ops.Value {
	t.Helper()
	mem := make([]byte, o.Buf.Size())
	if err := b.Read(context.Background(), mem, o.Buf, 0); err != nil {
		t.Fatal(err)
	}
	vals := make([]ops.Value, o.Layout.Len())
	for i, at := range o.Layout.All() {
		vals[i] = decode(mem, o.DType, at)
	}
	return vals
}

func encode(mem []byte, d ops.DType, at int, v ops.Value) {
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], v.Bits())
	copy(mem[at*d.Size():], w[:d.Size()])
}

func decode(mem []byte, d ops.DType, at int) ops.Value {
	var w [8]byte
	copy(w[:], mem[at*d.Size():(at+1)*d.Size()])
	return ops.FromBits(d, binary.LittleEndian.Uint64(w[:]))
}

// number returns a random element of type d: mostly of moderate size, sometimes an edge.
func number(r *rand.Rand, d ops.DType) ops.Value {
	if !d.IsFloat() {
		lo, hi := ops.IntRange(d)
		switch r.IntN(12) {
		case 0:
			return ops.IntValue(d, lo)
		case 1:
			return ops.IntValue(d, hi)
		case 2:
			return ops.IntValue(d, r.Int64())
		}
		return ops.IntValue(d, r.Int64N(41)-20)
	}
	edges := [...]float64{0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), 88.8, -104, 1e-40, 1e30, 44, 6e-8, 65504}
	if k := r.IntN(6 * len(edges)); k < len(edges) {
		return ops.FloatValue(d, edges[k])
	}
	return ops.FloatValue(d, r.NormFloat64()*4)
}

// near reports whether got meets want within tol.
func near(got, want ops.Value, tol ops.Tol) bool {
	if !want.DType.IsFloat() {
		return got.I == want.I
	}
	if math.IsNaN(want.F) || math.IsNaN(got.F) {
		return math.IsNaN(want.F) == math.IsNaN(got.F)
	}
	if got.F == want.F || math.Abs(got.F-want.F) <= tol.Abs {
		return true
	}
	return math.Abs(got.F-want.F) <= tol.ULP*ulp(want)
}

// ulp returns the distance from v to the next greater element, in magnitude.
func ulp(v ops.Value) float64 {
	abs := ops.FloatValue(v.DType, math.Abs(v.F))
	if math.IsInf(abs.F, 0) {
		abs = ops.FromBits(v.DType, abs.Bits()-1)
	}
	return ops.FromBits(v.DType, abs.Bits()+1).F - abs.F
}

// run runs one step and fails the test on an error.
func run(t testing.TB, b *cpu.Backend, s backend.Step) {
	t.Helper()
	if err := b.Run(context.Background(), []backend.Step{s}); err != nil {
		t.Fatal(err)
	}
}

// layouts returns layouts of shape in buffers of their own, by name.
func layouts(shape backend.Shape) map[string]backend.Layout {
	rank := len(shape)
	m := map[string]backend.Layout{"dense": backend.Dense(shape)}
	if rank == 0 {
		return m
	}
	reversed := make(backend.Shape, rank)
	axes := make([]int, rank)
	for i := range shape {
		reversed[rank-1-i] = shape[i]
		axes[i] = rank - 1 - i
	}
	m["transposed"] = must(backend.Dense(reversed).Permute(axes...))
	wide := shape.Clone()
	wide[rank-1] = wide[rank-1]*2 + 3
	m["stepped"] = must(backend.Dense(wide).Slice(-1, 1, 2, shape[rank-1]))
	m["sliced"] = must(backend.Dense(wide).Slice(-1, 2, 1, shape[rank-1]))
	if shape[rank-1] > 0 {
		m["reversed"] = must(backend.Dense(shape).Slice(-1, shape[rank-1]-1, -1, shape[rank-1]))
	}
	for _, a := range []int{0, rank - 1} {
		one := shape.Clone()
		one[a] = 1
		m[fmt.Sprintf("broadcast%d", a)] = must(backend.Dense(one).BroadcastTo(shape))
	}
	m["scalar"] = must(backend.Dense(nil).BroadcastTo(shape))
	return m
}

// layoutNames returns the names of the layouts of shape in a fixed order, without the scalar.
func layoutNames(shape backend.Shape) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(layouts(shape))), func(n string) bool { return n == "scalar" })
}

func must(l backend.Layout, err error) backend.Layout {
	if err != nil {
		panic(err)
	}
	return l
}

// evalRows runs e, the body of a Reduce or Row kernel, by the definitions: in float64, rounded after each
// instruction. The operands have rows·c elements, and so have the results.
func evalRows(e *ops.Expr, rows, c int, in []tensor, consts []uint64) [][]ops.Value {
	out := make([][]ops.Value, len(e.Out))
	for k := range out {
		out[k] = make([]ops.Value, rows*c)
	}
	for r := range rows {
		vals := make([][]ops.Value, len(e.Code))
		for v := range e.Code {
			vals[v] = evalRow(&e.Code[v], vals, r, c, in, consts)
		}
		for k, v := range e.Out {
			copy(out[k][r*c:], vals[v])
		}
	}
	return out
}

func evalRow(in *ops.Instr, vals [][]ops.Value, r, c int, operands []tensor, consts []uint64) []ops.Value {
	row := make([]ops.Value, c)
	switch in.Kind {
	case ops.Reduce:
		x := vals[in.Args[0]]
		total := reduceValues(in.Red, x, x[0].DType)
		for i := range row {
			row[i] = total
		}
		return row
	case ops.Scan:
		return scanValues(in, vals[in.Args[0]])
	}
	for i := range row {
		switch in.Kind {
		case ops.Load:
			row[i] = operands[in.Args[0]].vals[r*c+i]
		case ops.Index:
			row[i] = ops.IntValue(in.DType, operands[in.Args[0]].vals[r*c+i].I)
		case ops.Const:
			row[i] = ops.FromBits(in.DType, consts[in.Args[0]])
		case ops.Cast:
			row[i] = vals[in.Args[0]][i].Convert(in.DType)
		case ops.Apply:
			args := make([]ops.Value, in.Op.Arity)
			for k, a := range in.Operands() {
				args[k] = vals[a][i]
			}
			row[i] = in.Op.Eval(args...)
		}
	}
	return row
}

// scanValues is the definition of a scan: from left to right, floats in float64.
func scanValues(in *ops.Instr, x []ops.Value) []ops.Value {
	row := slices.Clone(x)
	d := x[0].DType
	if in.Reverse {
		slices.Reverse(row)
	}
	wide := d
	if d.IsFloat() {
		wide = ops.Float64
	}
	acc := reduceValues(in.Red, nil, wide)
	for i, v := range row {
		next := reduceValues(in.Red, []ops.Value{acc, {DType: wide, F: v.F, I: v.I}}, wide)
		if in.Exclusive {
			row[i] = acc.Convert(d)
		} else {
			row[i] = next.Convert(d)
		}
		acc = next
	}
	if in.Reverse {
		slices.Reverse(row)
	}
	return row
}

// reduceValues is the definition of a reduction.
func reduceValues(r ops.ReduceOp, x []ops.Value, d ops.DType) ops.Value {
	if d.IsFloat() {
		return reduceFloats(r, x, d)
	}
	lo, hi := ops.IntRange(d)
	acc := map[ops.ReduceOp]int64{
		ops.ReduceProd: 1, ops.ReduceMax: lo, ops.ReduceMin: hi, ops.ReduceAll: 1,
	}[r]
	for i, v := range x {
		switch r {
		case ops.ReduceSum:
			acc += v.I
		case ops.ReduceProd:
			acc *= v.I
		case ops.ReduceMax, ops.ReduceAny:
			acc = max(acc, v.I)
		case ops.ReduceMin, ops.ReduceAll:
			acc = min(acc, v.I)
		case ops.ReduceArgMax:
			if v.I > x[acc].I {
				acc = int64(i)
			}
		case ops.ReduceArgMin:
			if v.I < x[acc].I {
				acc = int64(i)
			}
		}
	}
	return ops.IntValue(r.Result(d), acc)
}

func reduceFloats(r ops.ReduceOp, x []ops.Value, d ops.DType) ops.Value {
	acc := map[ops.ReduceOp]float64{
		ops.ReduceProd: 1, ops.ReduceMax: math.Inf(-1), ops.ReduceMin: math.Inf(1), ops.ReduceLogAddExp: math.Inf(-1),
	}[r]
	at, lost := 0, 0.0 // lost: what the sum's rounding cut off, as Neumaier found
	for i, v := range x {
		switch r {
		case ops.ReduceSum:
			t := acc + v.F
			if math.Abs(acc) >= math.Abs(v.F) {
				lost += (acc - t) + v.F
			} else {
				lost += (v.F - t) + acc
			}
			acc = t
		case ops.ReduceProd:
			acc *= v.F
		case ops.ReduceMax:
			acc = max(acc, v.F)
		case ops.ReduceMin:
			acc = min(acc, v.F)
		case ops.ReduceLogAddExp:
			acc = ops.LogAddExp.Float(acc, v.F, 0)
		case ops.ReduceArgMax, ops.ReduceArgMin:
			best := x[at].F
			if best == best && (v.F != v.F || r == ops.ReduceArgMax && v.F > best || r == ops.ReduceArgMin && v.F < best) {
				at = i
			}
		}
	}
	if r == ops.ReduceArgMax || r == ops.ReduceArgMin {
		return ops.IntValue(ops.Int32, int64(at))
	}
	if r == ops.ReduceSum && lost == lost {
		acc += lost
	}
	return ops.FloatValue(d, acc)
}
