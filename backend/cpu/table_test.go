package cpu

import (
	"testing"

	"github.com/weft-go/weft/ops"
)

// TestTableNames finds a row for every entry of the table: a name misspelt would never be looked up.
func TestTableNames(t *testing.T) {
	for k := range table {
		o := ops.ByName(k.op)
		if o == nil {
			t.Errorf("no row named %q", k.op)
			continue
		}
		in := make([]ops.DType, o.Arity)
		for i := range in {
			in[i] = k.dtype
		}
		if o.Rule.Cond {
			in[0] = ops.Bool
		}
		if arg, _, err := o.Infer(in...); err != nil || arg != k.dtype {
			t.Errorf("%s takes no %s", k.op, k.dtype)
		}
	}
	for name := range cheap {
		if ops.ByName(name) == nil {
			t.Errorf("no row named %q, called cheap", name)
		}
	}
}
