package cpu

import (
	"fmt"
	"math"
	"os"
	"strings"
	"unsafe"

	"github.com/weft-go/weft/backend/cpu/internal/asm"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// instructions is the instruction set that the kernels of this process use: the best that the processor has, or
// the one that WEFT_CPU names. What it names wrongly is an error when the device is opened.
var instructions, errInstructions = chooseInstructions(os.Getenv("WEFT_CPU"), asm.Sets())

// chooseInstructions returns the one of sets called name, or for no name the last.
func chooseInstructions(name string, sets []asm.Set) (asm.Set, error) {
	best := sets[len(sets)-1]
	if name == "" {
		return best, nil
	}
	names := make([]string, len(sets))
	for i, s := range sets {
		if names[i] = s.String(); names[i] == name {
			return s, nil
		}
	}
	return best, fmt.Errorf("cpu: WEFT_CPU=%s: no instruction set of this processor (it has %s): %w", name, strings.Join(names, ", "), backend.ErrDevice)
}

// addAssembly puts the kernels of s in place of the entries of t that they compute.
func addAssembly(t tableOf, s asm.Set) {
	for _, k := range s.Kernels() {
		d, err := ops.ParseDType(k.DType)
		if err != nil {
			panic(err) // of a generated table
		}
		b := t[rowKey{k.Op, d}]
		if k.Lone == 0 {
			b.v = k.Block
			if f := map[string]func(float64) float64{"sin": sinf, "cos": cosf}[k.Op]; f != nil {
				b.v = turned(s.Loops(), k.Block, f)
			}
		} else {
			b.lone[k.Lone] = k.Block
		}
		t.set(d, k.Op, b)
	}
}

// mostTurned is the magnitude up to which the sine and cosine in assembly hold.
const mostTurned = 1e5

// turned returns the block function of f, sine or cosine, whose assembly is given for moderate numbers. What a number
// gives does not depend on the others.
func turned(l *asm.Loops, moderate block, f func(float64) float64) block {
	return func(z, x, y, w unsafe.Pointer, n int) {
		if math.Float32frombits(uint32(l.GreatestBits(x, n))) < mostTurned {
			moderate(z, x, y, w, n)
			return
		}
		zs, xs := vec[float32](z, n), vec[float32](x, n)
		for i, v := range xs {
			if v < mostTurned && v > -mostTurned {
				moderate(unsafe.Pointer(&zs[i]), unsafe.Pointer(&xs[i]), y, w, 1)
			} else {
				zs[i] = float32(f(float64(v)))
			}
		}
	}
}
