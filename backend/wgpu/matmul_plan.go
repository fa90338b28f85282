package wgpu

import (
	"math"

	"github.com/weft-go/weft/backend/wgpu/internal/driver"
	"github.com/weft-go/weft/ops"
)

// A tile is how a workgroup shares the work of a part of the result, rows × columns, among its threads: each computes
// m × n elements, from parts of the operands that are depth deep and that the workgroup keeps in its memory.
type tile struct {
	rows, columns, depth int
	m, n                 int
	loop                 loop
	unroll               bool // write the steps of a tile out
}

// A loop is how loading and computing overlap.
type loop uint8

const (
	loadThenUse loop = iota // load a tile, wait, use it
	loadAhead               // load the next into registers while one is used
	loadTwice               // the same, with two tiles in workgroup memory and half the waits
)

func (c tile) threads() int { return c.rows / c.m * (c.columns / c.n) }

// The presets, by what they are for.
var (
	largeTile  = tile{rows: 128, columns: 128, depth: 16, m: 8, n: 8, loop: loadAhead, unroll: true}
	middleTile = tile{rows: 64, columns: 64, depth: 16, m: 4, n: 4, loop: loadAhead, unroll: true}
	smallTile  = tile{rows: 32, columns: 32, depth: 16, m: 4, n: 4}
	tinyTile   = tile{rows: 16, columns: 16, depth: 8, m: 4, n: 4}
	flatTile   = tile{rows: 32, columns: 64, depth: 32, m: 4, n: 4, loop: loadAhead} // for few rows
)

// A rated tile is one whose speed was measured.
type rated struct {
	tile
	rate float64 // multiplications in a microsecond where there are many workgroups, in millions
	fill float64 // workgroups that it takes for that
}

// ratedTiles were measured on an NVIDIA H200 (BenchmarkTiles).
var ratedTiles = []rated{
	{largeTile, 22, 170},
	{tile{rows: 64, columns: 128, depth: 16, m: 8, n: 8, loop: loadAhead, unroll: true}, 19.5, 175},
	{tile{rows: 64, columns: 64, depth: 16, m: 8, n: 4, loop: loadAhead, unroll: true}, 19, 330},
	{tile{rows: 32, columns: 128, depth: 16, m: 8, n: 4, loop: loadAhead, unroll: true}, 15, 270},
	{tile{rows: 32, columns: 64, depth: 32, m: 4, n: 4, loop: loadAhead, unroll: true}, 13, 270},
	{tile{rows: 32, columns: 32, depth: 16, m: 4, n: 4, loop: loadAhead, unroll: true}, 10, 440},
}

// largeTwice is a little faster than largeTile where the rows of B lie in memory, and slower where its columns do.
var largeTwice = tile{rows: 128, columns: 128, depth: 16, m: 8, n: 8, loop: loadTwice, unroll: true}

// fewRows is how many rows a product may have whose threads each take all of them, and share out K.
const fewRows = 8

// A line is how a workgroup of a product with few rows shares out its threads: among groups of four columns, and for each
// of these along K.
type line struct {
	rows    int // that every thread sums: 1, 2, 4 or 8
	columns int // groups of four columns
	each    int // columns that a thread sums, where those of B lie in memory: 1, 2 or 4
	steps   int // loads along K that a thread has under way at a time
}

const lineThreads = 256

// The presets where the rows of B lie in memory, and where its columns do: neighbouring threads read neighbouring words.
var (
	lineAlong  = line{columns: 4, each: 1, steps: 2}
	lineAcross = line{columns: 2, each: 1, steps: 2}
	lineBlock  = line{columns: 8, each: 4, steps: 2} // the same for several rows, with many columns
	lineShort  = line{columns: 2, each: 2, steps: 2} // and with few
)

// A choice is a kernel for a product: a tile, a line or a packed if that has rows, or where direct is not 0 one in which each
// thread computes four elements alone, and a workgroup that many rows of them.
type choice struct {
	tile   tile
	line   line
	packed packed
	direct int
	plain  bool // see domain

	depth  int // elements of K that a workgroup takes in a step, and in all; filled in by sized
	slice  int
	slices int // of K
}

// Small products are computed directly: their cost is that of starting, and of reading what the cache holds. A CPU
// takes longer to compile another kernel.
const (
	directDepth   = 64
	directWork    = 1 << 20 // multiplications on a CPU
	directSize    = 32 * 32
	directThreads = 64
)

// directRows returns the rows of a workgroup whose threads work alone.
func directRows(p *product) int {
	rows := 1
	for rows < 16 && rows < p.m {
		rows *= 4
	}
	return rows
}

// Workgroups that keep a large GPU busy, and bounds of slices. A loop that is not written out makes a trip for each
// element of K, and software Vulkan miscounts beyond 65,535 trips an invocation.
const (
	busyGroups = 256
	busyLines  = 64
	leastSlice = 512
	mostSlices = 64
	mostTrips  = 32 << 10
)

// plan chooses the kernel for a product by its sizes.
func (e *engine) plan(p *product) choice {
	var c choice
	few, packs := e.pickPacked(p)
	switch {
	case e.info.Type == driver.Software && p.batch.Len()*p.m*p.n*p.k < directWork:
		c.direct, c.plain = directRows(p), true
	case p.k <= directDepth && (p.m*p.n < directSize || p.m <= fewRows):
		c.direct = directRows(p)
	case p.m <= fewRows && packs && e.info.Type != driver.Software: // which takes long to compile it
		c.packed = few
	case p.m <= fewRows && p.acc != ops.Int64:
		c.line = e.pickLine(p)
	case e.info.VendorID == nvidia:
		c.tile, c.slices = e.rateTiles(p)
		return c.sized(p)
	default:
		c.tile = e.pickTile(p)
	}
	busy := busyGroups
	if c.line.rows+c.packed.rows > 0 {
		busy = busyLines
	}
	if groups := c.groups(p); groups < busy && e.info.Type != driver.Software {
		c.slices = min(busy/groups, p.k/leastSlice, mostSlices)
	}
	return c.sized(p)
}

// nvidia is the maker's number in PCI.
const nvidia = 0x10de

// What slices cost: a kernel more, and the memory that the sums go through.
const (
	sliceTime  = 7   // microseconds
	sliceBytes = 1e6 // in a microsecond
)

// rateTiles chooses the tile, and the slices, that take the least time by what was measured.
func (e *engine) rateTiles(p *product) (best tile, slices int) {
	least := math.Inf(1)
	for _, t := range ratedTiles {
		if !e.fits(p, t.tile) {
			continue
		}
		c := choice{tile: t.tile}
		groups := c.groups(p)
		work := float64(groups*t.rows*t.columns) * float64(p.k) / 1e6
		for n := 1; n == 1 || n <= min(mostSlices, p.k/leastSlice); n *= 2 {
			cost := work / (t.rate * min(1, float64(groups*n)/t.fill))
			if n > 1 {
				cost += sliceTime + float64(2*n*p.batch.Len()*p.m*p.n*summed(p.acc).Size())/sliceBytes
			}
			if cost < least {
				least, best, slices = cost, t.tile, n
			}
		}
	}
	switch {
	case slices == 0:
		return smallTile, 1
	case best == largeTile && p.image == nil && !p.across(p.right, false) && e.fits(p, largeTwice):
		best = largeTwice
	}
	return best, slices
}

// fits reports whether the device can run a tile for a product. One of Int64 takes four times the registers.
func (e *engine) fits(p *product, t tile) bool {
	return t.memory(summed(p.acc)) <= int(e.info.Limits.WorkgroupMemory) && t.threads() <= int(e.info.Limits.Invocations) &&
		(p.acc != ops.Int64 || t.m*t.n <= 16)
}

// sized fills in how deep a step of the kernel is, and evens out the slices, of which there must be enough for a device
// that counts trips.
func (c choice) sized(p *product) choice {
	most := mostTrips
	c.depth = c.tile.depth
	switch {
	case c.direct > 0:
		c.depth = 1
	case c.packed.rows > 0:
		c.depth = c.packed.along * c.packed.unit()
		most *= c.depth
	case c.line.rows > 0:
		c.depth = lineThreads / c.line.columns * c.line.steps
		if p.across(p.right, false) {
			c.depth *= c.line.each
		} else {
			c.depth *= 4
		}
		most *= c.depth
	case c.tile.unroll:
		most *= c.depth
	}
	c.slices = max(c.slices, ceil(p.k, most), 1)
	c.slice = max(1, ceil(ceil(p.k, c.slices), c.depth)) * c.depth
	c.slices = max(1, ceil(p.k, c.slice))
	return c
}

// groups returns how many workgroups a product without slices takes.
func (c choice) groups(p *product) int {
	return p.batch.Len() * ceil(p.m, c.height()) * ceil(p.n, c.width())
}

// height and width are the rows and columns of a workgroup.
func (c choice) height() int {
	switch {
	case c.direct > 0:
		return c.direct
	case c.packed.rows > 0:
		return c.packed.rows
	case c.line.rows > 0:
		return c.line.rows
	}
	return c.tile.rows
}

func (c choice) width() int {
	switch {
	case c.direct > 0:
		return 4 * directThreads / c.direct
	case c.packed.rows > 0:
		return c.packed.width()
	case c.line.rows > 0:
		return 4 * c.line.columns
	}
	return c.tile.columns
}

// pickLine chooses the line of a product with few rows.
func (e *engine) pickLine(p *product) line {
	l := lineAlong
	switch across := p.across(p.right, false); {
	case across && p.m > 2 && p.batch.Len()*p.n >= busyLines*4*lineBlock.columns:
		l = lineBlock
	case across && p.m > 2:
		l = lineShort
	case across:
		l = lineAcross
	}
	l.rows = 1
	for l.rows < p.m {
		l.rows *= 2
	}
	for l.each > 1 && l.memory(summed(p.acc)) > int(e.info.Limits.WorkgroupMemory) {
		l.each /= 2
	}
	return l
}

// memory returns the bytes of workgroup memory of a line, at most.
func (l line) memory(d ops.DType) int { return l.rows * max(l.each, 2) * lineThreads * d.Size() }

// pickTile chooses the largest tile that leaves no large part of the GPU idle and fits its limits.
func (e *engine) pickTile(p *product) tile {
	t := e.pickPreset(p)
	t.unroll = t.unroll && e.info.Type != driver.Software // which compiles for longer than it then saves
	return t
}

func (e *engine) pickPreset(p *product) tile {
	switch {
	case p.m <= 16 && p.n <= 16:
		return tinyTile
	case p.m <= 32 && p.n <= 32 || !e.fits(p, middleTile):
		return smallTile
	case p.m <= 32 && e.fits(p, flatTile):
		return flatTile
	case choice{tile: largeTile}.groups(p) >= busyGroups/2 && e.fits(p, largeTile):
		return largeTile
	}
	return middleTile
}

func ceil(n, d int) int { return (n + d - 1) / d }
