package ops

// A Builder writes an [Expr]. Asked twice for the same instruction it returns the first value again, so
// that common subexpressions are computed once. The zero Builder is ready to use.
type Builder struct {
	e    Expr
	seen map[Instr]Ref
}

// Operand adds an operand of type d and returns its number.
func (b *Builder) Operand(d DType) int {
	b.e.In = append(b.e.In, d)
	return len(b.e.In) - 1
}

// Load returns the value of operand k. Row says that it does not vary along the row.
func (b *Builder) Load(k int, row bool) Ref {
	return b.add(Instr{Kind: Load, DType: b.e.In[k].Element(), Args: [3]Ref{Ref(k)}, Row: row})
}

// Index returns the position in operand k as a value of type d.
func (b *Builder) Index(k int, d DType, row bool) Ref {
	return b.add(Instr{Kind: Index, DType: d, Args: [3]Ref{Ref(k)}, Row: row})
}

// Const returns constant number slot of the step, of type d.
func (b *Builder) Const(slot int, d DType) Ref {
	return b.add(Instr{Kind: Const, DType: d, Args: [3]Ref{Ref(slot)}})
}

// Apply returns o of the operands, whose types must suit it as [Op.Infer] says.
func (b *Builder) Apply(o *Op, args ...Ref) Ref {
	in := Instr{Kind: Apply, Op: o, DType: o.Returns(b.DType(args[len(args)-1])), Row: b.row(args...)}
	copy(in.Args[:], args)
	return b.add(in)
}

// Cast returns v converted to d: v itself if it is of that type.
func (b *Builder) Cast(d DType, v Ref) Ref {
	if b.DType(v) == d {
		return v
	}
	return b.add(Instr{Kind: Cast, DType: d, Args: [3]Ref{v}, Row: b.row(v)})
}

// Reduce returns r over the row of v.
func (b *Builder) Reduce(r ReduceOp, v Ref) Ref {
	return b.add(Instr{Kind: Reduce, Red: r, DType: r.Result(b.DType(v)), Args: [3]Ref{v}, Row: true})
}

// Scan returns r over each prefix of v.
func (b *Builder) Scan(r ReduceOp, v Ref, exclusive, reverse bool) Ref {
	return b.add(Instr{Kind: Scan, Red: r, DType: b.DType(v), Args: [3]Ref{v}, Exclusive: exclusive, Reverse: reverse})
}

// DType returns the type of value v.
func (b *Builder) DType(v Ref) DType { return b.e.Code[v].DType }

// Row reports whether v is one value for the whole row (and not a constant).
func (b *Builder) Row(v Ref) bool { return b.e.Code[v].Row }

// Len returns the number of values so far.
func (b *Builder) Len() int { return len(b.e.Code) }

// Result adds v to the results.
func (b *Builder) Result(v Ref) { b.e.Out = append(b.e.Out, v) }

// Expr returns the program. The Builder must not be used again.
func (b *Builder) Expr() Expr { return b.e }

// row reports whether a value computed from args is one for the whole row.
func (b *Builder) row(args ...Ref) bool {
	some := false
	for _, a := range args {
		in := &b.e.Code[a]
		if !in.Row && in.Kind != Const && !b.constant(a) {
			return false
		}
		some = some || in.Row
	}
	return some
}

// constant reports whether v is computed from constants alone.
func (b *Builder) constant(v Ref) bool {
	in := &b.e.Code[v]
	if in.Kind == Const {
		return true
	}
	args := in.Operands()
	for _, a := range args {
		if !b.constant(a) {
			return false
		}
	}
	return len(args) > 0 && in.Kind != Reduce && in.Kind != Scan
}

func (b *Builder) add(in Instr) Ref {
	if r, ok := b.seen[in]; ok {
		return r
	}
	if b.seen == nil {
		b.seen = make(map[Instr]Ref)
	}
	r := Ref(len(b.e.Code))
	b.e.Code = append(b.e.Code, in)
	b.seen[in] = r
	return r
}
