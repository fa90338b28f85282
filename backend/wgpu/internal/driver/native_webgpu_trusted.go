//go:build cgo && linux && !android && !cogentcore

package driver

/*
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The package lacks this call of its static library. The functions are weak because cgo links this file alone once.
#define LIB extern __attribute__((weak))
typedef struct { char const *data; size_t length; } view;
typedef struct chained { struct chained *next; uint32_t kind; } chained;
typedef struct { chained chain; view code; } wgsl;
typedef struct { chained *next; view label; } module_desc;
typedef struct { chained *next; uint32_t mode; void (*callback)(int, int, view, void *, void *); void *to, *unused; } scope;
typedef struct { uint64_t id; } future;
LIB void *wgpuDeviceCreateShaderModuleTrusted(void *device, module_desc const *desc, uint64_t checks);
LIB void wgpuShaderModuleRelease(void *module);
LIB void wgpuDevicePushErrorScope(void *device, int filter);
LIB future wgpuDevicePopErrorScope(void *device, scope info);

static int has_trusted(void) {
	return wgpuDeviceCreateShaderModuleTrusted != NULL && wgpuShaderModuleRelease != NULL && wgpuDevicePushErrorScope != NULL && wgpuDevicePopErrorScope != NULL;
}

static void on_error(int status, int kind, view text, void *to, void *unused) {
	if (kind != 1) *(char **)to = strndup(text.data, text.length);
}

// trusted_module returns NULL and the error's text, to be freed, or the module.
static void *trusted_module(void *device, char const *label, char const *code, char **error) {
	wgsl source = {{NULL, 2}, {code, strlen(code)}};
	module_desc desc = {&source.chain, {label, strlen(label)}};
	scope info = {NULL, 0, on_error, error, NULL};
	wgpuDevicePushErrorScope(device, 1);
	void *module = wgpuDeviceCreateShaderModuleTrusted(device, &desc, 0);
	wgpuDevicePopErrorScope(device, info);
	if (*error != NULL && module != NULL) {
		wgpuShaderModuleRelease(module);
		return NULL;
	}
	return module;
}
*/
import "C"

import (
	"errors"
	"unsafe"

	"github.com/oliverbestmann/webgpu/wgpu"
)

// newModule compiles WGSL, if it is trusted without checks of its indices and loops. The driver's checks of storage buffers stay.
func newModule(d *wgpu.Device, p *PipelineDesc) (*wgpu.ShaderModule, error) {
	if !p.Trusted || C.has_trusted() == 0 {
		return checkedModule(d, p)
	}
	label, code := C.CString(p.Label), C.CString(p.WGSL)
	defer C.free(unsafe.Pointer(label))
	defer C.free(unsafe.Pointer(code))
	var text *C.char
	ref := C.trusted_module(*(*unsafe.Pointer)(unsafe.Pointer(d)), label, code, &text) // a Device and a ShaderModule begin with C's
	if text != nil {
		defer C.free(unsafe.Pointer(text))
		return nil, errors.New(C.GoString(text))
	}
	m := new(wgpu.ShaderModule)
	*(*unsafe.Pointer)(unsafe.Pointer(m)) = ref
	return m, nil
}
