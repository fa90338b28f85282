package cpu

// patches is the factor of a convolution that comes from the image: row p holds what window p reads, channel
// by channel, with zeros beyond the image. It is made piece by piece as tiles need it.
type patches[E any] struct {
	*grid
	data []E
	offs []int // of each term, channel by channel
}

func newPatches[E any](g *grid, data []E, channels, stride int) *patches[E] {
	s := &patches[E]{grid: g, data: data, offs: make([]int, 0, channels*g.taps)}
	for c := range channels {
		for t := range g.taps {
			s.offs = append(s.offs, c*stride+g.offs[t])
		}
	}
	return s
}

// row reads the terms from k0 on of window p of the channels that begin at base. Mask is room for a bool a tap.
func (s *patches[E]) row(dst []E, mask []bool, base, p, k0 int) {
	w := s.window(base, p)
	offs := s.offs[k0 : k0+len(dst)]
	whole := true
	for d := range s.axes {
		a := &s.axes[d]
		whole = whole && w.pos[d]+a.shift[0] >= 0 && w.pos[d]+a.shift[len(a.shift)-1] < a.in &&
			w.pos[d]+a.shift[0] < a.in && w.pos[d]+a.shift[len(a.shift)-1] >= 0
	}
	if whole { // shifts rise or fall along an axis: the others lie between
		for i, o := range offs {
			dst[i] = s.data[w.at+o]
		}
		return
	}
	for t := range mask {
		mask[t] = s.reads(&w, t, len(s.axes))
	}
	t := k0 % s.taps
	var zero E
	for i, o := range offs {
		if dst[i] = zero; mask[t] {
			dst[i] = s.data[w.at+o]
		}
		if t++; t == s.taps {
			t = 0
		}
	}
}

// columns reads the terms k0 to k1 of the windows p0 to p1, term by term.
func (s *patches[E]) columns(dst []E, base, p0, p1, k0, k1 int) {
	n := p1 - p0
	last := len(s.axes) - 1
	a := &s.axes[last]
	for p := p0; p < p1; {
		w := s.window(base, p)
		run := min(a.n-w.j, p1-p)
		for k := k0; k < k1; k++ {
			t := k % s.taps
			row := dst[(k-k0)*n+p-p0:][:run]
			if !s.reads(&w, t, last) {
				clear(row)
				continue
			}
			lo, hi := s.lo[t]-w.j, s.hi[t]-w.j
			lo = min(max(lo, 0), run)
			hi = min(max(hi, lo), run)
			clear(row[:lo])
			s.copyRun(row[lo:hi], w.at+s.offs[k]+lo*a.step*a.stride, a.step*a.stride)
			clear(row[hi:])
		}
		p += run
	}
}

// copyRun reads elements from at on, stride apart.
func (s *patches[E]) copyRun(dst []E, at, stride int) {
	if stride == 1 && len(dst) > 0 {
		copy(dst, s.data[at:])
		return
	}
	for i := range dst {
		dst[i] = s.data[at]
		at += stride
	}
}
