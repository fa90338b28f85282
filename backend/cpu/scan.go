package cpu

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A scanKernel is the body of a Scan kernel cut at its scan.
type scanKernel struct {
	orders
	scan   ops.Instr
	dtype  ops.DType
	before part // makes what is scanned
	after  part // makes the results, the value of the scan being an operand
}

func splitScan(e *ops.Expr) (*scanKernel, error) {
	at := -1
	for i := range e.Code {
		switch e.Code[i].Kind {
		case ops.Scan:
			if at >= 0 {
				return nil, fmt.Errorf("two scans in a kernel: %w", backend.ErrUnsupported)
			}
			at = i
		case ops.Reduce:
			return nil, fmt.Errorf("a reduction in a scan: %w", backend.ErrUnsupported)
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("no scan in the kernel: %w", backend.ErrUnsupported)
	}
	s := splitter{e: e}
	k := &scanKernel{scan: e.Code[at], dtype: e.Code[at].DType}
	k.before = s.extract([]ops.Ref{k.scan.Args[0]}, func(ops.Ref) bool { return false })
	k.after = s.extract(e.Out, func(v ops.Ref) bool { return int(v) == at })
	var err error
	if k.before.program, err = compile(&k.before.expr); err != nil {
		return nil, err
	}
	k.after.program, err = compile(&k.after.expr)
	return k, err
}

func (j *job) runScan(k *backend.Scan) error {
	if err := j.elementwise(&k.Body); err != nil {
		return err
	}
	if len(j.step.Shape) == 0 {
		return fmt.Errorf("scan of a scalar: %w", backend.ErrAxis)
	}
	sk, err := cached(&j.programs, k, func() (*scanKernel, error) { return splitScan(&k.Body) })
	if err != nil || j.step.Shape.Len() == 0 {
		return err
	}
	layouts := j.operandLayouts()
	if sk.scan.Reverse {
		for i, l := range layouts {
			layouts[i] = flipLast(l)
		}
	}
	rp := rowsPlan{axes: 1, ordered: true, wide: 512, room: 1 << 30}
	o, err := sk.order(layouts, func() []domain { return rp.plan(layouts, j.lead(1)) })
	if err != nil {
		return err
	}
	for _, p := range o.passes {
		w, ok := p.works.Get().(*scanWork)
		if !ok {
			w = newScanWork(sk, p, len(j.in), len(j.out))
		}
		if err := w.do(j); err != nil {
			return err
		}
		p.works.Put(w)
	}
	return nil
}

// flipLast returns l with its last axis, which is not empty, running backwards.
func flipLast(l backend.Layout) backend.Layout {
	a := len(l.Shape) - 1
	f := backend.Layout{Shape: l.Shape, Strides: append([]int(nil), l.Strides...), Offset: l.Offset}
	f.Offset += (l.Shape[a] - 1) * l.Strides[a]
	f.Strides[a] = -l.Strides[a]
	return f
}

// A scanWork is a scan with the operands of a pass.
type scanWork struct {
	*pass
	*job          // while it runs
	kernel        *scanKernel
	before, after bound
	bare          bool      // the only result is the scan
	apart         bool      // results share no memory with operands
	idle          sync.Pool // of scans
}

func newScanWork(k *scanKernel, p *pass, inputs, outputs int) *scanWork {
	w := &scanWork{pass: p, kernel: k}
	outs := make([]int, outputs)
	for i := range outs {
		outs[i] = i
	}
	each := func(arg) bool { return false }
	w.before = newBound(&k.before, p.elems, inputs, each, []source{{dtype: k.dtype, held: true}}, nil)
	w.after = newBound(&k.after, p.elems, inputs, each, nil, outs)
	w.bare = isCopy(&k.after.expr) && k.after.args[0].input < 0
	return w
}

// splits reports whether a scan may be done in segments at the same time, with the same result.
func (k *scanKernel) splits() bool {
	switch k.scan.Red {
	case ops.ReduceSum, ops.ReduceMax, ops.ReduceMin:
		return true
	}
	return false
}

// do scans the operands of j: several groups at once, or if they are fewer than the processors, the segments
// of each.
func (w *scanWork) do(j *job) error {
	w.job = j
	defer w.close()
	if err := w.before.open(j); err != nil {
		return err
	}
	if err := w.after.open(j); err != nil {
		return err
	}
	w.apart = !overlaps(w.before.in, w.after.out)
	n := w.groups()
	// In segments every element is read twice: with two processors nothing would be won.
	if procs := runtime.GOMAXPROCS(0); procs > 2 && n < procs && w.segs > procs && w.kernel.splits() {
		for g := range n {
			if err := w.segments(g); err != nil {
				return err
			}
		}
		return nil
	}
	return w.parallel(n, max(grain/(w.r*w.c), 1), func(lo, hi int) {
		s := w.newScan()
		defer s.free()
		for g := lo; g < hi; g++ {
			s.begin(g)
			for seg := range w.segs {
				if seg > 0 {
					look(w.ctx)
				}
				s.segment(seg, true)
			}
		}
	})
}

// close lets go of the operands.
func (w *scanWork) close() {
	w.before.close()
	w.after.close()
	w.job = nil
}

// segments scans group g in two rounds: the totals of its segments, and with those the results.
func (w *scanWork) segments(g int) error {
	totals := make([]scanner, w.segs)
	err := w.parallel(w.segs, 1, func(lo, hi int) {
		for seg := lo; seg < hi; seg++ {
			s := w.newScan()
			s.begin(g)
			s.segment(seg, false)
			totals[seg] = s.scanner
			s.scanner = w.scanner()
			s.free()
		}
	})
	if err != nil {
		return err
	}
	starts := make([]scanner, w.segs)
	for seg := range starts {
		starts[seg] = w.scanner()
		if seg == 0 {
			starts[0].reset(w.n(g))
		} else {
			starts[seg].follow(starts[seg-1], totals[seg-1])
		}
	}
	return w.parallel(w.segs, 1, func(lo, hi int) {
		s := w.newScan()
		defer s.free()
		for seg := lo; seg < hi; seg++ {
			s.begin(g)
			s.scanner = starts[seg]
			s.segment(seg, true)
		}
	})
}

func (w *scanWork) n(g int) int {
	_, n := w.rowsOf(g)
	return n
}

func (w *scanWork) scanner() scanner {
	return newScanner(w.kernel.scan.Red, w.kernel.dtype, w.kernel.scan.Exclusive)
}

// A scan is what one goroutine needs to scan.
type scan struct {
	*scanWork
	scanner       scanner
	before, after *frame
	z             []byte // a block of results
	base, rows    int    // of the group: its first element and number of rows
}

// newScan returns a scan, to be freed after use.
func (w *scanWork) newScan() *scan {
	s, ok := w.idle.Get().(*scan)
	if !ok {
		s = &scan{scanWork: w, scanner: w.scanner(), z: newBlock(w.block * regSize(w.kernel.dtype)).data}
	}
	s.before, s.after = w.before.frame(), w.after.frame()
	return s
}

func (s *scan) free() {
	s.before.free()
	s.after.free()
	s.before, s.after = nil, nil
	s.idle.Put(s)
}

// begin turns to group g.
func (s *scan) begin(g int) {
	first, n := s.rowsOf(g)
	s.base, s.rows = first*s.c, n
	s.scanner.reset(n)
	s.before.begin(s.block)
	s.after.begin(s.block)
}

// place returns where the n elements from pos on are scanned to, and whether that is where they belong.
func (s *scan) place(pos, n int, results bool) (z unsafe.Pointer, there bool) {
	if results && s.bare && s.apart {
		if z = s.scanWork.after.out[0].direct(pos, n); z != nil {
			return z, true
		}
	}
	return unsafe.Pointer(&s.z[0]), false
}

// segment scans segment seg of the group, which follows the one before unless the scanner says otherwise,
// and with results writes what comes of it.
func (s *scan) segment(seg int, results bool) {
	lo := seg * s.segLen
	hi := min(lo+s.segLen, s.rows*s.c)
	for at := lo; at < hi; at += s.block {
		n := min(s.block, hi-at)
		s.before.run(s.base+at, n)
		z, there := s.place(s.base+at, n, results)
		if s.cols {
			s.scanner.cols(z, s.before.held(0), n)
		} else {
			s.scanner.rows(z, s.before.held(0), n, at, s.c)
		}
		if !results || there {
			continue
		}
		roundHalf(s.kernel.dtype, z, n)
		for k, a := range s.kernel.after.args {
			if a.input < 0 {
				s.after.give(k, z)
			}
		}
		s.after.run(s.base+at, n)
	}
	if results {
		s.scanner.follow(s.scanner, s.scanner)
	}
}
