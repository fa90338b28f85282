package wgpu

import (
	"fmt"

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
	t.line("for (var k = begin; k < end; k++) {")
	t.line("let a = load_a(%srow, k);\nlet b = load_b(%sk, column);", k.arguments(), k.arguments())
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
	k.declareSums(t)
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
	k.combine(t, "thread", half, columns, half)
	t.line("if (thread < %du) {", k.line.rows*columns)
	t.line("let row = thread / %du;\nlet at = thread %% %du;", columns, columns)
	t.line("finish(%srow, (tile * %du + at) * 4u, parts[row * %du + at]);\n}\n}", k.arguments(), columns, half)
	return k.line.rows * half * quadSize(k.sum)
}

// declareSums prints the sums of a thread, a quad a row.
func (k *productKernel) declareSums(t *text) {
	for i := range k.line.rows {
		t.line("var c%d = %s();", i, quad(k.sum))
	}
}

// combine prints a tree of sums over parts, in which the rows are pitch apart, of threads numbered by lane, less than span:
// those that are equal modulo least are added up.
func (k *productKernel) combine(t *text, lane string, span, least, pitch int) {
	t.line("for (var s = %du; s >= %du; s = s / 2u) {", span/2, least)
	t.line("if (%s < s) {", lane)
	t.line("for (var i = thread; i < %du; i += %du) { parts[i] = parts[i] + parts[i + s]; }\n}", k.line.rows*pitch, pitch)
	t.line("workgroupBarrier();\n}")
}

// writeDots prints the kernel of a line whose columns lie side by side along K: neighbouring threads take neighbouring
// elements of K, and the next of them the next column.
func (k *productKernel) writeDots(t *text) int {
	columns := 4 * k.line.columns
	span := lineThreads / columns // threads of a column
	t.line("var<workgroup> parts: array<%s, %d>;", held(k.sum), k.line.rows*lineThreads)
	k.open(t, lineThreads)
	t.line("let first = tile * %du;", columns)
	t.line("let column = first + thread / %du;", span)
	k.declareSums(t)
	t.line("for (var k = begin + thread %% %du * 4u; k < end; k += %du) {", span, k.depth)
	for s := range k.line.steps {
		t.line("let b%d = load_b(%scolumn, k + %du);", s, k.arguments(), s*4*span)
	}
	for s := range k.line.steps {
		for i := range k.line.rows {
			a := fmt.Sprintf("load_a(%s%du, k + %du)", k.arguments(), i, s*4*span)
			t.line("c%d = %s;", i, k.products(fmt.Sprintf("c%d", i), a, fmt.Sprintf("b%d", s)))
		}
	}
	t.line("}")
	for i := range k.line.rows {
		t.line("parts[thread + %du] = c%d[0] + c%d[1] + (c%d[2] + c%d[3]);", i*lineThreads, i, i, i, i)
	}
	t.line("workgroupBarrier();\nlet lane = thread %% %du;", span)
	k.combine(t, "lane", span, 1, lineThreads)
	t.line("if (thread < %du) {", k.line.rows*k.line.columns)
	t.line("let at = thread %% %du * 4u;\nlet row = thread / %du;\nlet base = row * %du + at * %du;",
		k.line.columns, k.line.columns, lineThreads, span)
	t.line("finish(%srow, first + at, %s(parts[base], parts[base + %du], parts[base + %du], parts[base + %du]));\n}\n}",
		k.arguments(), quad(k.sum), span, 2*span, 3*span)
	return k.line.rows * lineThreads * k.sum.Size()
}

// products returns the expression of c + a·b, all quads, element by element.
func (k *productKernel) products(c, a, b string) string {
	if k.sum == ops.Float32 {
		return fmt.Sprintf("fma(%s, %s, %s)", a, b, c)
	}
	return fmt.Sprintf("%s + %s * %s", c, a, b)
}
