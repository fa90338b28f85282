package ops_test

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weft-go/weft/ops"
)

var quantized = []ops.DType{ops.Q8_0, ops.Q4_0, ops.Q4_1}

// The formats, from their definition.
func TestDequantize(t *testing.T) {
	half := func(f float32) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(ops.ToF16(f))) }
	q8, q4, q41 := half(0.5), half(-2), append(half(0.25), half(3)...)
	for i := range 32 {
		q8 = append(q8, byte(int8(4*i-64)))
		if i < 16 {
			q4 = append(q4, byte(i)|byte(15-i)<<4)
			q41 = append(q41, byte(i)|byte(15-i)<<4)
		}
	}
	for i := range 32 {
		nibble := i
		if i >= 16 {
			nibble = 31 - i
		}
		for _, c := range []struct {
			d      ops.DType
			blocks []byte
			want   float32
		}{
			{ops.Q8_0, append(make([]byte, 34), q8...), float32(4*i-64) / 2},
			{ops.Q4_0, append(make([]byte, 18), q4...), -2 * float32(nibble-8)},
			{ops.Q4_1, append(make([]byte, 20), q41...), float32(nibble)/4 + 3},
		} {
			if got := c.d.Dequantize(c.blocks, 32+i); got != c.want {
				t.Errorf("%s: element %d is %v, want %v", c.d, i, got, c.want)
			}
		}
	}
}

func TestQuantize(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range quantized {
		for _, n := range []int{0, 1, 31, 32, 33, 500} {
			for _, scale := range []float32{0, 1e-3, 1, 1e4} {
				x := make([]float32, n)
				for i := range x {
					x[i] = float32(r.NormFloat64()) * scale
				}
				blocks, err := d.Quantize(x)
				if err != nil || len(blocks) != d.Bytes(n) {
					t.Fatalf("%s: %d bytes for %d elements, want %d (%v)", d, len(blocks), n, d.Bytes(n), err)
				}
				for at := 0; at < n; at += 32 {
					lo, hi := float32(0), float32(0)
					for _, v := range x[at:min(at+32, n)] {
						lo, hi = min(lo, v), max(hi, v)
					}
					step := map[ops.DType]float32{ops.Q8_0: max(hi, -lo) / 127, ops.Q4_0: max(hi, -lo) / 8, ops.Q4_1: (hi - lo) / 15}[d]
					within := 0.51 * step
					if d == ops.Q4_0 {
						within = 1.01 * step // at the end of the range that has seven steps
					}
					within += (hi - lo) * 2e-3 // the scale is rounded to float16
					for i := at; i < min(at+32, n); i++ {
						if off := math.Abs(float64(d.Dequantize(blocks, i) - x[i])); off > float64(within) {
							t.Errorf("%s, %d of scale %v: element %d is off by %v, more than %v", d, n, scale, i, off, within)
						}
					}
				}
			}
		}
	}
}

// Of numbers that blocks hold exactly, nothing is lost.
func TestQuantizeExactly(t *testing.T) {
	for _, d := range quantized {
		x := make([]float32, 64)
		for i := range x {
			x[i] = float32(i%16-8) / 4
		}
		if d == ops.Q8_0 {
			for i := range x {
				x[i] = float32(i%32*8-127) / 4
			}
		}
		blocks, err := d.Quantize(x)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range x {
			if got := d.Dequantize(blocks, i); got != v {
				t.Errorf("%s: element %d is %v, want %v", d, i, got, v)
			}
		}
	}
}

func TestQuantizeErrors(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30} {
		for _, d := range quantized {
			if _, err := d.Quantize([]float32{1, float32(v)}); !errors.Is(err, ops.ErrDType) {
				t.Errorf("%s of %v: %v, want ErrDType", d, v, err)
			}
		}
	}
	if _, err := ops.Float32.Quantize([]float32{1}); !errors.Is(err, ops.ErrDType) {
		t.Errorf("float32: %v, want ErrDType", err)
	}
}

func TestQuantizedTypes(t *testing.T) {
	for _, d := range quantized {
		if d.Valid() || d.Size() != 0 || d.Kind() != 0 || d.IsFloat() || !d.Quantized() || d.Element() != ops.Float32 {
			t.Errorf("%s looks like an element type", d)
		}
		if p, err := ops.ParseDType(d.String()); p != d || err != nil {
			t.Errorf("%s parses to %s, %v", d, p, err)
		}
		if ops.Promote(d, ops.Float32) != ops.Invalid {
			t.Errorf("%s is promoted", d)
		}
	}
	if ops.Float16.Element() != ops.Float16 || ops.Float16.Bytes(3) != 6 || ops.Float16.Quantized() {
		t.Error("float16 is taken for a quantised type")
	}
}
