package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// grain is the least number of elements that is worth a goroutine of its own.
const grain = 32 * blockLen

func (j *job) runMap(k *backend.Map) error {
	if err := j.elementwise(&k.Body); err != nil {
		return err
	}
	if len(j.out) == 0 || j.step.Shape.Len() == 0 {
		return nil
	}
	p, err := cached(&j.programs, k, func() (*program, error) { return compile(&k.Body) })
	if err != nil {
		return err
	}
	if alike(j.operands) {
		return j.mapDomain(p, nil)
	}
	layouts := j.operandLayouts()
	if isCopy(p.expr) {
		if done, err := j.transpose(layouts[0], layouts[1]); done {
			return err
		}
	}
	for _, layouts := range domains(layouts, len(j.in)) {
		if err := j.mapDomain(p, layouts); err != nil {
			return err
		}
	}
	return nil
}

// mapDomain runs p over a domain in its row-major order. The operands have the given layouts there, or for nil their own.
func (j *job) mapDomain(p *program, layouts []backend.Layout) error {
	n := j.step.Shape.Len()
	if layouts != nil {
		n = layouts[0].Len()
	}
	j.sources = resize(j.sources, len(j.operands))
	for i := range j.operands {
		l := j.operands[i].layout
		if layouts != nil {
			l = layouts[i]
		}
		if err := j.sources[i].set(&j.operands[i], l); err != nil {
			return err
		}
	}
	in, out := j.sources[:len(j.in)], j.sources[len(j.in):]
	if err := j.binding.set(p, in, out, j.step.Consts); err != nil {
		return err
	}
	j.setStreams(n)
	if isCopy(p.expr) {
		return j.parallel(n, grain, j.copyRange)
	}
	if n <= grain { // no closure to allocate
		j.mapRange(0, n)
		return nil
	}
	return j.parallel(n, grain, j.mapRange)
}

// setStreams says which of n results go past the caches: those that no cache would hold until they are read, where memory is what
// takes time.
func (j *job) setStreams(n int) {
	b := &j.binding
	for k := range b.out {
		size := b.out[k].dtype.Size()
		b.out[k].streams = loops != nil && b.plan.light && !b.alias && size >= 4 && n*size >= streamBytes
		b.streams = b.streams || b.out[k].streams
	}
}

// mapRange runs the bound program over elements lo to hi.
func (j *job) mapRange(lo, hi int) {
	f := j.binding.frame()
	defer f.free()
	f.begin(hi - lo)
	f.run(lo, hi-lo)
	j.binding.fence()
}

// isCopy reports whether e is a lone load.
func isCopy(e *ops.Expr) bool {
	return len(e.Code) == 1 && e.Code[0].Kind == ops.Load && len(e.In) == 1 && len(e.Out) == 1 && !e.In[0].Quantized()
}

// copyRange copies elements lo to hi of the domain, bit for bit.
func (j *job) copyRange(lo, hi int) {
	src, dst := &j.sources[0], &j.sources[1]
	switch src.dtype.Size() {
	case 1:
		copyTyped[uint8](dst, src, lo, hi)
	case 2:
		copyTyped[uint16](dst, src, lo, hi)
	case 4:
		copyTyped[uint32](dst, src, lo, hi)
	case 8:
		copyTyped[uint64](dst, src, lo, hi)
	}
	j.binding.fence()
}

func copyTyped[T any](dst, src *source, lo, hi int) {
	to, from := typed[T](dst.mem), typed[T](src.mem)
	var tile [blockLen]T
	for ; lo < hi; lo += blockLen {
		n := min(blockLen, hi-lo)
		at, dense := dst.view.run(lo, n)
		switch i, ok := src.view.run(lo, n); {
		case ok && dense && dst.stream(at, unsafe.Pointer(&from[i]), n):
		case ok:
			put(to, from[i:i+n], &dst.view, lo, at, dense)
		case dense:
			gather(to[at:at+n], from, &src.view, lo)
		default:
			gather(tile[:n], from, &src.view, lo)
			scatter(to, tile[:n], &dst.view, lo)
		}
	}
}
