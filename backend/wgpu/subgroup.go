package wgpu

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// evenSubgroups are the vendors, by their numbers, whose drivers give all kernels subgroups of one size: NVIDIA and Mesa's
// lavapipe. Others choose the size for each kernel, and the text of one could not count on it.
var evenSubgroups = map[uint32]bool{0x10de: true, 0x10005: true}

// probeSubgroups finds out how many threads a subgroup has, where kernels may make use of that.
func (e *engine) probeSubgroups() error {
	if !e.info.Features.Has(driver.Subgroups) || !evenSubgroups[e.info.VendorID] {
		return nil
	}
	const threads = 256
	e.mu.Lock()
	defer e.mu.Unlock()
	out, err := e.alloc(4 * threads)
	if err != nil {
		return err
	}
	defer e.release(out)
	k := wordKernel{e: e, label: "probe.subgroups", threads: threads, teams: 1}
	k.array("to", out, true)
	if err := k.run(1, "", func() string { return probeText }); err != nil {
		return err
	}
	mem := make([]byte, 4*threads)
	if err := e.fetch(context.Background(), out, 0, mem); err != nil {
		return err
	}
	size := binary.LittleEndian.Uint32(mem)
	for i := range threads {
		if got := binary.LittleEndian.Uint32(mem[4*i:]); got != size {
			return fmt.Errorf("wgpu: probe: subgroups of %d and of %d threads", size, got) //nolint:err113 // nobody tells it from others
		}
	}
	if size == 8 || size == 16 || size == 32 {
		e.subgroup = int(size)
	}
	return nil
}

// probeText writes the size of each thread's subgroup, and 0 where the subgroups do not make up the workgroup.
const probeText = `
$main
	let size = subgroupAdd(1u);
	$to[team * size + lane] = size;
}
`
