package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"
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
		b := unsafe.Add(t.b, j/nr*t.group)
		t.column(m, min(nr, n-j), b, at, unsafe.Add(t.c, j*t.size), t.a)
	}
}

// column computes m rows of at most the columns of a tile.
func (t *tiling) column(m, n int, b, at, c, a unsafe.Pointer) {
	list := t.Tiles
	switch {
	case n <= t.Narrow[0].Columns:
		list = t.Narrow
	case n < list[0].Columns:
		list = t.Part
	}
	for i := range list {
		s := &list[i]
		for m >= s.Rows {
			s.Mul(c, a, b, at, t.k, t.row, t.col, t.ldc, n, t.add)
			m -= s.Rows
			c, a = unsafe.Add(c, s.Rows*t.ldc*t.size), unsafe.Add(a, s.Rows*t.row*t.size)
		}
		if m == 0 {
			return
		}
	}
}

// runWide is run for few rows, with tiles as wide as there are.
func (t *tiling) runWide(m, n int) {
	at, nr := unsafe.Pointer(&t.at[0]), t.Tiles[0].Columns
	for i := 0; i < m; {
		a, c := unsafe.Add(t.a, i*t.row*t.size), unsafe.Add(t.c, i*t.ldc*t.size)
		rows, j := 1, 0
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
			t.column(rows, min(nr, n-j), unsafe.Add(t.b, j*t.size), at, unsafe.Add(c, j*t.size), a)
		}
		i += rows
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
