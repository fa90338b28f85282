package nn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/tensor"
)

// A Module names its parameters and parts, so that [Load] can bind them. A layer without parameters need not be one.
type Module interface {
	Params(b *Binder)
}

// Weights are tensors by name, such as an open safetensors file.
type Weights interface {
	Names() []string
	Tensor(name string) (*tensor.Tensor, error)
}

// LoadOptions say how [Load] reads weights. The zero value binds what is there as it is.
type LoadOptions struct {
	Prefix string         // of the names in the file: "model." for a part of a bigger one
	DType  tensor.DType   // converts floating-point weights, unless 0
	Device *tensor.Device // moves them from the default device, which the file is read to, unless nil: see [tensor.SetDefault]

	// AllowUnused lets the file hold tensors that no parameter asks for.
	AllowUnused bool
}

// A Binder collects the parameters of a [Module]. Its methods are for implementations of Params.
type Binder struct {
	prefix string
	params []param
	ignore map[string]bool
}

type param struct {
	name  string
	to    **tensor.Tensor
	shape []int
}

// Param names a parameter: where it goes and the shape it must have.
func (b *Binder) Param(name string, to **tensor.Tensor, shape ...int) {
	b.params = append(b.params, param{b.prefix + name, to, shape})
}

// Child names a part. A part that is no [Module] has no parameters.
func (b *Binder) Child(name string, part any) {
	m, ok := part.(Module)
	if !ok {
		return
	}
	outer := b.prefix
	b.prefix += name + "."
	m.Params(b)
	b.prefix = outer
}

// Ignore lets the weights hold a tensor of this name that is not used.
func (b *Binder) Ignore(name string) {
	if b.ignore == nil {
		b.ignore = make(map[string]bool)
	}
	b.ignore[b.prefix+name] = true
}

// A LoadError lists all that is wrong between a network and a file of weights.
type LoadError struct {
	Missing []string // parameters the file lacks
	Unused  []string // tensors no parameter asks for
	Shapes  []string // "name: is [2 3], want [3 2]"
	Others  []error  // tensors that could not be read
}

// Error lists everything, a line each.
func (e *LoadError) Error() string {
	var lines []string
	for _, n := range e.Missing {
		lines = append(lines, "missing "+n)
	}
	for _, n := range e.Unused {
		lines = append(lines, "unused "+n)
	}
	for _, s := range e.Shapes {
		lines = append(lines, "shape of "+s)
	}
	for _, err := range e.Others {
		lines = append(lines, err.Error())
	}
	return fmt.Sprintf("nn: load: %d problems:\n\t%s", len(lines), strings.Join(lines, "\n\t"))
}

// Unwrap returns the errors of reading, and ErrShape if a shape is wrong.
func (e *LoadError) Unwrap() []error {
	errs := e.Others
	if len(e.Shapes) > 0 {
		errs = append(slices.Clip(errs), tensor.ErrShape)
	}
	return errs
}

// Load binds the parameters of m to the tensors of w that have their names. The error, a [*LoadError], lists at once
// every parameter that is missing or has another shape, and every tensor that is not used; then nothing is bound.
// A nil o is the zero LoadOptions.
func Load(m any, w Weights, o *LoadOptions) error {
	module, ok := m.(Module)
	if !ok {
		return fmt.Errorf("nn: load: %T has no parameters (it is no Module)", m)
	}
	if w == nil {
		return fmt.Errorf("nn: load: weights of %T are nil", m)
	}
	if o == nil {
		o = &LoadOptions{}
	}
	b := Binder{prefix: o.Prefix}
	module.Params(&b)

	var bad LoadError
	names := w.Names()
	have := make(map[string]bool, len(names))
	for _, n := range names {
		have[n] = true
	}
	bound := make([]*tensor.Tensor, len(b.params))
	for i, p := range b.params {
		if !have[p.name] {
			bad.Missing = append(bad.Missing, p.name)
			continue
		}
		delete(have, p.name)
		t, err := w.Tensor(p.name)
		if err == nil {
			if t = o.convert(t); t.Err() != nil {
				err = fmt.Errorf("%s: %w", p.name, t.Err())
			}
		}
		switch {
		case err != nil:
			bad.Others = append(bad.Others, err)
		case !slices.Equal(t.Shape(), p.shape):
			bad.Shapes = append(bad.Shapes, fmt.Sprintf("%s: is %v, want %v", p.name, t.Shape(), p.shape))
		default:
			bound[i] = t
		}
	}
	bad.unused(names, have, &b, o)
	if len(bad.Missing)+len(bad.Unused)+len(bad.Shapes)+len(bad.Others) > 0 {
		return &bad
	}
	for i, p := range b.params {
		*p.to = bound[i]
	}
	return nil
}

func (o *LoadOptions) convert(t *tensor.Tensor) *tensor.Tensor {
	if o.Device != nil {
		t = t.To(o.Device)
	}
	if o.DType != 0 && t.DType().IsFloat() {
		t = t.Cast(o.DType)
	}
	return t
}

// unused notes the tensors left in have, in the order of the file.
func (e *LoadError) unused(names []string, have map[string]bool, b *Binder, o *LoadOptions) {
	if o.AllowUnused {
		return
	}
	for _, n := range names {
		if have[n] && !b.ignore[n] && strings.HasPrefix(n, o.Prefix) {
			e.Unused = append(e.Unused, n)
		}
	}
}

// unbound returns the result of a layer that has no weights yet.
func unbound(layer string, x *tensor.Tensor) *tensor.Tensor {
	return tensor.Fail(layer, ErrUnbound, x)
}

// ErrUnbound is the error of a layer used before [Load] has bound its parameters.
var ErrUnbound = errors.New("layer has no weights (call nn.Load first)")
