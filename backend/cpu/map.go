package cpu

import (
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
	for _, layouts := range domains(j.operandLayouts(), len(j.in)) {
		if err := j.mapDomain(p, layouts); err != nil {
			return err
		}
	}
	return nil
}

// mapDomain runs p over the domain of layouts, those of the operands, in its row-major order.
func (j *job) mapDomain(p *program, layouts []backend.Layout) error {
	all := make([]source, len(layouts))
	in, out := all[:len(j.in)], all[len(j.in):]
	for i, l := range layouts {
		o := &operand{mem: j.operand(i).mem, dtype: j.operand(i).dtype, layout: l}
		var err error
		if all[i], err = o.source(); err != nil {
			return err
		}
	}
	x, err := p.bind(in, out, j.step.Consts)
	if err != nil {
		return err
	}
	n := layouts[0].Len()
	if isCopy(p.expr) {
		return j.parallel(n, grain, func(lo, hi int) { copyElements(&out[0], &in[0], lo, hi) })
	}
	return j.parallel(n, grain, func(lo, hi int) {
		f := x.frame()
		defer f.free()
		f.begin(hi - lo)
		f.run(lo, hi-lo)
	})
}

// operand returns operand i of the inputs and then the outputs.
func (j *job) operand(i int) *operand {
	if i < len(j.in) {
		return &j.in[i]
	}
	return &j.out[i-len(j.in)]
}

// isCopy reports whether e is a lone load.
func isCopy(e *ops.Expr) bool {
	return len(e.Code) == 1 && e.Code[0].Kind == ops.Load && len(e.In) == 1 && len(e.Out) == 1
}

// copyElements copies elements lo to hi of the domain, bit for bit.
func copyElements(dst, src *source, lo, hi int) {
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
}

func copyTyped[T any](dst, src *source, lo, hi int) {
	to, from := typed[T](dst.mem), typed[T](src.mem)
	var tile [blockLen]T
	for ; lo < hi; lo += blockLen {
		n := min(blockLen, hi-lo)
		at, dense := dst.view.run(lo, n)
		switch i, ok := src.view.run(lo, n); {
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
