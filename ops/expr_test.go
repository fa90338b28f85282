package ops

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// softmax is a program with all kinds of instructions but Scan, Index and Const.
func softmax() Expr {
	var b Builder
	x := b.Cast(Float32, b.Load(b.Operand(Float16), false))
	e := b.Apply(Exp, b.Apply(Sub, x, b.Reduce(ReduceMax, x)))
	b.Result(b.Cast(Float16, b.Apply(Div, e, b.Reduce(ReduceSum, e))))
	return b.Expr()
}

func TestExprString(t *testing.T) {
	e := softmax()
	want := strings.Join([]string{
		"v0 = float16 load 0",
		"v1 = float32 cast v0",
		"v2 = float32 reduce.max v1 row",
		"v3 = float32 sub v1 v2",
		"v4 = float32 exp v3",
		"v5 = float32 reduce.sum v4 row",
		"v6 = float32 div v4 v5",
		"v7 = float16 cast v6",
		"out v7",
	}, "\n")
	if got := e.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := e.Check(); err != nil {
		t.Error(err)
	}
}

func TestBuilder(t *testing.T) {
	var b Builder
	x, row := b.Load(b.Operand(Float32), false), b.Load(b.Operand(Float32), true)
	c := b.Const(0, Float32)
	sum := b.Apply(Add, x, c)
	if b.Apply(Add, x, c) != sum || b.Cast(Float32, x) != x || b.Load(0, false) != x {
		t.Error("the same value is there twice")
	}
	if b.Len() != 4 {
		t.Errorf("%d values, want 4", b.Len())
	}
	for _, tc := range []struct {
		name string
		v    Ref
		row  bool
		d    DType
	}{
		{"element", x, false, Float32},
		{"row", row, true, Float32},
		{"constant", c, false, Float32},
		{"row and constant", b.Apply(Mul, row, b.Apply(Neg, c)), true, Float32},
		{"row and element", b.Apply(Mul, row, x), false, Float32},
		{"constants", b.Apply(Add, c, c), false, Float32},
		{"reduction", b.Reduce(ReduceArgMax, x), true, Int32},
		{"comparison of rows", b.Apply(Less, row, c), true, Bool},
		{"cast of a row", b.Cast(Int8, row), true, Int8},
		{"scan", b.Scan(ReduceSum, x, true, true), false, Float32},
		{"index", b.Index(1, Int64, true), true, Int64},
		{"choice", b.Apply(Where, b.Apply(Less, row, c), row, c), true, Float32},
	} {
		if b.Row(tc.v) != tc.row || b.DType(tc.v) != tc.d {
			t.Errorf("%s: %s, row %t", tc.name, b.DType(tc.v), b.Row(tc.v))
		}
	}
}

func TestExprCheck(t *testing.T) {
	load := func(d DType) Instr { return Instr{Kind: Load, DType: d} }
	for _, tc := range []struct {
		name string
		e    Expr
		want string // part of the error; "" for none
	}{
		{"empty", Expr{}, ""},
		{"operand out of range", Expr{Code: []Instr{load(Int8)}}, "operand 0 of 0"},
		{"negative operand", Expr{In: []DType{Int8}, Code: []Instr{{Kind: Load, DType: Int8, Args: [3]Ref{-1}}}}, "operand -1 of 1"},
		{"load of another type", Expr{In: []DType{Int8}, Code: []Instr{load(Int32)}}, "type int32, want int8"},
		{"value from later on", Expr{Code: []Instr{{Kind: Cast, DType: Int8, Args: [3]Ref{0}}}}, "reads v0"},
		{"result out of range", Expr{Out: []Ref{0}}, "result v0 of 0"},
		{"unknown kind", Expr{Code: []Instr{{DType: Int8}}}, "unknown kind 0"},
		{"no type", Expr{Code: []Instr{{Kind: Const}}}, "type invalid"},
		{
			"operand to be cast", // float32 + int8 works on float32
			Expr{In: []DType{Float32, Int8}, Code: []Instr{load(Float32), {Kind: Load, DType: Int8, Args: [3]Ref{1}}, {Kind: Apply, Op: Add, DType: Float32, Args: [3]Ref{0, 1}}}},
			"operands of type int8, want float32",
		},
		{
			"kind that the operation refuses",
			Expr{In: []DType{Bool}, Code: []Instr{load(Bool), {Kind: Apply, Op: Neg, DType: Bool}}},
			"takes integers and floats, not bool",
		},
		{
			"reduction of a kind it refuses",
			Expr{In: []DType{Bool}, Code: []Instr{load(Bool), {Kind: Reduce, Red: ReduceSum, DType: Bool}}},
			"operand of type bool",
		},
		{
			"scan that does not",
			Expr{In: []DType{Bool}, Code: []Instr{load(Bool), {Kind: Scan, Red: ReduceAny, DType: Bool}}},
			"operand of type bool",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.e.Check()
			if tc.want == "" && err == nil {
				return
			}
			if err == nil || tc.want == "" || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestExprEval(t *testing.T) {
	var b Builder
	x := b.Load(b.Operand(Float32), false)
	i := b.Index(b.Operand(Int32), Int32, false)
	b.Result(b.Apply(Where, b.Apply(Less, i, b.Const(0, Int32)), x, b.Cast(Float32, i)))
	b.Result(b.Cast(Uint8, b.Apply(Mul, x, b.Const(1, Float32))))
	e := b.Expr()
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	consts := []uint64{3, FloatValue(Float32, 100).Bits()}
	for pos, want := range [][2]float64{{0.5, 50}, {1.5, 150}, {2.5, 250}, {3, 255}, {4, 255}} {
		out := e.Eval(
			func(int) Value { return FloatValue(Float32, float64(pos)+0.5) },
			func(int) int64 { return int64(pos) }, consts)
		if out[0] != FloatValue(Float32, want[0]) || out[1] != IntValue(Uint8, int64(want[1])) {
			t.Errorf("at %d: %v, want %v", pos, out, want)
		}
	}
}

func TestEvalRoundsEachResult(t *testing.T) {
	var b Builder
	x := b.Load(b.Operand(Float16), false)
	b.Result(b.Apply(Sub, b.Apply(Add, x, b.Const(0, Float16)), x))
	e := b.Expr()
	out := e.Eval(func(int) Value { return FloatValue(Float16, 2048) }, nil, []uint64{FloatValue(Float16, 1).Bits()})
	if out[0].F != 0 { // 2049 is no float16
		t.Errorf("(2048 + 1) - 2048 in float16 is %v", out[0])
	}
}

// TestKeys makes random programs from few parts, so that many are the same.
func TestKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	types := []DType{Float32, Int32}
	byKey, byText := map[string]string{}, map[string]string{}
	for range 5000 {
		var b Builder
		for range 1 + r.IntN(2) {
			b.Load(b.Operand(types[r.IntN(2)]), r.IntN(2) == 0)
		}
		pick := func() Ref { return Ref(r.IntN(b.Len())) }
		for range r.IntN(4) {
			switch v := pick(); r.IntN(6) {
			case 0:
				b.Cast(types[r.IntN(2)], v)
			case 1:
				b.Reduce([]ReduceOp{ReduceSum, ReduceMax}[r.IntN(2)], v)
			case 2:
				b.Scan(ReduceSum, v, r.IntN(2) == 0, r.IntN(2) == 0)
			case 3:
				b.Const(r.IntN(2), types[r.IntN(2)])
			case 4:
				b.Index(0, types[r.IntN(2)], false)
			case 5:
				b.Apply([]*Op{Add, Mul}[r.IntN(2)], v, b.Cast(b.DType(v), pick()))
			}
		}
		b.Result(pick())
		e := b.Expr()
		text := e.String()
		for _, d := range e.In {
			text += " " + d.String()
		}
		key := string(e.AppendKey(nil))
		if was, ok := byKey[key]; ok && was != text {
			t.Fatalf("one key for\n%s\nand\n%s", was, text)
		}
		if was, ok := byText[text]; ok && was != key {
			t.Fatalf("two keys for\n%s", text)
		}
		byKey[key], byText[text] = text, key
	}
	if len(byKey) < 500 || len(byKey) > 4900 {
		t.Errorf("%d different programs of 5000: a poor test", len(byKey))
	}
}

func TestInfer(t *testing.T) {
	for _, tc := range []struct {
		name     string
		op       *Op
		in       []DType
		arg, out DType
		err      string
	}{
		{"floats", Add, []DType{Float32, Float16}, Float32, Float32, ""},
		{"bools add", Add, []DType{Bool, Bool}, Bool, Bool, ""},
		{"bools have no difference", Sub, []DType{Bool, Bool}, 0, 0, "takes integers and floats, not bool"},
		{"integers to the default float", Exp, []DType{Int64}, Float32, Float32, ""},
		{"true division", Div, []DType{Uint8, Int8}, Float32, Float32, ""},
		{"comparison", Less, []DType{Int32, Float32}, Float64, Bool, ""},
		{"condition apart", Where, []DType{Bool, Int8, Float16}, Float16, Float16, ""},
		{"condition of numbers", Where, []DType{Int32, Int8, Int8}, 0, 0, "condition is int32, want bool"},
		{"bits of floats", BitwiseAnd, []DType{Float32, Int8}, 0, 0, "takes bools and integers, not float32"},
		{"too few", Add, []DType{Float32}, 0, 0, "1 operands, want 2"},
		{"no type", Add, []DType{Float32, Invalid}, 0, 0, "operands of types float32, invalid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			arg, out, err := tc.op.Infer(tc.in...)
			if tc.err != "" {
				if err == nil || !errors.Is(err, ErrDType) || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil || arg != tc.arg || out != tc.out {
				t.Errorf("%s gives %s, %v", arg, out, err)
			}
		})
	}
}

func TestReduceOps(t *testing.T) {
	if len(ReduceOps()) != 9 || ReduceSum.String() != "sum" || ReduceLogAddExp.String() != "logaddexp" || ReduceOp(77).String() != "reduce(77)" {
		t.Errorf("%v", ReduceOps())
	}
	for _, r := range ReduceOps() {
		if got := r.Result(Float16); (got == Int32) != strings.HasPrefix(r.String(), "arg") {
			t.Errorf("%s of float16 is %s", r, got)
		}
		if r.Scans() && r.Accepts()&Floats == 0 {
			t.Errorf("%s scans no floats", r)
		}
	}
	if ReduceMax.HasIdentity() || !ReduceProd.HasIdentity() {
		t.Error("identities")
	}
}
