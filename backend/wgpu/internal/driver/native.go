package driver

import (
	"context"
	"runtime"
)

// native is what a build's binding offers before a device is open.
type native interface {
	// adapters lists what there is; the index is the place in the slice.
	adapters() ([]Info, error)
	// open opens adapter i with its own limits and the given features.
	open(ctx context.Context, i int, o Options) (binding, Limits, Features, error)
}

// installHint says how to get an adapter.
func installHint() string {
	switch runtime.GOOS {
	case "darwin", "ios":
		return "needs a Mac with Metal"
	case "windows":
		return "install or update the driver of the GPU"
	}
	return "install a Vulkan driver and loader (Debian: mesa-vulkan-drivers libvulkan1; " +
		"Fedora: mesa-vulkan-drivers vulkan-loader; NVIDIA: its own driver, and libvulkan)"
}
