package driver_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// TestRefused tries calls that the library may refuse late, or on another
// goroutine, and checks that they are refused at once and by name.
func TestRefused(t *testing.T) {
	r := newRig(t, driver.Options{Features: driver.Timestamps})
	lim := r.Info().Limits
	x, y := r.buffer("x", 1024, driver.Storage), r.buffer("y", 1024, driver.Storage)
	args, back := r.buffer("args", 1024, driver.Uniform), r.buffer("back", 1024, driver.Readback)
	res := r.buffer("res", 1024, driver.Results)
	fill, scale := r.fill(), r.pipeline("scale", scaleWGSL, scaleSlots...)
	fx := r.group(fill, driver.Binding{Buffer: x})
	sx := r.group(scale, driver.Binding{Buffer: args, Size: 256}, driver.Binding{Buffer: x})
	var q driver.Queries
	timed := r.Info().Features.Has(driver.Timestamps)
	if timed {
		q = must(r.NewQueries("q", 4))(t)
	} else if _, err := r.NewQueries("q", 4); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("queries without the feature: %v", err)
	}
	one := [3]uint32{1, 1, 1}

	submit := func(c ...driver.Command) error { _, err := r.Submit(c); return err }
	group := func(p driver.Pipeline, b ...driver.Binding) error { _, err := r.NewGroup("g", p, b); return err }
	buffer := func(n uint64, u driver.Usage) error { _, err := r.NewBuffer("b", n, u); return err }
	pipe := func(d driver.PipelineDesc) error { _, err := r.NewPipeline(d); return err }
	queries := func(n uint32) error { _, err := r.NewQueries("q", n); return err }
	type binds = []driver.Binding
	type slots = []driver.Slot
	pair := func(a, b driver.SlotKind) driver.Pipeline {
		return r.pipeline("pair", `@compute @workgroup_size(1) fn main() {}`, driver.Slot{Kind: a}, driver.Slot{Kind: b})
	}

	tests := []struct {
		name string
		err  error
		want error
		says string // part of the message
	}{
		{"grid of 65536", submit(driver.Command{Pipeline: fill, Group: fx, Grid: [3]uint32{lim.Groups + 1, 1, 1}}), driver.ErrLimit, "fill"},
		{"grid of 65536 in z", submit(driver.Command{Pipeline: fill, Group: fx, Grid: [3]uint32{1, 1, lim.Groups + 1}}), driver.ErrLimit, "fill"},
		{"no pipeline", submit(driver.Command{Group: fx, Grid: one}), driver.ErrHandle, "pipeline"},
		{"no group", submit(driver.Command{Pipeline: fill, Grid: one}), driver.ErrHandle, "fill"},
		{"group of other slots", submit(driver.Command{Pipeline: fill, Group: sx, Grid: one}), driver.ErrValidation, "fill"},
		{"offset without Params", submit(driver.Command{Pipeline: fill, Group: fx, Offset: 256, Grid: one}), driver.ErrValidation, "fill"},
		{"offset unaligned", submit(driver.Command{Pipeline: scale, Group: sx, Offset: 4, Grid: one}), driver.ErrValidation, "scale"},
		{"offset beyond", submit(driver.Command{Pipeline: scale, Group: sx, Offset: 1024, Grid: one}), driver.ErrValidation, "scale"},
		{"second of two commands", submit(driver.Command{Pipeline: fill, Group: fx, Grid: one}, driver.Command{Op: 77}), driver.ErrValidation, "command 1"},
		{"copy of 3 bytes", submit(driver.Command{Op: driver.Copy, Src: x, Dst: y, Size: 3}), driver.ErrValidation, "x"},
		{"copy at 2", submit(driver.Command{Op: driver.Copy, Src: x, Dst: y, DstOff: 2, Size: 4}), driver.ErrValidation, "y"},
		{"copy beyond the end", submit(driver.Command{Op: driver.Copy, Src: x, SrcOff: 1020, Dst: y, Size: 8}), driver.ErrValidation, "x"},
		{"copy with an offset that overflows", submit(driver.Command{Op: driver.Copy, Src: x, SrcOff: ^uint64(3), Dst: y, Size: 8}), driver.ErrValidation, "x"},
		{"copy within one buffer", submit(driver.Command{Op: driver.Copy, Src: x, Dst: x, DstOff: 512, Size: 4}), driver.ErrValidation, "x"},
		{"copy from readback", submit(driver.Command{Op: driver.Copy, Src: back, Dst: x, Size: 4}), driver.ErrValidation, "back"},
		{"copy into results", submit(driver.Command{Op: driver.Copy, Src: x, Dst: res, Size: 4}), driver.ErrValidation, "res"},
		{"clear of 6 bytes", submit(driver.Command{Op: driver.Clear, Dst: x, Size: 6}), driver.ErrValidation, "x"},
		{"clear of readback", submit(driver.Command{Op: driver.Clear, Dst: back, Size: 4}), driver.ErrValidation, "back"},
		{"time stamp without queries", submit(driver.Command{Op: driver.Timestamp}), driver.ErrHandle, "queries"},
		{"time stamp 4 of 4", submit(driver.Command{Op: driver.Timestamp, Queries: q, Query: 4}), driver.ErrValidation, "q"},
		{"time stamp 4 of 4 after a dispatch", submit(driver.Command{Pipeline: fill, Group: fx, Grid: one}, driver.Command{Op: driver.Timestamp, Queries: q, Query: 4}), driver.ErrValidation, "q"},
		{"resolve 5 of 4", submit(driver.Command{Op: driver.Resolve, Queries: q, Count: 5, Dst: res}), driver.ErrValidation, "q"},
		{"resolve at 8", submit(driver.Command{Op: driver.Resolve, Queries: q, Count: 1, Dst: res, DstOff: 8}), driver.ErrValidation, "q"},
		{"resolve beyond the end", submit(driver.Command{Op: driver.Resolve, Queries: q, Count: 1, Dst: res, DstOff: 1024}), driver.ErrValidation, "res"},
		{"resolve into storage", submit(driver.Command{Op: driver.Resolve, Queries: q, Count: 1, Dst: x}), driver.ErrValidation, "x"},
		{"no queries", queries(0), driver.ErrLimit, "q"},
		{"too many queries", queries(1 << 20), driver.ErrLimit, "q"},

		{"write at 2", r.Write(bg, x, 2, make([]byte, 4)), driver.ErrValidation, "x"},
		{"write beyond the end", r.Write(bg, x, 1020, make([]byte, 5)), driver.ErrValidation, "x"},
		{"write at an offset that overflows", r.Write(bg, x, ^uint64(3), make([]byte, 8)), driver.ErrValidation, "x"},
		{"write to readback", r.Write(bg, back, 0, make([]byte, 4)), driver.ErrValidation, "back"},
		{"write nowhere", r.Write(bg, 0, 0, make([]byte, 4)), driver.ErrHandle, "write"},
		{"read of storage", r.Read(bg, x, 0, make([]byte, 4)), driver.ErrValidation, "x"},
		{"read beyond the end", r.Read(bg, back, 1021, make([]byte, 4)), driver.ErrValidation, "back"},

		{"buffer of 0 bytes", buffer(0, driver.Storage), driver.ErrValidation, "b"},
		{"buffer over the limit", buffer(lim.BufferSize+4, driver.Storage), driver.ErrLimit, "b"},
		{"buffer of all bytes", buffer(^uint64(0), driver.Readback), driver.ErrLimit, "b"},

		{"bind 1 of 2", group(scale, driver.Binding{Buffer: args}), driver.ErrValidation, "g"},
		{"bind 2 of 1", group(fill, driver.Binding{Buffer: x}, driver.Binding{Buffer: y}), driver.ErrValidation, "g"},
		{"bind at 4", group(fill, driver.Binding{Buffer: x, Offset: 4}), driver.ErrValidation, "offset 4"},
		{"bind 6 bytes", group(fill, driver.Binding{Buffer: x, Size: 6}), driver.ErrValidation, "size 6"},
		{"bind beyond the end", group(fill, driver.Binding{Buffer: x, Offset: 512, Size: 1024}), driver.ErrValidation, "x"},
		{"bind at the end", group(fill, driver.Binding{Buffer: x, Offset: 1024}), driver.ErrValidation, "x"},
		{"bind an offset that overflows", group(fill, driver.Binding{Buffer: x, Offset: ^uint64(255), Size: 512}), driver.ErrValidation, "x"},
		{"bind uniform as storage", group(fill, driver.Binding{Buffer: args}), driver.ErrValidation, "args"},
		{"bind storage as uniform", group(scale, binds{{Buffer: x}, {Buffer: x}}...), driver.ErrValidation, "x"},
		{"bind less than the kernel needs", group(scale, binds{{Buffer: args, Size: 4}, {Buffer: x}}...), driver.ErrValidation, "needs 8"},
		{"bind read and written", group(pair(driver.Read, driver.ReadWrite), binds{{Buffer: x, Size: 256}, {Buffer: x, Offset: 512}}...), driver.ErrValidation, "g"},
		{"bind written twice", group(pair(driver.ReadWrite, driver.ReadWrite), binds{{Buffer: x}, {Buffer: x}}...), driver.ErrValidation, "g"},
		{"bind written apart", group(pair(driver.ReadWrite, driver.ReadWrite), binds{{Buffer: x, Size: 256}, {Buffer: x, Offset: 256}}...), nil, ""},
		{"bind read twice", group(pair(driver.Read, driver.Read), binds{{Buffer: x}, {Buffer: x}}...), nil, ""},

		{"text does not parse", pipe(driver.PipelineDesc{Label: "bad", WGSL: "fn main( {"}), driver.ErrShader, "bad"},
		{"entry point missing", pipe(driver.PipelineDesc{Label: "bad", WGSL: fillWGSL, Slots: fillSlots, Entry: "nope"}), driver.ErrShader, "nope"},
		{"slot missing", pipe(driver.PipelineDesc{Label: "bad", WGSL: fillWGSL}), driver.ErrShader, "bad"},
		{"slot of the wrong kind", pipe(driver.PipelineDesc{Label: "bad", WGSL: fillWGSL, Slots: slots{{Kind: driver.Read}}}), driver.ErrShader, "bad"},
		{"slot too small", pipe(driver.PipelineDesc{Label: "bad", WGSL: scaleWGSL, Slots: slots{{Kind: driver.Params, Min: 4}, {Kind: driver.ReadWrite}}}), driver.ErrShader, "bad"},
		{"Params without a size", pipe(driver.PipelineDesc{Label: "bad", WGSL: scaleWGSL, Slots: slots{{Kind: driver.Params}, {Kind: driver.ReadWrite}}}), driver.ErrValidation, "bad"},
		{"two Params", pipe(driver.PipelineDesc{Label: "bad", WGSL: scaleWGSL, Slots: slots{{Kind: driver.Params, Min: 8}, {Kind: driver.Params, Min: 8}}}), driver.ErrValidation, "bad"},
		{"slot of no kind", pipe(driver.PipelineDesc{Label: "bad", WGSL: fillWGSL, Slots: slots{{Kind: 9}}}), driver.ErrValidation, "bad"},
		{"too many slots", pipe(driver.PipelineDesc{Label: "bad", WGSL: fillWGSL, Slots: make(slots, lim.StorageSlots+1)}), driver.ErrLimit, "bad"},
		{"workgroup memory", pipe(driver.PipelineDesc{Label: "bad", WGSL: fillWGSL, Slots: fillSlots, WorkgroupMemory: lim.WorkgroupMemory + 1}), driver.ErrLimit, "bad"},
		{"workgroup too large", pipe(driver.PipelineDesc{Label: "bad", WGSL: strings.Replace(fillWGSL, "64", "2048", 1), Slots: fillSlots}), driver.ErrShader, "bad"},
		{"a feature not asked for", pipe(driver.PipelineDesc{Label: "bad", WGSL: "enable f16; " + fillWGSL, Slots: fillSlots}), driver.ErrShader, "f16"},

		{"wait for the future", r.Wait(bg, 1<<40), driver.ErrValidation, "wait"},
	}
	for _, m := range tests {
		t.Run(m.name, func(t *testing.T) {
			if !timed && (m.says == "q" || strings.HasPrefix(m.name, "resolve")) {
				t.Skip("the device has no timestamps")
			}
			if !errors.Is(m.err, m.want) {
				t.Fatalf("got error %v, want %v", m.err, m.want)
			}
			var e *driver.Error
			if m.want != nil && (!errors.As(m.err, &e) || !strings.Contains(m.err.Error(), m.says)) {
				t.Errorf("message %q does not name %q", m.err, m.says)
			}
		})
	}
	if n := r.Stats().Submitted; n != 0 {
		t.Errorf("%d of the wrong lists were submitted", n)
	}
	r.works(t)
}

// TestDeepText compiles the deepest and longest expressions that checkWGSL lets
// through, to see that the compiler's stack holds them.
func TestDeepText(t *testing.T) {
	r := newRig(t, driver.Options{})
	rep := strings.Repeat
	for name, stmt := range map[string]string{
		"parentheses": "a[g.x] = " + rep("(", 245) + "1u" + rep(")", 245),
		"calls":       "a[g.x] = " + rep("max(1u, ", 245) + "1u" + rep(")", 245),
		"indices":     "a[g.x] = " + rep("a[", 245) + "1u" + rep("]", 245),
		"minus":       "var z = 1; z = " + rep("-(", 245) + "z" + rep(")", 245),
		"operators":   "a[g.x] = " + rep("~", 49) + "1u",
		"terms":       "var z = 1; z = z" + rep("+z", 8000),
		"conditions":  "if (g.x == 0u" + rep("&&g.x>0u", 1900) + ") { a[0] = 0u; } a[1] = 0u",
		"types":       "var q: " + rep("array<", 240) + "u32" + rep(",1>", 240) + "; a[0] = 0u",
		"braces":      rep("{", 110) + rep("}", 110) + "a[1] = 0u", // more is an error with some
		"else if":     "if (g.x == 0u) { a[0] = 0u; }" + rep(" else if (g.x == 1u) { a[0] = 0u; }", 500) + "a[1] = 0u",
	} {
		p, err := r.NewPipeline(driver.PipelineDesc{Label: name, WGSL: strings.Replace(fillWGSL, "a[g.x] = 1u", stmt, 1), Slots: fillSlots})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r.FreePipeline(p)
	}
	r.works(t)
}

// TestShaderError checks that a compiler's message comes with its position.
func TestShaderError(t *testing.T) {
	r := newRig(t, driver.Options{})
	text := strings.Replace(fillWGSL, "= 1u", "= missing", 1)
	before, _, _ := strings.Cut(text, "missing")
	line := 1 + strings.Count(before, "\n")
	col := len(before) - strings.LastIndexByte(before, '\n')
	for _, trusted := range []bool{false, true} {
		_, err := r.NewPipeline(driver.PipelineDesc{Label: "bad.kernel", Slots: fillSlots, WGSL: text, Trusted: trusted})
		var e *driver.ShaderError
		if !errors.As(err, &e) {
			t.Fatalf("got %v", err)
		}
		if e.Line != line || e.Col != col || !strings.Contains(e.Text, "missing") || !strings.Contains(err.Error(), "bad.kernel") {
			t.Errorf("at %d:%d: %v", e.Line, e.Col, err)
		}
		if strings.Contains(err.Error(), "Validation Error") {
			t.Errorf("the message has the library's frame: %v", err)
		}
	}
	r.works(t)
}

// TestOtherDevice hands the handles of one device to another.
func TestOtherDevice(t *testing.T) {
	a, b := newRig(t, driver.Options{}), newRig(t, driver.Options{})
	x, p := a.buffer("x", 256, driver.Storage), a.fill()
	g := a.group(p, driver.Binding{Buffer: x})
	y, q := b.buffer("y", 256, driver.Storage), b.fill()
	h := b.group(q, driver.Binding{Buffer: y})
	dispatch := func(p driver.Pipeline, g driver.Group) error {
		_, err := b.Submit([]driver.Command{{Pipeline: p, Group: g, Grid: [3]uint32{1, 1, 1}}})
		return err
	}
	for name, err := range map[string]error{
		"write":    b.Write(bg, x, 0, make([]byte, 4)),
		"pipeline": dispatch(p, h),
		"group":    dispatch(q, g),
	} {
		if !errors.Is(err, driver.ErrHandle) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	b.FreeBuffer(x) // must not free a's
	b.FreePipeline(p)
	b.FreeGroup(g)
	a.works(t)
	ok(t, dispatch(q, h))
	ok(t, a.Write(bg, x, 0, make([]byte, 4)))
}
