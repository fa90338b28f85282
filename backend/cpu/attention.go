package cpu

import (
	"math"
	"unsafe"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/cpu/internal/asm"
	"github.com/weft-go/weft/ops"
)

// Blocks of queries and keys whose scores are computed together: they and what they are made of fit the second-level cache.
const (
	queryBlock = 96
	keyBlock   = 128
)

// attender is an attention, computed in T.
type attender[T float32 | float64] struct {
	*job
	kernel              *backend.Attention
	queries, keys       matrices
	values, mask        matrices
	batch               backend.Shape
	m, n, depth, width  int
	product, transposed *gemmKernel[T] // of scores, if keys can be used as they lie, and if not
	exp                 block          // of elements of T
	post                *binding

	tiles  *asm.Product // the kernels in assembly, if there are
	size   int          // bytes of a T
	places []int        // bytes from the first value of a block to the others
}

// matrices is an operand that is a matrix for each index of the batch.
type matrices struct {
	*operand
	lead        backend.Layout
	row, column int // strides
}

// at returns the position of an element of matrix b.
func (x *matrices) at(b, i, j int) int { return offsetOf(x.lead, b) + i*x.row + j*x.column }

func (j *job) runAttention(k *backend.Attention) error {
	post, err := cached(&j.programs, k, func() (*program, error) { return compile(&k.Post) })
	if err != nil {
		return err
	}
	if err := j.step.Check(); err != nil {
		return err
	}
	first := 3
	if k.Mask != 0 {
		first++
	}
	bound, err := bindPost(post, k.DType, j.step.Shape, j.in[first:], j.out, j.step.Consts)
	if err != nil || j.step.Shape.Len() == 0 {
		return err
	}
	if k.DType == ops.Float64 {
		return newAttender[float64](j, k, bound).run()
	}
	return newAttender[float32](j, k, bound).run()
}

func newAttender[T float32 | float64](j *job, k *backend.Attention, post *binding) *attender[T] {
	lead := len(j.step.Shape) - 2
	computed := ops.Float32
	if k.DType == ops.Float64 {
		computed = k.DType
	}
	a := &attender[T]{exp: lookup(ops.Exp, computed).v, job: j, kernel: k, batch: j.step.Shape[:lead], m: j.step.Shape[lead], width: j.step.Shape[lead+1], post: post}
	a.depth, a.n = j.in[0].layout.Shape[lead+1], j.in[1].layout.Shape[lead]
	list := []*matrices{&a.queries, &a.keys, &a.values, &a.mask}
	if k.Mask == 0 {
		list = list[:3]
	}
	for i, x := range list {
		l := j.in[i].layout
		x.operand = &j.in[i]
		x.lead = backend.Layout{Shape: a.batch, Strides: l.Strides[:lead], Offset: l.Offset}
		x.row, x.column = l.Strides[lead], l.Strides[lead+1]
	}
	a.transposed = productKernel[T](keyBlock)
	if kern := kernelFor[T](a.depth); a.transposed.tiles != nil {
		a.setTiles()
	} else if kern.mr == 1 && kern.nr == 1 {
		a.product = kern
	}
	return a
}

// run computes blocks of queries, each with all keys.
func (a *attender[T]) run() error {
	blocks := (a.m + queryBlock - 1) / queryBlock
	work := min(a.m, queryBlock) * max(a.n, 1) * (a.depth + a.width + 1)
	const worth = 1 << 16 // multiplications
	return a.parallel(a.batch.Len()*blocks, max(1, worth/work), func(lo, hi int) {
		w := newWorker(a.ctx, a.post)
		defer w.free()
		for t := lo; t < hi; t++ {
			mark := w.mark()
			b, q := t/blocks, t%blocks*queryBlock
			a.block(w, b, q, min(queryBlock, a.m-q))
			w.release(mark)
		}
	})
}

// An attended is a block of queries under way.
type attended[T float32 | float64] struct {
	count   int
	queries []T // [count stride], scaled
	stride  int
	keys    []T // of a block, or their transpose
	packed  []T // keys as tiles read them
	values  []T
	across  int // from one value to the next
	scores  []T // [count keyBlock], then the weights before they are divided by their sum
	more    []T
	sums    []T // [count width]
	parts   []T // what a block of keys adds to them
	most    []T // of the scores so far
	total   []float64
}

// block computes the queries from number q on of matrix b.
func (a *attender[T]) block(w *worker, b, q, count int) {
	x := &attended[T]{count: count, stride: roundUp(a.depth, 16), across: a.width}
	x.queries = take[T](w.scratch, count*x.stride)
	x.keys, x.values = take[T](w.scratch, keyBlock*x.stride), take[T](w.scratch, keyBlock*a.width)
	x.scores, x.sums = take[T](w.scratch, count*keyBlock), take[T](w.scratch, count*a.width)
	if a.tiles != nil {
		x.packed = take[T](w.scratch, keyBlock*a.depth)
	} else {
		x.more, x.parts = take[T](w.scratch, count*keyBlock), take[T](w.scratch, count*a.width)
	}
	x.most, x.total = take[T](w.scratch, count), take[float64](w.scratch, count)
	clear(x.sums)
	clear(x.total)
	fill(x.most, T(math.Inf(-1)))
	readRows(w, x.queries, x.stride, &a.queries, a.queries.at(b, q, 0), a.queries.row, a.queries.column, count, a.depth)
	for i := range count {
		scale(x.queries[i*x.stride:][:a.depth], T(a.kernel.Scale))
	}
	for key := 0; key < a.n; key += keyBlock {
		if key > 0 {
			look(w.ctx)
		}
		n := min(keyBlock, a.n-key)
		if a.kernel.Causal { // no query sees the keys beyond
			if n = min(n, q+count+a.n-a.m-key); n <= 0 {
				break
			}
		}
		a.score(w, x, b, key, n)
		excluded := a.exclude(x, b, q, key, n)
		a.weigh(x, n)
		at := a.values.at(b, key, 0)
		if a.valuesInPlace() {
			x.values, x.across = typed[T](a.values.mem)[at:], a.values.row
		} else {
			readRows(w, x.values, a.width, &a.values, at, a.values.row, a.values.column, n, a.width)
		}
		switch {
		case excluded && !a.finite(x, n):
			a.addSome(x, n)
		case a.tiles != nil:
			a.addTiles(x, n)
		default:
			a.transposed.mulRows(count, a.width, n, x.scores, keyBlock, x.values, a.width, x.parts, a.width)
			for i, p := range x.parts {
				x.sums[i] += p
			}
		}
	}
	for i, total := range x.total {
		if total != 0 {
			scale(x.sums[i*a.width:][:a.width], T(1/total))
		}
	}
	vals := bytesOf(x.sums)
	if d := a.kernel.DType; d.IsHalf() {
		vals = take[uint8](w.scratch, len(x.sums)*regSize(d))
		round(vals, d, x.sums)
	}
	w.emit((b*a.m+q)*a.width, count*a.width, vals)
}

// score computes the products of the queries with n keys.
func (a *attender[T]) score(w *worker, x *attended[T], b, key, n int) {
	if a.depth == 0 {
		clear(x.scores)
		return
	}
	if a.tiles != nil {
		a.scoreTiles(w, x, b, key, n)
		return
	}
	at := a.keys.at(b, key, 0)
	direct := a.product != nil
	depth := rowDepth
	if direct {
		depth = a.product.depth
		readRows(w, x.keys, x.stride, &a.keys, at, a.keys.row, a.keys.column, n, a.depth)
	} else {
		readRows(w, x.keys, keyBlock, &a.keys, at, a.keys.column, a.keys.row, a.depth, n)
	}
	for d := 0; d < a.depth; d += depth {
		to, k := x.scores, min(depth, a.depth-d)
		if d > 0 {
			to = x.more
		}
		if direct {
			a.product.mul(x.count, n, k, x.queries[d:], x.stride, x.keys[d:], x.stride, to, keyBlock)
		} else {
			a.transposed.mulRows(x.count, n, k, x.queries[d:], x.stride, x.keys[d*keyBlock:], keyBlock, to, keyBlock)
		}
		for i := 0; d > 0 && i < x.count; i++ {
			row := x.scores[i*keyBlock:]
			for j, s := range to[i*keyBlock : i*keyBlock+n] {
				row[j] += s
			}
		}
	}
}

// exclude adds the mask to the scores, and sets those of excluded keys to -∞. It reports whether there are any.
func (a *attender[T]) exclude(x *attended[T], b, q, key, n int) (some bool) {
	none := T(math.Inf(-1))
	for i := range x.count {
		row := x.scores[i*keyBlock : i*keyBlock+n]
		if a.kernel.Mask != 0 {
			at := a.mask.at(b, q+i, key)
			for j := range row {
				if a.kernel.Mask == ops.Bool {
					if a.mask.mem[at] == 0 {
						row[j] = none
					}
				} else {
					row[j] += T(floatAt(a.mask.operand, at))
				}
				some = some || row[j] == none
				at += a.mask.column
			}
		}
		if seen := q + i + a.n - a.m + 1 - key; a.kernel.Causal && seen < n {
			fill(row[max(seen, 0):], none)
			some = true
		}
	}
	return some
}

// weigh replaces scores by the exponentials of their distances from the greatest so far, and scales what there is to that.
func (a *attender[T]) weigh(x *attended[T], n int) {
	if y, ok := any(x).(*attended[float32]); ok && a.tiles != nil {
		a.weighTiles(y, n)
		return
	}
	for i := range x.count {
		row := x.scores[i*keyBlock : i*keyBlock+n]
		most := x.most[i]
		for _, s := range row {
			if s > most || s != s {
				most = s
			}
		}
		if math.IsInf(float64(most), -1) {
			clear(row)
			continue
		}
		if most != x.most[i] { // or one is NaN
			less := math.Exp(float64(x.most[i] - most))
			scale(x.sums[i*a.width:][:a.width], T(less))
			x.total[i] *= less
			x.most[i] = most
		}
		for j := range row {
			row[j] -= most
		}
		p := unsafe.Pointer(unsafe.SliceData(row))
		a.exp(p, p, nil, nil, n)
		sum := T(0)
		for _, p := range row {
			sum += p
		}
		x.total[i] += float64(sum)
	}
}

// addSome adds values with their weights, but for those without any: they may be infinite.
func (a *attender[T]) addSome(x *attended[T], n int) {
	for i := range x.count {
		sums := x.sums[i*a.width:][:a.width]
		for j, p := range x.scores[i*keyBlock : i*keyBlock+n] {
			if p == 0 {
				continue
			}
			for c, v := range x.values[j*x.across:][:a.width] {
				sums[c] += p * v
			}
		}
	}
}

// finite reports whether no element of n values is infinite or NaN.
func (a *attender[T]) finite(x *attended[T], n int) bool {
	for i := range n {
		for _, v := range x.values[i*x.across:][:a.width] {
			if v-v != 0 {
				return false
			}
		}
	}
	return true
}

func scale[T float32 | float64](row []T, by T) {
	for i := range row {
		row[i] *= by
	}
}

// floatAt returns the element at a position of an operand of floats.
func floatAt(o *operand, at int) float64 {
	switch o.dtype {
	case ops.Float64:
		return typed[float64](o.mem)[at]
	case ops.Float32:
		return float64(typed[float32](o.mem)[at])
	}
	var wide [1]float32
	widen(o.dtype, wide[:], typed[uint16](o.mem)[at:at+1])
	return float64(wide[0])
}

// readRows reads a matrix of rows × columns elements, of which the first is at position at and the others are row and column
// apart, to rows of dst that are stride apart.
func readRows[T float32 | float64](w *worker, dst []T, stride int, x *matrices, at, row, column, rows, columns int) {
	mark := w.mark()
	defer w.release(mark)
	half := take[uint16](w.scratch, columns)
	for i := range rows {
		switch to := any(dst[i*stride : i*stride+columns]).(type) {
		case []float64:
			copyRow(to, typed[float64](x.mem), at, column)
		case []float32:
			if x.dtype.IsHalf() {
				copyRow(half, typed[uint16](x.mem), at, column)
				widen(x.dtype, to, half)
			} else {
				copyRow(to, typed[float32](x.mem), at, column)
			}
		}
		at += row
	}
}
