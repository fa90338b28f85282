package wgpu

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/weft-go/weft/ops"
)

// TestSubgroups tests that subgroups are what kernels take them for: neighbours, all of one size, which the others' votes and
// numbers reach.
func TestSubgroups(t *testing.T) {
	e := openTest(t)
	if e.subgroup == 0 {
		t.Skip("no subgroups to count on")
	}
	for _, threads := range []int{64, 128, 256} {
		out := upload(t, e, ops.Uint32, make([]int, 3*threads))
		k := &wordKernel{e: e, label: "test.subgroups", threads: threads, teams: e.subgroup}
		k.array("to", out, true)
		e.mu.Lock()
		err := k.run(1, fmt.Sprint(threads), func() string {
			return `
$main
	$to[3u * thread] = subgroupBallot(thread % 3u == 0u).x;
	$to[3u * thread + 1u] = subgroupShuffle(thread, 3u);
	$to[3u * thread + 2u] = subgroupExclusiveAdd(thread);
}
`
		})
		e.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		mem := make([]byte, out.size)
		if err := e.Read(t.Context(), mem, out, 0); err != nil {
			t.Fatal(err)
		}
		for i := range threads {
			first := i - i%e.subgroup
			var want [3]uint32
			for j := range e.subgroup {
				if (first+j)%3 == 0 {
					want[0] |= 1 << j
				}
				if first+j < i {
					want[2] += uint32(first + j)
				}
			}
			want[1] = uint32(first + 3)
			for j := range want {
				if got := binary.LittleEndian.Uint32(mem[4*(3*i+j):]); got != want[j] {
					t.Fatalf("%d threads: number %d of thread %d is %#x, want %#x", threads, j, i, got, want[j])
				}
			}
		}
	}
}
