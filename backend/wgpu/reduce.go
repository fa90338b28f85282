package wgpu

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/ops"
)

// A reduction is how the elements of one type are combined by one operation. What has been combined so far is its
// state: a number, for positions with the index of its element, and for the extremes of floats an integer that orders
// as they do, NaN before or after all: the hardware's own max and min then do what the definition asks.
type reduction struct {
	op    ops.ReduceOp
	dtype ops.DType // of the elements
}

// state returns the WGSL type of states.
func (r reduction) state() string {
	switch {
	case r.op == reduceMoments:
		return "vec4<f32>"
	case r.wide():
		return "vec3<u32>" // key, index
	case r.positions():
		return "vec2<i32>" // key, index
	case r.keyed():
		return "i32"
	case r.dtype == ops.Bool:
		return "u32"
	}
	return held(r.dtype)
}

// positions reports whether the result is a position.
func (r reduction) positions() bool { return r.op == ops.ReduceArgMax || r.op == ops.ReduceArgMin }

// wide reports whether the result is a position among numbers of 64 bits.
func (r reduction) wide() bool { return r.positions() && r.dtype.Size() == 8 }

// least reports whether the smallest element is looked for, not the greatest.
func (r reduction) least() bool {
	return r.op == ops.ReduceMin || r.op == ops.ReduceArgMin || r.op == ops.ReduceAll
}

// idempotent reports whether combining a state again with an element that is in it leaves it as it is.
func (r reduction) idempotent() bool {
	return r.op != ops.ReduceSum && r.op != ops.ReduceProd && r.op != ops.ReduceLogAddExp && r.op != reduceMoments
}

// keyed reports whether the state is the key of a float.
func (r reduction) keyed() bool {
	return (r.op == ops.ReduceMax || r.op == ops.ReduceMin) && held(r.dtype) == "f32"
}

// costly reports whether combining two states takes so long that a kernel should repeat the text of it little.
func (r reduction) costly() bool {
	return r.op == ops.ReduceLogAddExp || r.op == ops.ReduceProd && r.dtype == ops.Int64
}

// name returns what the names of the reduction's functions end with.
func (r reduction) name() string {
	if r.op == reduceMoments {
		return "moments"
	}
	return r.op.String() + "_" + r.dtype.String()
}

// words returns the number of 32-bit words of a state.
func (r reduction) words() int {
	switch s := r.state(); {
	case strings.HasPrefix(s, "vec2"), s == "f64":
		return 2
	case strings.HasPrefix(s, "vec3"):
		return 3
	case strings.HasPrefix(s, "vec4"):
		return 4
	}
	return 1
}

// join, lift and result return calls of the functions that declare prints.
func (r reduction) join(a, b string) string { return fmt.Sprintf("join_%s(%s, %s)", r.name(), a, b) }

func (r reduction) lift(v, at string) string { return fmt.Sprintf("lift_%s(%s, %s)", r.name(), v, at) }
func (r reduction) result(a string) string   { return fmt.Sprintf("result_%s(%s)", r.name(), a) }

// declare prints the functions of a reduction: lift makes the state of one element, join combines that of earlier
// elements with that of later ones, and result is the value of a state.
func (r reduction) declare(t *text) error {
	if r.op == reduceMoments {
		t.WriteString(joinMoments)
		return nil
	}
	state, value := r.state(), held(r.op.Result(r.dtype))
	join, err := r.joined()
	if err != nil {
		return err
	}
	t.line("fn lift_%s(x: %s, at: u32) -> %s { %s }", r.name(), held(r.dtype), state, r.lifted())
	t.line("fn join_%s(a: %s, b: %s) -> %s { return %s; }", r.name(), state, state, state, join)
	t.line("fn result_%s(a: %s) -> %s { return %s; }", r.name(), state, value, r.lowered())
	return nil
}

// declareExchange prints functions that give a thread the state of another of its subgroup: the one whose number differs in the
// bits of by, the one by threads before, and the one of a number.
func (r reduction) declareExchange(t *text) {
	for _, f := range [][2]string{{"cross", "subgroupShuffleXor"}, {"back", "subgroupShuffleUp"}, {"from", "subgroupShuffle"}} {
		words := r.pack("a")
		for i, word := range words {
			words[i] = fmt.Sprintf("%s(%s, by)", f[1], word)
		}
		t.line("fn %s_%s(a: %s, by: u32) -> %s { return %s; }", f[0], r.name(), r.state(), r.state(), r.unpack(words))
	}
}

// cross, back and from return calls of the functions that declareExchange prints.
func (r reduction) cross(a string, by int) string {
	return fmt.Sprintf("cross_%s(%s, %du)", r.name(), a, by)
}

func (r reduction) back(a string, by int) string {
	return fmt.Sprintf("back_%s(%s, %du)", r.name(), a, by)
}

func (r reduction) from(a, thread string) string {
	return fmt.Sprintf("from_%s(%s, %s)", r.name(), a, thread)
}

// beaten returns the condition that b, the state of an element, is to be taken in place of a, that of elements before it, or ""
// if there is none as simple: where the result is a position, and its key is not the least there is.
func (r reduction) beaten(a, b string) string {
	switch {
	case !r.positions() || r.wide():
		return ""
	case r.dtype.IsFloat() || r.dtype == ops.Int8 || r.dtype == ops.Bool:
		return fmt.Sprintf("%s.x > %s.x", b, a)
	}
	return ""
}

// none returns the state of no elements, the least or greatest value for an extreme. The infinity that logaddexp wants is
// infinity, an expression the compiler knows nothing of.
func (r reduction) none(infinity string) string {
	switch r.op {
	case ops.ReduceLogAddExp:
		if r.dtype == ops.Float64 {
			return "-f64_of_f32_(" + infinity + ")"
		}
		return "-" + infinity
	case ops.ReduceArgMax, ops.ReduceArgMin:
		if r.wide() {
			return fmt.Sprintf("vec3<u32>(%s, 0xffffffffu)", reduction{r.op, ops.Int64}.limit())
		}
		return "vec2<i32>(bitcast<i32>(0x80000000u), 0x7fffffff)"
	case ops.ReduceMax, ops.ReduceMin, ops.ReduceAny, ops.ReduceAll:
		return r.limit()
	case ops.ReduceProd:
		if r.dtype == ops.Int64 {
			return "vec2<u32>(1u, 0u)"
		}
		return r.state() + "(1)"
	}
	return r.state() + "()"
}

// limit returns the state that every element beats or equals.
func (r reduction) limit() string {
	switch {
	case r.dtype == ops.Float64 && r.least():
		return "value_f64_(0u, 0x7ff00000u)"
	case r.dtype == ops.Float64:
		return "value_f64_(0u, 0xfff00000u)"
	case r.dtype.IsFloat(): // the key of an infinity
		if r.least() {
			return "0x7f800000"
		}
		return "bitcast<i32>(0x807fffffu)"
	}
	lo, hi := ops.IntRange(r.dtype)
	if r.least() {
		lo = hi
	}
	switch r.dtype {
	case ops.Int64:
		return fmt.Sprintf("vec2<u32>(%du, %du)", uint32(lo), uint32(lo>>32))
	case ops.Int8, ops.Int32:
		return fmt.Sprintf("bitcast<i32>(%du)", uint32(lo))
	}
	return fmt.Sprintf("%du", lo)
}

// lifted returns the body of lift.
func (r reduction) lifted() string {
	switch {
	case r.keyed() && r.least():
		return "let k = bitcast<i32>(x); return select(k ^ ((k >> 31u) & 0x7fffffff), bitcast<i32>(0x80000000u), isnan_(x));"
	case r.keyed():
		return "let k = bitcast<i32>(x); return select(k ^ ((k >> 31u) & 0x7fffffff), 0x7fffffff, isnan_(x));"
	case r.wide():
		return "return vec3<u32>(" + r.key() + ", at);"
	case r.positions():
		return "return vec2<i32>(" + r.key() + ", bitcast<i32>(at));"
	case r.dtype == ops.Bool:
		return "return u32(x);"
	}
	return "return x;"
}

// key returns an integer, the greater the better x suits an argmax or argmin.
func (r reduction) key() string {
	key := "x" // i32
	switch held(r.dtype) {
	case "vec2<u32>":
		return "x"
	case "f64": // joined knows which end is looked for
		if r.least() {
			return "select(order_f64_(x), vec2<u32>(0u, 0x80000000u), isnan_f64_(x))"
		}
		return "select(order_f64_(x), vec2<u32>(0xffffffffu, 0x7fffffffu), isnan_f64_(x))"
	case "f32":
		if r.least() {
			return "select(-order_(x), 0x7fffffff, isnan_(x))"
		}
		return "select(order_(x), 0x7fffffff, isnan_(x))"
	case "u32":
		key = "bitcast<i32>(x ^ 0x80000000u)"
	case "bool":
		key = "i32(x)"
	}
	if r.least() {
		return "~" + key
	}
	return key
}

// joined returns the expression of join: that of the operation's row, on states that are values.
func (r reduction) joined() (string, error) {
	switch {
	case r.wide():
		first, second := "b.xy", "a.xy" // less(b, a): a is better
		if r.least() {
			first, second = second, first
		}
		return fmt.Sprintf("select(b, a, less64_(%s, %s) || (all(a.xy == b.xy) && a.z <= b.z))", first, second), nil
	case r.positions():
		return "select(b, a, a.x > b.x || (a.x == b.x && a.y <= b.y))", nil
	case r.dtype == ops.Bool && r.least():
		return "a & b", nil
	case r.dtype == ops.Bool:
		return "a | b", nil
	case r.keyed() && r.least():
		return "min(a, b)", nil
	case r.keyed():
		return "max(a, b)", nil
	}
	op := map[ops.ReduceOp]*ops.Op{
		ops.ReduceSum: ops.Add, ops.ReduceProd: ops.Mul, ops.ReduceMax: ops.Maximum, ops.ReduceMin: ops.Minimum, ops.ReduceLogAddExp: ops.LogAddExp,
	}[r.op]
	expr := op.Shader(r.dtype)
	if expr == "" {
		return "", fmt.Errorf("no shader for %s of %s", r.op, r.dtype)
	}
	return strings.NewReplacer("$x", "a", "$y", "b").Replace(expr), nil
}

// lowered returns the expression of result.
func (r reduction) lowered() string {
	switch {
	case r.wide():
		return "bitcast<i32>(a.z)"
	case r.positions():
		return "a.y"
	case r.keyed():
		return "bitcast<f32>(a ^ ((a >> 31u) & 0x7fffffff))" // of the key of NaN a NaN
	case r.dtype == ops.Bool:
		return "a != 0u"
	}
	return rounded(r.dtype, "a")
}

// pack returns the words of a state.
func (r reduction) pack(a string) []string {
	switch r.state() {
	case "u32":
		return []string{a}
	case "vec2<u32>":
		return []string{a + ".x", a + ".y"}
	case "f64":
		bits := encode(ops.Float64, a)
		return []string{bits + ".x", bits + ".y"}
	case "vec3<u32>":
		return []string{a + ".x", a + ".y", a + ".z"}
	case "vec4<f32>":
		return []string{"bitcast<u32>(" + a + ".x)", "bitcast<u32>(" + a + ".y)", "bitcast<u32>(" + a + ".z)", "bitcast<u32>(" + a + ".w)"}
	case "vec2<i32>":
		return []string{fmt.Sprintf("bitcast<u32>(%s.x)", a), fmt.Sprintf("bitcast<u32>(%s.y)", a)}
	}
	return []string{fmt.Sprintf("bitcast<u32>(%s)", a)}
}

// unpack returns the state of words.
func (r reduction) unpack(words []string) string {
	state := r.state()
	list := strings.Join(words, ", ")
	switch state {
	case "u32":
		return list
	case "vec2<u32>", "vec3<u32>":
		return fmt.Sprintf("%s(%s)", state, list)
	case "f64":
		return decode(ops.Float64, words[0], words[1])
	case "vec2<i32>":
		return fmt.Sprintf("bitcast<vec2<i32>>(vec2<u32>(%s))", list)
	case "vec4<f32>":
		return fmt.Sprintf("bitcast<vec4<f32>>(vec4<u32>(%s))", list)
	}
	return fmt.Sprintf("bitcast<%s>(%s)", state, list)
}
