//go:build cgo && !js && !cogentcore

package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/oliverbestmann/webgpu/wgpu"
)

// here is wgpu-native through github.com/oliverbestmann/webgpu.
var here native = &webgpu{}

// webgpu keeps the instance and its adapters for the life of the process.
type webgpu struct {
	instance *wgpu.Instance
	found    []*wgpu.Adapter // in the order of the list
}

// The backends asked for: Vulkan, Metal, D3D12. OpenGL would list each card a
// second time, with lower limits.
const backends wgpu.InstanceBackend = 1<<0 | 1<<2 | 1<<3

func (w *webgpu) adapters() ([]Info, error) {
	// The library's log callback reads its text with the wrong type.
	wgpu.SetLogLevel(wgpu.LogLevelOff)
	w.instance = wgpu.CreateInstance(&wgpu.InstanceDescriptor{Backends: backends})
	type candidate struct {
		*wgpu.Adapter
		info Info
	}
	var list []candidate
	for _, a := range w.instance.EnumerateAdapters(nil) {
		list = append(list, candidate{a, describe(a)})
	}
	if len(list) == 0 {
		return nil, errors.New("no adapter found: " + installHint())
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.info.Type, b.info.Type) })
	infos := make([]Info, len(list))
	for i, c := range list {
		c.info.Index = i
		infos[i] = c.info
		w.found = append(w.found, c.Adapter)
	}
	return infos, nil
}

func describe(a *wgpu.Adapter) Info {
	i := a.GetInfo()
	info := Info{
		Name: i.Device, Vendor: i.Vendor, Driver: i.Description, API: i.BackendType.String(),
		Type: Other, VendorID: i.VendorId, DeviceID: i.DeviceId,
		Binding: fmt.Sprintf("oliverbestmann/webgpu (wgpu-native %v)", version()),
		Limits:  limitsOf(a.GetLimits()),
	}
	switch i.AdapterType {
	case wgpu.AdapterTypeDiscreteGPU:
		info.Type = Discrete
	case wgpu.AdapterTypeIntegratedGPU:
		info.Type = Integrated
	case wgpu.AdapterTypeCPU:
		info.Type = Software
	}
	for f, names := range nativeFeatures {
		if !slices.ContainsFunc(names, func(n wgpu.FeatureName) bool { return !a.HasFeature(n) }) {
			info.Features |= f
		}
	}
	return info
}

// version is the library's, as four numbers.
func version() string {
	v := uint32(wgpu.GetVersion())
	return fmt.Sprintf("%d.%d.%d.%d", v>>24, v>>16&0xff, v>>8&0xff, v&0xff)
}

// nativeFeatures are the library's names of ours; all of them are needed.
var nativeFeatures = map[Features][]wgpu.FeatureName{
	F16:         {wgpu.FeatureNameShaderF16},
	F64:         {wgpu.NativeFeatureShaderF64},
	I64:         {wgpu.NativeFeatureShaderInt64},
	Subgroups:   {wgpu.NativeFeatureSubgroup, wgpu.NativeFeatureSubgroupBarrier},
	Timestamps:  {wgpu.FeatureNameTimestampQuery},
	AtomicFloat: {wgpu.NativeFeatureShaderFloat32Atomic},
	Immediates:  {wgpu.NativeFeatureImmediates},
}

func limitsOf(l wgpu.Limits) Limits {
	return Limits{
		BufferSize:      min(l.MaxBufferSize, maxBuffer),
		StorageBinding:  l.MaxStorageBufferBindingSize,
		UniformBinding:  l.MaxUniformBufferBindingSize,
		StorageSlots:    l.MaxStorageBuffersPerShaderStage,
		WorkgroupMemory: l.MaxComputeWorkgroupStorageSize,
		Invocations:     l.MaxComputeInvocationsPerWorkgroup,
		WorkgroupSize:   [3]uint32{l.MaxComputeWorkgroupSizeX, l.MaxComputeWorkgroupSizeY, l.MaxComputeWorkgroupSizeZ},
		Groups:          l.MaxComputeWorkgroupsPerDimension,
		StorageAlign:    l.MinStorageBufferOffsetAlignment,
		UniformAlign:    l.MinUniformBufferOffsetAlignment,
	}
}

// maxBuffer bounds what is asked for: some drivers report the greatest uint64,
// which is also the library's word for "give me the default".
const maxBuffer = 1 << 40

func (w *webgpu) open(_ context.Context, i int, o Options) (binding, Limits, Features, error) {
	a := w.found[i]
	lim := wgpu.DefaultLimits()
	if !o.Baseline {
		lim = a.GetLimits()
		lim.MaxBufferSize = min(lim.MaxBufferSize, maxBuffer)
	}
	var names []wgpu.FeatureName
	for f, n := range nativeFeatures {
		if o.Features.Has(f) {
			names = append(names, n...)
		}
	}
	// No DeviceLostCallback: it would be called where Go may not be entered.
	dev, err := a.RequestDevice(&wgpu.DeviceDescriptor{RequiredLimits: &lim, RequiredFeatures: names})
	if err != nil {
		return nil, Limits{}, 0, err
	}
	b := &webgpuDevice{dev: dev, queue: dev.GetQueue()}
	got := limitsOf(dev.GetLimits())
	runtime.KeepAlive(w)
	return b, got, o.Features, nil
}
