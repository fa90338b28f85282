package wgpu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/shaders"
)

// A wordKernel is a kernel over arrays of words: memory of the engine's own, dense from its beginning. Its text names the
// arrays by the names they were added under, and parameters as $name.
type wordKernel struct {
	e       *engine
	label   string
	threads int
	shared  int  // words of workgroup memory
	teams   int  // threads of a subgroup, where the text uses what subgroups have: thread is then team * teams + lane
	trusted bool // see source
	slots   []slot
	arrays  []string
	params  []string
	block   block
}

// array adds a binding.
func (k *wordKernel) array(name string, b *buffer, write bool) {
	k.slots = append(k.slots, slot{buffer: b, write: write})
	k.arrays = append(k.arrays, name)
}

// param adds a parameter.
func (k *wordKernel) param(name string, v int) {
	k.block.add(v)
	k.params = append(k.params, name)
}

// run records the kernel on so many workgroups. In the text $group is the number of one, which may be beyond the last.
// Variant tells texts of one label apart.
func (k *wordKernel) run(groups int, variant string, text func() string) error {
	grid := k.e.grid(groups)
	k.param("columns", int(grid[0]))
	p, err := k.e.pipeline(fmt.Appendf(nil, "words %s %s", k.label, variant), func() (source, error) {
		return k.source(text()), nil
	})
	if err != nil {
		return err
	}
	return k.e.record((&domain{slots: k.slots}).launch(p, grid, &k.block))
}

// source completes the text: the declarations, and the entry point around $main … $end.
func (k *wordKernel) source(code string) source {
	var t text
	args := blockSize(len(k.block.words))
	declare(&t, k.slots, args)
	main := "@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>) {"
	if k.teams > 0 {
		main = fmt.Sprintf("@builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_id) team: u32, "+
			"@builtin(workgroup_id) group: vec3<u32>) {\nlet thread = team * %du + lane;", k.teams)
	}
	names := []string{
		"$group", "(group.y * $columns + group.x)", "$main", fmt.Sprintf("@compute @workgroup_size(%d)\nfn main(%s", k.threads, main),
	}
	for i, name := range k.arrays {
		names = append(names, "$"+name+"[", fmt.Sprintf("b%d[", i))
	}
	code = strings.NewReplacer(names...).Replace(code)
	names = nil
	for i, name := range k.params {
		names = append(names, "$"+name+".", word(i))
	}
	code = strings.NewReplacer(append(names, "$columns", word(len(k.params)-1))...).Replace(code)
	t.WriteString(code)
	return source{label: k.label, wgsl: shaders.Prelude(t.String()) + t.String(), slots: k.slots, args: args, shared: uint32(4 * k.shared), trusted: k.trusted}
}

// element returns the expression of the element at a position of an array that holds elements of type d.
func (k *wordKernel) element(array int, d ops.DType, at string) string {
	return reader{domain: &domain{slots: k.slots}}.element(array, d, at)
}

// dense is an operand over memory of the engine's own.
func dense(b *buffer, d ops.DType, shape backend.Shape) backend.Operand {
	return backend.Operand{Buf: b, DType: d, Layout: backend.Dense(shape)}
}

// temporaries is memory that a step needs for itself. Later commands come after those recorded, so that it may be
// released once they are.
type temporaries struct {
	e    *engine
	list []*buffer
}

// words returns memory of n words.
func (t *temporaries) words(n int) (*buffer, error) { return t.bytes(4 * n) }

func (t *temporaries) bytes(n int) (*buffer, error) {
	b, err := t.e.alloc(n)
	if err == nil {
		t.list = append(t.list, b)
	}
	return b, err
}

// release gives the last back first, so that the next who takes as much finds each in its place.
func (t *temporaries) release() {
	for _, b := range slices.Backward(t.list) {
		t.e.release(b)
	}
}
