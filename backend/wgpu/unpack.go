package wgpu

import (
	"context"
	"encoding/binary"
)

// probeUnpack finds out whether the device's own conversion of float16 to float32 is right for all numbers: the standard lets
// it take subnormal ones for 0. It is one instruction where that of the prelude, which gives the bits of a NaN too, takes
// a dozen.
func (e *engine) probeUnpack() error {
	wrong, err := e.Alloc(4)
	if err != nil {
		return err
	}
	defer wrong.Release()
	word := make([]byte, 4)
	if err := e.Write(wrong, 0, word); err != nil {
		return err
	}
	k := &wordKernel{e: e, label: "probe.unpack", threads: 256}
	k.array("wrong", wrong.(*buffer), true)
	const pairs = 1 << 15 // of all float16
	e.mu.Lock()
	err = k.run(pairs/k.threads, "", func() string {
		return `fn differs(x: f32, h: u32) -> bool {
let y = f16_value_(h);
return bitcast<u32>(x) != bitcast<u32>(y) && !(isnan_(x) && isnan_(y));
}
$main
let low = ($group * 256u + thread) * 2u;
let both = unpack2x16float(low | ((low + 1u) << 16u));
if (differs(both.x, low) || differs(both.y, low + 1u)) { $wrong[0] = 1u; }
}
`
	})
	e.mu.Unlock()
	if err != nil {
		return err
	}
	if err := e.Read(context.Background(), word, wrong, 0); err != nil {
		return err
	}
	e.unpacks = binary.LittleEndian.Uint32(word) == 0
	return nil
}
