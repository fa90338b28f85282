package wgpu

import "github.com/weft-go/weft/backend/wgpu/internal/driver"

// maxSlots bounds the storage slots of a kernel of ours. WebGPU promises 8.
const maxSlots = 12

// groups keeps bind groups: which buffers stand in the slots of a pipeline. A plan that runs again finds
// its own.
type groups struct {
	byKey    map[groupKey]driver.Group
	byBuffer map[driver.Buffer][]groupKey
	created  int64
}

// A groupKey is a signature of slots and the buffers in them.
type groupKey struct {
	signature int
	buffers   [maxSlots]driver.Buffer
}

// maxGroups bounds the cache; it starts anew when full, which costs a microsecond a group.
const maxGroups = 16384

func (g *groups) get(e *engine, l launch) (driver.Group, error) {
	key := groupKey{signature: l.pipeline.signature}
	for i, b := range l.buffers {
		key.buffers[i] = b.memory.handle
	}
	if h, ok := g.byKey[key]; ok {
		return h, nil
	}
	bindings := make([]driver.Binding, 0, maxSlots+1)
	for _, b := range l.buffers {
		bindings = append(bindings, driver.Binding{Buffer: b.memory.handle})
	}
	bindings = append(bindings, driver.Binding{Buffer: e.out.arena, Size: uint64(l.pipeline.args)})
	h, err := e.dev.NewGroup(l.pipeline.label, l.pipeline.handle, bindings)
	if err != nil {
		return 0, err
	}
	if len(g.byKey) >= maxGroups {
		g.clear(e)
	}
	g.created++
	g.byKey[key] = h
	for _, b := range key.buffers[:len(l.buffers)] {
		g.byBuffer[b] = append(g.byBuffer[b], key)
	}
	return h, nil
}

// forget drops the groups that memory about to be freed stands in.
func (g *groups) forget(e *engine, m pooled) {
	for _, key := range g.byBuffer[m.handle] {
		if h, ok := g.byKey[key]; ok {
			e.drop(m.batch, func() { e.dev.FreeGroup(h) })
			delete(g.byKey, key)
		}
	}
	delete(g.byBuffer, m.handle)
}

func (g *groups) clear(e *engine) {
	for _, h := range g.byKey {
		e.drop(e.batch.id, func() { e.dev.FreeGroup(h) })
	}
	clear(g.byKey)
	clear(g.byBuffer)
}
