package shaders

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-go/weft/ops"
)

func ExamplePrelude() {
	fmt.Print(Prelude("let v2 = sign_(v1);"))
	// Output:
	// fn isnan_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
	// fn keep_nan_(r: f32, x: f32) -> f32 {
	//     return bitcast<f32>(select(bitcast<u32>(r), bitcast<u32>(x), isnan_(x)));
	// }
	// fn order_(x: f32) -> i32 {
	//     let b = bitcast<i32>(x);
	//     return select(b, -(b & 0x7fffffff), b < 0);
	// }
	// fn sign_(x: f32) -> f32 { return keep_nan_(f32(clamp(order_(x), -1, 1)), x); }
}

func TestPreludeOfNothing(t *testing.T) {
	for _, code := range []string{"", "let v1 = v0 + v0;", "let v1 = mine_(v0);"} {
		if p := Prelude(code); p != "" {
			t.Errorf("%q needs %q", code, p)
		}
	}
}

// types are the WGSL types that hold elements.
var types = map[ops.DType]string{
	ops.Bool: "bool", ops.Uint8: "u32", ops.Int8: "i32", ops.Int32: "i32", ops.Uint32: "u32", ops.Int64: "vec2<u32>",
	ops.Float16: "f32", ops.BFloat16: "f32", ops.Float32: "f32", ops.Float64: "f64",
}

var (
	call      = regexp.MustCompile(`\b([A-Za-z]\w*_)\(`)
	operand   = regexp.MustCompile(`\$\w`)
	signature = regexp.MustCompile(`^fn (\w+)\(([^)]*)\) -> ([\w<>]+) \{`)
)

// lackFloat64 are the operations that the prelude has for Float32 alone.
var lackFloat64 = set("erf erfc gelu gelu_tanh mish selu hard_swish floor_div mod fmod cbrt exp2 log2 log10 pow hypot " +
	"sin cos tan asin acos atan atan2 sinh cosh asinh acosh atanh")

func set(names string) map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(names) {
		m[n] = true
	}
	return m
}

// TestRows holds every row to the prelude: on each type it takes there is an expression, its
// functions exist, but for lackFloat64, and take operands of the type that holds it, and it names the row's operands and no others.
func TestRows(t *testing.T) {
	for _, o := range ops.All() {
		for _, d := range ops.DTypes() {
			in := []ops.DType{d, d, d}[:o.Arity]
			if o.Rule.Cond {
				in[0] = ops.Bool
			}
			arg, out, err := o.Infer(in...)
			if err != nil || arg != d {
				if e := o.Shader(d); e != "" && err != nil {
					t.Errorf("%s does not take %s, and has the expression %q", o, d, e)
				}
				continue
			}
			t.Run(o.Name+"/"+d.String(), func(t *testing.T) { checkRow(t, o, d, out) })
		}
	}
}

func checkRow(t *testing.T, o *ops.Op, d, out ops.DType) {
	e := o.Shader(d)
	if d == ops.Float64 && lackFloat64[o.Name] == Has(e) {
		t.Errorf("%q: its functions exist: %t", e, Has(e))
	}
	if e == "" {
		t.Error("no expression")
	}
	if d == ops.Float64 && !Has(e) {
		return
	}
	if strings.Count(e, "(") != strings.Count(e, ")") || strings.Contains(e, "$T") {
		t.Errorf("%q is not whole", e)
	}
	used := map[string]bool{}
	for _, v := range operand.FindAllString(e, -1) {
		used[v] = true
	}
	constant := !d.IsFloat() && (o == ops.IsNaN || o == ops.IsInf || o == ops.IsFinite)
	for i, v := range []string{"$x", "$y", "$z"} {
		if used[v] != (i < o.Arity) && !constant {
			t.Errorf("%q of %d operands: names %s %t", e, o.Arity, v, used[v])
		}
	}
	for _, m := range call.FindAllStringSubmatch(e, -1) {
		if _, ok := index()[m[1]]; !ok {
			t.Errorf("%q calls %s, which is not in the prelude", e, m[1])
		}
	}
	// an expression that is one call of the operands alone has their type, and gives the result's
	m := regexp.MustCompile(`^(\w+_)\(\$\w(, \$\w)*\)$`).FindStringSubmatch(e)
	if m == nil {
		return
	}
	s := signature.FindStringSubmatch(index()[m[1]].text)
	if s == nil {
		t.Fatalf("%s has no signature", m[1])
	}
	for _, p := range strings.Split(s[2], ", ") {
		if _, typ, _ := strings.Cut(p, ": "); typ != types[d] {
			t.Errorf("%s of %s takes %s", m[1], d, p)
		}
	}
	if n := strings.Count(s[2], ":"); n != len(operand.FindAllString(e, -1)) || s[3] != types[out] {
		t.Errorf("%q: %s takes %d operands and returns %s, want %s", e, m[1], n, s[3], types[out])
	}
}

// TestPreludeIsSane holds the text to the dialect that package comment describes.
func TestPreludeIsSane(t *testing.T) {
	if len(declarations()) < 100 {
		t.Errorf("%d declarations", len(declarations()))
	}
	seen := map[string]bool{}
	for _, d := range declarations() {
		t.Run(d.name, func(t *testing.T) {
			if seen[d.name] || !strings.HasSuffix(d.name, "_") {
				t.Error("the name is taken, or does not end in _")
			}
			seen[d.name] = true
			for _, pair := range []string{"()", "{}", "[]"} {
				if a, b := strings.Count(d.text, pair[:1]), strings.Count(d.text, pair[1:]); a != b {
					t.Errorf("%d %s and %d %s", a, pair[:1], b, pair[1:])
				}
			}
			for _, name := range helperName.FindAllString(d.text, -1) {
				if _, ok := index()[name]; !ok {
					t.Errorf("names %s, which is not in the prelude", name)
				}
			}
			for _, r := range d.text {
				if r > 126 {
					t.Errorf("%q is not ASCII: only comments may hold it", r)
				}
			}
			for _, bad := range foreign {
				if m := bad.FindString(d.text); m != "" {
					t.Errorf("%q is outside the dialect", m)
				}
			}
		})
	}
}

// foreign is what some compiler of WGSL refuses, or what gives other results on some devices.
var foreign = []*regexp.Regexp{
	regexp.MustCompile(`\boverride\b|\bf16\b|\benable\b|\brequires\b|\bconst_assert\b|\bptr\b`),
	regexp.MustCompile(`\n\s+const\b`),
	regexp.MustCompile(`<<\s*\d+\b[^u]|>>\s*\d+\b[^u]`),                        // shifts by signed numbers
	regexp.MustCompile(`\b(tanh|sinh|cosh|asinh|acosh|atanh|pow|log|exp)2?\(`), // builtins of poor accuracy
	regexp.MustCompile(`\bx != x\b|1\.0 / 0|\bsaturate\(|\bsign\(`),
}
