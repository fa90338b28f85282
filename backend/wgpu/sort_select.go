package wgpu

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

const (
	selectThreads = 256
	selectWords   = 32
	leastSort     = 256
	mostLeast     = 128 // elements that are chosen by the least of groups
)

// A selecting is a stage of the choice of the first elements of long rows: a workgroup finds the first kept of up to a span of
// neighbours. In the next stage these are the row.
type selecting struct {
	*sorting
	n, pitch     int // elements of a row, and from one row to the next
	each         int // elements of a thread
	chunks       int
	keys, places *buffer // nil in the first stage, which reads the operand
	last         bool
}

// selectEach returns how many words of keys a thread holds.
func (e *engine) selectEach() int {
	if e.info.Type == driver.Software {
		return 4 // which takes less time to compile
	}
	return selectWords
}

// choose records the choice of the first kept elements of x, in order. A thread holds most words of keys.
func (o *sorting) choose(x backend.Operand, descending bool, most int) (*buffer, error) {
	s := selecting{sorting: o, n: o.n, pitch: o.n}
	for {
		s.each = 4
		for s.each < most/o.width && s.each*selectThreads < s.n {
			s.each *= 2
		}
		s.chunks = ceil(s.n, s.span())
		s.last = s.chunks == 1
		places, keys, err := s.record(x, descending)
		if err != nil || s.last {
			return places, err
		}
		s.places, s.keys = places, keys
		s.pitch = s.chunks * o.kept
		s.n = (s.chunks-1)*o.kept + min(o.kept, s.n-(s.chunks-1)*s.span())
	}
}

func (s *selecting) span() int { return s.each * selectThreads }

// room is how many candidates a workgroup sorts.
func (s *selecting) room() int { return max(leastSort, 2<<bits.Len(uint(s.kept-1))) }

// record records a stage, and returns the places, and unless it is the last the keys, of the elements chosen, [rows chunks
// kept].
func (s *selecting) record(x backend.Operand, descending bool) (places, keys *buffer, err error) {
	all := s.rows * s.chunks
	if places, err = s.words(all * s.kept); err != nil {
		return nil, nil, err
	}
	k := wordKernel{e: s.e, label: "sort.select", threads: selectThreads, shared: 3*selectThreads + 16 + 4 + 2 + 2*s.width*s.room()}
	axes, wide := 0, false
	if s.keys == nil {
		axes, wide = s.operand(&k, x)
	} else {
		k.array("keys", s.keys, false)
		k.array("places", s.places, false)
	}
	k.array("to_places", places, true)
	if !s.last {
		if keys, err = s.words(all * s.kept * s.width); err != nil {
			return nil, nil, err
		}
		k.array("to_keys", keys, true)
	}
	k.param("n", s.n)
	k.param("pitch", s.pitch)
	k.param("chunks", s.chunks)
	k.param("units", all)
	k.param("kept", s.kept)
	variant := fmt.Sprint(s.width, s.bits, s.each, s.last, s.room(), s.groups(), axes, wide)
	if axes > 0 {
		variant += fmt.Sprint(x.DType, descending)
	}
	return places, keys, k.run(all, variant, func() string {
		w := selectWriter{selecting: s, key: "$keys[at]", place: "$places[base + i]", base: "let base = row * $pitch.;", step: "1u", wide: wide}
		if s.width == 2 {
			w.key = "vec2<u32>($keys[2u * at], $keys[2u * at + 1u])"
		}
		if axes > 0 {
			w.key, w.place, w.base, w.step = sortKey(x.DType, descending, "("+k.element(0, x.DType, "at")+")"), "i", rowBase(axes), "$step."
			w.quad = func(lane int) string {
				return sortKey(x.DType, descending, "("+decode(x.DType, fmt.Sprintf("quad[%d]", lane), "")+")")
			}
		}
		return w.text()
	})
}

// groups is how many groups of threads find the least of their elements: some more than are wanted.
func (s *selecting) groups() int {
	switch {
	case s.kept > mostLeast:
		return 0
	case s.kept > 96:
		return 256
	case s.kept > 48:
		return 128
	}
	return 64
}

// operand binds x, and returns the number of its axes beside the last, of which neighbours are merged, and whether it is read
// four elements at a time.
func (s *selecting) operand(k *wordKernel, x backend.Operand) (axes int, wide bool) {
	last := len(x.Layout.Shape) - 1
	lead, _ := backend.Collapse([]backend.Layout{{Shape: x.Layout.Shape[:last], Strides: x.Layout.Strides[:last], Offset: x.Layout.Offset}}, 0)
	k.array("source", x.Buf.(*buffer), false)
	k.param("offset", lead[0].Offset)
	k.param("step", x.Layout.Strides[last])
	for axis, d := range lead[0].Shape {
		k.param(fmt.Sprintf("extent%d", axis), d)
		k.param(fmt.Sprintf("stride%d", axis), lead[0].Strides[axis])
	}
	wide = x.DType.Size() == 4 && x.Layout.Strides[last] == 1 && x.Layout.Offset%4 == 0
	for axis, st := range lead[0].Strides {
		wide = wide && (st%4 == 0 || lead[0].Shape[axis] == 1)
	}
	k.slots[0].wide = wide
	return len(lead[0].Shape), wide
}

// rowBase prints where a row of an operand begins.
func rowBase(axes int) string {
	var t text
	t.line("var rest = row;\nvar base = $offset.;")
	for axis := axes - 1; axis > 0; axis-- {
		t.line("base += rest %% $extent%d. * $stride%d.;\nrest = rest / $extent%d.;", axis, axis, axis)
	}
	t.line("base += rest * $stride0.;")
	return t.String()
}

// A selectWriter writes the kernel of a stage. The words of an element are those of its key, the highest first, and its place:
// no two elements have the same.
type selectWriter struct {
	*selecting
	key, place string // expressions of those of element i of the row that begins at base, in memory at position at
	base, step string
	wide       bool
	quad       func(lane int) string // the key of an element of a quad
}

// words returns the words of an element, given its key and its place.
func (w *selectWriter) words(key, place string) []string {
	if w.width == 1 {
		return []string{key, place}
	}
	return []string{key + ".y", key + ".x", place}
}

// before returns the condition under which an element is no later than the limits.
func before(words []string) string {
	last := len(words) - 1
	c := fmt.Sprintf("(limit%d == 0xffffffffu || %s <= limit%d)", last, words[last], last)
	for i := last - 1; i >= 0; i-- {
		c = fmt.Sprintf("(%s < limit%d || (%s == limit%d && %s))", words[i], i, words[i], i, c)
	}
	return c
}

func (w *selectWriter) text() string {
	vector, kind := fmt.Sprintf("vec%d<u32>", w.width+1), map[int]string{1: "u32", 2: "vec2<u32>"}[w.width]
	take := func(exists, key, place string) string {
		words := w.words(key, place)
		return fmt.Sprintf("if (%s && %s) {\nlet at = atomicAdd(&taken, 1u);\nif (at < ROOMu) { found[at] = %s(%s); }\n}\n", exists, before(words), vector, strings.Join(words, ", "))
	}
	fast := ""
	if w.groups() > 0 {
		var load, least, some text
		for i := range w.each {
			at := fmt.Sprintf("thread + %du", i*selectThreads)
			if w.wide {
				at = fmt.Sprintf("(thread + %du) * 4u + %du", i/4*selectThreads, i%4)
				if i%4 == 0 {
					load.line("let quad%d = $source[(base + min(first + %s, $n. - 1u)) >> 2u];", i/4, at)
				}
				load.line("var key%d = 0xffffffffu;\n{ let quad = quad%d;\nkey%d = select(key%d, %s, %s < count); }", i, i/4, i, i, w.quad(i%4), at)
			} else {
				load.line("let key%d = select(%s(0xffffffffu), key_at(base, min(first + %s, $n. - 1u)), %s < count);", i, kind, at, at)
			}
			word := w.words(fmt.Sprintf("key%d", i), "")[0]
			if i == 0 {
				least.line("var least = %s;", word)
			} else {
				least.line("least = min(least, %s);", word)
			}
			some.WriteString(take(at+" < count", fmt.Sprintf("key%d", i), fmt.Sprintf("place(base, first + %s)", at)))
		}
		fast = strings.NewReplacer("LOADS", load.String(), "LEAST", least.String(), "TAKE", some.String(), "GROUPS", fmt.Sprint(w.groups()),
			"SHARES", fmt.Sprint(selectThreads/w.groups())).Replace(leastText)
	}
	var phases, limits text
	for number := range w.width + 1 {
		phases.WriteString(w.phase(number))
		limits.line("var limit%d = 0xffffffffu;", number)
	}
	after, last, store := "x.x > y.x || (x.x == y.x && x.y > y.y)", ".y", "$to_keys[to] = x.x;"
	if w.width == 2 {
		after, last = "x.x > y.x || (x.x == y.x && (x.y > y.y || (x.y == y.y && x.z > y.z)))", ".z"
		store = "$to_keys[2u * to] = x.y;\n$to_keys[2u * to + 1u] = x.x;"
	}
	if w.last {
		store = ""
	}
	code := strings.NewReplacer("AFTER", after, "BASE", w.base, "LIMITS", limits.String(), "FAST", fast, "PHASES", phases.String(), "PLACE", w.place, "KEY", w.key,
		"STEP", w.step, "TAKE", take("true", "key", "place(base, first + i)"), "LAST", last, "STORE", store).Replace(selectText)
	return strings.NewReplacer("VECTOR", vector, "KIND", kind, "SPAN", fmt.Sprint(w.each*selectThreads), "ROOM", fmt.Sprint(w.room())).Replace(code)
}

// phase prints the search of a word of the last element wanted, eight bits at a time, from the elements that have its words
// before. It ends when what may come before it or with it has room.
func (w *selectWriter) phase(number int) string {
	top := 32
	if number < w.width && w.width == 1 {
		top = w.bits
	}
	words := w.words("key", "place(base, first + i)")
	condition := ""
	for earlier := range number {
		condition += fmt.Sprintf("%s == limit%d && ", words[earlier], earlier)
	}
	return strings.NewReplacer("TOP", fmt.Sprint(top), "SAME", condition, "WORD", words[number], "LIMIT", fmt.Sprintf("limit%d", number)).Replace(phaseText)
}

const phaseText = `
	if (all_ > ROOMu) {
		LIMIT = 0u;
		for (var shift_ = TOPu; shift_ > 0u && all_ > ROOMu; shift_ = shift_ - 8u) {
			let shift = shift_ - 8u;
			atomicStore(&counts[thread], 0u);
			workgroupBarrier();
			for (var i = thread; i < count; i += 256u) {
				let key = key_at(base, first + i);
				let word = WORD;
				if (SAME(((word ^ LIMIT) >> shift) >> 8u) == 0u) { atomicAdd(&counts[(word >> shift) & 255u], 1u); }
			}
			workgroupBarrier();
			if (thread < 16u) {
				var sum = 0u;
				for (var i = 0u; i < 16u; i++) { sum += atomicLoad(&counts[thread * 16u + i]); }
				sums[thread] = sum;
			}
			workgroupBarrier();
			let here = atomicLoad(&counts[thread]);
			var before = under;
			for (var i = 0u; i < thread / 16u; i++) { before += sums[i]; }
			for (var i = thread & 240u; i < thread; i++) { before += atomicLoad(&counts[i]); }
			if (before < want && want <= before + here) { chosen = vec4<u32>(thread, before, here, 0u); }
			let c = workgroupUniformLoad(&chosen);
			under = c.y;
			all_ = c.y + c.z;
			LIMIT = LIMIT | (c.x << shift);
			if (all_ <= ROOMu) { LIMIT = LIMIT | ((1u << shift) - 1u); }
		}
	}
`

// Of fewer elements than there are groups, all come no later than the last of the least elements of as many groups: those that do are
// few, where the elements are in no order.
const leastText = `
	if (count > ROOMu) {
		LOADS
		LEAST
		words[thread] = least;
		if (thread == 0u) { atomicStore(&bound, 0xffffffffu); }
		workgroupBarrier();
		if (thread < GROUPSu) {
			for (var i = 1u; i < SHARESu; i++) { least = min(least, words[thread + i * GROUPSu]); }
			leasts[thread >> 2u][thread & 3u] = least;
		}
		workgroupBarrier();
		if (thread < GROUPSu) {
			var less = vec4<u32>();
			var same = vec4<u32>();
			for (var i = 0u; i < GROUPSu / 4u; i++) {
				let x = leasts[i];
				less += select(vec4<u32>(), vec4<u32>(1u), x < vec4<u32>(least));
				same += select(vec4<u32>(), vec4<u32>(1u), x <= vec4<u32>(least));
			}
			if (less.x + less.y + less.z + less.w < want && want <= same.x + same.y + same.z + same.w) { atomicStore(&bound, least); }
		}
		workgroupBarrier();
		limit0 = atomicLoad(&bound);
		TAKE
		workgroupBarrier();
		if (thread == 0u) { chosen = vec4<u32>(0u, 0u, atomicLoad(&taken), 0u); }
		all_ = workgroupUniformLoad(&chosen).z;
		if (all_ > ROOMu) { all_ = count; }
		if (all_ == count) {
			limit0 = 0xffffffffu;
			if (thread == 0u) { atomicStore(&taken, 0u); }
			for (var e = thread; e < ROOMu; e += 256u) { found[e] = VECTOR(0xffffffffu); }
		}
	}
`

const selectText = `
var<workgroup> counts: array<atomic<u32>, 256>;
var<workgroup> words: array<u32, 256>;
var<workgroup> sums: array<u32, 16>;
var<workgroup> chosen: vec4<u32>;
var<workgroup> taken: atomic<u32>;
var<workgroup> bound: atomic<u32>;
var<workgroup> leasts: array<vec4<u32>, 64>;
var<workgroup> found: array<VECTOR, ROOM>;
fn after(x: VECTOR, y: VECTOR) -> bool { return AFTER; }
fn place(base: u32, i: u32) -> u32 { return PLACE; }
fn key_at(base: u32, i: u32) -> KIND {
	let at = base + i * STEP;
	return KEY;
}
$main
	let unit = min($group, $units. - 1u);
	let row = unit / $chunks.;
	let first = (unit - row * $chunks.) * SPANu;
	let count = min(SPANu, $n. - first);
	let want = min($kept., count);
	BASE
	if (thread == 0u) { atomicStore(&taken, 0u); }
	for (var e = thread; e < ROOMu; e += 256u) { found[e] = VECTOR(0xffffffffu); }
	LIMITS
	var under = 0u;
	var all_ = count;
	FAST
	if (all_ == count) {
		PHASES
		workgroupBarrier();
		for (var i = thread; i < count; i += 256u) {
			let key = key_at(base, first + i);
			TAKE
		}
		workgroupBarrier();
	}
	var size = 2u;
	while (size < min(all_, ROOMu)) { size = size << 1u; }
	for (var run = 2u; run <= size; run = run << 1u) {
		for (var apart = run >> 1u; apart > 0u; apart = apart >> 1u) {
			for (var pair = thread; pair < size / 2u; pair += 256u) {
				let i = 2u * pair - (pair & (apart - 1u));
				let x = found[i];
				let y = found[i + apart];
				if (after(x, y) != ((i & run) != 0u)) {
					found[i] = y;
					found[i + apart] = x;
				}
			}
			workgroupBarrier();
		}
	}
	for (var e = thread; e < $kept.; e += 256u) {
		let to = unit * $kept. + e;
		let x = found[e];
		$to_places[to] = xLAST;
		STORE
	}
}
`
