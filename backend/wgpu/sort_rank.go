package wgpu

import (
	"fmt"
	"strings"
)

// rankText returns the kernel that takes elements to their places and ranks them by subgroups. A subgroup has a part of the
// block, of which each thread has every so many elements, so that the subgroup sees them in their order. For each it finds the
// threads that have the same digit at the same time; the first of these counts them all. Sums of the counts tell where in the
// sorted block the elements of a subgroup and digit begin.
func (r *radixPass) rankText() string {
	var load, rank, keys, places, bits text
	for i := range r.each {
		load.line("let at%d = min(from_ + %du, $n. - 1u);", i, i*r.teams)
		load.line("var key%d = 0u;\n{ let at = at%d; key%d = KEY; }\nlet digit%d = select(255u, (key%d >> $shift.) & 255u, %du < left);", i, i, i, i, i, i*r.teams)
		rank.line("let rank%d = rank(digit%d, team, lane);", i, i)
		keys.line("let to%d = atomicLoad(&seen[team * 256u + digit%d]) + rank%d;", i, i, i)
		if r.width == 1 {
			keys.line("words[to%d] = key%d;", i, i)
		} else {
			keys.line("words[to%d] = digit%d;", i, i)
		}
		places.line("{ let at = at%d; words[to%d] = PLACE; }", i, i)
	}
	var out, last text
	for i := range r.each {
		digit := "(key >> $shift.) & 255u"
		if r.width == 2 {
			digit = "key"
		}
		out.line("let place%d = thread + %du;\nvar go%d = 0u;\n{ let key = words[place%d];\ngo%d = base + begins[%s] + place%d;", i, i*r.threads, i, i, i, digit, i)
		if r.keyed {
			out.line("if (place%d < count) { $to_keys[go%d] = key; }", i, i)
		}
		out.line("}")
		last.line("if (place%d < count) { $to_places[go%d] = words[place%d]; }", i, i, i)
	}
	for bit := range 8 {
		bits.line("{ let one = (digit >> %du) & 1u; same = same & (subgroupBallot(one == 1u).x ^ (one - 1u)); }", bit)
	}
	move := ""
	if !r.unplaced {
		move = "workgroupBarrier();\n" + places.String() + "workgroupBarrier();\n" + last.String()
	}
	return strings.NewReplacer("BITS", bits.String(), "LOADS", load.String(), "RANKS", rank.String(), "KEYS", keys.String(), "PLACES", move, "OUT", out.String(),
		"TEAMS", fmt.Sprint(r.threads/r.teams), "TEAM", fmt.Sprint(r.teams), "EACH", fmt.Sprint(r.each), "ALL", fmt.Sprintf("0x%xu", uint32(1<<r.teams-1)),
		"DIGITS", fmt.Sprint(max(256/r.threads, 1)), "COUNTED", fmt.Sprint(r.threads/r.teams*256)).Replace(rankKernel)
}

const rankKernel = `
var<workgroup> seen: array<atomic<u32>, COUNTED>;
var<workgroup> words: array<u32, BLOCK>;
var<workgroup> begins: array<u32, 256>;
var<workgroup> sums: array<u32, 32>;
fn rank(digit: u32, team: u32, lane: u32) -> u32 {
	var same = ALL;
	BITS
	let before = countOneBits(same & ((1u << lane) - 1u));
	var first = 0u;
	if (before == 0u) { first = atomicAdd(&seen[team * 256u + digit], countOneBits(same)); }
	return subgroupShuffle(first, firstTrailingBit(same)) + before;
}
$main
	let unit = min($group, $units. - 1u);
	let row = unit / $blocks.;
	let block = unit - row * $blocks.;
	let base = row * $n.;
	let first = block * BLOCKu;
	let count = select(0u, min(BLOCKu, $n. - first), $group < $units.);
	let within = team * EACHu * TEAMu + lane;
	let from_ = first + within;
	let left = max(count, within) - within;
	for (var i = thread; i < COUNTEDu; i += THREADSu) { atomicStore(&seen[i], 0u); }
	LOADS
	workgroupBarrier();
	RANKS
	workgroupBarrier();
	var total = 0u;
	for (var j = 0u; j < DIGITSu; j++) {
		let digit = thread * DIGITSu + j;
		if (digit < 256u) {
			for (var i = 0u; i < TEAMSu; i++) { total += atomicLoad(&seen[i * 256u + digit]); }
		}
	}
	var before = subgroupExclusiveAdd(total);
	if (lane == TEAMu - 1u) { sums[team] = before + total; }
	workgroupBarrier();
	for (var i = 0u; i < team; i++) { before += sums[i]; }
	for (var j = 0u; j < DIGITSu; j++) {
		let digit = thread * DIGITSu + j;
		if (digit < 256u) {
			begins[digit] = $starts[(row * 256u + digit) * $blocks. + block] - before;
			for (var i = 0u; i < TEAMSu; i++) {
				let n = atomicLoad(&seen[i * 256u + digit]);
				atomicStore(&seen[i * 256u + digit], before);
				before += n;
			}
		}
	}
	workgroupBarrier();
	KEYS
	workgroupBarrier();
	OUT
	PLACES
}
`
