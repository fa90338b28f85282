package wgpu

import (
	"cmp"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// TestSort sorts rows of every type in each of the ways that there are: several in one workgroup, one, the first elements
// by segments, in one round and in two, and by radix, of one block and of several.
func TestSort(t *testing.T) {
	e := openTest(t)
	for _, d := range []ops.DType{ops.Bool, ops.Int8, ops.Uint8, ops.Float16, ops.BFloat16, ops.Int32, ops.Uint32, ops.Float32, ops.Int64} {
		for _, c := range []struct{ rows, n, kept int }{
			{700, 3, 3}, {3, 1024, 1024}, {3, 1024, 10}, {2, 1025, 5}, {1, 10_000, mostChosen}, {1, 1025, 1025}, {2, 5000, 5000}, {1, 4096, 200},
		} {
			values := numbers(c.rows*c.n, int(d), d.Signed())
			if d == ops.Bool {
				for i := range values {
					values[i] &= 1
				}
			}
			if d == ops.Int64 {
				for i, v := range values {
					values[i] = v << 30 * (1 + i%7) // of which some differ in one word alone
				}
			}
			for _, descending := range []bool{false, true} {
				places, found := upload(t, e, ops.Int32, make([]int, c.rows*c.kept)), upload(t, e, d, make([]int, c.rows*c.kept))
				x := matrix(upload(t, e, d, values), d, c.rows, c.n)
				run(t, e, backend.Step{
					Kernel: &backend.Sort{DType: d, Descending: descending, Index: true, Post: *loads[ops.Int32]}, Shape: backend.Shape{c.rows, c.kept},
					In: []backend.Operand{x}, Out: []backend.Operand{matrix(places, ops.Int32, c.rows, c.kept)},
				}, backend.Step{
					Kernel: &backend.Sort{DType: d, Descending: descending, Post: *loads[d]}, Shape: backend.Shape{c.rows, c.kept},
					In: []backend.Operand{x}, Out: []backend.Operand{matrix(found, d, c.rows, c.kept)},
				})
				gotPlaces, got := download(t, e, ops.Int32, places), download(t, e, d, found)
				for r := range c.rows {
					row := values[r*c.n : (r+1)*c.n]
					want := sortedPlaces(row, descending)
					for i := range c.kept {
						if at := r*c.kept + i; gotPlaces[at] != want[i] || got[at] != row[want[i]] {
							t.Fatalf("%s, the first %d of %d of row %d, descending %v: place %d has element %d, %d, want %d, %d",
								d, c.kept, c.n, r, descending, i, gotPlaces[at], got[at], want[i], row[want[i]])
						}
					}
				}
			}
		}
	}
}

func sortedPlaces(row []int, descending bool) []int {
	places := make([]int, len(row))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(i, j int) int {
		if descending {
			i, j = j, i
		}
		return row[i] - row[j]
	})
	return places
}

// TestSortBits sorts long rows of floats of which many are zeros of both signs and NaN of many kinds: each keeps its bits, and its
// place among its like. Without subgroups the elements are moved otherwise, and must be too.
func TestSortBits(t *testing.T) {
	e := openTest(t)
	const n = 3000
	for _, d := range []ops.DType{ops.Float32, ops.Float16, ops.BFloat16} {
		shift := 8 * d.Size()
		quiet := map[ops.DType]uint32{ops.Float16: 0x200, ops.BFloat16: 0x40}[d] // a bit that a NaN may get when it is read
		infinity := map[ops.DType]uint32{ops.Float32: 0x7f800000, ops.Float16: 0x7c00, ops.BFloat16: 0x7f80}[d]
		bits := make([]uint32, n)
		mem := make([]byte, 0, n*d.Size())
		for i, v := range numbers(n, 5, false) {
			sign := uint32(i>>1&1) << (shift - 1)
			switch v {
			case 0, 1:
				bits[i] = sign // a zero
			case 2:
				bits[i] = sign | infinity + 1 + uint32(i)%100 // NaN
			case 3:
				bits[i] = sign | infinity
			default:
				bits[i] = sign | infinity - uint32(v*i)%0x300 - 1
			}
			mem = append(mem, binary.LittleEndian.AppendUint32(nil, bits[i])[:d.Size()]...)
		}
		order := func(b uint32, descending bool) int { // the key
			switch magnitude := b &^ (1 << (shift - 1)); {
			case magnitude > infinity:
				return 1 << 40
			case (b != magnitude) != descending:
				return -int(magnitude)
			default:
				return int(magnitude)
			}
		}
		x, err := e.Alloc(len(mem))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Write(x, 0, mem); err != nil {
			t.Fatal(err)
		}
		for _, descending := range []bool{false, true} {
			want := slices.Clone(bits)
			slices.SortStableFunc(want, func(a, b uint32) int { return cmp.Compare(order(a, descending), order(b, descending)) })
			for _, subgroup := range []int{e.subgroup, 0} {
				e.subgroup, subgroup = subgroup, e.subgroup
				found := upload(t, e, d, make([]int, n))
				run(t, e, backend.Step{
					Kernel: &backend.Sort{DType: d, Descending: descending, Post: *loads[d]}, Shape: backend.Shape{1, n},
					In: []backend.Operand{matrix(x.(*buffer), d, 1, n)}, Out: []backend.Operand{matrix(found, d, 1, n)},
				})
				e.subgroup = subgroup
				if err := e.Read(t.Context(), mem, found, 0); err != nil {
					t.Fatal(err)
				}
				for i := range want {
					got := binary.LittleEndian.Uint32(append(slices.Clone(mem[i*d.Size():(i+1)*d.Size()]), 0, 0, 0, 0))
					if got != want[i] && (got != want[i]|quiet || order(got, false) != 1<<40) {
						t.Fatalf("%s, descending %t: element %d is %#x, want %#x", d, descending, i, got, want[i])
					}
				}
			}
		}
		x.Release()
	}
}
