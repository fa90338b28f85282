package cpu_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/ops"
)

// indices returns dense indices over domain.
func indices(t testing.TB, b *cpu.Backend, d ops.DType, domain backend.Shape, vals ...float64) tensor {
	t.Helper()
	return dense(t, b, d, domain, list(vals...))
}

func gatherStep(b *cpu.Backend, post ops.Expr, src, index tensor, out backend.Operand, rest ...backend.Operand) error {
	return b.Run(context.Background(), []backend.Step{{
		Kernel: &backend.Gather{Post: post}, Shape: out.Layout.Shape,
		In: append([]backend.Operand{src.Operand, index.Operand}, rest...), Out: []backend.Operand{out},
	}})
}

// take is tensor.Take along axis 0 of a matrix: index picks rows. All are over [ids… columns].
func take(t testing.TB, b *cpu.Backend, table, ids tensor, layout string) ([]ops.Value, error) {
	t.Helper()
	rows, cols := table.Layout.Shape[0], table.Layout.Shape[1]
	domain := append(ids.Layout.Shape.Clone(), cols)
	src := must(must(table.Layout.Permute(1, 0)).BroadcastTo(append(domain.Clone(), rows)))
	index := must(must(ids.Layout.Insert(-1)).BroadcastTo(domain))
	out := result(t, b, table.DType, layouts(domain)[layout])
	err := gatherStep(b, load(table.DType), table.view(src), ids.view(index), out)
	return read(t, b, out), err
}

// TestGatherRows takes rows of every type by indices of every type, from and to each layout.
func TestGatherRows(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(11, 12))
	ints := []ops.DType{ops.Int8, ops.Uint8, ops.Int32, ops.Uint32, ops.Int64}
	shape := backend.Shape{9, 70}
	types := ops.DTypes()
	if testing.Short() {
		types = []ops.DType{ops.Uint8, ops.Float16, ops.Float32, ops.Int64} // a type a size
	}
	for i, d := range types {
		for _, name := range []string{"dense", "transposed", "stepped", "reversed", "broadcast0", "scalar"} {
			for _, out := range []string{"dense", "transposed", "stepped"} {
				id := ints[i%len(ints)]
				t.Run(fmt.Sprintf("%s/%s/%s/%s", d, id, name, out), func(t *testing.T) {
					table := operand(t, b, d, layouts(shape)[name], small(r, d))
					ids := operand(t, b, id, backend.Dense(backend.Shape{2, 31}), func(int) ops.Value {
						lo := -9
						if !id.Signed() {
							lo = 0
						}
						return ops.IntValue(id, int64(lo+r.IntN(9-lo)))
					})
					got, err := take(t, b, table, ids, out)
					if err != nil {
						t.Fatal(err)
					}
					for k, v := range got {
						row := int(ids.vals[k/70].I+9) % 9
						if want := table.vals[row*70+k%70]; v.Bits() != want.Bits() {
							t.Fatalf("element %d: %v, want %v", k, v, want)
						}
					}
				})
			}
		}
	}
}

// TestGatherStream takes rows, more than a cache holds, of lengths that are whole cache lines and not.
func TestGatherStream(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(13, 14))
	const rows, taken = 61, 2100
	ids := operand(t, b, ops.Int64, backend.Dense(backend.Shape{taken, 1}), func(int) ops.Value {
		return ops.IntValue(ops.Int64, int64(r.IntN(2*rows)-rows))
	})
	for _, cols := range []int{2048, 2051} {
		table := operand(t, b, ops.Float32, backend.Dense(backend.Shape{rows, cols}), small(r, ops.Float32))
		domain := backend.Shape{taken, cols}
		src, index, out := table.Operand, ids.Operand, result(t, b, ops.Float32, backend.Dense(domain))
		src.Layout = backend.Layout{Shape: backend.Shape{taken, cols, rows}, Strides: []int{0, 1, cols}}
		index.Layout = backend.Layout{Shape: domain, Strides: []int{1, 0}}
		if err := gatherStep(b, load(ops.Float32), tensor{Operand: src}, tensor{Operand: index}, out); err != nil {
			t.Fatal(err)
		}
		mem, err := b.Bytes(out.Buf)
		if err != nil {
			t.Fatal(err)
		}
		for k := range taken * cols {
			row := int(ids.vals[k/cols].I+rows) % rows
			if got, want := binary.LittleEndian.Uint32(mem[4*k:]), table.vals[row*cols+k%cols].Bits(); uint64(got) != want {
				t.Fatalf("%d columns: element %d: %x, want %x", cols, k, got, want)
			}
		}
	}
}

// TestGatherElements has an index for each element, as NumPy's take_along_axis, and adds to what it finds.
func TestGatherElements(t *testing.T) {
	b := device(t)
	r := rand.New(rand.NewPCG(11, 12))
	var eb ops.Builder
	for _, d := range []ops.DType{ops.Float32, ops.Float16, ops.Int64, ops.Uint8} {
		for _, name := range []string{"dense", "transposed", "reversed"} {
			t.Run(fmt.Sprintf("%s/%s", d, name), func(t *testing.T) {
				eb = ops.Builder{}
				eb.Result(eb.Apply(ops.Add, eb.Load(eb.Operand(d), false), eb.Load(eb.Operand(d), false)))
				domain := backend.Shape{40, 50}
				src := operand(t, b, d, layouts(backend.Shape{40, 50, 7})[name], small(r, d))
				more := operand(t, b, d, layouts(domain)["transposed"], small(r, d))
				ids := operand(t, b, ops.Int64, layouts(domain)[name], func(int) ops.Value { return ops.IntValue(ops.Int64, r.Int64N(14)-7) })
				out := result(t, b, d, layouts(domain)[name])
				if err := gatherStep(b, eb.Expr(), src, ids, out, more.Operand); err != nil {
					t.Fatal(err)
				}
				for k, v := range read(t, b, out) {
					found := src.vals[k*7+int(ids.vals[k].I+7)%7]
					if want := ops.Add.Eval(found, more.vals[k]); v != want {
						t.Fatalf("element %d: %v, want %v", k, v, want)
					}
				}
			})
		}
	}
}

func TestGatherCases(t *testing.T) {
	b := device(t)
	t.Run("I11", func(t *testing.T) { // negative and out of range
		for _, d := range []ops.DType{ops.Int8, ops.Int32, ops.Int64} {
			table := dense(t, b, ops.Float32, backend.Shape{3, 1}, list(10, 20, 30))
			got, err := take(t, b, table, indices(t, b, d, backend.Shape{3}, -1, 0, -3), "dense")
			if err != nil {
				t.Fatal(err)
			}
			wantFloats(t, got, 30, 10, 10)
			for _, bad := range []float64{3, -4, 100, -100} {
				_, err := take(t, b, table, indices(t, b, d, backend.Shape{2, 2}, 0, 1, bad, bad), "dense")
				want := fmt.Sprintf("index %v at [1 0 0] is out of range for an axis of extent 3", bad)
				if !errors.Is(err, backend.ErrIndex) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s %v: error %v, want %q", d, bad, err, want)
				}
			}
		}
	})
	t.Run("I15", func(t *testing.T) { // embedding
		for _, d := range []ops.DType{ops.Float32, ops.Float16, ops.BFloat16} {
			table := dense(t, b, d, backend.Shape{3, 2}, from(0))
			for _, id := range []ops.DType{ops.Int32, ops.Int64, ops.Uint8} {
				got, err := take(t, b, table, indices(t, b, id, backend.Shape{2, 2}, 2, 0, 1, 1), "dense")
				if err != nil {
					t.Fatal(err)
				}
				wantFloats(t, got, 4, 5, 0, 1, 2, 3, 2, 3)
			}
			if got, err := take(t, b, table, indices(t, b, ops.Int32, backend.Shape{2, 0}, 0), "dense"); err != nil || len(got) != 0 {
				t.Errorf("no ids: %v, error %v", got, err)
			}
			if _, err := take(t, b, table, dense(t, b, ops.Float32, backend.Shape{2}, full(0)), "dense"); !errors.Is(err, backend.ErrDType) {
				t.Errorf("float ids: error %v", err)
			}
		}
	})
}

// TestGatherFirstError names the first index out of range, however the work is split.
func TestGatherFirstError(t *testing.T) {
	b := device(t)
	n := 150000
	src := dense(t, b, ops.Float32, backend.Shape{1, 5}, from(0))
	src.Layout = must(src.Layout.BroadcastTo(backend.Shape{n, 5}))
	ids := float32s(t, b, backend.Shape{n}, func(int) float64 { return 0 })
	ids.DType = ops.Int32 // its zeros are float32's
	bad := result(t, b, ops.Int32, backend.Dense(backend.Shape{n}))
	for _, at := range []int{149777, 100777, 777} { // -1 elsewhere, which is fine
		if err := b.Write(bad.Buf, 4*at, []byte{9, 3, 0, 0}); err != nil {
			t.Fatal(err)
		}
	}
	out := result(t, b, ops.Float32, backend.Dense(backend.Shape{n}))
	for range 20 {
		if err := gatherStep(b, load(ops.Float32), src, tensor{Operand: bad}, out); err == nil || !strings.Contains(err.Error(), "index 777 at [777]") {
			t.Fatalf("error %v", err)
		}
	}
	if err := gatherStep(b, load(ops.Float32), src, tensor{Operand: ids}, out); err != nil {
		t.Fatal(err)
	}
	empty := dense(t, b, ops.Float32, backend.Shape{0, 1}, nil)
	if _, err := take(t, b, empty, indices(t, b, ops.Int32, backend.Shape{1}, 0), "dense"); !errors.Is(err, backend.ErrIndex) {
		t.Errorf("index into nothing: error %v", err)
	}
}
