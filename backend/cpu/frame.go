package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/ops"
)

// A frame is what one goroutine needs to run a program: its registers. It serves one goroutine at a time.
//
//	f := b.frame()
//	defer f.free()
//	f.give(0, unsafe.Pointer(&sums[0])) // operand 0, bound as given(ops.Float32, false)
//	f.begin(n)
//	f.run(pos, n) // elements pos … pos+n of the domain, in row-major order
type frame struct {
	*binding
	mem  []byte
	val  []unsafe.Pointer // of each entry: its elements of this block
	args []unsafe.Pointer // given operands
	res  []unsafe.Pointer // given results
}

func newFrame(pl *plan) *frame {
	f := &frame{
		mem:  newBlock(max(pl.size, 1)).data,
		val:  make([]unsafe.Pointer, len(pl.regs)),
		args: make([]unsafe.Pointer, len(pl.expr.In)),
		res:  make([]unsafe.Pointer, len(pl.expr.Out)),
	}
	for i, at := range pl.regs {
		f.val[i] = unsafe.Pointer(&f.mem[at])
	}
	return f
}

// frame returns a frame for b, to be freed after use.
func (b *binding) frame() *frame {
	f := b.plan.frames.Get().(*frame)
	f.binding = b
	return f
}

// free gives the frame back.
func (f *frame) free() {
	pl := f.plan
	f.binding = nil
	clear(f.args)
	clear(f.res)
	pl.frames.Put(f)
}

// give says where the elements of given operand k are, in a register's form. It stands until the next
// give; a change of a uniform one needs a begin.
func (f *frame) give(k int, p unsafe.Pointer) { f.args[k] = p }

// take says where the elements of given result k go, in a register's form.
func (f *frame) take(k int, p unsafe.Pointer) { f.res[k] = p }

// begin computes the uniform values, for runs of at most n elements.
func (f *frame) begin(n int) {
	e := f.plan.expr
	for v := range e.Code {
		if in := &e.Code[v]; in.Kind == ops.Const && f.plan.uniform[v] {
			putValue(in.DType, f.reg(v), ops.FromBits(in.DType, f.consts[in.Args[0]]))
		}
	}
	for i := range f.plan.once {
		c := &f.plan.once[i]
		if c.fn != nil {
			f.val[c.z] = f.reg(int(c.z))
			c.fn(f.val[c.z], f.val[c.x], f.val[c.y], f.val[c.w], 1)
			continue
		}
		f.load(c, 0, 0, 1)
	}
	for _, fi := range f.plan.fills {
		fillBlock(regSize(e.Code[fi.value].DType), f.val[fi.entry], f.val[fi.value], min(n, blockLen))
	}
}

// run computes n elements from pos on. Given operands and results begin with element pos.
func (f *frame) run(pos, n int) {
	for off := 0; off < n; off += blockLen {
		f.block(pos+off, off, min(blockLen, n-off))
	}
}

// block computes n elements from pos on, off elements after the start of the run.
func (f *frame) block(pos, off, n int) {
	for k, v := range f.plan.expr.Out {
		if f.plan.direct[k] {
			f.val[v] = f.reg(int(v))
			if p := f.place(k, pos, off, n); p != nil {
				f.val[v] = p
			}
		}
	}
	for i := range f.plan.each {
		c := &f.plan.each[i]
		if c.fn != nil {
			c.fn(f.val[c.z], f.val[c.x], f.val[c.y], f.val[c.w], n)
			continue
		}
		f.load(c, pos, off, n)
	}
	for k, v := range f.plan.expr.Out {
		f.store(k, f.result(v), pos, off, n)
	}
}

// place returns where result k of this block can be computed in place, or nil.
func (f *frame) place(k, pos, off, n int) unsafe.Pointer {
	o := &f.out[k]
	switch {
	case o.held:
		return nil
	case o.given:
		return unsafe.Add(f.res[k], off*regSize(o.dtype))
	case f.alias:
		return nil
	}
	return o.direct(pos, n)
}

// load loads the operand that call c names.
func (f *frame) load(c *call, pos, off, n int) {
	s := &f.in[c.x]
	in := &f.plan.expr.Code[c.z]
	switch {
	case s.given && s.uniform:
		f.val[c.z] = f.args[c.x]
	case s.given:
		f.val[c.z] = unsafe.Add(f.args[c.x], off*regSize(s.dtype))
	case in.Kind == ops.Index:
		f.val[c.z] = f.reg(int(c.z))
		s.index(in.DType, f.val[c.z], pos, n)
	default:
		f.val[c.z] = s.load(f.reg(int(c.z)), pos, n)
	}
}

// store puts result k, at p, to its place if it is not there.
func (f *frame) store(k int, p unsafe.Pointer, pos, off, n int) {
	o := &f.out[k]
	if o.held {
		return
	}
	if !o.given {
		if f.plan.direct[k] && !f.alias && p != f.reg(int(f.plan.expr.Out[k])) {
			return // computed in place
		}
		o.store(p, pos, n)
		return
	}
	size := regSize(o.dtype)
	if to := unsafe.Add(f.res[k], off*size); to != p {
		copy(vec[byte](to, n*size), vec[byte](p, n*size))
	}
}

// held returns where the elements of result k of the last block are, until the next run.
func (f *frame) held(k int) unsafe.Pointer { return f.result(f.plan.expr.Out[k]) }

// result returns where the elements of result value v are.
func (f *frame) result(v ops.Ref) unsafe.Pointer {
	if f.plan.uniform[v] {
		return f.val[f.plan.filled[v]]
	}
	return f.val[v]
}

// reg returns the register of entry i.
func (f *frame) reg(i int) unsafe.Pointer { return unsafe.Pointer(&f.mem[f.plan.regs[i]]) }

// fillBlock fills n elements at z, of size bytes each, with the one at x.
func fillBlock(size int, z, x unsafe.Pointer, n int) {
	switch size {
	case 1:
		fill(vec[uint8](z, n), *(*uint8)(x))
	case 4:
		fill(vec[uint32](z, n), *(*uint32)(x))
	case 8:
		fill(vec[uint64](z, n), *(*uint64)(x))
	}
}
