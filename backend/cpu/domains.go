package cpu

import "github.com/weft-go/weft/backend"

// tileSide is the side of the tiles in which operands that lie across each other in memory are read and
// written: a tile is a block, and uses all of each cache line it touches before they leave the cache.
const tileSide = 32

// domains orders the domain that layouts share, those of a Map's inputs and, from first on, its outputs, so
// that memory is gone through in order: by the strides of the first output, and in tiles where an operand
// lies across it. An order is layouts over a domain that is to be gone through in row-major order; tiles that
// do not fit whole make further, smaller domains.
func domains(layouts []backend.Layout, first int) [][]backend.Layout {
	axes := make([]int, len(layouts[first].Shape))
	for i := range axes {
		axes[i] = i
	}
	sortAxes(axes, layouts[first].Strides)
	ordered := make([]backend.Layout, len(layouts))
	for i, l := range layouts {
		ordered[i] = permute(l, axes)
	}
	ordered, _ = backend.Collapse(ordered, 0)
	across, ok := acrossAxis(ordered)
	if !ok {
		return [][]backend.Layout{ordered}
	}
	return tiles(ordered, across)
}

// alike reports whether all operands are dense, or one element for all: then any order is that of memory.
func alike(operands []operand) bool {
	for i := range operands {
		if l := operands[i].layout; !l.IsDense() && varies(l, 0) {
			return false
		}
	}
	return true
}

// acrossAxis returns the axis along which the elements of an operand are nearer to each other than along
// the last, if the domain is large enough for that to matter.
func acrossAxis(layouts []backend.Layout) (axis int, ok bool) {
	shape := layouts[0].Shape
	last := len(shape) - 1
	if shape.Len() < 4*blockLen || shape[last] < 8 {
		return 0, false
	}
	nearest := 0
	for _, l := range layouts {
		for a, s := range l.Strides[:last] {
			s = abs(s)
			if s != 0 && s < abs(l.Strides[last]) && shape[a] >= 8 && (!ok || s < nearest) {
				axis, nearest, ok = a, s, true
			}
		}
	}
	return axis, ok
}

// tiles cuts the axis across and the last one into tiles.
func tiles(layouts []backend.Layout, across int) [][]backend.Layout {
	last := len(layouts[0].Shape) - 1
	var all [][]backend.Layout
	for _, p := range pieces(layouts[0].Shape[across]) {
		for _, q := range pieces(layouts[0].Shape[last]) {
			tiled := make([]backend.Layout, len(layouts))
			for i, l := range layouts {
				tiled[i] = tile(l, across, p, q)
			}
			all = append(all, tiled)
		}
	}
	return all
}

// A piece is a part of an axis: count tiles of side elements from the element from on.
type piece struct{ from, count, side int }

// pieces returns the whole tiles of an axis of extent n, and what is left.
func pieces(n int) []piece {
	var ps []piece
	if whole := n / tileSide; whole > 0 {
		ps = append(ps, piece{0, whole, tileSide})
	}
	if rest := n % tileSide; rest > 0 {
		ps = append(ps, piece{n - rest, 1, rest})
	}
	return ps
}

// tile returns l over the tiles of p along axis across and of q along the last, which become its last axes:
// tiles across, tiles, across in a tile, in a tile.
func tile(l backend.Layout, across int, p, q piece) backend.Layout {
	last := len(l.Shape) - 1
	t := backend.Layout{Offset: l.Offset + p.from*l.Strides[across] + q.from*l.Strides[last]}
	for a, d := range l.Shape[:last] {
		if a != across {
			t.Shape, t.Strides = append(t.Shape, d), append(t.Strides, l.Strides[a])
		}
	}
	sp, sq := l.Strides[across], l.Strides[last]
	t.Shape = append(t.Shape, p.count, q.count, p.side, q.side)
	t.Strides = append(t.Strides, sp*p.side, sq*q.side, sp, sq)
	return t
}
