package wgpu

import "github.com/weft-go/weft/ops"

// A rowProgram is a body that reduces or scans rows, cut into phases. Phase n, from 1 on, computes the reductions that need those
// of the phases before it and no others.
type rowProgram struct {
	*ops.Expr
	phases int
	scan   ops.Ref // the Scan, or -1
	phase  []int   // of each value: the last that it needs
	fixed  []bool  // of each value: one for the whole row, or made of constants alone

	moments map[ops.Ref]moment // reductions that need not wait for a phase
}

// newRowProgram returns the program of e, if asked with the moments in it found a phase sooner.
func newRowProgram(e *ops.Expr, moments bool) rowProgram {
	p := rowProgram{Expr: e, scan: -1, phase: make([]int, len(e.Code)), fixed: make([]bool, len(e.Code))}
	for i := range e.Code {
		in := &e.Code[i]
		fixed := in.Kind != ops.Load && in.Kind != ops.Index && in.Kind != ops.Scan
		for _, a := range in.Operands() {
			p.phase[i] = max(p.phase[i], p.phase[a])
			fixed = fixed && p.fixed[a]
		}
		p.fixed[i] = fixed || in.Row
		if p.combines(i) {
			if m, ok := p.moment(i); ok && moments {
				p.addMoment(ops.Ref(i), m)
			}
			p.phase[i]++
			p.phases = max(p.phases, p.phase[i])
		}
		if in.Kind == ops.Scan {
			p.scan = ops.Ref(i)
		}
	}
	return p
}

// combines reports whether instruction i is a Reduce or the Scan.
func (p *rowProgram) combines(i int) bool {
	return p.Code[i].Kind == ops.Reduce || p.Code[i].Kind == ops.Scan
}

// reductions returns the reductions (or the scan) of a phase.
func (p *rowProgram) reductions(phase int) []ops.Ref {
	var list []ops.Ref
	for i := range p.Code {
		if p.combines(i) && p.phase[i] == phase {
			list = append(list, ops.Ref(i))
		}
	}
	return list
}

// reduction returns what the instruction of a Reduce or Scan combines.
func (p *rowProgram) reduction(r ops.Ref) reduction {
	in := &p.Code[r]
	if _, ok := p.moments[r]; ok {
		return reduction{reduceMoments, in.DType}
	}
	return reduction{in.Red, p.Code[in.Args[0]].DType}
}

// needs marks the values that the given ones are computed from, and these themselves, as far as
// reductions do not give them.
func (p *rowProgram) needs(values []ops.Ref) []bool {
	marks := make([]bool, len(p.Code))
	for _, v := range values {
		marks[v] = true
	}
	for i := len(p.Code) - 1; i >= 0; i-- {
		if !marks[i] || p.combines(i) {
			continue
		}
		for _, a := range p.Code[i].Operands() {
			marks[a] = true
		}
	}
	return marks
}

// wanted returns what the reductions of a phase combine, or after the last phase the results.
func (p *rowProgram) wanted(phase int) []ops.Ref {
	if phase > p.phases {
		return p.Out
	}
	var list []ops.Ref
	for _, r := range p.reductions(phase) {
		if m, ok := p.moments[r]; ok {
			list = append(list, m.of)
			continue
		}
		list = append(list, p.Code[r].Args[0])
	}
	return list
}

// varies reports whether some result is one for each element.
func (p *rowProgram) varies() bool {
	for _, r := range p.Out {
		if !p.Code[r].Row {
			return true
		}
	}
	return false
}

// varying returns the number of values that each element has.
func (p *rowProgram) varying() int {
	n := 0
	for _, fixed := range p.fixed {
		if !fixed {
			n++
		}
	}
	return n
}

// costly reports whether some reduction is.
func (p *rowProgram) costly() bool {
	for i := range p.Code {
		if p.combines(i) && p.reduction(ops.Ref(i)).costly() {
			return true
		}
	}
	return false
}

// ordered reports whether the order of a row's elements matters: in a scan, or to the positions of extremes.
func (p *rowProgram) ordered() bool {
	for i := range p.Code {
		if p.Code[i].Kind == ops.Scan || p.combines(i) && p.reduction(ops.Ref(i)).positions() {
			return true
		}
	}
	return false
}
