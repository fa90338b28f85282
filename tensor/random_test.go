package tensor_test

import (
	"math"
	"testing"

	"github.com/weft-go/weft/ops"
	"github.com/weft-go/weft/tensor"
)

// TestRandStream holds the streams to their documentation, word by word.
func TestRandStream(t *testing.T) {
	const seed = 0x123456789
	word := func(purpose uint32, i int) uint32 {
		key := ops.Philox([4]uint32{purpose}, [2]uint32{seed & math.MaxUint32, seed >> 32})
		return ops.Philox([4]uint32{uint32(i / 4)}, [2]uint32{key[0], key[1]})[i%4]
	}
	for i, v := range read[float32](t, tensor.Rand(tensor.Float32, seed, 7)) {
		if w := float32(word(1, i)>>8) / (1 << 24); v != w {
			t.Errorf("Rand: element %d is %v, want %v", i, v, w)
		}
	}
	for i, v := range read[float64](t, tensor.Rand(tensor.Float64, seed, 7)) {
		if w := float64(word(1, 2*i)>>5)/(1<<27) + float64(word(1, 2*i+1)>>6)/(1<<53); v != w {
			t.Errorf("Rand: element %d is %v, want %v", i, v, w)
		}
	}
	for i, v := range read[float32](t, tensor.Randn(tensor.Float32, seed, 7)) {
		u, c := float64(word(2, 2*i)>>8)/(1<<24), float64(word(2, 2*i+1)>>8)/(1<<24)
		if w := math.Sqrt(-2*math.Log1p(-u)) * math.Cos(2*math.Pi*c); math.Abs(float64(v)-w) > 1e-5 {
			t.Errorf("Randn: element %d is %v, want %v", i, v, w)
		}
	}
	for i, v := range read[int32](t, tensor.RandInt(tensor.Int32, seed, -10, 1000, 7)) {
		w := (uint64(word(3, 2*i))*1010 + uint64(word(3, 2*i+1))*1010>>32) >> 32
		if int64(v) != int64(w)-10 {
			t.Errorf("RandInt: element %d is %v, want %v", i, v, int64(w)-10)
		}
	}
}

func TestRandDistributions(t *testing.T) {
	const n = 20000
	for _, d := range []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64} {
		t.Run(d.String(), func(t *testing.T) {
			u := tensor.Rand(d, 3, n).Cast(tensor.Float64)
			z := tensor.Randn(d, 3, n).Cast(tensor.Float64)
			for name, c := range map[string]struct {
				x               *tensor.Tensor
				want, tolerance float64
			}{
				"least":           {u.Min(), 0, 0.01},
				"greatest":        {u.Max(), 1, 0.01},
				"mean":            {u.Mean(), 0.5, 0.015},
				"variance":        {u.Var(), 1.0 / 12, 0.01},
				"normal mean":     {z.Mean(), 0, 0.03},
				"normal variance": {z.Var(), 1, 0.05},
				"normal skew":     {z.PowScalar(3).Mean(), 0, 0.1},
				"beyond 2σ":       {z.Abs().GreaterScalar(2).Cast(tensor.Float64).Mean(), 0.0455, 0.01},
				"correlation":     {u.SubScalar(0.5).Mul(z).Mean(), 0, 0.02},
			} {
				if v, err := tensor.Item[float64](ctx, c.x); err != nil || math.Abs(v-c.want) > c.tolerance {
					t.Errorf("%s is %v, want %v (%v)", name, v, c.want, err)
				}
			}
			if v, err := tensor.Item[float64](ctx, u.Max()); err != nil || v >= 1 {
				t.Errorf("greatest is %v (%v)", v, err)
			}
		})
	}
	dice := tensor.RandInt(tensor.Uint8, 5, 1, 7, 6000)
	for face := 1; face <= 6; face++ {
		if k := ints(t, dice.EqualScalar(face).Sum())[0]; k < 850 || k > 1150 {
			t.Errorf("%d comes %d times of 6000", face, k)
		}
	}
	wide := tensor.RandInt(tensor.Int64, 5, math.MinInt64, math.MinInt64+1<<31, 100)
	wantInts(t, wide.GreaterScalar(int64(math.MinInt64+1<<31)).Any(), []int{}, 0)
	wantInts(t, tensor.RandInt(tensor.Int8, 9, -128, 128, 3, 0), []int{3, 0})
}

func TestCreation(t *testing.T) {
	wantInts(t, tensor.Iota(tensor.Uint8, 2, 2), []int{2, 2}, 0, 1, 2, 3)
	wantInts(t, tensor.Iota(tensor.Int64), []int{}, 0)
	wantInts(t, tensor.Iota(tensor.Uint8, 300).Slice(tensor.From(254)), []int{46}, append([]int64{254, 255}, ints(t, tensor.Iota(tensor.Int32, 44))...)...)
	wantInts(t, tensor.Arange(tensor.Int32, 2, 10, 3), []int{3}, 2, 5, 8)
	wantInts(t, tensor.Arange(tensor.Int64, 5, 0, -2), []int{3}, 5, 3, 1)
	wantInts(t, tensor.Arange(tensor.Int32, 5, 0, 1), []int{0})
	wantInts(t, tensor.Arange(tensor.Uint8, 250, 256, 5), []int{2}, 250, 255)
	near(t, tensor.Arange(tensor.Float32, 0, 1, 0.25), 0, 0, 0.25, 0.5, 0.75)
	near(t, tensor.Arange(tensor.Float16, 1, 0, -0.5), 0, 1, 0.5)
	near(t, tensor.Linspace(tensor.Float64, 0, 1, 5), 0, 0, 0.25, 0.5, 0.75, 1)
	near(t, tensor.Linspace(tensor.Float32, -1, 2, 4), 1e-7, -1, 0, 1, 2)
	near(t, tensor.Linspace(tensor.Float32, 3, 9, 1), 0, 3)
	near(t, tensor.Linspace(tensor.Float32, 3, 9, 0), 0)
	ends := read[float32](t, tensor.Linspace(tensor.Float32, 0.1, 0.7, 1001).Slice(tensor.All.Step(1000)))
	if ends[0] != 0.1 || ends[1] != 0.7 {
		t.Errorf("ends of Linspace are %v", ends)
	}
	wantInts(t, tensor.Full(tensor.Int8, 3.9, 2), []int{2}, 3, 3)
	wantInts(t, tensor.Ones(tensor.Bool, 1), []int{1}, 1)
	want(t, tensor.FromBytes(tensor.Bool, []int{3}, []byte{0, 7, 1}), []int{3}, false, true, true)
	misaligned := make([]byte, 9)[1:]
	misaligned[0] = 5
	want[int64](t, tensor.FromBytes(tensor.Int64, []int{1}, misaligned), []int{1}, 5)
	data := []float32{1, 2}
	copied, shared := tensor.New(data), tensor.Wrap(data)
	data[0] = 9
	want[float32](t, copied, []int{2}, 1, 2)
	want[float32](t, shared, []int{2}, 9, 2)
	b, err := tensor.Bytes(ctx, i32(1, -2).Flip())
	if err != nil || string(b) != "\xfe\xff\xff\xff\x01\x00\x00\x00" {
		t.Errorf("Bytes returns %x, %v", b, err)
	}
}
