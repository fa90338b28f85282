package cpu

import (
	"math"
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// fewQueries is up to which the keys of a block are not packed, but dot products are made of them.
const fewQueries = 8

// setTiles prepares a for the kernels in assembly.
func (a *attender[T]) setTiles() {
	a.tiles = a.transposed.tiles
	a.size = int(unsafe.Sizeof(T(0)))
	a.places = make([]int, keyBlock)
	row := a.width
	if a.valuesInPlace() {
		row = a.values.row
	}
	for l := range a.places {
		a.places[l] = l * row * a.size
	}
}

// valuesInPlace reports whether kernels take the values where they lie.
func (a *attender[T]) valuesInPlace() bool {
	return a.tiles != nil && a.values.column == 1 && !a.values.dtype.IsHalf()
}

// scoreTiles computes the products of the queries with n keys.
func (a *attender[T]) scoreTiles(w *worker, x *attended[T], b, key, n int) {
	at, k := a.keys.at(b, key, 0), &a.keys
	m := matrix[T]{data: x.keys, row: a.depth, col: 1}
	if !k.dtype.IsHalf() && (k.column == 1 || k.row == 1) {
		m = matrix[T]{data: typed[T](k.mem), off: at, row: k.row, col: k.column}
	} else {
		readRows(w, x.keys, a.depth, k, at, k.row, k.column, n, a.depth)
	}
	t := tiling{Product: a.tiles, c: unsafe.Pointer(&x.scores[0]), ldc: keyBlock, size: a.size, row: x.stride, col: 1}
	dots := x.count <= fewQueries && a.depth >= minDot && m.col == 1
	step := a.size
	if dots {
		t.b, t.group = unsafe.Pointer(&m.data[m.off]), m.row
	} else {
		nr := a.tiles.Tiles[0].Columns
		a.transposed.packColumns(x.packed, m, n, a.depth)
		t.b, t.group, t.at = unsafe.Pointer(&x.packed[0]), a.depth*nr*a.size, a.transposed.packedAt
		step *= nr
	}
	first := t.b
	for d, most := 0, len(a.transposed.packedAt)/2; d < a.depth; d += most {
		t.b = unsafe.Add(first, d*step)
		t.a, t.k, t.add = unsafe.Pointer(&x.queries[d]), min(most, a.depth-d), d
		if dots {
			t.runDots(x.count, n)
		} else {
			t.run(x.count, n)
		}
	}
}

// addTiles adds n values with their weights to the sums.
func (a *attender[T]) addTiles(x *attended[T], n int) {
	t := tiling{
		Product: a.tiles, a: unsafe.Pointer(&x.scores[0]), b: unsafe.Pointer(&x.values[0]), c: unsafe.Pointer(&x.sums[0]),
		at: a.places, group: a.tiles.Tiles[0].Columns * a.size, size: a.size, k: n, row: keyBlock, col: 1, ldc: a.width, add: 1,
	}
	t.run(x.count, a.width)
}

// weighTiles is weigh for float32, by assembly.
func (a *attender[T]) weighTiles(x *attended[float32], n int) {
	times := lookup(ops.Mul, ops.Float32).lone[loneY]
	for i := range x.count {
		row := unsafe.Pointer(&x.scores[i*keyBlock])
		most := max(x.most[i], loops.Float32.Max(row, n))
		if math.IsInf(float64(most), -1) {
			clear(x.scores[i*keyBlock:][:n])
			continue
		}
		if most != x.most[i] { // or one is NaN
			less := math.Exp(float64(x.most[i] - most))
			factor, sums := float32(less), unsafe.Pointer(&x.sums[i*a.width])
			times(sums, sums, unsafe.Pointer(&factor), nil, a.width)
			x.total[i] *= less
			x.most[i] = most
		}
		x.total[i] += loops.Rows.ExpSum(row, row, unsafe.Pointer(&most), n, 0)
	}
}
