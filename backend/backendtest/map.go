package backendtest

import (
	"fmt"
	"slices"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

func (s *suite) testMap(t tb) {
	for _, o := range ops.All() {
		t.Run(o.Name, func(t tb) { s.testOp(t, o) })
	}
	t.Run("cast", s.testCast)
	t.Run("quantized", s.testQuantized)
	t.Run("copy", s.testCopy)
	t.Run("index", s.testIndex)
	t.Run("signed zero", s.testSignedZero)
	t.Run("several outputs", s.testOutputs)
	t.Run("fold", s.testFolds)
	t.Run("chain", s.testChains)
	t.Run("large", s.testLarge)
}

// testOp tests one row of the table on every element type it takes.
func (s *suite) testOp(t tb, o *ops.Op) {
	for _, d := range ops.DTypes() {
		if arg, _, err := o.Infer(operandTypes(o, d)...); err != nil || arg != d {
			continue // converted first, or not taken at all
		}
		s.leaf(t, d.String(), func(t tb) { s.testOpOn(t, o, d) })
	}
}

// testOpOn tests one row on elements of type d.
func (s *suite) testOpOn(t tb, o *ops.Op, d ops.DType) {
	m := mapper{s: s, in: s.draw(t), op: o, types: operandTypes(o, d)}
	m.in.flush = false // the row knows what a device may lose
	s.check(t, m.values()...)
	s.check(t, m.arrangements()...)
	s.check(t, m.sizes()...)
	s.check(t, m.constants()...)
	s.check(t, m.same()...)
}

// operandTypes returns the types of the operands of o on elements of type d.
func operandTypes(o *ops.Op, d ops.DType) []ops.DType {
	types := make([]ops.DType, o.Arity)
	for i := range types {
		types[i] = d
	}
	if o.Rule.Cond {
		types[0] = ops.Bool
	}
	return types
}

// A mapper makes trials of one operation on operands of given types.
type mapper struct {
	s     *suite
	in    *inputs
	op    *ops.Op
	types []ops.DType
}

// trial applies the operation to operands in memory, and to constants where there is no operand.
func (m *mapper) trial(name string, shape backend.Shape, how string, operands []*operand, consts []ops.Value) *trial {
	tr := &trial{name: m.op.Name + " " + name, shape: shape, op: m.op}
	var b ops.Builder
	refs := make([]ops.Ref, len(operands))
	place := make(map[*operand]ops.Ref)
	for i, o := range operands {
		ref, known := place[o]
		switch {
		case o == nil:
			ref = b.Const(len(tr.consts), m.types[i])
			tr.consts = append(tr.consts, consts[i])
		case !known:
			ref = b.Load(b.Operand(o.dtype), false)
			place[o] = ref
			tr.in = append(tr.in, *o)
		}
		refs[i] = ref
	}
	r := b.Apply(m.op, refs...)
	b.Result(r)
	tr.out = []operand{m.in.blank(b.DType(r), how, shape)}
	tr.kernel = &backend.Map{Body: b.Expr()}
	at := make([][]int, len(operands))
	for i, o := range operands {
		if o != nil {
			at[i] = positions(o.layout)
		}
	}
	tr.args = func(i int) []ops.Value {
		args := make([]ops.Value, len(operands))
		for k, o := range operands {
			if o == nil {
				args[k] = consts[k]
			} else {
				args[k] = load(o.dtype, o.mem, at[k][i])
			}
		}
		return args
	}
	return tr
}

// tensors draws operands of the given arrangements.
func (m *mapper) tensors(shape backend.Shape, f fill, how ...string) []*operand {
	list := make([]*operand, len(m.types))
	for i, d := range m.types {
		o := m.in.tensor(d, how[i%len(how)], shape, f)
		list[i] = &o
	}
	return list
}

// values tries edge values in every combination of one and two operands, all values of small types, and
// random ones.
func (m *mapper) values() []*trial {
	random := 4000
	if m.s.short {
		random = 700
	}
	d := m.types[len(m.types)-1]
	columns := make([][]uint64, len(m.types))
	add := func(row ...uint64) {
		for i := range columns {
			columns[i] = append(columns[i], row[i])
		}
	}
	es := edges(d)
	switch len(m.types) {
	case 1:
		for _, x := range es {
			add(x)
		}
		if d.Bits() == 8 || d.Bits() == 16 && !m.s.short {
			for x := range uint64(1) << d.Bits() {
				add(ops.FromBits(d, x).Bits())
			}
		}
	case 2:
		for i, x := range es {
			for j, y := range es {
				if !m.s.short || (i+j+int(m.s.seed))%7 == 0 { // another seventh with each seed
					add(x, y)
				}
			}
		}
	}
	for i := range random {
		row := make([]uint64, len(m.types))
		for k, d := range m.types {
			row[k] = m.in.any(d, i)
		}
		add(row...)
	}
	shape := backend.Shape{len(columns[0])}
	operands := make([]*operand, len(m.types))
	for k, d := range m.types {
		o := m.in.tensor(d, "dense", shape, func(_ ops.DType, i int) uint64 { return columns[k][i] })
		operands[k] = &o
	}
	return []*trial{m.trial("of edge and random values", shape, "dense", operands, nil)}
}

// arrangements tries every arrangement of each operand beside others, and of the output.
func (m *mapper) arrangements() []*trial {
	var trials []*trial
	for i, how := range readable {
		// Operands in different arrangements: number k has the one k places on.
		hows := append(readable[i:len(readable):len(readable)], readable[:i]...)
		shape := backend.Shape{2 + m.in.IntN(3), 1 + m.in.IntN(4), 3 + m.in.IntN(5)}
		out := writable[m.in.IntN(len(writable))]
		trials = append(trials,
			m.trial("of "+how, shape, "dense", m.tensors(shape, m.in.any, how), nil),
			m.trial("of mixed arrangements", shape, out, m.tensors(shape, m.in.any, hows...), nil))
	}
	for _, how := range writable {
		shape := backend.Shape{3, 5, 2 + m.in.IntN(5)}
		trials = append(trials, m.trial("to "+how, shape, how, m.tensors(shape, m.in.any, "dense"), nil))
	}
	shapes := []backend.Shape{{1}, {1, 1, 1}, {3, 0, 2}, {0, 0}, {2, 1, 3, 1, 2, 2}}
	if m.s.short {
		shapes = sample(m.in, shapes, 2)
	}
	for _, shape := range append(shapes, backend.Shape{}, backend.Shape{0}) {
		how := readable[m.in.IntN(len(readable))]
		trials = append(trials,
			m.trial("of shape "+shape.String(), shape, "dense", m.tensors(shape, m.in.any, "dense"), nil),
			m.trial("of shape "+shape.String(), shape, "offset", m.tensors(shape, m.in.any, how), nil))
	}
	return trials
}

// blockSizes are numbers of elements around those at which kernels split their work.
var blockSizes = []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097}

// sizes tries numbers of elements around those at which kernels split their work.
func (m *mapper) sizes() []*trial {
	sizes := blockSizes
	if m.s.short {
		sizes = sample(m.in, sizes, 4)
	}
	var trials []*trial
	for _, n := range sizes {
		how := sample(m.in, []string{"dense", "dense", "offset", "reversed", "stepped"}, 1)[0]
		shape := backend.Shape{n}
		trials = append(trials, m.trial(fmt.Sprint("of ", n), shape, how, m.tensors(shape, m.in.any, how), nil))
	}
	return trials
}

// constants tries constants in place of each operand, and of all.
func (m *mapper) constants() []*trial {
	var trials []*trial
	shape := backend.Shape{37}
	for pos := range m.types {
		for range 3 {
			operands := m.tensors(shape, m.in.any, "dense")
			consts := make([]ops.Value, len(m.types))
			operands[pos] = nil
			consts[pos] = ops.FromBits(m.types[pos], m.in.any(m.types[pos], 0))
			trials = append(trials, m.trial(fmt.Sprint("with constant ", pos), shape, "dense", operands, consts))
		}
	}
	all := make([]ops.Value, len(m.types))
	for i, d := range m.types {
		all[i] = ops.FromBits(d, m.in.any(d, 0))
	}
	return append(trials, m.trial("of constants", shape, "offset", make([]*operand, len(m.types)), all))
}

// same tries one tensor as every operand of its type.
func (m *mapper) same() []*trial {
	if len(m.types) == 1 {
		return nil
	}
	shape := backend.Shape{67}
	operands := m.tensors(shape, m.in.any, "dense")
	for i := range operands {
		if m.types[i] == m.types[len(m.types)-1] {
			operands[i] = operands[len(operands)-1]
		}
	}
	return []*trial{m.trial("of an operand and itself", shape, "dense", operands, nil)}
}

// sample returns n elements of list, drawn without repetition, in its order.
func sample[T any](in *inputs, list []T, n int) []T {
	if n >= len(list) {
		return list
	}
	at := in.Perm(len(list))[:n]
	slices.Sort(at)
	some := make([]T, n)
	for i, k := range at {
		some[i] = list[k]
	}
	return some
}
