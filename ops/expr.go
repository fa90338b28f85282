package ops

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// An Expr is the body of a kernel: a straight-line program over values. Instruction i defines value i,
// from values before it. A backend runs it once for each element of the kernel's domain; [Builder] makes
// one. An Expr holds no sizes and no constants' values, so that one compiled kernel serves every shape
// and every scalar.
type Expr struct {
	In   []DType // type of each operand as it is stored
	Code []Instr
	Out  []Ref // the results: values, one for each output of the kernel
}

// A Ref names a value of an Expr by the index of its instruction.
type Ref int32

// A Kind says what an instruction does.
type Kind uint8

// The kinds of instructions.
const (
	Load   Kind = iota + 1 // the element of operand Args[0], of [DType.Element] of its type
	Index                  // the position of the element in operand Args[0], which has a layout and no memory
	Const                  // constant number Args[0] of the step
	Apply                  // Op of Args
	Cast                   // Args[0] converted to DType, as Value.Convert does
	Reduce                 // Red over the row of Args[0]   (families Reduce and Row)
	Scan                   // Red over the prefix of Args[0] (family Scan)
)

// An Instr is one instruction of an [Expr].
type Instr struct {
	Kind  Kind
	DType DType    // type of the value it defines
	Op    *Op      // Apply
	Red   ReduceOp // Reduce, Scan
	Args  [3]Ref   // values (Apply, Cast, Reduce, Scan), or a number in Args[0] (Load, Index, Const)

	// Row marks a value that is one for the whole row, in kernels that reduce: a Reduce, a Load whose
	// operand does not vary along the row, and what is computed from such values alone. A constant is
	// not marked: it is both.
	Row bool

	Exclusive bool // Scan: the element itself is left out, the first result is the identity
	Reverse   bool // Scan: from the end of the axis
}

// Operands returns the values an instruction reads.
func (in *Instr) Operands() []Ref {
	switch in.Kind {
	case Apply:
		return in.Args[:in.Op.Arity]
	case Cast, Reduce, Scan:
		return in.Args[:1]
	default:
		return nil
	}
}

// AppendKey appends to b a string of bytes that two Exprs share only if they are the same program.
func (e *Expr) AppendKey(b []byte) []byte {
	b = append(b, byte(len(e.In)))
	for _, d := range e.In {
		b = append(b, byte(d))
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(e.Code)))
	for i := range e.Code {
		in := &e.Code[i]
		b = append(b, byte(in.Kind), byte(in.DType), byte(in.Red), flags(in.Row, in.Exclusive, in.Reverse))
		n := 1
		if in.Kind == Apply {
			b = binary.LittleEndian.AppendUint16(b, uint16(in.Op.id))
			n = in.Op.Arity
		}
		for _, a := range in.Args[:n] {
			b = binary.LittleEndian.AppendUint16(b, uint16(a))
		}
	}
	b = append(b, byte(len(e.Out)))
	for _, r := range e.Out {
		b = binary.LittleEndian.AppendUint16(b, uint16(r))
	}
	return b
}

func flags(fs ...bool) (b byte) {
	for i, f := range fs {
		if f {
			b |= 1 << i
		}
	}
	return b
}

// String prints the program, one instruction a line, for debugging and golden tests.
func (e *Expr) String() string {
	var s strings.Builder
	for i := range e.Code {
		fmt.Fprintf(&s, "v%d = %s\n", i, e.Code[i].String())
	}
	s.WriteString("out")
	for _, r := range e.Out {
		fmt.Fprintf(&s, " v%d", r)
	}
	return s.String()
}

// String prints the instruction, such as "float32 add v0 v2".
func (in *Instr) String() string {
	var s strings.Builder
	s.WriteString(in.DType.String())
	switch in.Kind {
	case Load:
		fmt.Fprintf(&s, " load %d", in.Args[0])
	case Index:
		fmt.Fprintf(&s, " index %d", in.Args[0])
	case Const:
		fmt.Fprintf(&s, " const %d", in.Args[0])
	case Apply:
		s.WriteString(" " + in.Op.Name)
	case Cast:
		s.WriteString(" cast")
	case Reduce, Scan:
		s.WriteString([...]string{" reduce.", " scan."}[in.Kind-Reduce] + in.Red.String())
	}
	for _, r := range in.Operands() {
		fmt.Fprintf(&s, " v%d", r)
	}
	for i, on := range [...]bool{in.Row, in.Exclusive, in.Reverse} {
		if on {
			s.WriteString([...]string{" row", " exclusive", " reverse"}[i])
		}
	}
	return s.String()
}

// Check reports whether e is well formed: values defined before they are read, operand numbers in range,
// operand types those the operations take. The graph builds only such programs; a backend may rely on it.
func (e *Expr) Check() error {
	for i := range e.Code {
		if err := e.check(i); err != nil {
			return fmt.Errorf("ops: instruction %d (%s): %w", i, e.Code[i].String(), err)
		}
	}
	for _, r := range e.Out {
		if r < 0 || int(r) >= len(e.Code) {
			return fmt.Errorf("ops: result v%d of %d values", r, len(e.Code))
		}
	}
	return nil
}

func (e *Expr) check(i int) error {
	in := &e.Code[i]
	types := make([]DType, 0, 3)
	for _, a := range in.Operands() {
		if a < 0 || int(a) >= i {
			return fmt.Errorf("reads v%d", a)
		}
		types = append(types, e.Code[a].DType)
	}
	want := in.DType
	switch in.Kind {
	case Load, Index:
		k := int(in.Args[0])
		if k < 0 || k >= len(e.In) {
			return fmt.Errorf("operand %d of %d", k, len(e.In))
		}
		if in.Kind == Load {
			want = e.In[k].Element()
		}
	case Const, Cast:
	case Apply:
		arg, out, err := in.Op.Infer(types...)
		if err != nil {
			return err
		}
		if want = out; types[len(types)-1] != arg {
			return fmt.Errorf("operands of type %s, want %s", types[len(types)-1], arg)
		}
	case Reduce, Scan:
		if !in.Red.Accepts().Has(types[0].Kind()) || in.Kind == Scan && !in.Red.Scans() {
			return fmt.Errorf("operand of type %s", types[0])
		}
		want = in.Red.Result(types[0])
	default:
		return fmt.Errorf("unknown kind %d", in.Kind)
	}
	if in.DType != want || !want.Valid() {
		return fmt.Errorf("type %s, want %s", in.DType, want)
	}
	return nil
}

// Eval runs an elementwise program (no Reduce, no Scan) by the definitions of its operations: load gives
// the element of an operand, index its position, and consts the bit patterns of the constants. It is the
// reference that backends are tested against, and slow.
func (e *Expr) Eval(load func(operand int) Value, index func(operand int) int64, consts []uint64) []Value {
	vals := make([]Value, len(e.Code))
	for i := range e.Code {
		in := &e.Code[i]
		switch in.Kind {
		case Load:
			vals[i] = load(int(in.Args[0]))
		case Index:
			vals[i] = IntValue(in.DType, index(int(in.Args[0])))
		case Const:
			vals[i] = FromBits(in.DType, consts[in.Args[0]])
		case Apply:
			var args [3]Value
			for j, a := range in.Operands() {
				args[j] = vals[a]
			}
			vals[i] = in.Op.Eval(args[:in.Op.Arity]...)
		case Cast:
			vals[i] = vals[in.Args[0]].Convert(in.DType)
		default:
			panic("ops: Eval of a program that is not elementwise")
		}
	}
	out := make([]Value, len(e.Out))
	for i, r := range e.Out {
		out[i] = vals[r]
	}
	return out
}
