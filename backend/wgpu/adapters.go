package wgpu

import (
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// An Adapter is a GPU, or software in the place of one, as a graphics API shows it.
type Adapter struct {
	Name     string // of the hardware: "NVIDIA H200"
	Kind     string // "discrete", "integrated", "other" or "software"
	API      string // "vulkan", "metal", "d3d12", "opengl"
	Driver   string // version text
	Binding  string // the WebGPU library and its version
	Features string // the optional capabilities kernels make use of, or "none"
	Software bool   // never a default device

	MaxBytes    int // largest tensor
	MaxOperands int // inputs and outputs of a kernel
	Invocations int // threads of a workgroup
}

// Adapters lists the adapters of this machine in the order in which "wgpu", "wgpu:1", … open them. The error says what is
// missing: cgo in this build, a Vulkan loader, a driver, and what to install.
func Adapters() ([]Adapter, error) {
	list, err := driver.Adapters()
	if err != nil {
		return nil, translate(err)
	}
	out := make([]Adapter, len(list))
	for i, a := range list {
		out[i] = Adapter{
			Name: a.Name, Kind: a.Type.String(), API: a.API, Driver: a.Driver, Binding: a.Binding,
			Features: a.Features.String(), Software: a.Type == driver.Software,
			MaxBytes:    int(min(a.Limits.BufferSize, a.Limits.StorageBinding)),
			MaxOperands: int(min(a.Limits.StorageSlots, maxSlots)), Invocations: int(a.Limits.Invocations),
		}
	}
	return out, nil
}
