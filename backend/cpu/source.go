package cpu

import (
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A register holds a block of elements as the block functions want them: half-precision and quantised ones as float32,
// any other as they are stored. regSize returns the bytes of an element of type d in a register.
func regSize(d ops.DType) int {
	if d.IsHalf() || d.Quantized() {
		return 4
	}
	return d.Size()
}

// A source is an operand of a program, or a result: memory read or written through a view, or elements in
// a register that the caller gives to each run.
type source struct {
	mem     []byte
	dtype   ops.DType
	view    view
	given   bool
	held    bool // a result that stays in its register, see [frame.held]
	uniform bool // one element for all
	streams bool // a result whose elements go past the caches where they can, see [source.stream]
}

// given returns the source for elements of type d that the caller gives to each run, see [frame.give]:
// with uniform, one for the whole run.
func given(d ops.DType, uniform bool) source {
	return source{dtype: d, given: true, uniform: uniform}
}

// set makes s the source of elements of o, at the positions of l.
func (s *source) set(o *operand, l backend.Layout) error {
	*s = source{mem: o.mem, dtype: o.dtype}
	err := s.view.set(l)
	s.uniform = s.view.uniform()
	return err
}

// sources returns the operands as sources.
func sources(os []operand) ([]source, error) {
	out := make([]source, len(os))
	for i := range os {
		if err := out[i].set(&os[i], os[i].layout); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// typed returns the memory as elements.
func typed[T any](mem []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), uintptr(len(mem))/unsafe.Sizeof(t))
}

// vec returns the n elements at p.
func vec[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

// load returns the n elements from pos on: in place where they follow each other, else in reg.
func (s *source) load(reg unsafe.Pointer, pos, n int) unsafe.Pointer {
	if s.dtype.Quantized() {
		s.dequantize(vec[float32](reg, n), pos)
		return reg
	}
	if at, ok := s.view.run(pos, n); ok {
		p := unsafe.Pointer(&s.mem[at*s.dtype.Size()])
		if !s.dtype.IsHalf() {
			return p
		}
		widen(s.dtype, vec[float32](reg, n), vec[uint16](p, n))
		return reg
	}
	switch s.dtype.Size() {
	case 1:
		gather(vec[uint8](reg, n), s.mem, &s.view, pos)
	case 2: // into the upper half, from where widen moves them down
		half := vec[uint16](reg, 2*n)[n:]
		gather(half, typed[uint16](s.mem), &s.view, pos)
		widen(s.dtype, vec[float32](reg, n), half)
	case 4:
		gather(vec[uint32](reg, n), typed[uint32](s.mem), &s.view, pos)
	case 8:
		gather(vec[uint64](reg, n), typed[uint64](s.mem), &s.view, pos)
	}
	return reg
}

// index writes the positions of the n elements from pos on, as type d.
func (s *source) index(d ops.DType, reg unsafe.Pointer, pos, n int) {
	switch d {
	case ops.Int64:
		positions(vec[int64](reg, n), &s.view, pos)
	case ops.Int32:
		positions(vec[int32](reg, n), &s.view, pos)
	case ops.Uint32:
		positions(vec[uint32](reg, n), &s.view, pos)
	case ops.Int8:
		positions(vec[int8](reg, n), &s.view, pos)
	case ops.Uint8:
		positions(vec[uint8](reg, n), &s.view, pos)
	default:
		var w walk
		w.start(&s.view, pos, n)
		for i := 0; w.next(); {
			for k := range w.rows * w.cols {
				at := w.at + k/w.cols*w.rs + k%w.cols*w.cs
				putValue(d, unsafe.Add(reg, i*regSize(d)), ops.IntValue(ops.Int64, int64(at)).Convert(d))
				i++
			}
		}
	}
}

// direct returns where the n elements from pos on are, if a block function can write them there.
func (s *source) direct(pos, n int) unsafe.Pointer {
	if s.dtype.IsHalf() {
		return nil
	}
	at, ok := s.view.run(pos, n)
	if !ok || s.streams {
		return nil
	}
	return unsafe.Pointer(&s.mem[at*s.dtype.Size()])
}

// store writes the n elements in reg to those from pos on.
func (s *source) store(reg unsafe.Pointer, pos, n int) {
	at, dense := s.view.run(pos, n)
	if dense && s.stream(at, reg, n) {
		return
	}
	switch s.dtype.Size() {
	case 1:
		put(s.mem, vec[uint8](reg, n), &s.view, pos, at, dense)
	case 2:
		if dense {
			narrow(s.dtype, typed[uint16](s.mem)[at:at+n], vec[float32](reg, n))
			return
		}
		var half [256]uint16
		for x := vec[float32](reg, n); len(x) > 0; {
			m := min(len(x), len(half))
			narrow(s.dtype, half[:m], x[:m])
			scatter(typed[uint16](s.mem), half[:m], &s.view, pos)
			x, pos = x[m:], pos+m
		}
	case 4:
		put(typed[uint32](s.mem), vec[uint32](reg, n), &s.view, pos, at, dense)
	case 8:
		put(typed[uint64](s.mem), vec[uint64](reg, n), &s.view, pos, at, dense)
	}
}

// stream writes the n elements at p to those from at on, past the caches, and reports whether it could. A StoreFence must follow
// the last.
func (s *source) stream(at int, p unsafe.Pointer, n int) bool {
	if !s.streams {
		return false
	}
	size := s.dtype.Size()
	z := unsafe.Pointer(&s.mem[at*size])
	if (uintptr(z)|uintptr(n*size))%leastPiece != 0 {
		return false
	}
	loops.Gather.Stream(z, p, unsafe.Pointer(&inPlace), 1, n*size, 0)
	return true
}

var inPlace [1]int // the offset of a lone piece of memory that [asm.Gather] copies

func put[T any](dst, src []T, v *view, pos, at int, dense bool) {
	if dense {
		copy(dst[at:at+len(src)], src)
		return
	}
	scatter(dst, src, v, pos)
}

// overlaps reports whether a result in out shares memory with an operand in in.
func overlaps(in, out []source) bool {
	for i := range out {
		for k := range in {
			if overlapping(out[i].mem, in[k].mem) {
				return true
			}
		}
	}
	return false
}

// overlapping reports whether a and b share memory.
func overlapping(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	pa, pb := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return pa < pb+uintptr(len(b)) && pb < pa+uintptr(len(a))
}

// denseSource returns a source over all n elements of type d in mem.
func denseSource(mem []byte, d ops.DType, n int) source {
	return source{mem: mem, dtype: d, view: view{shape: []int{n}, strides: unit}}
}
