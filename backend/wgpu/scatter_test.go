package wgpu

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// TestScatter sets and adds updates of every type, many to one element: the sums are exact, and the last that sets wins.
func TestScatter(t *testing.T) {
	e := openTest(t)
	const rows, n, m = 3, 5, 1000
	for _, d := range []ops.DType{ops.Int8, ops.Uint8, ops.Float16, ops.BFloat16, ops.Int32, ops.Uint32, ops.Float32, ops.Int64} {
		for _, add := range []bool{false, true} {
			base, updates := numbers(rows*n, 1, d.Signed()), numbers(rows*m, 2, d.Signed())
			places := make([]int, rows*m)
			for j, v := range numbers(rows*m, 3, false) {
				places[j] = v % n
			}
			want := append([]int(nil), base...)
			for j, v := range updates {
				to := &want[j/m*n+places[j]]
				if d == ops.Int64 {
					v <<= 31 // carries from word to word
					updates[j] = v
				}
				if !add {
					*to = 0
				}
				*to += v
			}
			out := upload(t, e, d, make([]int, rows*n))
			step := backend.Step{
				Kernel: &backend.Scatter{DType: d, Add: add, Post: *loads[d]}, Shape: backend.Shape{rows, n},
				In: []backend.Operand{
					matrix(upload(t, e, d, base), d, rows, n), matrix(upload(t, e, ops.Int32, places), ops.Int32, rows, m), matrix(upload(t, e, d, updates), d, rows, m),
				},
				Out: []backend.Operand{matrix(out, d, rows, n)},
			}
			run(t, e, step)
			for i, got := range download(t, e, d, out) {
				if w := int(ops.IntValue(ops.Int64, int64(want[i])).Convert(d).Convert(ops.Int64).I); got != w {
					t.Errorf("%s, add %v: element %d is %d, want %d", d, add, i, got, w)
				}
			}
		}
	}
}

// TestScatterBeyond tests indices out of range: dropped where nothing checks, and where something does an error.
func TestScatterBeyond(t *testing.T) {
	e := openTest(t)
	const d, n = ops.Int32, 4
	for _, index := range []ops.DType{ops.Int32, ops.Int64, ops.Int8} {
		out := upload(t, e, d, make([]int, n))
		step := backend.Step{
			Kernel: &backend.Scatter{DType: d, Add: true, Post: *loads[d]}, Shape: backend.Shape{1, n},
			In: []backend.Operand{
				matrix(upload(t, e, d, []int{1, 2, 3, 4}), d, 1, n), matrix(upload(t, e, index, []int{4, -5, -1}), index, 1, 3), matrix(upload(t, e, d, []int{10, 20, 30}), d, 1, 3),
			},
			Out: []backend.Operand{matrix(out, d, 1, n)},
		}
		e.checked = false
		run(t, e, step)
		for i, got := range download(t, e, d, out) {
			if want := []int{1, 2, 3, 34}[i]; got != want {
				t.Errorf("index of %s: element %d is %d, want %d", index, i, got, want)
			}
		}
		e.checked = true
		if err := e.Run(context.Background(), []backend.Step{step}); !errors.Is(err, backend.ErrIndex) || !strings.Contains(err.Error(), "wgpu: scatter: index ") {
			t.Errorf("index of %s: error %v, want ErrIndex of the scatter", index, err)
		}
	}
}
