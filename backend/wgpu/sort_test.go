package wgpu

import (
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
