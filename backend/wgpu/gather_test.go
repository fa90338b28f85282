package wgpu

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// take returns the step that takes rows of a table of type d, by indices of type index.
func take(table, indices, out *buffer, d, index ops.DType, count, width, rows int) backend.Step {
	var post ops.Builder
	post.Result(post.Load(post.Operand(d), false))
	shape := backend.Shape{count, width}
	return backend.Step{
		Kernel: &backend.Gather{Post: post.Expr()}, Shape: shape,
		In: []backend.Operand{
			{Buf: table, DType: d, Layout: backend.Layout{Shape: backend.Shape{count, width, rows}, Strides: []int{0, 1, width}}},
			{Buf: indices, DType: index, Layout: backend.Layout{Shape: shape, Strides: []int{1, 0}}},
		},
		Out: []backend.Operand{matrix(out, d, count, width)},
	}
}

// TestGatherRows tests rows that are copied by whole words and rows that are not, as the width has it.
func TestGatherRows(t *testing.T) {
	e := openTest(t)
	const count, rows = 5, 9
	for _, d := range []ops.DType{ops.Float32, ops.Float16, ops.Int8, ops.Int64} {
		for _, width := range []int{1, 8, 10, 64, 2048, 8200} {
			table := numbers(rows*width, width, true)
			indices := []int{0, -1, rows - 1, -rows, 3}
			out := upload(t, e, d, make([]int, count*width))
			e.checked = width == 64
			run(t, e, take(upload(t, e, d, table), upload(t, e, ops.Int32, indices), out, d, ops.Int32, count, width, rows))
			for i, got := range download(t, e, d, out) {
				row := (indices[i/width] + rows) % rows
				if want := table[row*width+i%width]; got != want {
					t.Errorf("%s, rows of %d: element [%d %d] is %d, want %d", d, width, i/width, i%width, got, want)
					break
				}
			}
		}
	}
}

// TestGatherBeyond tests indices out of range: the nearest element where nothing checks, and where something does an error
// with the index, for the first of a run as for the hundredth.
func TestGatherBeyond(t *testing.T) {
	e := openTest(t)
	const d, rows = ops.Int32, 4
	table, out := upload(t, e, d, []int{10, 11, 12, 13}), upload(t, e, d, make([]int, 3))
	for _, c := range []struct {
		index   ops.DType
		indices []int
		want    []int
		text    string
	}{
		{ops.Int32, []int{4, 0, -5}, []int{13, 10, 10}, "of an axis of extent 4"},
		{ops.Int64, []int{1, 1 << 40, -1 << 40}, []int{11, 13, 10}, "of an axis of extent 4"},
		{ops.Uint8, []int{3, 255, 1}, []int{13, 13, 11}, "index 255 of"},
		{ops.Int8, []int{-4, -3, -128}, []int{10, 11, 10}, "index -128 of"},
	} {
		bad := take(table, upload(t, e, c.index, c.indices), out, d, c.index, 3, 1, rows)
		good := take(table, upload(t, e, c.index, []int{0, 1, 2}), upload(t, e, d, make([]int, 3)), d, c.index, 3, 1, rows)
		e.checked = false
		run(t, e, bad)
		for i, got := range download(t, e, d, out) {
			if got != c.want[i] {
				t.Errorf("index %d by %s gives %d, want %d", c.indices[i], c.index, got, c.want[i])
			}
		}
		e.checked = true
		var steps []backend.Step
		for range 100 {
			steps = append(steps, good)
		}
		run(t, e, steps...)
		for _, at := range []int{0, 99} {
			steps[at] = bad
			err := e.Run(context.Background(), steps)
			var of *backend.StepError
			if !errors.As(err, &of) || of.Step != at {
				t.Errorf("error %v is of step %+v, want %d", err, of, at)
			}
			if !errors.Is(err, backend.ErrIndex) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("indices %d by %s as step %d: error %v, want ErrIndex that tells %q", c.indices, c.index, at, err, c.text)
			}
			steps[at] = good
		}
	}
}

// TestGatherFromNothing tests an axis of no elements.
func TestGatherFromNothing(t *testing.T) {
	e := openTest(t)
	const d = ops.Float32
	err := e.Run(context.Background(), []backend.Step{
		take(upload(t, e, d, nil), upload(t, e, ops.Int32, []int{0}), upload(t, e, d, []int{1}), d, ops.Int32, 1, 1, 0),
	})
	if !errors.Is(err, backend.ErrIndex) {
		t.Errorf("error %v, want ErrIndex", err)
	}
}
