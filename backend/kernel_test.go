package backend

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/weft-go/weft/ops"
)

// kernels returns kernels that differ from one another in one field each, by a name.
func kernels() map[string]Kernel {
	load := loads(ops.Float32)
	ks := map[string]Kernel{
		"map":           &Map{Body: load},
		"map int":       &Map{Body: loads(ops.Int32)},
		"map two":       &Map{Body: loads(ops.Float32, ops.Float32)},
		"map cast":      &Map{Body: casts(ops.Float32, ops.Float64)},
		"reduce 1":      &Reduce{Body: load, Axes: 1},
		"reduce 2":      &Reduce{Body: load, Axes: 2},
		"reduce 257":    &Reduce{Body: load, Axes: 257},
		"row 1":         &Row{Body: load, Axes: 1},
		"row 2":         &Row{Body: load, Axes: 2},
		"row 257":       &Row{Body: load, Axes: 257},
		"gather":        &Gather{Post: load},
		"gather two":    &Gather{Post: loads(ops.Float32, ops.Float32)},
		"matmul":        &MatMul{A: load, B: load, Post: load, Acc: ops.Float32},
		"matmul acc":    &MatMul{A: load, B: load, Post: load, Acc: ops.Float64},
		"matmul a cast": &MatMul{A: casts(ops.Float16, ops.Float32), B: load, Post: load, Acc: ops.Float32},
		"matmul b cast": &MatMul{A: load, B: casts(ops.Float16, ops.Float32), Post: load, Acc: ops.Float32},
		"matmul post":   &MatMul{A: load, B: load, Post: casts(ops.Float32, ops.Float16), Acc: ops.Float32},
	}
	for _, r := range []ops.ReduceOp{ops.ReduceSum, ops.ReduceProd} {
		for _, exclusive := range []bool{false, true} {
			for _, reverse := range []bool{false, true} {
				ks[fmt.Sprint("scan ", r, exclusive, reverse)] = &Scan{Body: scans(r, exclusive, reverse)}
			}
		}
	}
	conv := Conv{Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}, Groups: 1, Post: load}
	vary(ks, "conv", conv, func(c *Conv) Kernel { return c })
	pool := Pool{Op: ops.ReduceMax, Window: []int{2, 2}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}, PadEnd: []int{0, 0}, Post: load}
	vary(ks, "pool", pool, func(p *Pool) Kernel { return p })
	vary(ks, "sort", Sort{DType: ops.Float32, Post: load}, func(o *Sort) Kernel { return o })
	vary(ks, "attention", Attention{DType: ops.Float32, Mask: ops.Bool, Post: load}, func(o *Attention) Kernel { return o })
	vary(ks, "scatter", Scatter{DType: ops.Float32, Post: load}, func(o *Scatter) Kernel { return o })
	ks["conv 1-d"] = &Conv{Stride: []int{1}, Dilation: []int{1}, Pad: []int{1}, Groups: 1, Post: load}
	ks["conv pad 200"] = &Conv{Stride: []int{1}, Dilation: []int{1}, Pad: []int{200}, Groups: 1, Post: load}
	ks["conv pad -56"] = &Conv{Stride: []int{1}, Dilation: []int{1}, Pad: []int{-56}, Groups: 1, Post: load}
	return ks
}

// vary adds base to ks, and base with each of its fields changed, so that a field added later is covered.
func vary[K any](ks map[string]Kernel, name string, base K, kernel func(*K) Kernel) {
	ks[name] = kernel(&base)
	for i := range reflect.TypeFor[K]().NumField() {
		k := base
		field := reflect.ValueOf(&k).Elem().Field(i)
		switch v := field.Addr().Interface().(type) {
		case *[]int:
			*v = []int{(*v)[0], (*v)[1] + 1}
		case *int:
			*v++
		case *float64:
			*v++
		case *bool:
			*v = !*v
		case *ops.DType:
			*v = ops.Int32
		case *ops.ReduceOp:
			*v = ops.ReduceSum
		case *ops.Expr:
			*v = casts(ops.Float32, ops.Float16)
		default:
			panic("vary: a field of type " + field.Type().String())
		}
		ks[name+" "+reflect.TypeFor[K]().Field(i).Name] = kernel(&k)
	}
}

func loads(ds ...ops.DType) ops.Expr {
	var b ops.Builder
	for _, d := range ds {
		b.Result(b.Load(b.Operand(d), false))
	}
	return b.Expr()
}

func casts(from, to ops.DType) ops.Expr {
	var b ops.Builder
	b.Result(b.Cast(to, b.Load(b.Operand(from), false)))
	return b.Expr()
}

func scans(r ops.ReduceOp, exclusive, reverse bool) ops.Expr {
	var b ops.Builder
	b.Result(b.Scan(r, b.Load(b.Operand(ops.Float32), false), exclusive, reverse))
	return b.Expr()
}

func TestKernelKeys(t *testing.T) {
	seen := make(map[string]string)
	again := kernels()
	for name, k := range kernels() {
		key := string(k.AppendKey([]byte("prefix")))
		if key[:6] != "prefix" {
			t.Errorf("%s: AppendKey does not append", name)
		}
		if other, dup := seen[key]; dup {
			t.Errorf("%s and %s have the same key", name, other)
		}
		seen[key] = name
		if got := string(again[name].AppendKey([]byte("prefix"))); got != key {
			t.Errorf("%s: equal kernels have different keys", name)
		}
	}
}

func TestKernelBodies(t *testing.T) {
	for name, k := range kernels() {
		v := reflect.ValueOf(k).Elem()
		want := 0
		for i := range v.NumField() {
			if e, ok := v.Field(i).Addr().Interface().(*ops.Expr); ok {
				if bodies := k.Bodies(); want >= len(bodies) || bodies[want] != e {
					t.Errorf("%s: Bodies()[%d] is not field %s", name, want, v.Type().Field(i).Name)
				}
				want++
			}
		}
		if got := len(k.Bodies()); got != want {
			t.Errorf("%s: %d bodies, want %d", name, got, want)
		}
		if k.Family() == "" {
			t.Errorf("%s: no family", name)
		}
	}
}
