package cpu

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A scanKernel is the body of a Scan kernel cut at its scan.
type scanKernel struct {
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
	passes := rp.plan(layouts, j.lead(1))
	for i := range passes {
		w, err := j.scanWork(sk, &passes[i])
		if err != nil {
			return err
		}
		if err := w.run(); err != nil {
			return err
		}
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

// A scanWork is a scan with the operands of one pass.
type scanWork struct {
	*job
	*pass
	kernel        *scanKernel
	before, after *binding
	block         int // elements that are scanned at once
	segs, segLen  int // segments of a group, and elements of one
}

func (j *job) scanWork(k *scanKernel, p *pass) (*scanWork, error) {
	w := &scanWork{job: j, pass: p, kernel: k}
	w.block, w.segLen, w.segs = p.blocks()
	held := source{dtype: k.dtype, held: true}
	var err error
	if w.before, err = w.bind(&k.before, []source{held}); err != nil {
		return nil, err
	}
	outs := make([]source, len(j.out))
	for i := range outs {
		if err = outs[i].set(&j.out[i], p.layouts[len(j.in)+i]); err != nil {
			return nil, err
		}
	}
	w.after, err = w.bind(&k.after, outs)
	return w, err
}

// bind joins a part to its operands.
func (w *scanWork) bind(p *part, out []source) (*binding, error) {
	in := make([]source, len(p.args))
	for i, a := range p.args {
		if a.input < 0 {
			in[i] = given(w.kernel.dtype, false)
			continue
		}
		if err := in[i].set(&w.in[a.input], w.layouts[a.input]); err != nil {
			return nil, err
		}
	}
	return p.bind(in, out, w.step.Consts)
}

// splits reports whether a scan may be done in segments at the same time, with the same result.
func (k *scanKernel) splits() bool {
	switch k.scan.Red {
	case ops.ReduceSum, ops.ReduceMax, ops.ReduceMin:
		return true
	}
	return false
}

// run scans all groups: several at once, or if they are fewer than the processors, the segments of each.
func (w *scanWork) run() error {
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
				s.segment(seg, true)
			}
		}
	})
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
	_, n := w.group(g)
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

func (w *scanWork) newScan() *scan {
	s := &scan{scanWork: w, scanner: w.scanner(), before: w.before.frame(), after: w.after.frame()}
	s.z = newBlock(w.block * regSize(w.kernel.dtype)).data
	return s
}

func (s *scan) free() {
	s.before.free()
	s.after.free()
}

// begin turns to group g.
func (s *scan) begin(g int) {
	first, n := s.group(g)
	s.base, s.rows = first*s.c, n
	s.scanner.reset(n)
	s.before.begin(s.block)
	s.after.begin(s.block)
}

// segment scans segment seg of the group, which follows the one before unless the scanner says otherwise,
// and with results writes what comes of it.
func (s *scan) segment(seg int, results bool) {
	lo := seg * s.segLen
	hi := min(lo+s.segLen, s.rows*s.c)
	z := unsafe.Pointer(&s.z[0])
	for at := lo; at < hi; at += s.block {
		n := min(s.block, hi-at)
		s.before.run(s.base+at, n)
		if s.cols {
			s.scanner.cols(z, s.before.held(0), n)
		} else {
			s.scanner.rows(z, s.before.held(0), n, at, s.c)
		}
		if !results {
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
