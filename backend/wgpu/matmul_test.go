package wgpu

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
	"github.com/weft-go/weft/ops"
)

// plainMatMul is a MatMul of elements of type d, with a bias of the columns or without.
func plainMatMul(d ops.DType, bias bool) *backend.MatMul {
	var a, b, post ops.Builder
	a.Result(a.Load(a.Operand(d), false))
	b.Result(b.Load(b.Operand(d), false))
	sum := post.Load(post.Operand(d), false)
	if bias {
		sum = post.Apply(ops.Add, sum, post.Load(post.Operand(d), false))
	}
	post.Result(sum)
	return &backend.MatMul{A: a.Expr(), B: b.Expr(), Post: post.Expr(), Acc: d}
}

// upload returns a buffer of whole numbers of type d.
func upload(t *testing.T, e *engine, d ops.DType, values []int) *buffer {
	t.Helper()
	mem := make([]byte, 0, len(values)*d.Size())
	for _, v := range values {
		bits := ops.IntValue(ops.Int64, int64(v)).Convert(d).Bits()
		mem = append(mem, binary.LittleEndian.AppendUint64(nil, bits)[:d.Size()]...)
	}
	b, err := e.Alloc(len(mem))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Release)
	if err := e.Write(b, 0, mem); err != nil {
		t.Fatal(err)
	}
	return b.(*buffer)
}

// download returns the numbers in a buffer of type d.
func download(t *testing.T, e *engine, d ops.DType, b backend.Buffer) []int {
	t.Helper()
	mem := make([]byte, b.Size())
	if err := e.Read(context.Background(), mem, b, 0); err != nil {
		t.Fatal(err)
	}
	values := make([]int, len(mem)/d.Size())
	for i := range values {
		var word [8]byte
		copy(word[:], mem[i*d.Size():(i+1)*d.Size()])
		values[i] = int(ops.FromBits(d, binary.LittleEndian.Uint64(word[:])).Convert(ops.Int64).I)
	}
	return values
}

// numbers returns n small whole numbers, from -3 to 3, or not negative ones.
func numbers(n, seed int, signed bool) []int {
	list := make([]int, n)
	x := uint32(seed)*2654435761 + 1
	for i := range list {
		x = x*1664525 + 1013904223
		list[i] = int(x>>16) % 7
		if signed {
			list[i] -= 3
		}
	}
	return list
}

// TestMatMulPresets tries every kernel of products on sizes that fill its tiles and on sizes that do not, with all
// transpositions. The suite's sizes would choose few of them. With -short the smaller ones stand for the rest.
func TestMatMulPresets(t *testing.T) {
	e := openTest(t)
	for _, c := range []struct {
		name string
		choice
		long bool
	}{
		{name: "tiny", choice: choice{tile: tinyTile}},
		{name: "small", choice: choice{tile: smallTile}, long: true},
		{name: "middle", choice: choice{tile: middleTile}},
		{name: "flat", choice: choice{tile: flatTile}, long: true},
		{name: "large", choice: choice{tile: largeTile}, long: true},
		{name: "loaded twice", choice: choice{tile: tile{rows: 16, columns: 16, depth: 8, m: 4, n: 4, loop: loadTwice}}},
		{name: "written out", choice: choice{tile: tile{rows: 16, columns: 32, depth: 4, m: 4, n: 8, unroll: true}}, long: true},
		{name: "large, loaded twice", choice: choice{tile: tile{rows: 64, columns: 128, depth: 8, m: 16, n: 8, loop: loadTwice, unroll: true}}, long: true},
		{name: "flat", choice: choice{tile: tile{rows: 32, columns: 128, depth: 16, m: 8, n: 4, loop: loadAhead, unroll: true}}},
		{name: "deep", choice: choice{tile: tile{rows: 32, columns: 64, depth: 32, m: 4, n: 4, loop: loadAhead, unroll: true}}, long: true},
		{name: "line of 4, two columns", choice: choice{line: line{rows: 4, columns: 4, each: 2, steps: 1}}},
		{name: "line of 8, four columns", choice: choice{line: line{rows: 8, columns: 4, each: 4, steps: 2}}, long: true},
		{name: "line of 1", choice: choice{line: line{rows: 1}}, long: true},
		{name: "line of 4", choice: choice{line: line{rows: 4}}},
		{name: "line of 8", choice: choice{line: line{rows: 8}}, long: true},
		{name: "direct", choice: choice{direct: 16}},
		{name: "plain", choice: choice{direct: 4, plain: true}},
		{name: "sliced", choice: choice{tile: smallTile, slices: 3}},
		{name: "sliced line", choice: choice{line: line{rows: 2}, slices: 3}, long: true},
		{name: "sliced direct", choice: choice{direct: 1, slices: 2}, long: true},
	} {
		if testing.Short() && c.long {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			testChoice(t, e, c.choice, ops.Float32, 1, 0)
			testChoice(t, e, c.choice, ops.Float32, 4, 2)
			testChoice(t, e, c.choice, ops.Float16, 4, 3)
			testChoice(t, e, c.choice, ops.Float16, 8, 1)
			if testing.Short() {
				return
			}
			for turn := range 4 {
				testChoice(t, e, c.choice, ops.Float32, 4, turn)
				testChoice(t, e, c.choice, ops.BFloat16, 8, turn)
				testChoice(t, e, c.choice, ops.Float16, 1, turn)
				testChoice(t, e, c.choice, ops.Uint8, 1+turn/2*3, 3-turn)
			}
			if c.line.rows == 0 && c.tile.rows < 128 {
				testChoice(t, e, c.choice, ops.Int64, 1, 2)
			}
		})
	}
}

// testChoice compares a product by the kernel of a choice with its definition. Extents that operands may lie along in memory are
// multiples of align; turn says which operands are transposed.
func testChoice(t *testing.T, e *engine, c choice, d ops.DType, align, turn int) {
	t.Helper()
	batch, m, n, k := 2, c.tile.rows+5, c.tile.columns+3, 2*c.tile.depth+1
	switch {
	case c.line.rows > 0:
		m, n, k = c.line.rows-c.line.rows/4, 37, 3*256+1
	case c.direct > 0:
		m, n, k = 5, 7, 19
	}
	if align > 1 {
		n, k = ceil(n, align)*align, ceil(k, 64)*64
	}
	if align > 4 && c.line.rows == 0 {
		m = ceil(m, align) * align
	}
	signed := d.Signed() || d.IsFloat()
	x, y, z := numbers(batch*m*k, 1, signed), numbers(batch*k*n, 2, signed), numbers(n, 3, signed)
	out := upload(t, e, d, make([]int, batch*m*n))
	s := backend.Step{Shape: backend.Shape{batch, m, n}, Out: []backend.Operand{{Buf: out, DType: d, Layout: backend.Dense(backend.Shape{batch, m, n})}}}
	s.In = []backend.Operand{
		matrices(upload(t, e, d, x), d, batch, m, k, turn&1 != 0), matrices(upload(t, e, d, y), d, batch, k, n, turn&2 != 0),
		{Buf: upload(t, e, d, z), DType: d, Layout: backend.Layout{Shape: s.Shape, Strides: []int{0, 0, 1}}},
	}
	kernel := plainMatMul(d, true)
	p := newProduct(&s, kernel)
	if c.line.rows > 0 && c.line.columns == 0 {
		c.line = e.pickLine(p)
	}
	c = c.sized(p)
	e.mu.Lock()
	err := e.multiply(p, c, kernel.AppendKey(nil))
	e.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	got := download(t, e, d, out)
	rounded := func(v int) int { return int(ops.IntValue(ops.Int64, int64(v)).Convert(d).Convert(ops.Int64).I) }
	for i := range got {
		b, row, column := i/(m*n), i/n%m, i%n
		sum := 0
		for l := range k {
			sum += x[at(b, row, l, m, k, turn&1 != 0)] * y[at(b, l, column, k, n, turn&2 != 0)]
		}
		sum = rounded(sum) + z[column]
		want := rounded(sum)
		if got[i] != want {
			t.Errorf("%+v of %s: [%d %d]·[%d %d], turned %d: element [%d %d %d] is %d, want %d", c, d, m, k, k, n, turn, b, row, column, got[i], want)
			return
		}
	}
}

// TestMatMulMixed multiplies factors of different types: halves are kept as words until they are stored, others are not.
func TestMatMulMixed(t *testing.T) {
	e := openTest(t)
	const m, n, k = 64, 64, 64
	x, y := numbers(m*k, 1, true), numbers(k*n, 2, true)
	for _, types := range [][2]ops.DType{{ops.Float16, ops.Int8}, {ops.Int8, ops.Float16}, {ops.Float16, ops.Float32}, {ops.Float32, ops.BFloat16}, {ops.BFloat16, ops.Float16}} {
		for _, c := range []tile{
			{rows: 16, columns: 32, depth: 8, m: 4, n: 4, loop: loadTwice},
			{rows: 32, columns: 16, depth: 16, m: 4, n: 4, loop: loadAhead},
		} {
			var a, b, post ops.Builder
			a.Result(a.Cast(ops.Float32, a.Load(a.Operand(types[0]), false)))
			b.Result(b.Cast(ops.Float32, b.Load(b.Operand(types[1]), false)))
			post.Result(post.Load(post.Operand(ops.Float32), false))
			kernel := &backend.MatMul{A: a.Expr(), B: b.Expr(), Post: post.Expr(), Acc: ops.Float32}
			out := upload(t, e, ops.Float32, make([]int, m*n))
			s := backend.Step{
				Shape: backend.Shape{m, n},
				In: []backend.Operand{
					{Buf: upload(t, e, types[0], x), DType: types[0], Layout: backend.Dense(backend.Shape{m, k})},
					{Buf: upload(t, e, types[1], y), DType: types[1], Layout: backend.Dense(backend.Shape{k, n})},
				},
				Out: []backend.Operand{{Buf: out, DType: ops.Float32, Layout: backend.Dense(backend.Shape{m, n})}},
			}
			p := newProduct(&s, kernel)
			e.mu.Lock()
			err := e.multiply(p, choice{tile: c}.sized(p), kernel.AppendKey(nil))
			e.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range download(t, e, ops.Float32, out) {
				want := 0
				for l := range k {
					want += x[i/n*k+l] * y[l*n+i%n]
				}
				if got != want {
					t.Errorf("%s·%s by %+v: element %d is %d, want %d", types[0], types[1], c, i, got, want)
					break
				}
			}
		}
	}
}

// matrices returns an operand [batch rows columns], whose columns lie side by side if turned.
func matrices(b *buffer, d ops.DType, batch, rows, columns int, turned bool) backend.Operand {
	l := backend.Layout{Shape: backend.Shape{batch, rows, columns}, Strides: []int{rows * columns, columns, 1}}
	if turned {
		l.Strides = []int{rows * columns, 1, rows}
	}
	return backend.Operand{Buf: b, DType: d, Layout: l}
}

func at(b, i, j, rows, columns int, turned bool) int {
	if turned {
		return (b*columns+j)*rows + i
	}
	return (b*rows+i)*columns + j
}

// TestMatMulRated tests the choices for an NVIDIA GPU: each was the fastest that was measured, or nearly.
func TestMatMulRated(t *testing.T) {
	e := openTest(t)
	e.info.VendorID, e.info.Type, e.info.Limits.WorkgroupMemory = nvidia, driver.Discrete, 48<<10
	b := upload(t, e, ops.Float32, []int{0})
	for _, c := range []struct {
		batch, m, n, k int
		turned         bool
		rows, columns  int
		loop           loop
		slices         int
	}{
		{1, 4096, 4096, 4096, false, 128, 128, loadTwice, 1},
		{1, 4096, 4096, 4096, true, 128, 128, loadAhead, 1},
		{1, 2048, 2048, 2048, false, 128, 128, loadTwice, 1},
		{1, 1024, 1024, 1024, false, 64, 64, loadAhead, 1},
		{1, 512, 512, 512, false, 32, 64, loadAhead, 1},
		{64, 512, 512, 512, false, 128, 128, loadTwice, 1},
		{4096, 32, 32, 32, false, 32, 32, loadAhead, 1},
		{1, 32, 4096, 4096, false, 32, 128, loadAhead, 8},
		{1, 256, 256, 16384, false, 64, 128, loadAhead, 32},
	} {
		shape := backend.Shape{c.batch, c.m, c.n}
		k := plainMatMul(ops.Float32, false)
		p := newProduct(&backend.Step{
			Kernel: k, Shape: shape, Out: []backend.Operand{{Buf: b, DType: ops.Float32, Layout: backend.Dense(shape)}},
			In: []backend.Operand{matrices(b, ops.Float32, c.batch, c.m, c.k, false), matrices(b, ops.Float32, c.batch, c.k, c.n, c.turned)},
		}, k)
		got := e.plan(p)
		if g := got.tile; g.rows != c.rows || g.columns != c.columns || g.loop != c.loop || got.slices != c.slices {
			t.Errorf("%d×[%d %d]·[%d %d], turned %t: %+v, want %d×%d, loop %d, slices %d", c.batch, c.m, c.k, c.k, c.n, c.turned, got, c.rows, c.columns, c.loop, c.slices)
		}
	}
}

// TestMatMulBool tests that a product of Bool is the or of ands.
func TestMatMulBool(t *testing.T) {
	e := openTest(t)
	const m, n, k = 5, 6, 300
	x, y := numbers(m*k, 1, false), numbers(k*n, 2, false)
	for i := range x {
		x[i] /= 6 // a seventh of them is true
	}
	for i := range y {
		y[i] /= 6
	}
	x = append(make([]int, k), x[k:]...) // the first row has none
	out := upload(t, e, ops.Bool, make([]int, m*n))
	run(t, e, backend.Step{
		Kernel: plainMatMul(ops.Bool, false), Shape: backend.Shape{m, n},
		In:  []backend.Operand{matrix(upload(t, e, ops.Bool, x), ops.Bool, m, k), matrix(upload(t, e, ops.Bool, y), ops.Bool, k, n)},
		Out: []backend.Operand{matrix(out, ops.Bool, m, n)},
	})
	for i, got := range download(t, e, ops.Bool, out) {
		want := 0
		for l := range k {
			want |= x[i/n*k+l] & y[l*n+i%n]
		}
		if got != want {
			t.Errorf("element [%d %d] is %d, want %d", i/n, i%n, got, want)
		}
	}
}

// TestMatMulManyBatches tests more workgroups than one dimension of a grid holds.
func TestMatMulManyBatches(t *testing.T) {
	e := openTest(t)
	const batch, d = 70_001, ops.Int32
	x, y := numbers(2*batch, 1, true), numbers(2*batch, 2, true)
	out := upload(t, e, d, make([]int, batch))
	shape := backend.Shape{batch, 1, 1}
	run(t, e, backend.Step{
		Kernel: plainMatMul(d, false), Shape: shape,
		In:  []backend.Operand{matrices(upload(t, e, d, x), d, batch, 1, 2, false), matrices(upload(t, e, d, y), d, batch, 2, 1, false)},
		Out: []backend.Operand{{Buf: out, DType: d, Layout: backend.Dense(shape)}},
	})
	for i, got := range download(t, e, d, out) {
		if want := x[2*i]*y[2*i] + x[2*i+1]*y[2*i+1]; got != want {
			t.Fatalf("product %d is %d, want %d", i, got, want)
		}
	}
}

// matrix returns a dense operand [rows columns].
func matrix(b *buffer, d ops.DType, rows, columns int) backend.Operand {
	return backend.Operand{Buf: b, DType: d, Layout: backend.Dense(backend.Shape{rows, columns})}
}

func run(t *testing.T, e *engine, steps ...backend.Step) {
	t.Helper()
	if err := e.Run(context.Background(), steps); err != nil {
		t.Fatal(err)
	}
}
