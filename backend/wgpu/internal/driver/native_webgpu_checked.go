//go:build cgo && !js && !cogentcore && (!linux || android)

package driver

import "github.com/oliverbestmann/webgpu/wgpu"

// newModule compiles WGSL.
func newModule(d *wgpu.Device, p *PipelineDesc) (*wgpu.ShaderModule, error) {
	return checkedModule(d, p)
}
