package backend

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

// What the driver's API calls these (cuda.h); its results are 0 for success.
enum { memory_pools_supported = 115, release_threshold = 4 };

typedef int (*init_fn)(unsigned int);
typedef int (*device_fn)(int *, int);
typedef int (*attribute_fn)(int *, int, int);
typedef int (*pool_fn)(void **, int);
typedef int (*set_fn)(void *, int, void *);

// pool opens the driver's library and finds the memory pool of the first visible card. It returns what failed, or NULL.
static const char *pool(const char *library, void **out, set_fn *set) {
	void *cuda = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (cuda == NULL) return dlerror();
	init_fn init = (init_fn)dlsym(cuda, "cuInit");
	device_fn device = (device_fn)dlsym(cuda, "cuDeviceGet");
	attribute_fn attribute = (attribute_fn)dlsym(cuda, "cuDeviceGetAttribute");
	pool_fn pool = (pool_fn)dlsym(cuda, "cuDeviceGetDefaultMemPool");
	*set = (set_fn)dlsym(cuda, "cuMemPoolSetAttribute");
	if (!init || !device || !attribute || !pool || !*set) return "the driver is older than memory pools (CUDA 11.2)";
	int ordinal, supported = 0;
	if (init(0) != 0) return "cuInit failed";
	if (device(&ordinal, 0) != 0) return "no card is visible";
	if (attribute(&supported, memory_pools_supported, ordinal) != 0 || !supported) return "the card has no memory pools";
	if (pool(out, ordinal) != 0) return "the card's memory pool cannot be had";
	return NULL;
}

static const char *keep(const char *library, int write) {
	void *p;
	set_fn set;
	const char *failed = pool(library, &p, &set);
	if (failed || !write) return failed;
	uint64_t all = UINT64_MAX;
	return set(p, release_threshold, &all) == 0 ? NULL : "the memory pool does not keep what it took";
}
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// driverLibrary is the NVIDIA driver's library, which the plugin loads too.
const driverLibrary = "libcuda.so.1"

// hasPool says in its error why the first visible card has no memory pool that XLA's allocator cuda_async could take from.
func hasPool(library string) error { return callPool(library, 0) }

// keepPool makes the first visible card's memory pool keep the memory that it once took, up to the end of the process. XLA sets it to
// give everything back at each synchronisation, so that a pass which needs 18 GiB maps and unmaps them every time.
func keepPool(library string) error { return callPool(library, 1) }

func callPool(library string, write C.int) error {
	runtime.LockOSThread() // dlerror's text is the thread's
	defer runtime.UnlockOSThread()
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	if failed := C.keep(name, write); failed != nil {
		return errors.New(C.GoString(failed))
	}
	return nil
}
