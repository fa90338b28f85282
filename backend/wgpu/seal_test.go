package wgpu

import (
	"strings"
	"testing"

	"github.com/weft-go/weft/ops"
)

// TestSeals holds which operands are hidden from a compiler: none where it knows nothing of them.
func TestSeals(t *testing.T) {
	type b = ops.Builder
	for _, c := range []struct {
		name string
		d    ops.DType
		of   func(b *b, x, y, c ops.Ref) ops.Ref
		want string // the last expression
	}{
		{"a·b + c", ops.Float32, func(b *b, x, y, c ops.Ref) ops.Ref { return b.Apply(ops.Add, b.Apply(ops.Mul, x, y), c) }, "seal_(v3, zero0_()) + v2"},
		{"x - x", ops.Float32, func(b *b, x, _, _ ops.Ref) ops.Ref { return b.Apply(ops.Sub, x, x) }, "v0 - seal_(v0, zero1_())"},
		{"(x + y) - x", ops.Float32, func(b *b, x, y, _ ops.Ref) ops.Ref { return b.Apply(ops.Sub, b.Apply(ops.Add, x, y), x) }, "v3 - seal_(v0, zero1_())"},
		{"(x + y) - x, in halves", ops.Float16, func(b *b, x, y, _ ops.Ref) ops.Ref {
			return b.Apply(ops.Sub, b.Apply(ops.Add, x, y), x)
		}, "round_f16_(v3 - v0)"},
		{"-x · y", ops.Float32, func(b *b, x, y, _ ops.Ref) ops.Ref { return b.Apply(ops.Mul, b.Apply(ops.Neg, x), y) }, "v3 * v1"},
		{"c - a²", ops.Float32, func(b *b, x, _, c ops.Ref) ops.Ref { return b.Apply(ops.Sub, c, b.Apply(ops.Square, x)) }, "v2 - seal_(v3, zero1_())"},
		{"-(a·b) + c", ops.Float64, func(b *b, x, y, c ops.Ref) ops.Ref {
			return b.Apply(ops.Add, b.Apply(ops.Neg, b.Apply(ops.Mul, x, y)), c)
		}, "seal_f64_(v4, zero0_()) + v2"},
		{"a half's product", ops.Float16, func(b *b, x, y, c ops.Ref) ops.Ref {
			return b.Apply(ops.Add, b.Apply(ops.Mul, x, y), c)
		}, "round_f16_(v3 + v2)"},
		{"exp x", ops.Float32, func(b *b, x, _, _ ops.Ref) ops.Ref { return b.Apply(ops.Exp, x) }, "exp_(v0)"},
		{"exp(x + y)", ops.Float32, func(b *b, x, y, _ ops.Ref) ops.Ref { return b.Apply(ops.Exp, b.Apply(ops.Add, x, y)) }, "exp_(seal_(v3, zero0_()))"},
		{"exp x + y", ops.Float32, func(b *b, x, y, _ ops.Ref) ops.Ref { return b.Apply(ops.Add, b.Apply(ops.Exp, x), y) }, "seal_(v3, zero0_()) + v1"},
		{"exp x - exp x", ops.Float32, func(b *b, x, _, _ ops.Ref) ops.Ref {
			e := b.Apply(ops.Exp, x)
			return b.Apply(ops.Sub, e, e)
		}, "seal_(v3, zero0_()) - seal_(v3, zero1_())"},
		{"(x + exp y) - exp y", ops.Float32, func(b *b, x, y, _ ops.Ref) ops.Ref {
			e := b.Apply(ops.Exp, y)
			return b.Apply(ops.Sub, b.Apply(ops.Add, x, e), e)
		}, "seal_(v4, zero0_()) - seal_(v3, zero1_())"},
		{"exp y - (x + exp y)", ops.Float32, func(b *b, x, y, _ ops.Ref) ops.Ref {
			e := b.Apply(ops.Exp, y)
			return b.Apply(ops.Sub, e, b.Apply(ops.Add, x, e))
		}, "seal_(v3, zero0_()) - seal_(v4, zero1_())"},
		{"(x < y)·c", ops.Float32, func(b *b, x, y, c ops.Ref) ops.Ref {
			return b.Apply(ops.Mul, b.Cast(ops.Float32, b.Apply(ops.Less, x, y)), c)
		}, "seal_(v4, zero0_()) * v2"},
		{"a constant half", ops.Float16, func(b *b, x, y, _ ops.Ref) ops.Ref {
			return b.Apply(ops.Mul, b.Apply(ops.Neg, b.Cast(ops.Float16, b.Apply(ops.Less, x, x))), y)
		}, "round_f16_(seal_(v5, zero0_()) * v1)"},
		{"x where x < y", ops.Float32, func(b *b, x, y, _ ops.Ref) ops.Ref {
			return b.Apply(ops.Where, b.Apply(ops.Less, x, y), x, y)
		}, "select(v1, v0, v3)"},
		{"x less what was chosen", ops.Float32, func(b *b, x, y, _ ops.Ref) ops.Ref {
			return b.Apply(ops.Sub, x, b.Apply(ops.Where, b.Apply(ops.Less, x, y), x, y))
		}, "v0 - seal_(v4, zero1_())"},
	} {
		var program ops.Builder
		x, y := program.Load(program.Operand(c.d), false), program.Load(program.Operand(c.d), false)
		program.Result(c.of(&program, x, y, program.Const(0, c.d)))
		e := program.Expr()
		p := newBody(&e, 1, 0)
		p.load = func(_ *text, k int, _ ops.DType, _ int) string { return "load" }
		var got text
		for i := range e.Code {
			if err := p.instruction(&got, i); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		lines := strings.Split(strings.TrimSpace(got.String()), "\n")
		if _, expr, _ := strings.Cut(lines[len(lines)-1], " = "); expr != c.want+";" {
			t.Errorf("%s: %s, want %s\n%s", c.name, expr, c.want, got.String())
		}
	}
}

// TestSightsStaySmall looks at a program in which each value doubles what the one before it is made of.
func TestSightsStaySmall(t *testing.T) {
	var b ops.Builder
	x, y := b.Load(b.Operand(ops.Float32), false), b.Load(b.Operand(ops.Float32), false)
	for range 60 {
		x, y = b.Apply(ops.Where, b.Apply(ops.Less, x, y), x, y), b.Apply(ops.Where, b.Apply(ops.Less, y, x), y, x)
	}
	b.Result(x)
	e := b.Expr()
	if roots := see(&e)[x].roots; len(roots) != 2 {
		t.Errorf("made of %v, want the two operands", roots)
	}
}
