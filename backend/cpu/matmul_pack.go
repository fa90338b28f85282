package cpu

import "unsafe"

// A matrix is a factor in memory, with k along its rows: element (r, k) is data[off+r·row+k·col]. The
// strides may be negative, or 0.
type matrix[T term] struct {
	data          []T
	off, row, col int
}

// A factor is a matrix, or computed, by rows, by columns or both.
type factor[T term] struct {
	matrix[T]

	// fill computes dst[i] = element (r, k0+i), if it is not nil.
	fill func(w *worker, dst []T, r, k0 int)

	// columns computes dst[(k-k0)·(r1-r0)+r-r0] = element (r, k), if it is not nil.
	columns func(w *worker, dst []T, r0, r1, k0, k1 int)

	// dot sets c to Σ a[l]·element (r, k0+l) for l < k, a multiple of ops.QuantBlock, or with add ≠ 0 adds that to it, if it is
	// not nil.
	dot func(c, a unsafe.Pointer, r, k0, k, add int)
}

// computed reports whether f is not a matrix.
func (f *factor[T]) computed() bool { return f.fill != nil || f.columns != nil }

// inPlace reports whether a kernel with such groups of rows can read rows of n numbers where they lie. Rows
// that must begin at multiples of 16 bytes are told so by aligned.
func (f *factor[T]) inPlace(group, n int, aligned bool) bool {
	const vector = 16
	size := int(unsafe.Sizeof(T(0)))
	switch {
	case f.computed() || group != 1 || f.row < n || f.col != 1 && n > 1:
		return false
	case aligned:
		start := uintptr(unsafe.Pointer(unsafe.SliceData(f.data))) + uintptr(f.off*size)
		return start%vector == 0 && f.row*size%vector == 0
	}
	return true
}

// pack copies columns k0 to k1 of rows r0 to r1 to dst, in groups of rows. A group takes ld numbers:
// number (r, k) of it is at k·group+r. The last group is filled up with zeros.
func (f *factor[T]) pack(w *worker, dst []T, group, ld, r0, r1, k0, k1 int) {
	n := k1 - k0
	mark := w.mark()
	switch {
	case f.columns != nil && f.fill == nil:
		const block = 64 // columns: with the rows of a tile they stay in L1
		cols := take[T](w.scratch, min(block, n)*(r1-r0))
		for k := 0; k < n; k += block {
			h := min(block, n-k)
			f.columns(w, cols, r0, r1, k0+k, k0+k+h)
			matrix[T]{data: cols, row: 1, col: r1 - r0}.pack(dst[k*group:], group, ld, r1-r0, h)
		}
	case f.fill != nil && group == 1:
		for r := r0; r < r1; r++ {
			f.fill(w, dst[(r-r0)*ld:][:n], r, k0)
		}
	case f.fill != nil:
		row := take[T](w.scratch, n)
		for r := range r1 - r0 {
			f.fill(w, row, r0+r, k0)
			matrix[T]{data: row, col: 1}.interleave(dst[r/group*ld:], group, r%group, 1, n)
		}
		padGroup(dst, group, ld, r1-r0, n)
	default:
		m := f.matrix
		m.off += r0*m.row + k0*m.col
		m.pack(dst, group, ld, r1-r0, n)
	}
	w.release(mark)
}

// pack copies n columns of the first h rows of m as [factor.pack] does.
func (m matrix[T]) pack(dst []T, group, ld, h, n int) {
	if group == 1 {
		m.rows(dst, ld, h, n)
		return
	}
	for r := 0; r < h; r += group {
		if m.row == 1 && r+group <= h { // columns of the group lie together
			for k := range n {
				copy(dst[r/group*ld+k*group:][:group], m.data[m.off+k*m.col:])
			}
		} else {
			m.interleave(dst[r/group*ld:], group, 0, min(group, h-r), n)
		}
		m.off += group * m.row
	}
	padGroup(dst, group, ld, h, n)
}

// interleave copies n columns of the first h rows of m to rows at, at+1, … of a group.
func (m matrix[T]) interleave(dst []T, group, at, h, n int) {
	for r := range h {
		src, to := m.off+r*m.row, at+r
		for range n {
			dst[to] = m.data[src]
			src, to = src+m.col, to+group
		}
	}
}

// padGroup sets the rows that the last group has beyond rows to 0.
func padGroup[T term](dst []T, group, ld, rows, n int) {
	if rows%group == 0 {
		return
	}
	last := dst[rows/group*ld:]
	for k := range n {
		clear(last[k*group+rows%group : (k+1)*group])
	}
}

// rows copies n columns of the first h rows of m to rows of dst, ld apart.
func (m matrix[T]) rows(dst []T, ld, h, n int) {
	r := 0
	switch {
	case m.col == 1:
		for ; r < h; r++ {
			copy(dst[r*ld:r*ld+n], m.data[m.off+r*m.row:])
		}
	case m.row == 1:
		// Eight rows at a time: what is read lies together, and each line that is written stays in cache.
		for ; r+8 <= h; r += 8 {
			m.transpose8(dst[r*ld:], ld, m.off+r, n)
		}
	}
	for ; r < h; r++ {
		src := m.off + r*m.row
		row := dst[r*ld : r*ld+n]
		for k := range row {
			row[k] = m.data[src]
			src += m.col
		}
	}
}

func (m matrix[T]) transpose8(dst []T, ld, src, n int) {
	d0, d1, d2, d3 := dst[:n], dst[ld:][:n], dst[2*ld:][:n], dst[3*ld:][:n]
	d4, d5, d6, d7 := dst[4*ld:][:n], dst[5*ld:][:n], dst[6*ld:][:n], dst[7*ld:][:n]
	for k := range n {
		s := (*[8]T)(m.data[src:])
		d0[k], d1[k], d2[k], d3[k] = s[0], s[1], s[2], s[3]
		d4[k], d5[k], d6[k], d7[k] = s[4], s[5], s[6], s[7]
		src += m.col
	}
}
