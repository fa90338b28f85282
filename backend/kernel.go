package backend

import (
	"encoding/binary"
	"math"

	"github.com/weft-go/weft/ops"
)

// A Kernel is what a step computes: one of [Map], [Reduce], [Row], [Scan], [MatMul], [Conv], [Pool],
// [Gather], [Scatter], [Sort] and [Attention], by pointer. It is plain data, holds no sizes but those of windows, and never changes once a
// step uses it: a plan runs the same Kernel value again and again, so a backend may keep what it compiled
// under the pointer, and share it between kernels of equal [Kernel.AppendKey].
type Kernel interface {
	// Family returns the name of the kind of kernel, such as "reduce".
	Family() string
	// AppendKey appends bytes that two kernels share only if they compute the same.
	AppendKey(b []byte) []byte
	// Bodies returns the programs in the kernel.
	Bodies() []*ops.Expr
}

// A Step is a kernel with the memory it works on. No output shares memory with an input, nor with
// another output, unless the graph has made sure that it does no harm.
type Step struct {
	Kernel Kernel

	// Shape is the domain: what the kernel loops over. Every operand's layout has this shape, except
	// where the kernel's own comment says otherwise.
	Shape Shape

	In  []Operand
	Out []Operand // layouts are injective: no two elements share a position

	// Consts are the bit patterns of the constants of the kernel's programs, as [ops.Value.Bits] gives them.
	Consts []uint64

	// Memo, if not nil, is where the backend may keep what it has worked out for the step. The steps that come with one Memo,
	// never at the same time on two devices, have the same kernel, shape, types and layouts; memory and constants differ.
	Memo *Memo
}

// A Memo belongs to the backend that runs its steps, which guards it. It holds nothing that must not be kept after Run.
type Memo struct{ Value any }

// An Operand is a tensor in memory: elements of type DType in Buf, at the positions Layout gives. Of a quantised
// type ([ops.Q8_0] and its like) position p is element p%32 of block p/32; such inputs are loaded by programs alone. The
// operand of an [ops.Index] instruction has no memory: Buf is nil, and an element's value is its position.
type Operand struct {
	Buf    Buffer
	DType  ops.DType
	Layout Layout
}

// Map computes each element of its outputs from the elements of its inputs at the same index. A Map
// whose body is a lone Load copies: into a dense buffer, or into a part of one.
type Map struct{ Body ops.Expr }

// Reduce reduces the last Axes axes of the domain: a row is what they span, in row-major order. All results
// of its body are row values. An output, as an input of a row value, has strides 0 along the reduced axes.
// Argmax counts positions within the row.
type Reduce struct {
	Body ops.Expr
	Axes int
}

// Row is a kernel whose body reduces rows and then uses the results for each of their elements, perhaps
// more than once: softmax, layer norm. Rows are as in [Reduce]. A result that is a row value goes to an
// output with strides 0 along the row; any other to one that covers the domain.
type Row struct {
	Body ops.Expr
	Axes int
}

// Scan combines along the last axis of the domain: its body has one Scan instruction, and elementwise
// ones before and after it.
type Scan struct{ Body ops.Expr }

// MatMul multiplies matrices: the domain is [batch… M N], and
//
//	out[b, m, n] = Post(Σ_k A(b, m, k) · B(b, k, n), …)
//
// A and B are elementwise programs over the first and the next inputs, whose layouts have the shapes
// [batch… M K] and [batch… K N]; in the plain case each is one Load. Post's operand 0 is the sum, rounded
// to type Acc; its other operands are the rest of the inputs, over the domain. Float16 and BFloat16 are
// summed in float32 or better; integers wrap. With K = 0 the sum is 0.
type MatMul struct {
	A, B, Post ops.Expr
	Acc        ops.DType // type of A's and B's results and of the sum
}

// Conv convolves (cross-correlates, as neural networks do) over the last len(Stride) axes. Input 0 is the
// image [N C spatial…], input 1 the weights [O C/Groups window…], and the domain [N O spatial…]; for a
// Transposed convolution the weights are [C O/Groups window…], as in PyTorch. Post's operand 0 is the sum,
// of the image's type; its other operands are the rest of the inputs, over the domain.
type Conv struct {
	Stride, Dilation []int
	Pad              []int // zeros before the first element of each spatial axis; after the last, as many as the domain needs
	Groups           int
	Transposed       bool
	Post             ops.Expr
}

// Pool reduces windows over the last len(Window) axes. Input 0 has the domain's leading axes and its own
// spatial ones. Max pads with nothing (a window of padding alone cannot occur); an average divides by the
// elements inside the image, or with CountPad also by those in its padding Pad and PadEnd (as PyTorch's
// count_include_pad, never by those beyond it that ceil mode reaches). Post is as in [Conv].
type Pool struct {
	Op                       ops.ReduceOp // ReduceMax, or ReduceSum for the average
	Window, Stride, Dilation []int
	Pad, PadEnd              []int // before and after
	CountPad                 bool
	Post                     ops.Expr
}

// Gather reads elements through an index. Input 0, the source, has one axis more than the domain: the one
// indexed, last. Input 1 holds integer indices over the domain; a negative one counts from the end. Post's
// operand 0 is the element found; its other operands are the rest of the inputs, over the domain.
// An index out of range is an error of kind [ErrIndex] where the backend checks.
type Gather struct{ Post ops.Expr }

// Scatter writes elements through an index, along the last axis: its result begins as input 0, over the domain [rows… N].
// Input 1, the index, holds integers over [rows… M], a negative one counting from the end, and input 2 as many updates.
// Element (r, index(r, j)) becomes update (r, j); where several updates meet, the last of them. With Add the updates are
// added to it instead: integers wrap, of Bool the sum is the logical or, and floats are summed in float32 or better,
// so that the result does not depend on what came first, and is the same each time.
//
// Post's operand 0 is the element, of type DType; its other operands are the rest of the inputs, over the domain. An index
// out of range is an error of kind [ErrIndex] where the backend checks; else its update is dropped.
type Scatter struct {
	DType ops.DType // of input 0, the updates and the result
	Add   bool
	Post  ops.Expr
}

// Sort orders the elements of each row, which is the last axis, and gives the first of them: for a domain
// [rows… K] input 0 is [rows… N], with K ≤ N. With K = N that is a sort, with fewer a choice of the K least.
//
// The least element comes first, or with Descending the greatest; NaN comes last in both. Of equal elements the
// one of the lower position comes first (the order is stable): so of 0 and -0, of true and true, and of NaN
// with another NaN, whatever their bits. Post's operand 0 is the element, or with Index its
// position in the row, of type Int32; its other operands are the rest of the inputs, over the domain. N is
// less than 2³¹.
type Sort struct {
	DType      ops.DType // of input 0
	Descending bool
	Index      bool
	Post       ops.Expr
}

// Attention is scaled dot-product attention. For a domain [batch… M V] input 0, the queries, is [batch… M D], input 1,
// the keys, [batch… N D], and input 2, the values, [batch… N V]. Of
//
//	s[b, m, n] = Scale · Σ_d queries(b, m, d) · keys(b, n, d) + mask(b, m, n)
//
// the weights are the softmax along n, and the result is Post(Σ_n weight[b, m, n] · values(b, n, v), …). The mask, input 3
// over [batch… M N], may be missing; it is of a float type, or Bool: then nothing is added, and false excludes a key.
// Causal excludes key n from query m where n - m > N - M: the last query sees all keys, the one before all but the last.
// A key whose s is -∞ is excluded too. What is excluded takes no part, whatever its value is, and a query without
// any key gets 0.
//
// Queries of several heads that share keys and values see them through strides of 0. Scores and sums are of float32 or
// better, and the weights exist nowhere in memory as a whole. Post's operand 0 is the sum, rounded to DType; its
// other operands are the rest of the inputs, over the domain.
type Attention struct {
	DType  ops.DType // of queries, keys, values and the result: a float
	Mask   ops.DType // of the mask; 0 if there is none
	Causal bool
	Scale  float64
	Post   ops.Expr
}

// Family returns "map".
func (*Map) Family() string { return "map" }

// Family returns "reduce".
func (*Reduce) Family() string { return "reduce" }

// Family returns "row".
func (*Row) Family() string { return "row" }

// Family returns "scan".
func (*Scan) Family() string { return "scan" }

// Family returns "matmul".
func (*MatMul) Family() string { return "matmul" }

// Family returns "conv".
func (*Conv) Family() string { return "conv" }

// Family returns "pool".
func (*Pool) Family() string { return "pool" }

// Family returns "gather".
func (*Gather) Family() string { return "gather" }

// Family returns "scatter".
func (*Scatter) Family() string { return "scatter" }

// Family returns "sort".
func (*Sort) Family() string { return "sort" }

// Family returns "attention".
func (*Attention) Family() string { return "attention" }

// Bodies returns the kernel's program.
func (k *Map) Bodies() []*ops.Expr { return []*ops.Expr{&k.Body} }

// Bodies returns the kernel's program.
func (k *Reduce) Bodies() []*ops.Expr { return []*ops.Expr{&k.Body} }

// Bodies returns the kernel's program.
func (k *Row) Bodies() []*ops.Expr { return []*ops.Expr{&k.Body} }

// Bodies returns the kernel's program.
func (k *Scan) Bodies() []*ops.Expr { return []*ops.Expr{&k.Body} }

// Bodies returns A, B and Post.
func (k *MatMul) Bodies() []*ops.Expr { return []*ops.Expr{&k.A, &k.B, &k.Post} }

// Bodies returns Post.
func (k *Conv) Bodies() []*ops.Expr { return []*ops.Expr{&k.Post} }

// Bodies returns Post.
func (k *Pool) Bodies() []*ops.Expr { return []*ops.Expr{&k.Post} }

// Bodies returns Post.
func (k *Gather) Bodies() []*ops.Expr { return []*ops.Expr{&k.Post} }

// Bodies returns Post.
func (k *Scatter) Bodies() []*ops.Expr { return []*ops.Expr{&k.Post} }

// Bodies returns Post.
func (k *Sort) Bodies() []*ops.Expr { return []*ops.Expr{&k.Post} }

// Bodies returns Post.
func (k *Attention) Bodies() []*ops.Expr { return []*ops.Expr{&k.Post} }

// AppendKey implements [Kernel].
func (k *Map) AppendKey(b []byte) []byte { return k.Body.AppendKey(append(b, 'm')) }

// AppendKey implements [Kernel].
func (k *Reduce) AppendKey(b []byte) []byte {
	return k.Body.AppendKey(appendInts(append(b, 'r'), []int{k.Axes}))
}

// AppendKey implements [Kernel].
func (k *Row) AppendKey(b []byte) []byte {
	return k.Body.AppendKey(appendInts(append(b, 'w'), []int{k.Axes}))
}

// AppendKey implements [Kernel].
func (k *Scan) AppendKey(b []byte) []byte { return k.Body.AppendKey(append(b, 's')) }

// AppendKey implements [Kernel].
func (k *MatMul) AppendKey(b []byte) []byte {
	return k.Post.AppendKey(k.B.AppendKey(k.A.AppendKey(append(b, 'x', byte(k.Acc)))))
}

// AppendKey implements [Kernel].
func (k *Conv) AppendKey(b []byte) []byte {
	b = append(b, 'c')
	if k.Transposed {
		b[len(b)-1] = 't'
	}
	b = appendInts(b, k.Stride, k.Dilation, k.Pad, []int{k.Groups})
	return k.Post.AppendKey(b)
}

// AppendKey implements [Kernel].
func (k *Pool) AppendKey(b []byte) []byte {
	b = append(b, 'p', byte(k.Op), 0)
	if k.CountPad {
		b[len(b)-1] = 1
	}
	b = appendInts(b, k.Window, k.Stride, k.Dilation, k.Pad, k.PadEnd)
	return k.Post.AppendKey(b)
}

// AppendKey implements [Kernel].
func (k *Gather) AppendKey(b []byte) []byte { return k.Post.AppendKey(append(b, 'g')) }

// AppendKey implements [Kernel].
func (k *Scatter) AppendKey(b []byte) []byte {
	return k.Post.AppendKey(append(b, 'u', byte(k.DType), bit(k.Add)))
}

// AppendKey implements [Kernel].
func (k *Sort) AppendKey(b []byte) []byte {
	return k.Post.AppendKey(append(b, 'o', byte(k.DType), bit(k.Descending)|bit(k.Index)<<1))
}

// AppendKey implements [Kernel].
func (k *Attention) AppendKey(b []byte) []byte {
	b = append(b, 'a', byte(k.DType), byte(k.Mask), bit(k.Causal))
	return k.Post.AppendKey(binary.LittleEndian.AppendUint64(b, math.Float64bits(k.Scale)))
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func appendInts(b []byte, lists ...[]int) []byte {
	for _, l := range lists {
		b = binary.AppendUvarint(b, uint64(len(l)))
		for _, v := range l {
			b = binary.AppendVarint(b, int64(v))
		}
	}
	return b
}
