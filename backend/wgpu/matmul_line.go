package wgpu

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/ops"
)

// writeDirect prints the kernel of a product that threads compute alone.
func (k *productKernel) writeDirect(t *text) {
	across := directThreads / k.direct
	if k.sum == ops.Int64 {
		t.WriteString(int64Quads)
	}
	k.open(t, directThreads)
	t.line("let row = tile / %s * %du + thread / %du;", word(k.tileColumns), k.direct, across)
	t.line("let column = (tile %% %s * %du + thread %% %du) * 4u;", word(k.tileColumns), across, across)
	t.line("var c = %s();", quad(k.sum))
	b := fmt.Sprintf("load_b(%sk, column)", k.arguments())
	if k.p.image != nil {
		lanes := make([]string, 4)
		for i := range lanes {
			t.line("let place%d = place_b(%scolumn + %du);", i, k.arguments(), i)
			lanes[i] = fmt.Sprintf("element_b(place%d, k)", i)
		}
		b = fmt.Sprintf("%s(%s)", quad(k.sum), strings.Join(lanes, ", "))
	}
	t.line("for (var k = begin; k < end; k++) {")
	t.line("let a = load_a(%srow, k);\nlet b = %s;", k.arguments(), b)
	t.line("c = %s;\n}", multiplyAdd(k.sum, "c", "a", "b"))
	t.line("finish(%srow, column, c);\n}", k.arguments())
}

// writeLine prints the kernel of a line, and returns the bytes of its workgroup memory. Neighbouring threads take
// neighbouring columns, and the next of them the next elements of K.
func (k *productKernel) writeLine(t *text) int {
	if k.sides[1].across {
		return k.writeDots(t)
	}
	const half = lineThreads / 2
	q, columns := quad(k.sum), k.line.columns
	t.line("var<workgroup> parts: array<%s, %d>;", q, k.line.rows*half)
	k.open(t, lineThreads)
	t.line("let column = (tile * %du + thread %% %du) * 4u;", columns, columns)
	for i := range k.line.rows {
		t.line("var c%d = %s();", i, q)
	}
	t.line("for (var k = begin + thread / %du * 4u; k < end; k += %du) {", columns, k.depth)
	apart := k.depth / k.line.steps // of the elements that a thread takes in a step
	for s := range k.line.steps {
		for j := range 4 {
			t.line("let b%d_%d = load_b(%sk + %du, column);", s, j, k.arguments(), s*apart+j)
		}
	}
	for s := range k.line.steps {
		for i := range k.line.rows {
			t.line("let a%d_%d = load_a(%s%du, k + %du);", s, i, k.arguments(), i, s*apart)
			for j := range 4 {
				t.line("c%d = %s;", i, multiplyAdd(k.sum, fmt.Sprintf("c%d", i), fmt.Sprintf("a%d_%d[%d]", s, i, j), fmt.Sprintf("b%d_%d", s, j)))
			}
		}
	}
	t.line("}")
	// The upper half of the threads hands over what it has, which halves the memory it takes.
	t.line("if (thread >= %du) {", half)
	for i := range k.line.rows {
		t.line("parts[thread - %du + %du] = c%d;", half, i*half, i)
	}
	t.line("}\nworkgroupBarrier();\nif (thread < %du) {", half)
	for i := range k.line.rows {
		t.line("parts[thread + %du] = parts[thread + %du] + c%d;", i*half, i*half, i)
	}
	t.line("}\nworkgroupBarrier();")
	k.combine(t, "thread", half, columns, k.line.rows, half)
	t.line("if (thread < %du) {", k.line.rows*columns)
	t.line("let row = thread / %du;\nlet at = thread %% %du;", columns, columns)
	t.line("finish(%srow, (tile * %du + at) * 4u, parts[row * %du + at]);\n}\n}", k.arguments(), columns, half)
	return k.line.rows * half * quadSize(k.sum)
}

// combine prints a tree of sums over parts, in which the sums of a thread are pitch apart, of threads numbered by lane, less
// than span: those that are equal modulo least are added up.
func (k *productKernel) combine(t *text, lane string, span, least, sums, pitch int) {
	t.line("for (var s = %du; s >= %du; s = s / 2u) {", span/2, least)
	t.line("if (%s < s) {", lane)
	t.line("for (var i = thread; i < %du; i += %du) { parts[i] = parts[i] + parts[i + s]; }\n}", sums*pitch, pitch)
	t.line("workgroupBarrier();\n}")
}

// writeDots prints the kernel of a line whose columns lie side by side along K: neighbouring threads take neighbouring
// elements of K, and the next of them the next columns.
func (k *productKernel) writeDots(t *text) int {
	columns, each, rows := 4*k.line.columns, k.line.each, k.line.rows
	span := lineThreads / columns * each // threads of a column
	t.line("var<workgroup> parts: array<%s, %d>;", held(k.sum), rows*each*lineThreads)
	k.open(t, lineThreads)
	t.line("let first = tile * %du;", columns)
	t.line("let column = first + thread / %du * %du;", span, each)
	for i := range rows * each {
		t.line("var c%d = %s();", i, quad(k.sum))
	}
	t.line("for (var k = begin + thread %% %du * 4u; k < end; k += %du) {", span, k.depth)
	for s := range k.line.steps {
		for j := range each {
			t.line("let b%d_%d = load_b(%scolumn + %du, k + %du);", s, j, k.arguments(), j, s*4*span)
		}
	}
	for s := range k.line.steps {
		for i := range rows {
			t.line("let a%d_%d = load_a(%s%du, k + %du);", s, i, k.arguments(), i, s*4*span)
			for j := range each {
				c := fmt.Sprintf("c%d", i*each+j)
				t.line("%s = %s;", c, k.products(c, fmt.Sprintf("a%d_%d", s, i), fmt.Sprintf("b%d_%d", s, j)))
			}
		}
	}
	t.line("}")
	for i := range rows * each {
		t.line("parts[thread + %du] = c%d[0] + c%d[1] + (c%d[2] + c%d[3]);", i*lineThreads, i, i, i, i)
	}
	t.line("workgroupBarrier();\nlet lane = thread %% %du;", span)
	k.combine(t, "lane", span, 1, rows*each, lineThreads)
	t.line("if (thread < %du) {", rows*k.line.columns)
	t.line("let at = thread %% %du * 4u;\nlet row = thread / %du;", k.line.columns, k.line.columns)
	t.line("let base = row * %du + at * %du;", each*lineThreads, span/each)
	lanes := make([]string, 4)
	for l := range lanes {
		lanes[l] = fmt.Sprintf("parts[base + %du]", l%each*lineThreads+l/each*span)
	}
	t.line("finish(%srow, first + at, %s(%s));\n}\n}", k.arguments(), quad(k.sum), strings.Join(lanes, ", "))
	return rows * each * lineThreads * k.sum.Size()
}

// products returns the expression of c + a·b, all quads, element by element.
func (k *productKernel) products(c, a, b string) string {
	if k.sum == ops.Float32 {
		return fmt.Sprintf("fma(%s, %s, %s)", a, b, c)
	}
	return fmt.Sprintf("%s + %s * %s", c, a, b)
}
