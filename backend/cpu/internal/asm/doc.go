// Package asm holds kernels of backend/cpu in assembly, for each instruction set that they are written for. The
// .s files and the tables of what is in them are generated: gen has their one description, in a module of its
// own. What has no kernel here, and processors other than amd64's and arm64's, run the Go code of backend/cpu.
//
// The kernels know no layouts: they work on blocks of elements that follow each other, of any number and
// alignment, and touch no byte beyond them.
package asm

import "unsafe"

//go:generate go -C gen run . ..

// A Set is an instruction set.
type Set uint8

// The instruction sets.
const (
	Generic Set = iota // Go alone
	AVX2               // with FMA and F16C
	AVX512             // F, DQ, BW and VL, and what AVX2 has
	NEON               // arithmetic and products of matrices
)

// String returns the name of s: "generic", "avx2", "avx512" or "neon".
func (s Set) String() string { return [...]string{"generic", "avx2", "avx512", "neon"}[s] }

// A Block computes one operation for n elements, as a block function of backend/cpu does.
type Block = func(z, x, y, w unsafe.Pointer, n int)

// A Kernel is the Block of an operation on an element type, both by name. The operands whose bits are set in Lone
// are single elements.
type Kernel struct {
	Op, DType string
	Lone      int
	Block     Block
}

// A Cast is the Block of a conversion between element types.
type Cast struct {
	To, From string
	Block    Block
}

// Loops are the functions that are not elementwise.
type Loops struct {
	// GreatestBits returns the bits of the greatest magnitude of n float32, NaN counting as greater than numbers.
	GreatestBits func(x unsafe.Pointer, n int) uint64

	ProductFloat32, ProductFloat64 Product

	Float32 Reductions[float32]
	Float64 Reductions[float64]

	// ScanSum writes the running sums of n float32, each added to the two float64 at c: what comes before, and the
	// running sum so far, which goes on.
	ScanSum func(z, x, c unsafe.Pointer, n int)

	// StoreFence puts what was written past the caches before what is written after it.
	StoreFence func()

	// Pause lets another thread of the core go ahead of a loop that waits.
	Pause func()

	Gather                   Gather
	Transpose32, Transpose64 Transpose // of elements of as many bits
	Sort32, Sort64           Sort
	Rows                     Rows

	Float16, BFloat16 Halves
	Casts             []Cast

	Q80, Q40, Q41 Quant
}

// Gather copies n pieces of size bytes, not less than 64, each at[i] bytes from x on, one behind the other to z. Meanwhile it fetches
// the piece that is ahead ones on: at has n+ahead offsets. Stream does so past the caches, for z and size that are multiples of 64, and
// wants a StoreFence after the last.
type Gather struct {
	Copy, Stream func(z, x, at unsafe.Pointer, n, size, ahead int)
}

// A Quant has the functions of a quantised type for n > 0 blocks of 32 elements.
type Quant struct {
	// Dequantize writes the elements, to the bits of Dequantize of package ops.
	Dequantize func(z, x unsafe.Pointer, n int)

	// Dot sets c to the sum of the products of the elements at b with numbers at a, or with add ≠ 0 adds it to what c holds.
	Dot func(c, a, b unsafe.Pointer, n, add int)
}

// A Transpose writes n squares of Lanes×Lanes elements, one below the other: z[r·zs+c] = x[c·xs+r] for r < n·Lanes and c < Lanes.
// Stream does so past the caches, with lines of z that begin at multiples of Lanes elements in memory, and wants a StoreFence after
// the last.
type Transpose struct {
	Lanes        int
	Copy, Stream func(z, x unsafe.Pointer, n, zs, xs int)
}

// A Sort has the parts of a quicksort of signed integers.
type Sort struct {
	Most int                           // elements that Few sorts
	Few  func(x unsafe.Pointer, n int) // sorts

	// Partition moves the elements that are not greater than pivot to the front of x, the others to y, which has room for n. It
	// returns how many are not greater.
	Partition func(x, y unsafe.Pointer, n, pivot int) int

	// FloatKeys writes integers in the order of n floats, both zeros being 0, or with flip -1 in the reverse order, and the greatest
	// for NaN. It returns 0 if there is neither NaN nor a negative zero. KeyFloats writes the floats of n keys.
	FloatKeys func(z, x unsafe.Pointer, n, flip int) int
	KeyFloats func(z, x unsafe.Pointer, n, flip int)
}

// Rows are what softmax and the normalisations do with n float32 of a row at once. Numbers are rounded as by the operations one
// by one, and summed in float64.
type Rows struct {
	// Those that read a row again fetch what is ahead bytes on, the next rows, meanwhile.
	ExpSum     func(z, x, m unsafe.Pointer, n, ahead int) float64 // writes exp(x-m) and returns the sum
	ExpSumOnly func(x, m unsafe.Pointer, n, ahead int) float64    // writes nothing
	Moments    func(z, x, m unsafe.Pointer, n, ahead int)         // writes the sums of x-m and of its squares, two float64
	SumSquares func(x unsafe.Pointer, n, ahead int) float64

	Blocks, Stream RowBlocks
}

// RowBlocks compute n elements of a row from those of x, w and b, and numbers at p. Those of Stream write past the caches, to
// vectors that are aligned, and want a StoreFence after the last.
type RowBlocks struct {
	Div        RowBlock // x/p₀
	Mul        RowBlock // x·p₀
	MulMul     RowBlock // (x·p₀)·w
	SubSub     RowBlock // (x-p₀)-p₁
	Norm       RowBlock // ((x-p₀)-p₁)·p₂
	NormMul    RowBlock // (((x-p₀)-p₁)·p₂)·w
	NormMulAdd RowBlock // (((x-p₀)-p₁)·p₂)·w+b
}

// A RowBlock is one of them.
type RowBlock = func(z, x, w, b, p unsafe.Pointer, n int)

// Halves convert half-precision numbers of a type, which registers hold as float32.
type Halves struct {
	Widen  Block // from memory to a register
	Narrow Block // the other way, numbers that are of the type
	Round  Block // to numbers of the type, in a register
}

// A Product computes tiles of a product of matrices: c[i·ldc+j] = Σ a[i·row+l·col]·b[at[l]+j] for l < k, where at counts bytes.
// With add ≠ 0 the sum is added to what c holds. Each sum is formed by fused multiplications and additions in the order of l,
// whatever the tile.
type Product struct {
	Tiles  []Tile // two vectors wide, most rows first; the last has one
	Unit   []Tile // the same for col = 1, faster
	Part   []Tile // for n columns that do not fill two vectors
	Narrow []Tile // for n columns that do not fill more than one
	Wide   []Tile // for few rows

	// Dots are for few rows, in the order in which they serve.
	Dots []Dot

	// Passes are for one row by many columns, most terms first; the last has one.
	Passes []Pass

	// PackLines copies n rows of b of as many columns as the first tile has, from x on stride bytes apart, to z, where they
	// follow each other. PackColumns does so where the columns lie stride bytes apart, for an n that is a multiple of 4.
	PackLines, PackColumns func(z, x unsafe.Pointer, stride, n int)
}

// A Tile is the function for tiles of a number of rows and columns. It takes k > 0. Those of Tiles and Unit have no use for the number
// of columns: n is how many bytes on the rows of b lie that they may fetch meanwhile, for the tiles beside them, or 0.
type Tile struct {
	Rows, Columns int
	Mul           func(c, a, b, at unsafe.Pointer, k, row, col, ldc, n, add int)
}

// A Pass sets n elements of c to Σ a[l·col]·b[at[l]+j] for l < Terms, or with add ≠ 0 goes on with the sums that c holds: the sums
// are those of tiles. N is a multiple of half the columns of the first tile, and greater than 0.
type Pass struct {
	Terms int
	Mul   func(c, a, b, at unsafe.Pointer, col, n, add int)
}

// A Dot is the function for a number of rows and columns of c[i·ldc+j] = Σ a[i·row+l]·b[j·col+l] for l < k. With add ≠ 0 the
// sum is added to what c holds. The order of the additions is the same for all.
type Dot struct {
	Rows, Columns int
	Mul           func(c, a, b unsafe.Pointer, k, row, col, ldc, add int)
}

// A Micro is the function for one tile of a product of packed matrices: c[i·ldc+j] = Σ a[Rows·l+i]·b[Columns·l+j] for l < k, k > 0.
// Sets that have no Product have it.
type Micro struct {
	Rows, Columns int
	Mul           func(c, a, b unsafe.Pointer, k, ldc int)
}

// Reductions are those of n elements at x.
type Reductions[T float32 | float64] struct {
	Sum      func(x unsafe.Pointer, n int) float64
	Max, Min func(x unsafe.Pointer, n int) T // NaN if an element is

	// Sums, Maxes and Mins write those of four parts of n elements, stride elements apart, to z, each as that of a part alone.
	Sums, Maxes, Mins func(z, x unsafe.Pointer, n, stride int)

	// First returns the index of the first element that is the one at y, or NaN, and n if there is none.
	First func(x, y unsafe.Pointer, n int) int

	// SumLines adds lines of n elements, stride elements apart, to n float64. MaxLines and MinLines keep the
	// greatest and least.
	SumLines, MaxLines, MinLines func(state, x unsafe.Pointer, n, lines, stride int)
}
