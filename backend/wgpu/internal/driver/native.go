package driver

import "context"

// native is what a build's binding offers before a device is open.
type native interface {
	// adapters lists what there is; the index is the place in the slice.
	adapters() ([]Info, error)
	// open opens adapter i with its own limits and the given features.
	open(ctx context.Context, i int, o Options) (binding, Limits, Features, error)
}

// installHint says how to get an adapter.
const installHint = "install a Vulkan driver (Debian: mesa-vulkan-drivers libvulkan1; Fedora: mesa-vulkan-drivers vulkan-loader; NVIDIA: the vendor's driver and libvulkan)"
