package ops

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// noGolden names the rows that NumPy's files cannot hold, and why.
var noGolden = map[*Op]string{
	RandBits: "NumPy has Philox 4×64 alone: TestPhilox and TestRandBits hold it to known answers",
}

// loose names the definitions that are further than 2 units of float64 from the right result somewhere. All
// are far better than a float32 can tell.
var loose = map[*Op]struct {
	ulp    float64
	reason string
}{
	Pow:      {256, "math.Pow multiplies and squares along the bits of y"},
	Sin:      {64, "math.Sin near multiples of π, and for huge x"},
	Cos:      {64, "math.Cos near zeros, and for huge x"},
	Tan:      {64, "math.Tan near zeros, and for huge x"},
	GELU:     {1024, "exp(-x²/2) magnifies the rounding of x/√2 in the tail, up to 2·37² units at 1e-300"},
	GELUTanh: {1024, "exp magnifies the rounding of the cubic in the tail"},
	SiLU:     {512, "eˣ is subnormal below -708"},
	Mish:     {512, "eˣ is subnormal below -708"},
}

// eitherZero has the rows of which NumPy gives now one zero and now the other, for operands that are both.
var eitherZero = map[*Op]bool{Maximum: true, Minimum: true, Fmax: true, Fmin: true, Clip: true}

func TestGolden(t *testing.T) {
	inputs := readArrays(t, "inputs")
	for _, o := range All() {
		if noGolden[o] != "" {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			golden := readArrays(t, o.Name)
			for _, d := range operandTypes(o) {
				if d.IsFloat() && d != Float64 {
					continue // a definition on floats is one on float64
				}
				args, want := inputs[fmt.Sprintf("%d_%s", o.Arity, d)], golden[d.String()]
				if len(want) == 0 || len(args) != o.Arity*len(want) {
					t.Fatalf("%s: %d results for %d operands", d, len(want), len(args))
				}
				checkGolden(t, o, args, want)
			}
		})
	}
}

// checkGolden holds o to want. Args has the first operands, then the second ones, and so on.
func checkGolden(t *testing.T, o *Op, args, want []Value) {
	limit := 2.0
	if l, ok := loose[o]; ok {
		limit = l.ulp
	}
	if exact := o.Tol.ULP == 0 && o.Tol.Abs == 0; exact {
		limit = 0
	}
	worst, at := 0.0, 0
	row := make([]Value, o.Arity)
	for i, w := range want {
		for k := range row {
			row[k] = args[k*len(want)+i]
		}
		off := difference(o.Eval(operands(o, row)...), w)
		if eitherZero[o] && w.F == 0 && math.IsInf(off, 1) {
			off = difference(o.Eval(operands(o, row)...), Value{w.DType, -w.F, w.I})
		}
		if off > worst {
			worst, at = off, i
		}
	}
	if worst > limit {
		for k := range row {
			row[k] = args[k*len(want)+at]
		}
		t.Errorf("%s%v = %v, want %v: %g units off, limit %g", o, row, o.Eval(operands(o, row)...), want[at], worst, limit)
	}
}

// operands returns args as o takes them: with a condition in front, if it has one.
func operands(o *Op, args []Value) []Value {
	if o.Rule.Cond {
		args = append([]Value{args[0].Convert(Bool)}, args[1:]...)
	}
	return args
}

// difference is the distance of two results: 0 if they are the same to the sign of a zero, and infinite if
// they differ in type or are different integers.
func difference(got, want Value) float64 {
	switch {
	case got.DType != want.DType:
		return math.Inf(1)
	case !got.DType.IsFloat():
		if got.I != want.I {
			return math.Inf(1)
		}
		return 0
	case got.F == 0 && want.F == 0 && math.Signbit(got.F) != math.Signbit(want.F):
		return math.Inf(1)
	}
	return ULPs(got, want)
}

func TestGoldenFilesHaveRows(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.npz")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".npz")
		if name != "inputs" && name != "cast" && ByName(name) == nil {
			t.Errorf("%s: no such operation", f)
		}
	}
}

func TestGoldenCasts(t *testing.T) {
	inputs, casts := readArrays(t, "inputs"), readArrays(t, "cast")
	if len(casts) == 0 {
		t.Fatal("no casts")
	}
	for name, want := range casts {
		t.Run(name, func(t *testing.T) {
			from, _, _ := strings.Cut(name, "_")
			for i, v := range inputs["1_"+from] {
				if got := v.Convert(want[i].DType); difference(got, want[i]) != 0 {
					t.Errorf("%v to %s is %v, want %v", v, want[i].DType, got, want[i])
				}
			}
		})
	}
}

// readArrays reads the arrays of a golden file, flat, by their names.
func readArrays(t *testing.T, name string) map[string][]Value {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".npz")
	z, err := zip.OpenReader(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("no golden file %s: add %s to testdata/golden.py and run it", path, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	arrays := map[string][]Value{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		arrays[strings.TrimSuffix(f.Name, ".npy")] = parseNpy(t, b)
	}
	return arrays
}

var descrs = map[string]DType{
	"|b1": Bool, "|u1": Uint8, "|i1": Int8, "<i4": Int32, "<u4": Uint32, "<i8": Int64,
	"<f2": Float16, "<f4": Float32, "<f8": Float64,
}

// parseNpy reads an array in version 1.0 of NumPy's format, in the order of its elements.
func parseNpy(t *testing.T, b []byte) []Value {
	t.Helper()
	if len(b) < 10 || !bytes.HasPrefix(b, []byte("\x93NUMPY\x01\x00")) {
		t.Fatal("no npy file of version 1.0")
	}
	n := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	_, descr, _ := strings.Cut(string(b[:n]), "'descr': '")
	descr, _, _ = strings.Cut(descr, "'")
	d, ok := descrs[descr]
	if !ok {
		t.Fatalf("npy type %q", descr)
	}
	var vals []Value
	for b = b[n:]; len(b) > 0; b = b[d.Size():] {
		var bits [8]byte
		copy(bits[:], b[:d.Size()])
		vals = append(vals, FromBits(d, binary.LittleEndian.Uint64(bits[:])))
	}
	return vals
}

// deviations from numpy.promote_types and numpy.result_type, all documented at [Promote], [PromoteWeak] and
// [DefaultFloat].
var deviations = map[string]string{
	"int16":   "int32",   // weft has no int16
	"float64": "float32", // of a scalar float beside integers or bools: the default float
}

func TestGoldenPromotion(t *testing.T) {
	b, err := os.ReadFile("testdata/golden/promotion.txt")
	if err != nil {
		t.Fatal(err)
	}
	weak := map[string]Weak{"weak_bool": WeakBool, "weak_int": WeakInt, "weak_float": WeakFloat}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) != 9*9+9*3 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		f := strings.Fields(line)
		t.Run(f[0]+"_"+f[1], func(t *testing.T) {
			x, err := ParseDType(f[0])
			if err != nil {
				t.Fatal(err)
			}
			want := f[2]
			var got DType
			if w, ok := weak[f[1]]; ok {
				got = PromoteWeak(x, w)
				if w == WeakFloat && !x.IsFloat() {
					want = deviations[want]
				}
			} else {
				y, err := ParseDType(f[1])
				if err != nil {
					t.Fatal(err)
				}
				if got = Promote(x, y); want == "int16" {
					want = deviations[want]
				}
			}
			if got.String() != want {
				t.Errorf("%s with %s gives %s, want %s", f[0], f[1], got, want)
			}
		})
	}
}
