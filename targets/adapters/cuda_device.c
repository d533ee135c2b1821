#include "targets/adapters/private/cuda.h"

#include "targets/adapters/private/adapter.h"
#include "targets/adapters/private/library.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static_assert(sizeof(struct cuda_pool_properties) == 88, "as the driver has it");

enum { ATTRIBUTE_HAS_POOLS = 115 };

/* The one of this process. */
static struct cuda_device device;
static void *context;
static pid_t loader;                       /* which process loaded the driver; 0: none has */
static char failure[LIBRARY_REASON_BYTES]; /* "" where it was started */

const char *cuda_error_name(const struct cuda_calls *cuda, int error)
{
    const char *name = NULL;
    return cuda->error_name(error, &name) == CUDA_OK && name != NULL ? name
                                                                     : "an error without a name";
}

static const struct library_call calls[] = {
#define CUDA_CALL(symbol, name, parameters) {symbol, &device.calls.name},
    CUDA_CALLS
#undef CUDA_CALL
    {NULL, NULL}};
const struct library library_cuda = {.file = "libcuda.so.1",
                                     .package = "libcuda1",
                                     .calls = calls,
                                     .is_usable = cuda_device_is_usable,
                                     .examine = cuda_device_examine};

static bool make_streams(uint64_t shared_address, int *error)
{
    const struct cuda_calls *const cuda = &device.calls;
    *error = cuda->stream_create(&device.idle, CUDA_STREAM_NON_BLOCKING);
    for (size_t i = 0; i < CUDA_STREAM_COUNT_MAX && *error == CUDA_OK; i++) {
        struct cuda_stream *const stream = &device.streams[i];
        *error = cuda->stream_create(&stream->stream, CUDA_STREAM_NON_BLOCKING);
        stream->flag = &device.shared->flags[i];
        stream->flag_address = shared_address + i * sizeof *device.shared->flags;
    }
    return *error == CUDA_OK;
}

/* NULL, or the step that failed. */
static const char *start_steps(int *error)
{
    const struct cuda_calls *const cuda = &device.calls;
    void *memory = NULL;
    uint64_t address = 0;
    int has_pools = 0;
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
    if ((*error = cuda->init(0)) != CUDA_OK) {
        return "the driver cannot be initialised";
    }
    if ((*error = cuda->device_get(&device.number, 0)) != CUDA_OK ||
        (*error = cuda->device_attribute(&has_pools, ATTRIBUTE_HAS_POOLS, device.number)) !=
            CUDA_OK) {
        return "there is no device";
    }
    if (has_pools == 0) {
        return "the device has no stream-ordered pools";
    }
    if ((*error = cuda->context_retain(&context, device.number)) != CUDA_OK ||
        (*error = cuda->context_set(context)) != CUDA_OK) {
        return "the device has no context for this process";
    }
    if ((*error = cuda->host_allocate(&memory, sizeof *device.shared, CUDA_HOST_MAPPED)) !=
            CUDA_OK ||
        (*error = cuda->host_device_address(&address, memory, 0)) != CUDA_OK) {
        return "there is no host memory that the device sees";
    }
    memset(memory, 0, sizeof *device.shared);
    device.shared = memory;
    return make_streams(address, error) ? NULL : "the device makes no streams";
}

static void start(void)
{
    int error = CUDA_OK;
    loader = getpid();
    const char *const failed = start_steps(&error);
    if (failed != NULL) {
        (void)snprintf(failure, sizeof failure, "%s%s%s", failed, error == CUDA_OK ? "" : ": ",
                       error == CUDA_OK ? "" : cuda_error_name(&device.calls, error));
    }
}

struct cuda_device *cuda_device_start(char reason[LIBRARY_REASON_BYTES])
{
    if (loader == 0) {
        const char *missing = library_load(&library_cuda);
        if (missing != NULL) {
            (void)snprintf(reason, LIBRARY_REASON_BYTES, "%s", missing);
            return NULL;
        }
        start();
    }
    const char *why = failure[0] == '\0' ? NULL : failure;
    if (loader != getpid()) {
        why = "the CUDA driver was started before this process was forked, which it does not allow";
    }
    /* A thread has no context before. */
    if (why == NULL && device.calls.context_set(context) != CUDA_OK) {
        why = "the context of the device is gone";
    }
    (void)snprintf(reason, LIBRARY_REASON_BYTES, "%s", why == NULL ? "" : why);
    return why == NULL ? &device : NULL;
}

struct cuda_stream *cuda_device_take_stream(struct cuda_device *from)
{
    for (size_t i = 0; i < CUDA_STREAM_COUNT_MAX; i++) {
        struct cuda_stream *const stream = &from->streams[i];
        if (!stream->is_taken) {
            stream->is_taken = true;
            return stream;
        }
    }
    return NULL;
}

/* --- in a child --- */

static bool start_device(char reason[LIBRARY_REASON_BYTES])
{
    return cuda_device_start(reason) != NULL;
}

bool cuda_device_is_usable(char reason[LIBRARY_REASON_BYTES])
{
    return ask_child(start_device, reason);
}

/* --- what the driver has --- */

/* An older driver may lack some of these; then less is known. */
struct listing_calls {
    int (*driver_version)(int *version);
    int (*device_count)(int *count);
    int (*device_name)(char *name, int bytes, int device);
    int (*device_memory)(size_t *bytes, int device);
};

static void describe_device(const struct listing_calls *listing, int index,
                            struct adapter_device *described)
{
    int number;
    size_t bytes = 0;
    if (device.calls.device_get(&number, index) != CUDA_OK) {
        return;
    }
    if (listing->device_name(described->name, ADAPTER_DEVICE_NAME_BYTES, number) != CUDA_OK) {
        described->name[0] = '\0';
    }
    described->name[ADAPTER_DEVICE_NAME_BYTES - 1] = '\0';
    if (listing->device_memory(&bytes, number) == CUDA_OK) {
        described->memory_bytes = bytes;
    }
}

static void list_devices(const struct listing_calls *listing, struct adapter_findings *findings)
{
    int count = 0, version = 0;
    if (listing->driver_version(&version) == CUDA_OK && version > 0) {
        findings->version_major = (uint32_t)version / 1000;
        findings->version_minor = (uint32_t)version % 1000 / 10;
    }
    if (listing->device_count(&count) != CUDA_OK || count <= 0) {
        return;
    }
    findings->device_count = (uint32_t)count;
    for (int i = 0; i < count && i < ADAPTER_DEVICE_COUNT_MAX; i++) {
        describe_device(listing, i, &findings->devices[i]);
    }
}

void cuda_device_examine(struct adapter_findings *findings)
{
    struct listing_calls listing;
    const struct library_call wanted[] = {{"cuDriverGetVersion", &listing.driver_version},
                                          {"cuDeviceGetCount", &listing.device_count},
                                          {"cuDeviceGetName", &listing.device_name},
                                          {"cuDeviceTotalMem_v2", &listing.device_memory},
                                          {NULL, NULL}};
    char reason[LIBRARY_REASON_BYTES];
    findings->is_usable = start_device(findings->reason);
    void *handle = loader == 0 ? NULL : library_open(&library_cuda, reason);
    if (handle != NULL && library_find(handle, &library_cuda, wanted, reason)) {
        list_devices(&listing, findings);
    }
}
