package backendtest

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// parts are tests of each family, small enough to run under every fault.
var parts = []struct {
	name string
	run  func(*suite, tb)
}{
	{"map", func(s *suite, t tb) { s.testOpOn(t, ops.Add, ops.Float32) }},
	{"reduce", func(s *suite, t tb) { s.testReduceOn(t, ops.ReduceSum, ops.Float32) }},
	{"maximum", func(s *suite, t tb) { s.testReduceOn(t, ops.ReduceMax, ops.Float32) }},
	{"row", func(s *suite, t tb) { s.rowPrograms(t, exactRows, false) }},
	{"scan", func(s *suite, t tb) { s.testScanOn(t, ops.ReduceSum, ops.Float32) }},
	{"matmul", func(s *suite, t tb) {
		s.testMatMulOn(t, product{a: ops.Float32, b: ops.Float32, acc: ops.Float32})
	}},
	{"conv", func(s *suite, t tb) { s.testConvOn(t, ops.Float32, 2, false) }},
	{"transposed conv", func(s *suite, t tb) { s.testConvOn(t, ops.Float32, 2, true) }},
	{"max pool", func(s *suite, t tb) { s.testPoolOn(t, ops.ReduceMax, ops.Float32) }},
	{"average pool", func(s *suite, t tb) { s.testPoolOn(t, ops.ReduceSum, ops.Float32) }},
	{"gather", func(s *suite, t tb) { s.testGatherOn(t, ops.Float32, ops.Int32) }},
	{"sort", func(s *suite, t tb) { s.testSortOn(t, ops.Float32) }},
	{"scatter", func(s *suite, t tb) { s.testScatterOn(t, ops.Float32, ops.Int32, false) }},
	{"scatter add", func(s *suite, t tb) { s.testScatterOn(t, ops.Float32, ops.Int32, true) }},
	{"attention", func(s *suite, t tb) { s.testAttentionOn(t, ops.Float32) }},
	{"topk", func(s *suite, t tb) { s.testTopKOn(t, ops.Float32) }},
}

// TestFaults shows that the suite catches each fault in each family.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name   string
		mutant mutant
		not    string // a part the fault is none in
	}{
		{name: "an element one unit off", mutant: mutant{spoil: oneOff}},
		{name: "the last element not written", mutant: mutant{spoil: lastUnwritten}},
		{name: "a byte outside overwritten", mutant: mutant{spoil: byteOutside}},
		{name: "the offset of an input ignored", mutant: mutant{change: func(s *backend.Step) { forget(s.In, true) }}},
		{name: "the strides of an input ignored", mutant: mutant{change: func(s *backend.Step) { forget(s.In, false) }}},
		{name: "the offset of the output ignored", mutant: mutant{change: func(s *backend.Step) { forget(s.Out, true) }}},
		{name: "the strides of the output ignored", mutant: mutant{change: func(s *backend.Step) { forget(s.Out, false) }}},
		{name: "NaN taken for 0", mutant: mutant{change: dropNaN}, not: "average pool"},
	} {
		t.Run(f.name, func(t *testing.T) {
			for _, p := range parts {
				if p.name != f.not {
					m := f.mutant
					caught(t, p.name, &m, p.run)
				}
			}
		})
	}
	t.Run("the last of ties", func(t *testing.T) {
		for _, d := range []ops.DType{ops.Float32, ops.Int32, ops.Bool} {
			caught(t, "argmax", &mutant{change: lastOfTies}, func(s *suite, t tb) { s.testReduceOn(t, ops.ReduceArgMax, d) })
		}
	})
	t.Run("descending from the end of ascending", func(t *testing.T) {
		for _, d := range []ops.DType{ops.Float32, ops.Int32} {
			caught(t, "sort", &mutant{change: sortFromTheEnd}, func(s *suite, t tb) { s.testSortOn(t, d) })
		}
	})
	t.Run("the first of updates wins", func(t *testing.T) {
		caught(t, "scatter", &mutant{change: firstOfUpdates}, func(s *suite, t tb) { s.testScatterOn(t, ops.Int32, ops.Int64, false) })
	})
	t.Run("causal from the first query on", func(t *testing.T) {
		caught(t, "attention", &mutant{change: causalFromTheFirst}, func(s *suite, t tb) { s.testAttentionOn(t, ops.Float32) })
	})
	t.Run("sums in float16", func(t *testing.T) {
		caught(t, "sum", &mutant{change: sumInHalf}, func(s *suite, t tb) { s.testReduceOn(t, ops.ReduceSum, ops.Float32) })
	})
}

// oneOff moves the first finite element of the first output by one unit in the last place.
func oneOff(s *backend.Step, _ [][]byte) {
	out := s.Out[0]
	mem := out.Buf.(*refBuffer).data
	for _, at := range out.Layout.All() {
		v := load(out.DType, mem, at)
		switch {
		case out.DType == ops.Bool:
			v.I = 1 - v.I
		case out.DType.IsInt():
			v = ops.IntValue(v.DType, v.I+1)
		case v.F != 0 && v.F-v.F == 0:
			v = ops.FromBits(v.DType, v.Bits()+1)
		default:
			continue
		}
		store(mem, at, v)
		return
	}
}

// lastUnwritten puts back what was in the last element of the first output.
func lastUnwritten(s *backend.Step, before [][]byte) {
	out := s.Out[0]
	at := positions(out.Layout)
	if len(at) == 0 {
		return
	}
	n := out.DType.Size()
	i := at[len(at)-1] * n
	copy(out.Buf.(*refBuffer).data[i:i+n], before[0][i:i+n])
}

// byteOutside writes the byte after the last element of the first output, or the one before the first.
func byteOutside(s *backend.Step, _ [][]byte) {
	out := s.Out[0]
	at := positions(out.Layout)
	if len(at) == 0 {
		return
	}
	mem := out.Buf.(*refBuffer).data
	if i := (slices.Max(at) + 1) * out.DType.Size(); i < len(mem) {
		mem[i] = 0
	} else if i := slices.Min(at)*out.DType.Size() - 1; i >= 0 {
		mem[i] = 0
	}
}

// forget sets the offset of the first operand to 0, or its strides to those of a dense one, where the result
// is inside its memory: a kernel that did worse would crash.
func forget(operands []backend.Operand, offset bool) {
	if len(operands) == 0 {
		return
	}
	o := &operands[0]
	l := o.Layout
	if offset {
		l.Offset = 0
	} else {
		l.Offset, _ = l.Bounds() // of a reversed one too, a dense one begins at the least
		kept := len(l.Strides)   // one value a row stays one
		for kept > 0 && l.Strides[kept-1] == 0 {
			kept--
		}
		l.Strides = append(l.Shape[:kept].Strides(), make([]int, len(l.Shape)-kept)...)
	}
	lo, hi := l.Bounds()
	if o.Buf != nil && lo >= 0 && hi < o.Buf.Size()/o.DType.Size() {
		o.Layout = l
	}
}

// dropNaN replaces the inputs by copies in which NaN is 0.
func dropNaN(s *backend.Step) {
	for i, o := range s.In {
		if o.Buf == nil || !o.DType.IsFloat() {
			continue
		}
		b := o.Buf.(*refBuffer)
		c := &refBuffer{owner: b.owner, data: slices.Clone(b.data), size: b.size}
		for _, at := range o.Layout.All() {
			if v := load(o.DType, c.data, at); math.IsNaN(v.F) {
				store(c.data, at, ops.Value{DType: o.DType})
			}
		}
		s.In[i].Buf = c
	}
}

// lastOfTies runs an argmax over the row from its end, and counts the position from there: what it finds is
// the last of equals. The row has no NaN then, which the suite tests apart.
func lastOfTies(s *backend.Step) {
	k := s.Kernel.(*backend.Reduce)
	if k.Axes != 1 || s.Shape[len(s.Shape)-1] == 0 {
		return
	}
	last := len(s.Shape) - 1
	n := s.Shape[last]
	flipped, err := s.In[0].Layout.Slice(last, n-1, -1, n)
	if err != nil {
		panic(err)
	}
	s.In[0].Layout = flipped
	var b ops.Builder
	first := b.Reduce(ops.ReduceArgMax, b.Load(b.Operand(s.In[0].DType), false))
	b.Result(b.Apply(ops.Sub, b.Const(0, ops.Int32), first))
	s.Kernel = &backend.Reduce{Body: b.Expr(), Axes: 1}
	s.Consts = []uint64{ops.IntValue(ops.Int32, int64(n-1)).Bits()}
}

// sortFromTheEnd sorts in ascending order and writes that from the end of each row: then NaN comes first, and equal
// elements are in the wrong order.
func sortFromTheEnd(s *backend.Step) {
	k := *s.Kernel.(*backend.Sort)
	last := len(s.Shape) - 1
	n := s.Shape[last]
	if !k.Descending || n == 0 {
		return
	}
	k.Descending = false
	s.Kernel = &k
	for _, list := range [][]backend.Operand{s.In[1:], s.Out} {
		for i := range list {
			l, err := list[i].Layout.Slice(last, n-1, -1, n)
			if err != nil {
				panic(err)
			}
			list[i].Layout = l
		}
	}
}

// firstOfUpdates runs through the updates from the last on.
func firstOfUpdates(s *backend.Step) {
	for i := range s.In[1:3] {
		l := &s.In[1+i].Layout
		last := len(l.Shape) - 1
		back, err := l.Slice(last, max(0, l.Shape[last]-1), -1, l.Shape[last])
		if err != nil {
			panic(err)
		}
		*l = back
	}
}

// causalFromTheFirst lets query m see the keys up to m, which is another thing where there are more keys than queries.
func causalFromTheFirst(s *backend.Step) {
	lead := len(s.Shape) - 2
	m, n := s.Shape[lead], s.In[1].Layout.Shape[lead]
	if k := s.Kernel.(*backend.Attention); !k.Causal || n <= m {
		return
	}
	for i := range s.In[1:] {
		if l := &s.In[1+i].Layout; l.Shape[lead] == n || l.Shape[lead+1] == n {
			axis := lead
			if l.Shape[lead] != n {
				axis++
			}
			first, err := l.Slice(axis, 0, 1, m)
			if err != nil {
				panic(err)
			}
			*l = first
		}
	}
}

// sumInHalf rounds what it sums to float16 first.
func sumInHalf(s *backend.Step) {
	k := s.Kernel.(*backend.Reduce)
	var b ops.Builder
	x := b.Cast(ops.Float32, b.Cast(ops.Float16, b.Load(b.Operand(ops.Float32), false)))
	b.Result(b.Reduce(ops.ReduceSum, x))
	s.Kernel = &backend.Reduce{Body: b.Expr(), Axes: k.Axes}
}

// TestSound shows that the same parts pass without a fault.
func TestSound(t *testing.T) {
	for _, p := range parts {
		s := newSuite(&mutant{reference: &reference{}})
		s.short = true
		r := newRecorder("sound")
		r.Run(p.name, func(t tb) { p.run(s, t) })
		for _, e := range *r.errors {
			t.Error(e)
		}
	}
}
