/* The parts of the CUDA driver that we use: its functions, which are loaded at run time, and one
 * device of it.  The program compiles and links without the driver. */
#ifndef TARGETS_ADAPTERS_PRIVATE_CUDA_DEVICE_H
#define TARGETS_ADAPTERS_PRIVATE_CUDA_DEVICE_H

#include "targets/adapters/private/library.h"

#include <stdint.h>

/* The functions return 0, or a number for which error_name has a name. */
enum { CUDA_OK = 0, CUDA_OUT_OF_MEMORY = 2 };

struct cuda_location {
    int type, id;
};
struct cuda_pool_properties {
    int allocation_type, handle_types;
    struct cuda_location location;
    void *security_attributes;
    size_t size_bytes_max;
    unsigned char reserved[56];
};
enum { CUDA_ALLOCATION_PINNED = 1, CUDA_LOCATION_DEVICE = 1 };

enum cuda_pool_attribute { /* the first three are int, the others uint64_t */
                           CUDA_POOL_REUSE_EVENTS = 1,
                           CUDA_POOL_REUSE_OPPORTUNISTIC,
                           CUDA_POOL_REUSE_INTERNAL,
                           CUDA_POOL_RELEASE_THRESHOLD,
                           CUDA_POOL_RESERVED_CURRENT,
                           CUDA_POOL_RESERVED_HIGH,
                           CUDA_POOL_USED_CURRENT,
                           CUDA_POOL_USED_HIGH
};
enum cuda_flag {
    CUDA_STREAM_NON_BLOCKING = 1,
    CUDA_WAIT_AT_LEAST = 0,
    CUDA_EVENT_NO_TIMING = 2,
    CUDA_HOST_MAPPED = 2
};

/* Each function that is used: CUDA_CALL(name in the driver, name here, parameters). */
/* clang-format off */
#define CUDA_CALLS \
    CUDA_CALL("cuInit", init, (unsigned flags)) \
    CUDA_CALL("cuDeviceGet", device_get, (int *device, int index)) \
    CUDA_CALL("cuDeviceGetAttribute", device_attribute, (int *value, int attribute, int device)) \
    CUDA_CALL("cuDevicePrimaryCtxRetain", context_retain, (void **context, int device)) \
    CUDA_CALL("cuCtxSetCurrent", context_set, (void *context)) \
    CUDA_CALL("cuGetErrorName", error_name, (int error, const char **name)) \
    CUDA_CALL("cuMemPoolCreate", pool_create, (void **pool, const struct cuda_pool_properties *properties)) \
    CUDA_CALL("cuMemPoolDestroy", pool_destroy, (void *pool)) \
    CUDA_CALL("cuMemPoolSetAttribute", pool_set, (void *pool, int attribute, void *value)) \
    CUDA_CALL("cuMemPoolGetAttribute", pool_get, (void *pool, int attribute, void *value)) \
    CUDA_CALL("cuMemPoolTrimTo", pool_trim, (void *pool, size_t bytes_kept)) \
    CUDA_CALL("cuMemAllocFromPoolAsync", allocate, (uint64_t *address, size_t bytes, void *pool, void *stream)) \
    CUDA_CALL("cuMemFreeAsync", free, (uint64_t address, void *stream)) \
    CUDA_CALL("cuStreamCreate", stream_create, (void **stream, unsigned flags)) \
    CUDA_CALL("cuStreamSynchronize", stream_synchronize, (void *stream)) \
    CUDA_CALL("cuStreamWaitValue32_v2", stream_wait_value, (void *stream, uint64_t address, uint32_t value, unsigned flags)) \
    CUDA_CALL("cuEventCreate", event_create, (void **event, unsigned flags)) \
    CUDA_CALL("cuEventRecord", event_record, (void *event, void *stream)) \
    CUDA_CALL("cuEventSynchronize", event_synchronize, (void *event)) \
    CUDA_CALL("cuEventDestroy_v2", event_destroy, (void *event)) \
    CUDA_CALL("cuMemHostAlloc", host_allocate, (void **memory, size_t bytes, unsigned flags)) \
    CUDA_CALL("cuMemHostGetDevicePointer_v2", host_device_address, (uint64_t *address, void *memory, unsigned flags)) \
    CUDA_CALL("cuMemcpyHtoDAsync_v2", copy_to_device, (uint64_t to, const void *from, size_t bytes, void *stream)) \
    CUDA_CALL("cuMemcpyDtoHAsync_v2", copy_to_host, (void *to, uint64_t from, size_t bytes, void *stream))
/* clang-format on */

struct cuda_calls {
#define CUDA_CALL(symbol, name, parameters) int(*name) parameters;
    CUDA_CALLS
#undef CUDA_CALL
};

/* The driver has at most 32 connections to the device.  Where more streams than that are made, some
 * share one, and then one stream that stands still holds up another. */
enum { CUDA_STREAM_COUNT_MAX = 16, CUDA_COPY_BYTES_MAX = 16 };

/* Host memory that the device sees. */
struct cuda_shared {
    uint32_t flags[CUDA_STREAM_COUNT_MAX];
    unsigned char copied[CUDA_COPY_BYTES_MAX];
};

/* A stream that may stand still until its flag is raised.  Its work is done whenever it is free. */
struct cuda_stream {
    void *stream;
    uint64_t flag_address;   /* as the device knows it */
    volatile uint32_t *flag; /* is never lowered */
    uint32_t value;          /* what it was waited for last */
    bool is_taken;
};

/* The first device, of which this process has the primary context, and all that is made here, until
 * it ends: the driver awaits every stream before it gives some of it back. */
struct cuda_device {
    struct cuda_calls calls;
    int number;
    struct cuda_shared *shared;
    struct cuda_stream streams[CUDA_STREAM_COUNT_MAX];
    void *idle; /* a stream that never stands still */
};

/* NULL: all are taken. */
struct cuda_stream *cuda_device_take_stream(struct cuda_device *device);

/* Loads the driver, and starts the device, where that was not done before; its context is then the
 * one of this thread.  NULL: reason is one line that says why not.  A process that has called it
 * cannot be forked into one that does. */
struct cuda_device *cuda_device_start(char reason[LIBRARY_REASON_BYTES]);

/* Returns true when cuda_device_start() would succeed in a child of this process, which itself does
 * not call the driver. */
bool cuda_device_is_usable(char reason[LIBRARY_REASON_BYTES]);

/* Starts it in this process, and asks the driver for its version and devices. */
void cuda_device_examine(struct adapter_findings *findings);

/* The driver's word for an error; valid while the driver is loaded. */
const char *cuda_error_name(const struct cuda_calls *calls, int error);

#endif
