//go:build cgo && !js && cogentcore

package driver

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/cogentcore/webgpu/wgpu"
)

// here is wgpu-native through github.com/cogentcore/webgpu.
var here native = &cogent{idle: map[deviceKey][]*cogentDevice{}}

// cogent keeps the instance and its adapters for the life of the process.
type cogent struct {
	instance *wgpu.Instance
	found    []*wgpu.Adapter // in the order of the list

	mu   sync.Mutex
	idle map[deviceKey][]*cogentDevice // closed; see cogentDevice.release
}

// deviceKey is what an open device was asked to be.
type deviceKey struct {
	adapter  int
	baseline bool
}

func (c *cogent) adapters() ([]Info, error) {
	wgpu.SetLogLevel(wgpu.LogLevelOff)
	// With a descriptor the package hands over memory it has not set.
	c.instance = wgpu.CreateInstance(nil)
	type candidate struct {
		*wgpu.Adapter
		info Info
	}
	var list []candidate
	for _, a := range c.instance.EnumerateAdapters(nil) {
		i := a.GetInfo()
		if i.BackendType == wgpu.BackendTypeOpenGL || i.BackendType == wgpu.BackendTypeOpenGLES {
			continue // each card once more, with lower limits
		}
		list = append(list, candidate{a, describeCogent(i, a.GetLimits().Limits)})
	}
	if len(list) == 0 {
		return nil, errors.New("no adapter found: " + installHint())
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.info.Type, b.info.Type) })
	infos := make([]Info, len(list))
	for i, l := range list {
		l.info.Index = i
		infos[i] = l.info
		c.found = append(c.found, l.Adapter)
	}
	return infos, nil
}

// describeCogent gives no features: the compiler knows neither f16, i64 nor
// subgroups, the numbers of the library's own features differ from platform
// to platform, and the length of a time stamp's tick cannot be asked for.
func describeCogent(i wgpu.AdapterInfo, l wgpu.Limits) Info {
	info := Info{
		// The package's Name is a number.
		Name: cmp.Or(i.DriverDescription, i.Name), Vendor: i.VendorName, API: i.BackendType.String(),
		Type: Other, VendorID: i.VendorId, DeviceID: i.DeviceId,
		Binding: "cogentcore/webgpu 0.23.0",
		Limits:  cogentLimits(l),
	}
	switch i.AdapterType {
	case wgpu.AdapterTypeDiscreteGPU:
		info.Type = Discrete
	case wgpu.AdapterTypeIntegratedGPU:
		info.Type = Integrated
	case wgpu.AdapterTypeCPU:
		info.Type = Software
	}
	return info
}

func cogentLimits(l wgpu.Limits) Limits {
	return Limits{
		BufferSize:      min(l.MaxBufferSize, cogentBuffer),
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

// cogentBuffer bounds buffers: the library does not know what a driver
// allocates at most, which is just below 4 GiB for the common ones.
const cogentBuffer = 4<<30 - 2<<20

func (c *cogent) open(_ context.Context, i int, o Options) (binding, Limits, Features, error) {
	key := deviceKey{i, o.Baseline}
	if n := c.takeIdle(key); n != nil {
		return n, cogentLimits(n.dev.GetLimits().Limits), 0, nil
	}
	lim := undefinedLimits()
	if !o.Baseline {
		a := c.found[i].GetLimits().Limits
		lim.MaxBufferSize = min(a.MaxBufferSize, cogentBuffer)
		lim.MaxStorageBufferBindingSize = a.MaxStorageBufferBindingSize
		lim.MaxUniformBufferBindingSize = a.MaxUniformBufferBindingSize
		lim.MaxStorageBuffersPerShaderStage = a.MaxStorageBuffersPerShaderStage
		lim.MaxComputeWorkgroupStorageSize = a.MaxComputeWorkgroupStorageSize
		lim.MaxComputeInvocationsPerWorkgroup = a.MaxComputeInvocationsPerWorkgroup
		lim.MaxComputeWorkgroupSizeX = a.MaxComputeWorkgroupSizeX
		lim.MaxComputeWorkgroupSizeY = a.MaxComputeWorkgroupSizeY
		lim.MaxComputeWorkgroupSizeZ = a.MaxComputeWorkgroupSizeZ
	}
	// No DeviceLostCallback: the package hands over the address of a Go
	// variable, which the collector may have freed by the time of the call.
	dev, err := c.found[i].RequestDevice(&wgpu.DeviceDescriptor{RequiredLimits: &wgpu.RequiredLimits{Limits: lim}})
	if err != nil {
		return nil, Limits{}, 0, err
	}
	n := &cogentDevice{home: c, key: key, dev: dev, queue: dev.GetQueue()}
	return n, cogentLimits(dev.GetLimits().Limits), 0, nil
}

func (c *cogent) takeIdle(k deviceKey) *cogentDevice {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.idle[k]
	if len(list) == 0 {
		return nil
	}
	n := list[len(list)-1]
	c.idle[k] = list[:len(list)-1]
	return n
}

func (c *cogent) putIdle(n *cogentDevice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle[n.key] = append(c.idle[n.key], n)
}

// undefinedLimits asks for WebGPU's defaults. The limits that an adapter
// reports cannot be passed back: one of them is memory the package has not set.
func undefinedLimits() wgpu.Limits {
	const u, w = wgpu.LimitU32Undefined, wgpu.LimitU64Undefined
	return wgpu.Limits{
		MaxTextureDimension1D: u, MaxTextureDimension2D: u, MaxTextureDimension3D: u, MaxTextureArrayLayers: u,
		MaxBindGroups: u, MaxBindingsPerBindGroup: u,
		MaxDynamicUniformBuffersPerPipelineLayout: u, MaxDynamicStorageBuffersPerPipelineLayout: u,
		MaxSampledTexturesPerShaderStage: u, MaxSamplersPerShaderStage: u,
		MaxStorageBuffersPerShaderStage: u, MaxStorageTexturesPerShaderStage: u, MaxUniformBuffersPerShaderStage: u,
		MaxUniformBufferBindingSize: w, MaxStorageBufferBindingSize: w,
		MinUniformBufferOffsetAlignment: u, MinStorageBufferOffsetAlignment: u,
		MaxVertexBuffers: u, MaxBufferSize: w, MaxVertexAttributes: u, MaxVertexBufferArrayStride: u,
		MaxInterStageShaderComponents: u, MaxInterStageShaderVariables: u,
		MaxColorAttachments: u, MaxColorAttachmentBytesPerSample: u,
		MaxComputeWorkgroupStorageSize: u, MaxComputeInvocationsPerWorkgroup: u,
		MaxComputeWorkgroupSizeX: u, MaxComputeWorkgroupSizeY: u, MaxComputeWorkgroupSizeZ: u,
		MaxComputeWorkgroupsPerDimension: u,
	}
}
