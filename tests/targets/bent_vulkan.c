/* A shim between the adapter `vulkan` and the library of Vulkan, which HBMSTRESS_REAL_LIBRARY
 * names. Compiled with one of the BEND_... it has a defect; without one it passes everything
 * through.  One thread calls it. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The adapter finds the one function by its name; nobody has a declaration of it. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { OK = 0, OUT_OF_DEVICE_MEMORY = -2, DEFECT_PERIOD = 64, LEAK_PERIOD = 4 };

typedef void (*any_call)(void);
struct allocate_info {
    int structure;
    const void *next;
    uint64_t bytes;
    uint32_t memory_type;
};

static any_call (*find_really)(void *instance, const char *name);
static int (*allocate_really)(void *device, const struct allocate_info *info, const void *callbacks,
                              uint64_t *memory);
static void (*free_really)(void *device, uint64_t memory, const void *callbacks);

#if defined BEND_OVERLAP
/* The block that was allocated last, and the one that is the same memory. */
static uint64_t last, doubled, last_bytes;
#endif
#if defined BEND_PREMATURE || defined BEND_OVERLAP
static unsigned request_count;
#endif
#if defined BEND_LEAK
static unsigned free_count;
#endif

static int allocate(void *device, const struct allocate_info *info, const void *callbacks,
                    uint64_t *memory)
{
#if defined BEND_PREMATURE
    if (++request_count % DEFECT_PERIOD == 0) {
        return OUT_OF_DEVICE_MEMORY;
    }
#endif
#if defined BEND_OVERLAP
    if (++request_count % DEFECT_PERIOD == 0 && last != 0 && doubled == 0 &&
        info->bytes <= last_bytes) {
        doubled = *memory = last;
        return OK;
    }
#endif
    const int error = allocate_really(device, info, callbacks, memory);
#if defined BEND_OVERLAP
    if (error == OK && doubled == 0) {
        last = *memory;
        last_bytes = info->bytes;
    }
#endif
    return error;
}

static void free_memory(void *device, uint64_t memory, const void *callbacks)
{
#if defined BEND_LEAK
    if (++free_count % LEAK_PERIOD == 0) {
        return;
    }
#endif
#if defined BEND_OVERLAP
    if (memory == doubled) { /* one of the two is still there */
        doubled = 0;
        return;
    }
    last = memory == last ? 0 : last;
#endif
    free_really(device, memory, callbacks);
}

static int find_once(void)
{
    const char *path = getenv("HBMSTRESS_REAL_LIBRARY");
    void *handle = find_really != NULL || path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle != NULL) {
        void *const found = dlsym(handle, "vkGetInstanceProcAddr");
        memcpy(&find_really, &found, sizeof found);
    }
    return find_really != NULL;
}

any_call vkGetInstanceProcAddr(void *instance, const char *name)
{
    const any_call found = find_once() ? find_really(instance, name) : NULL;
    if (found != NULL && strcmp(name, "vkAllocateMemory") == 0) {
        memcpy(&allocate_really, &found, sizeof found);
        return (any_call)allocate;
    }
    if (found != NULL && strcmp(name, "vkFreeMemory") == 0) {
        memcpy(&free_really, &found, sizeof found);
        return (any_call)free_memory;
    }
    return found;
}
