package wgpu

import "fmt"

// open prints which unit u is, whether it is one of the row, and where. One beyond the end repeats the last.
func (w *rowWriter) open(u int) {
	if w.opened[u] {
		return
	}
	w.opened[u] = true
	t := tag(u)
	trip := "0u"
	if !w.held {
		trip = "trip"
	}
	if w.scan >= 0 && w.columns { // a thread's units follow each other
		w.line("let q%s = start + (%s * %du + member) * %du + %du;", t, trip, w.team, w.copies, u)
	} else {
		w.line("let q%s = start + (%s * %du + %du) * %du + member;", t, trip, w.copies, u, w.team)
	}
	if w.certain(u) {
		w.line("let n%s = q%s;", t, t)
	} else {
		w.line("let ok%s = q%s < end;\nlet n%s = min(q%s, end - 1u);", t, t, t, t)
	}
	if w.scan >= 0 && w.Code[w.scan].Reverse {
		w.line("let c%s = %s - 1u - n%s;", t, word(w.words.units), t)
	} else {
		w.line("let c%s = n%s;", t, t)
	}
	last := len(w.shape) - 1
	if w.apart > 0 {
		w.line("let x%d%s = (c%s - member) * 4u + member;\nlet at%s = x%d%s;", last, t, t, t, last, t)
	} else {
		w.coordinates("c"+t, w.span, t)
	}
	if w.ragged && !w.certain(u) {
		for lane := range 4 {
			w.line("let ok%s_%d = ok%s && x%d%s + %du < %s;", t, lane, t, last, t, w.lane(lane), word(w.words.extents+last))
		}
	}
}

// placeUnit prints where unit u is in input k.
func (w *rowWriter) placeUnit(u, k int) {
	if !w.placed[u][k] {
		w.placed[u][k] = true
		w.address(w.addressOf(k)+tag(u), w.addressOf(k), k, w.span, tag(u))
	}
}

// certain reports whether all elements of unit u are there: of a held row, whose units are more than half of those that its team
// has, what is beyond or not whole is among the other half.
func (w *rowWriter) certain(u int) bool {
	if w.full {
		return true
	}
	if w.scan >= 0 && (w.columns || w.ragged) { // units are in another order, or the last quad may come first
		return false
	}
	return w.held && u < w.copies/2 && (!w.ragged || len(w.span) == 1)
}

// exists returns the condition that the element in a lane of unit u is one of the row.
func (w *rowWriter) exists(u, lane int) string {
	if w.ragged {
		return fmt.Sprintf("ok%s_%d", tag(u), lane)
	}
	return "ok" + tag(u)
}

// kept returns the state of an element in a lane of unit u, or that of none where the element is not one of the row. A unit beyond
// the end repeats the last, which does no harm where combining with an element again changes nothing.
func (w *rowWriter) kept(r reduction, u, lane int, state string) string {
	if w.certain(u) || r.idempotent() && !w.ragged {
		return state
	}
	return fmt.Sprintf("select(%s, %s, %s)", w.none(r), state, w.exists(u, lane))
}

// storeUnit prints the stores of the results that are one for each element of unit u.
func (w *rowWriter) storeUnit(u int) {
	t := tag(u)
	if w.certain(u) {
		w.line("if (live) {")
	} else {
		w.line("if (ok%s && live) {", t)
	}
	r := w.reader(t)
	if w.columns {
		r = w.reader("") // the last axis is of the rows
	}
	for i, v := range w.Out {
		if w.Code[v].Row {
			continue
		}
		at := fmt.Sprintf("o%d%s", i, t)
		w.address(at, fmt.Sprintf("o%d", i), len(w.in)+i, w.span, t)
		w.store(r, i, at, w.elements[u].bits(v, w.out[i].dtype))
	}
	w.line("}")
}
