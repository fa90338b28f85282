package wgpu

// Presets of kernels of rows, as an H200 likes them. BenchmarkMemory and BenchmarkRowVariants try them.
const (
	rowThreads = 256     // of most workgroups
	rowHeld    = 8       // units, of four lanes, that a thread holds at most of a row
	rowCopies  = 4       // units that it has under way at once of a row that is not held
	rowBusy    = 1 << 16 // threads that occupy the GPU, or nearly
	rowMany    = 64      // rows from which on those that are read again are held in workgroups larger than usual, and others not
	rowLong    = 1 << 10 // units of rows from which on those that fill all trips have kernels of their own
	rowPieces  = 1024    // workgroups of rowThreads to split few rows among
	scanPieces = 2112    // the same for scans, whose workgroups wait more
)

// choose picks the variant for the size of the work, with workgroups of at most so many threads, and splits rows if it may.
func (k *rowKernel) choose(most int, split bool) {
	last := len(k.shape) - 1
	quads := (k.shape[last] + 3) / 4
	k.groups, k.units = 1, 1
	for _, a := range k.lines {
		k.groups *= k.counted(a, quads)
	}
	for _, a := range k.span {
		k.units *= k.counted(a, quads)
	}
	k.ragged = !k.columns && k.shape[last]%4 != 0
	held, copies := rowHeld, rowCopies
	switch n := k.varying(); {
	case k.costly() || n > 32:
		held, copies = 1, 1
	case n > 16:
		held, copies = 2, 2
	case k.columns && k.scan >= 0:
		copies = rowHeld
	case k.scan >= 0 && k.subgroup == 0:
		held = rowCopies
	}
	k.chooseTeam(most, held, split)
	k.loosen()
	k.pairs()
	k.fit(held, copies)
	if !k.held && split {
		k.cut(k.parts())
	}
}

// loosen disperses the lanes of the threads of a team where the elements of rows are not reached as whole words.
func (k *rowKernel) loosen() {
	if k.plain || k.columns || k.scan >= 0 || len(k.span) != 1 || k.team == 1 {
		return
	}
	varies, loose := false, false
	for i, v := range k.Out {
		if !k.Code[v].Row {
			varies = true
			if !k.loose(len(k.in) + i) {
				return
			}
		}
	}
	for i := range k.in {
		switch {
		case varies: // the stores decide
		case k.in[i].mode.whole():
			return
		case k.loose(i):
			loose = true
		}
	}
	if varies || loose {
		k.disperse(k.team)
		k.ragged = true
		k.units = dispersed(k.shape[len(k.shape)-1], k.team)
	}
}

// fit decides how many units a thread takes at once: all it has of a row, up to held, or of a longer one copies. The row is
// one piece.
func (k *rowKernel) fit(held, copies int) {
	k.held = k.units > 0 && k.units <= k.team*held
	k.copies = copies
	if k.held {
		k.copies = held
		for k.copies > 1 && k.units <= k.team*k.copies/2 {
			k.copies /= 2
		}
	}
	k.cut(1)
}

// counted returns the extent of an axis, in quads of the last.
func (k *rowKernel) counted(axis, quads int) int {
	if axis == len(k.shape)-1 {
		return quads
	}
	return k.shape[axis]
}

// A rowPreset is a size of workgroups and of the teams in them.
type rowPreset struct{ threads, team int }

// Presets by the length of rows that they hold.
var (
	heldRows    = []rowPreset{{rowThreads, 2}, {rowThreads, 4}, {rowThreads, 8}, {rowThreads, 32}, {rowThreads, 64}, {rowThreads, 256}, {512, 512}, {1024, 1024}}
	heldColumns = []rowPreset{{rowThreads, 1}, {rowThreads, 8}, {rowThreads, 32}, {512, 64}, {1024, 128}}
)

// Presets of rows that are not held, the best first. Teams that share columns leave as many of them to a workgroup as make lines of
// memory.
var (
	longRows     = []rowPreset{{rowThreads, 256}}
	onceColumns  = []rowPreset{{rowThreads, 8}, {rowThreads, 32}}         // read once
	againColumns = []rowPreset{{1024, 64}, {1024, 128}, {rowThreads, 32}} // read more than once
	scanColumns  = []rowPreset{{rowThreads, 32}}
)

// chooseTeam takes the smallest team whose threads can hold a row, up to held units each, and a larger one while all workgroups
// together have too few threads.
func (k *rowKernel) chooseTeam(most, held int, split bool) {
	fits := func(list []rowPreset) (some []rowPreset) {
		for _, p := range list {
			if p.threads <= most && k.scanWords(p) <= 2*sharedWords {
				some = append(some, p)
			}
		}
		return some
	}
	once := k.phases == 1 && !k.varies()
	holding, long := heldRows, longRows
	switch {
	case k.columns && k.scan >= 0:
		holding, long = heldColumns, scanColumns
	case k.columns && once:
		holding, long = heldColumns, onceColumns
	case k.columns:
		holding, long = heldColumns, againColumns
	}
	holding, long = fits(holding), fits(long)
	for i, p := range holding {
		if k.units > p.team*held || !k.columns && p.team < 8 && k.units > p.team {
			continue
		}
		// In large workgroups threads wait for many others. What is read once need not be held; rows that are few may be split.
		small := p.threads <= rowThreads
		if !small && once && k.busyWith(long[len(long)-1]) || !small && !once && !k.columns && k.groups < rowMany {
			break
		}
		k.rowPreset = p
		for _, p := range holding[i+1:] {
			if !k.busy() && k.units > k.team && (k.columns || p.threads == rowThreads) {
				k.rowPreset = p
			}
		}
		return
	}
	for _, p := range long {
		if k.rowPreset = p; k.busy() {
			return
		}
	}
	if split { // which makes it busy
		k.rowPreset = long[0]
	}
}

// scanWords returns about how many words of workgroup memory a scan takes.
func (k *rowKernel) scanWords(p rowPreset) int {
	if k.scan < 0 || p.team == 1 {
		return 0
	}
	c := *k
	c.rowPreset = p
	parts := rowHeld
	if k.columns || k.subgroup == 0 {
		parts = 4
	}
	return p.threads / c.crew().some * parts * k.reduction(k.scan).words()
}

// busy reports whether there are threads enough to occupy the GPU, and busyWith whether there would be.
func (k *rowKernel) busy() bool { return k.busyWith(k.rowPreset) }

func (k *rowKernel) busyWith(p rowPreset) bool { return k.groups*p.team >= rowBusy }

// blocks returns how many workgroups take all rows.
func (k *rowKernel) blocks() int {
	per := k.threads / k.team
	return (k.groups + per - 1) / per
}

// parts returns how many pieces to cut rows in, because they are few or longer than a thread may run.
func (k *rowKernel) parts() int {
	trips := k.trips()
	pieces := (trips*(k.phases+1) + rowTrips - 1) / rowTrips
	if k.busy() {
		return pieces
	}
	want := rowPieces
	if k.scan >= 0 {
		want = scanPieces
	}
	share := max(k.blocks()*k.threads/rowThreads, 1)
	return max(pieces, min((want+share-1)/share, trips/2))
}

// trips returns how often a team takes units until it has all of a row.
func (k *rowKernel) trips() int {
	once := k.team * k.copies
	return (k.units + once - 1) / once
}

// cut makes of each row so many pieces or fewer, each of which is a number of trips.
func (k *rowKernel) cut(pieces int) {
	trips := k.trips()
	k.pieces, k.length, k.stage = 1, trips*k.team*k.copies, 0
	if pieces > 1 {
		per := (trips + pieces - 1) / pieces
		k.pieces, k.length, k.stage = (trips+per-1)/per, per*k.team*k.copies, 1
	}
	k.full = !k.ragged && k.pieces*k.length == k.units && k.units >= rowLong
}
