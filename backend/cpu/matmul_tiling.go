package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
	"github.com/weft-go/weft/ops"
)

// A tiling is the operands of tiles.
type tiling struct {
	*asm.Product
	c, a, b  unsafe.Pointer
	at       []int // bytes from the first row of b to the others
	group    int   // bytes from one column of tiles to the next, in b
	size     int   // bytes of a number
	k        int
	row, col int // of a
	ldc, add int
	room     unsafe.Pointer // for as many rows of c, for passes
}

// run computes m rows of n columns.
func (t *tiling) run(m, n int) {
	at := unsafe.Pointer(&t.at[0])
	nr := t.Tiles[0].Columns
	if m <= wideRows && t.group == nr*t.size {
		t.runWide(m, n)
		return
	}
	for j := 0; j < n; j += nr {
		b, ahead := unsafe.Add(t.b, j/nr*t.group), 0
		if j+nr < n {
			ahead = t.group
		}
		t.column(m, min(nr, n-j), ahead, b, at, unsafe.Add(t.c, j*t.size), t.a)
	}
}

// column computes m rows of at most the columns of a tile. The first tile may fetch those of b that lie ahead bytes on.
func (t *tiling) column(m, n, ahead int, b, at, c, a unsafe.Pointer) {
	list, whole := t.Tiles, false
	switch {
	case n <= t.Narrow[0].Columns:
		list = t.Narrow
	case n < list[0].Columns:
		list = t.Part
	default:
		n, whole = ahead, true
		if t.col == 1 {
			list = t.Unit
		}
	}
	done := 0
	for i := range list {
		s := &list[i]
		for ; m-done >= s.Rows; done += s.Rows {
			s.Mul(unsafe.Add(c, done*t.ldc*t.size), unsafe.Add(a, done*t.row*t.size), b, at, t.k, t.row, t.col, t.ldc, n, t.add)
			if whole {
				n = 0
			}
		}
		if done == m {
			return
		}
	}
}

// runWide is run for few rows: by passes along the rows of b where they are long, and tiles as wide as there are.
func (t *tiling) runWide(m, n int) {
	at, nr := unsafe.Pointer(&t.at[0]), t.Tiles[0].Columns
	done := 0
	if t.room != nil && n >= passColumns {
		done = n / (nr / 2) * (nr / 2)
		t.runPasses(m, done)
	}
	for i := 0; i < m; {
		a, c := unsafe.Add(t.a, i*t.row*t.size), unsafe.Add(t.c, i*t.ldc*t.size)
		rows, j := 1, done
		for k := range t.Wide {
			s := &t.Wide[k]
			if s.Rows > m-i {
				continue
			}
			rows = s.Rows
			for ; j+s.Columns <= n; j += s.Columns {
				s.Mul(unsafe.Add(c, j*t.size), a, unsafe.Add(t.b, j*t.size), at, t.k, t.row, t.col, t.ldc, n, t.add)
			}
			break
		}
		for ; j < n; j += nr {
			t.column(rows, min(nr, n-j), 0, unsafe.Add(t.b, j*t.size), at, unsafe.Add(c, j*t.size), a)
		}
		i += rows
	}
}

// passColumns are those from which on the rows of b are long enough to be read one after the other.
const passColumns = 512

// runPasses computes n columns of few rows by passes, to the same bits as by tiles.
func (t *tiling) runPasses(m, n int) {
	add := lookup(ops.Add, map[int]ops.DType{4: ops.Float32, 8: ops.Float64}[t.size]).v
	to, ld := t.c, t.ldc
	if t.add != 0 {
		to, ld = t.room, n
	}
	for l, p := 0, 0; l < t.k; l += t.Passes[p].Terms {
		for t.Passes[p].Terms > t.k-l {
			p++
		}
		for i := range m {
			a := unsafe.Add(t.a, (i*t.row+l*t.col)*t.size)
			t.Passes[p].Mul(unsafe.Add(to, i*ld*t.size), a, t.b, unsafe.Pointer(&t.at[l]), t.col, n, l)
		}
	}
	for i := 0; i < m && t.add != 0; i++ {
		c := unsafe.Add(t.c, i*t.ldc*t.size)
		add(c, c, unsafe.Add(to, i*ld*t.size), nil, n)
	}
}

// dotColumns are columns that are multiplied with all rows before the next: they stay in the first-level cache.
const dotColumns = 8

// runDots is run by dot products. The columns of b lie group numbers apart.
func (t *tiling) runDots(m, n int) {
	for j0 := 0; j0 < n; j0 += dotColumns {
		end := min(j0+dotColumns, n)
		for i := 0; i < m; {
			rows := 0
			for j := j0; j < end; {
				d := t.dot(m-i, end-j)
				rows = d.Rows
				d.Mul(unsafe.Add(t.c, (i*t.ldc+j)*t.size), unsafe.Add(t.a, i*t.row*t.size), unsafe.Add(t.b, j*t.group*t.size), t.k, t.row, t.group, t.ldc, t.add)
				j += d.Columns
			}
			i += rows
		}
	}
}

// dot returns the kernel for as many of the rows and columns as there is one for.
func (t *tiling) dot(rows, columns int) *asm.Dot {
	for i := range t.Dots {
		if d := &t.Dots[i]; d.Rows <= rows && d.Columns <= columns {
			return d
		}
	}
	panic("unreachable")
}

// packColumns copies k terms of the first n rows of m, which are columns of the right factor, to where tiles read them.
func (g *gemmKernel[T]) packColumns(dst []T, m matrix[T], n, k int) {
	nr, size := g.tiles.Tiles[0].Columns, int(unsafe.Sizeof(T(0)))
	for ; n > 0; n -= nr {
		switch {
		case n >= nr && m.row == 1:
			g.tiles.PackLines(unsafe.Pointer(&dst[0]), unsafe.Pointer(&m.data[m.off]), m.col*size, k)
		case n >= nr && m.col == 1 && k >= 4:
			whole := k &^ 3
			g.tiles.PackColumns(unsafe.Pointer(&dst[0]), unsafe.Pointer(&m.data[m.off]), m.row*size, whole)
			rest := m
			rest.off += whole
			rest.interleave(dst[whole*nr:], nr, 0, nr, k-whole)
		default:
			m.interleave(dst, nr, 0, min(n, nr), k)
		}
		m.off += nr * m.row
		dst = dst[min(len(dst), k*nr):]
	}
}
