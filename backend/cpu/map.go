package cpu

import "github.com/weft-go/weft/backend"

// grain is the least number of elements that is worth a goroutine of its own.
const grain = 32 * blockLen

func (j *job) runMap(k *backend.Map) error {
	if err := j.elementwise(&k.Body); err != nil {
		return err
	}
	p, err := cached(&j.programs, k, func() (*program, error) { return compile(&k.Body) })
	if err != nil {
		return err
	}
	in, err := sources(j.in)
	if err != nil {
		return err
	}
	out, err := sources(j.out)
	if err != nil {
		return err
	}
	x, err := p.bind(in, out, j.step.Consts)
	if err != nil {
		return err
	}
	return j.parallel(j.step.Shape.Len(), grain, func(lo, hi int) {
		f := x.frame()
		defer f.free()
		f.begin(hi - lo)
		f.run(lo, hi-lo)
	})
}
