package asm

import (
	"golang.org/x/sys/cpu"
)

// Sets returns the instruction sets that the processor has, the best last.
func Sets() []Set {
	sets := []Set{Generic}
	x := &cpu.X86
	if x.HasAVX2 && x.HasFMA && x.HasBMI1 && x.HasBMI2 && x.HasF16C {
		sets = append(sets, AVX2)
		if x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL {
			sets = append(sets, AVX512)
		}
	}
	return sets
}

// Micros returns nil: the sets have a Product.
func (Set) Micros() (f32, f64 *Micro) { return nil, nil }

// Kernels returns the kernels written for s.
func (s Set) Kernels() []Kernel {
	switch s {
	case AVX2:
		return avx2Kernels
	case AVX512:
		return avx512Kernels
	}
	return nil
}

var avx2Loops = Loops{
	GreatestBits: GreatestBitsAVX2,
	ProductFloat32: Product{
		Tiles: avx2Float32Tiles, Unit: append(avx2Float32Unit, avx2Float32Tiles[1:]...), Part: avx2Float32Part, Narrow: avx2Float32Narrow, Wide: avx2Float32Wide, Dots: avx2Float32Dots,
		PackLines: PackLinesAVX2, PackColumns: PackColumnsFloat32AVX2, Passes: []Pass{{8, Pass8Float32AVX2}, {4, Pass4Float32AVX2}, {2, Pass2Float32AVX2}, {1, Pass1Float32AVX2}},
	},
	ProductFloat64: Product{
		Tiles: avx2Float64Tiles, Unit: append(avx2Float64Unit, avx2Float64Tiles[1:]...), Part: avx2Float64Part, Narrow: avx2Float64Narrow, Wide: avx2Float64Wide, Dots: avx2Float64Dots,
		PackLines: PackLinesAVX2, PackColumns: PackColumnsFloat64AVX2, Passes: []Pass{{8, Pass8Float64AVX2}, {4, Pass4Float64AVX2}, {2, Pass2Float64AVX2}, {1, Pass1Float64AVX2}},
	},
	Float32: Reductions[float32]{
		Sums: SumsFloat32AVX2, Maxes: MaxesFloat32AVX2, Mins: MinsFloat32AVX2,
		Sum: SumFloat32AVX2, Max: MaxFloat32AVX2, Min: MinFloat32AVX2, First: FirstFloat32AVX2,
		SumLines: SumLinesFloat32AVX2, MaxLines: MaxLinesFloat32AVX2, MinLines: MinLinesFloat32AVX2,
	},
	Float64: Reductions[float64]{
		Sums: SumsFloat64AVX2, Maxes: MaxesFloat64AVX2, Mins: MinsFloat64AVX2,
		Sum: SumFloat64AVX2, Max: MaxFloat64AVX2, Min: MinFloat64AVX2, First: FirstFloat64AVX2,
		SumLines: SumLinesFloat64AVX2, MaxLines: MaxLinesFloat64AVX2, MinLines: MinLinesFloat64AVX2,
	},
	ScanSum: ScanFloat32AVX2, StoreFence: StoreFence, Pause: Pause,
	Rows: Rows{
		ExpSum: ExpSumAVX2, ExpSumOnly: ExpSumOnlyAVX2, Moments: MomentsAVX2, SumSquares: SumSquaresAVX2,
		Blocks: RowBlocks{
			Div: RowDivAVX2, Mul: RowMulAVX2, MulMul: RowMulMulAVX2, SubSub: RowSubSubAVX2, Norm: RowNormAVX2, NormMul: RowNormMulAVX2, NormMulAdd: RowNormMulAddAVX2,
		},
		Stream: RowBlocks{
			Div: RowStreamDivAVX2, Mul: RowStreamMulAVX2, MulMul: RowStreamMulMulAVX2, SubSub: RowStreamSubSubAVX2, Norm: RowStreamNormAVX2, NormMul: RowStreamNormMulAVX2, NormMulAdd: RowStreamNormMulAddAVX2,
		},
	},
	Sort32:      Sort{64, SortFew32AVX2, Partition32AVX2, FloatKeys32AVX2, KeyFloats32AVX2},
	Sort64:      Sort{32, SortFew64AVX2, Partition64AVX2, FloatKeys64AVX2, KeyFloats64AVX2},
	Gather:      Gather{GatherAVX2, GatherStreamAVX2},
	Transpose32: Transpose{8, Transpose32AVX2, TransposeStream32AVX2},
	Transpose64: Transpose{4, Transpose64AVX2, TransposeStream64AVX2},
	Float16:     Halves{Widen: widenFloat16AVX2, Narrow: narrowFloat16AVX2, Round: roundFloat16AVX2},
	BFloat16:    Halves{Widen: widenBfloat16AVX2, Narrow: narrowBfloat16AVX2, Round: roundBfloat16AVX2},
	Casts:       avx2Casts,
	Q80:         Quant{DequantizeQ80AVX2, DotQ80AVX2},
	Q40:         Quant{DequantizeQ40AVX2, DotQ40AVX2},
	Q41:         Quant{DequantizeQ41AVX2, DotQ41AVX2},
}

var avx512Loops = Loops{
	GreatestBits: GreatestBitsAVX512,
	ProductFloat32: Product{
		Tiles: avx512Float32Tiles, Unit: append(avx512Float32Unit, avx512Float32Tiles[1:]...), Part: avx512Float32Part, Narrow: avx512Float32Narrow, Wide: avx512Float32Wide, Dots: avx512Float32Dots,
		PackLines: PackLinesAVX512, PackColumns: PackColumnsFloat32AVX512, Passes: []Pass{{8, Pass8Float32AVX512}, {4, Pass4Float32AVX512}, {2, Pass2Float32AVX512}, {1, Pass1Float32AVX512}},
	},
	ProductFloat64: Product{
		Tiles: avx512Float64Tiles, Unit: append(avx512Float64Unit, avx512Float64Tiles[1:]...), Part: avx512Float64Part, Narrow: avx512Float64Narrow, Wide: avx512Float64Wide, Dots: avx512Float64Dots,
		PackLines: PackLinesAVX512, PackColumns: PackColumnsFloat64AVX512, Passes: []Pass{{8, Pass8Float64AVX512}, {4, Pass4Float64AVX512}, {2, Pass2Float64AVX512}, {1, Pass1Float64AVX512}},
	},
	Float32: Reductions[float32]{
		Sums: SumsFloat32AVX512, Maxes: MaxesFloat32AVX2, Mins: MinsFloat32AVX2,
		Sum: SumFloat32AVX512, Max: MaxFloat32AVX2, Min: MinFloat32AVX2, First: FirstFloat32AVX512,
		SumLines: SumLinesFloat32AVX512, MaxLines: MaxLinesFloat32AVX512, MinLines: MinLinesFloat32AVX512,
	},
	Float64: Reductions[float64]{
		Sums: SumsFloat64AVX512, Maxes: MaxesFloat64AVX2, Mins: MinsFloat64AVX2,
		Sum: SumFloat64AVX512, Max: MaxFloat64AVX2, Min: MinFloat64AVX2, First: FirstFloat64AVX512,
		SumLines: SumLinesFloat64AVX512, MaxLines: MaxLinesFloat64AVX512, MinLines: MinLinesFloat64AVX512,
	},
	ScanSum: ScanFloat32AVX512, StoreFence: StoreFence, Pause: Pause,
	Rows: Rows{
		ExpSum: ExpSumAVX512, ExpSumOnly: ExpSumOnlyAVX512, Moments: MomentsAVX512, SumSquares: SumSquaresAVX512,
		Blocks: RowBlocks{
			Div: RowDivAVX512, Mul: RowMulAVX512, MulMul: RowMulMulAVX512, SubSub: RowSubSubAVX512, Norm: RowNormAVX512, NormMul: RowNormMulAVX512, NormMulAdd: RowNormMulAddAVX512,
		},
		Stream: RowBlocks{
			Div: RowStreamDivAVX512, Mul: RowStreamMulAVX512, MulMul: RowStreamMulMulAVX512, SubSub: RowStreamSubSubAVX512, Norm: RowStreamNormAVX512, NormMul: RowStreamNormMulAVX512, NormMulAdd: RowStreamNormMulAddAVX512,
		},
	},
	Sort32:      Sort{128, SortFew32AVX512, Partition32AVX512, FloatKeys32AVX512, KeyFloats32AVX512},
	Sort64:      Sort{64, SortFew64AVX512, Partition64AVX512, FloatKeys64AVX512, KeyFloats64AVX512},
	Gather:      Gather{GatherAVX512, GatherStreamAVX512},
	Transpose32: Transpose{16, Transpose32AVX512, TransposeStream32AVX512},
	Transpose64: Transpose{8, Transpose64AVX512, TransposeStream64AVX512},
	Float16:     Halves{Widen: widenFloat16AVX512, Narrow: narrowFloat16AVX512, Round: roundFloat16AVX512},
	BFloat16:    Halves{Widen: widenBfloat16AVX512, Narrow: narrowBfloat16AVX512, Round: roundBfloat16AVX512},
	Casts:       avx512Casts,
	Q80:         Quant{DequantizeQ80AVX2, DotQ80AVX2},
	Q40:         Quant{DequantizeQ40AVX2, DotQ40AVX2},
	Q41:         Quant{DequantizeQ41AVX2, DotQ41AVX2},
}

// Loops returns the loops written for s, nil for [Generic].
func (s Set) Loops() *Loops {
	switch s {
	case AVX2:
		return &avx2Loops
	case AVX512:
		return &avx512Loops
	}
	return nil
}
