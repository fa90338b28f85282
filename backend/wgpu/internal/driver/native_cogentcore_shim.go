//go:build cgo && !js && cogentcore

package driver

/*
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The package's own MapAsync and OnSubmittedWorkDone hand the library the
// address of a Go variable that may be gone when it is used. So the two are
// called from here, and the answers come into C memory. The functions are in
// the package's static library; weak, because cgo links this file alone once.
#define LIB extern __attribute__((weak))
LIB void wgpuBufferMapAsync(void *buffer, uint32_t mode, size_t off, size_t size, void (*cb)(int status, void *data), void *data);
LIB void wgpuQueueOnSubmittedWorkDone(void *queue, void (*cb)(int status, void *data), void *data);
LIB void wgpuDevicePushErrorScope(void *device, int filter);
LIB void wgpuDevicePopErrorScope(void *device, void (*cb)(int type, char const *text, void *data), void *data);

typedef struct { int status, done; } answer;

static void on_answer(int status, void *data) {
	answer *a = data;
	a->status = status;
	__atomic_store_n(&a->done, 1, __ATOMIC_RELEASE);
}

static int is_done(answer *a) { return __atomic_load_n(&a->done, __ATOMIC_ACQUIRE); }

static void on_error(int type, char const *text, void *data) {
	if (type != 0 && text != NULL) *(char **)data = strdup(text);
}

// map_async returns the error's text, to be freed, or NULL.
static char *map_async(void *device, void *buffer, uint32_t mode, size_t off, size_t size, answer *a) {
	char *text = NULL;
	wgpuDevicePushErrorScope(device, 0);
	wgpuBufferMapAsync(buffer, mode, off, size, on_answer, a);
	wgpuDevicePopErrorScope(device, on_error, &text);
	return text;
}

static void work_done(void *queue, answer *a) { wgpuQueueOnSubmittedWorkDone(queue, on_answer, a); }
*/
import "C"

import (
	"errors"
	"slices"
	"unsafe"

	"github.com/cogentcore/webgpu/wgpu"
)

// waiting is an answer that the library will write.
type waiting struct {
	cell *C.answer
	done func(ok bool)
}

func newAnswer() *C.answer { return (*C.answer)(C.calloc(1, C.sizeof_answer)) }

// Of the package's types only these fields matter: the native references.
type (
	rawDevice struct{ ref unsafe.Pointer }
	rawOwned  struct{ device, ref unsafe.Pointer } // Buffer, Queue
)

func (n *cogentDevice) mapBuffer(b object, write bool, off, size uint64, done func(bool)) error {
	mode := wgpu.MapModeRead
	if write {
		mode = wgpu.MapModeWrite
	}
	cell := newAnswer()
	dev := (*rawDevice)(unsafe.Pointer(n.dev)).ref
	buf := (*rawOwned)(unsafe.Pointer(b.(*wgpu.Buffer))).ref
	text := C.map_async(dev, buf, C.uint32_t(mode), C.size_t(off), C.size_t(size), cell)
	n.waiting = append(n.waiting, waiting{cell, done})
	if text != nil {
		defer C.free(unsafe.Pointer(text))
		return errors.New(C.GoString(text))
	}
	return nil
}

// afterWork has done called when the work submitted so far is complete.
func (n *cogentDevice) afterWork(done func()) {
	cell := newAnswer()
	C.work_done((*rawOwned)(unsafe.Pointer(n.queue)).ref, cell)
	n.waiting = append(n.waiting, waiting{cell, func(bool) { done() }})
}

// answer passes the answers on that have come.
func (n *cogentDevice) answer() {
	n.waiting = slices.DeleteFunc(n.waiting, func(w waiting) bool {
		if C.is_done(w.cell) == 0 {
			return false
		}
		w.done(w.cell.status == 0)
		C.free(unsafe.Pointer(w.cell))
		return true
	})
}
