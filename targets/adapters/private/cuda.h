/* The parts of the CUDA driver that we use: its functions, which are loaded at run time, and one
 * device of it.  The program compiles and links without the driver. */
#ifndef TARGETS_ADAPTERS_PRIVATE_CUDA_H
#define TARGETS_ADAPTERS_PRIVATE_CUDA_H

#include "harness/target.h"
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

/* Each function that is used: CUDA_CALL(name in the driver, name here, parameters).
 * clang-format off */
#define CUDA_CALLS                                                                               \
    CUDA_CALL("cuInit", init, (unsigned flags))                                                  \
    CUDA_CALL("cuDeviceGet", device_get, (int *device, int index))                               \
    CUDA_CALL("cuDeviceGetAttribute", device_attribute, (int *value, int attribute, int device)) \
    CUDA_CALL("cuDevicePrimaryCtxRetain", context_retain, (void **context, int device))          \
    CUDA_CALL("cuCtxSetCurrent", context_set, (void *context))                                   \
    CUDA_CALL("cuGetErrorName", error_name, (int error, const char **name))                      \
    CUDA_CALL("cuMemPoolCreate", pool_create,                                                    \
              (void **pool, const struct cuda_pool_properties *properties))                      \
    CUDA_CALL("cuMemPoolDestroy", pool_destroy, (void *pool))                                    \
    CUDA_CALL("cuMemPoolSetAttribute", pool_set, (void *pool, int attribute, void *value))       \
    CUDA_CALL("cuMemPoolGetAttribute", pool_get, (void *pool, int attribute, void *value))       \
    CUDA_CALL("cuMemPoolTrimTo", pool_trim, (void *pool, size_t bytes_kept))                     \
    CUDA_CALL("cuMemAllocFromPoolAsync", allocate,                                               \
              (uint64_t * address, size_t bytes, void *pool, void *stream))                      \
    CUDA_CALL("cuMemFreeAsync", free, (uint64_t address, void *stream))                          \
    CUDA_CALL("cuStreamCreate", stream_create, (void **stream, unsigned flags))                  \
    CUDA_CALL("cuStreamSynchronize", stream_synchronize, (void *stream))                         \
    CUDA_CALL("cuStreamWaitValue32_v2", stream_wait_value,                                       \
              (void *stream, uint64_t address, uint32_t value, unsigned flags))                  \
    CUDA_CALL("cuEventCreate", event_create, (void **event, unsigned flags))                     \
    CUDA_CALL("cuEventRecord", event_record, (void *event, void *stream))                        \
    CUDA_CALL("cuEventSynchronize", event_synchronize, (void *event))                            \
    CUDA_CALL("cuEventDestroy_v2", event_destroy, (void *event))                                 \
    CUDA_CALL("cuMemHostAlloc", host_allocate, (void **memory, size_t bytes, unsigned flags))    \
    CUDA_CALL("cuMemHostGetDevicePointer_v2", host_device_address,                               \
              (uint64_t * address, void *memory, unsigned flags))                                \
    CUDA_CALL("cuMemcpyHtoDAsync_v2", copy_to_device,                                            \
              (uint64_t to, const void *from, size_t bytes, void *stream))                       \
    CUDA_CALL("cuMemcpyDtoHAsync_v2", copy_to_host,                                              \
              (void *to, uint64_t from, size_t bytes, void *stream))
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

/* A stream-ordered pool of a CUDA device, with streams that stand still until events of the harness
 * are done.
 *
 * A stream stands still at a *wait*: for a flag in host memory, which is raised once the event is
 * done.  When a call returns, everything is done that stands behind no wait, so nothing depends on
 * time.
 * A wait of a stream, in the order in which they were enqueued.  The caller provides the memory. */
struct cuda_wait {
    struct cuda_wait *next;
    uint64_t event;
    uint32_t value; /* of the flag of the stream once the wait is over */
    void *before;   /* the driver's event right before it, where another wait was not over then */
};

/* A stream of the harness. */
struct cuda_queue {
    struct cuda_stream *own;        /* NULL: not used yet, or none was left */
    struct cuda_wait *first, *last; /* those that are not over */
    unsigned wait_count;
};
enum { CUDA_QUEUE_COUNT = 64 };

/* An instance; zero before open. */
struct cuda_pool {
    struct cuda_device *device;
    void *pool;
    struct cuda_queue queues[CUDA_QUEUE_COUNT];
    int error; /* of the last call that failed for another reason than no memory */
};

struct cuda_pool_setup {
    uint64_t capacity_bytes;
    uint64_t threshold_bytes; /* CUDA_POOL_RELEASE_THRESHOLD */
    bool reuses_done;         /* CUDA_POOL_REUSE_OPPORTUNISTIC */
};

/* false: reason is one line that says why not. */
bool cuda_pool_open(struct cuda_pool *pool, const struct cuda_pool_setup *setup,
                    char reason[LIBRARY_REASON_BYTES]);
/* No stream waits, and no block is left. */
void cuda_pool_close(struct cuda_pool *pool);

/* A block in the order of the stream.  false: there is no memory, or pool->error says what failed.
 * *taken_bytes: by how much the pool's own count of used bytes grew. */
bool cuda_pool_allocate(struct cuda_pool *pool, uint32_t stream, uint64_t size_bytes,
                        uint64_t *address, uint64_t *taken_bytes);
/* Frees it in the order of the stream. */
void cuda_pool_free(struct cuda_pool *pool, uint32_t stream, uint64_t address);
/* Frees it now, though its stream may wait. */
void cuda_pool_free_now(struct cuda_pool *pool, uint64_t address);
/* Gives memory that no block has back to the device. */
void cuda_pool_trim(struct cuda_pool *pool);

/* Returns true when the stream can wait: CUDA_STREAM_COUNT_MAX of the process can. */
bool cuda_pool_may_wait(const struct cuda_pool *pool, uint32_t stream);
/* The stream, which may, waits for the event from here on, and for those before it.  true: the
 * memory of *wait is the stream's until that is over. */
bool cuda_pool_wait(struct cuda_pool *pool, uint32_t stream, uint64_t event,
                    struct cuda_wait *wait);
/* The first wait of the stream is over: everything behind it that no other one stands before is
 * done.  Returns it. */
struct cuda_wait *cuda_pool_pass(struct cuda_pool *pool, uint32_t stream);

/* Bytes at an address of a block; at most CUDA_COPY_BYTES_MAX. */
void cuda_pool_read(struct cuda_pool *pool, uint64_t address, void *to, size_t bytes);
void cuda_pool_write(struct cuda_pool *pool, uint64_t address, const void *from, size_t bytes);

/* Returns the value that the pool itself counts. */
uint64_t cuda_pool_count(struct cuda_pool *pool, enum cuda_pool_attribute attribute);

/* An instance of cuda:pool: its blocks, what they wait for, and how they end.
 * An event that a block waits for. */
struct cuda_use {
    struct cuda_use *next;
    uint64_t event;
    bool was_awaited; /* in the drain under way */
};

struct cuda_block {
    uint64_t handle, address, size_bytes;
    struct cuda_use *uses;
    struct cuda_use free_event;   /* the memory of the last two uses: until what it is freed with */
    struct cuda_use stream_event; /* is done, and all that its stream had to do then */
    struct cuda_wait *wait;       /* for when it is freed behind a wait; NULL: it was needed */
    uint32_t behind;              /* the wait of its stream that it was allocated behind; 0: none */
    uint32_t stream;
    struct cuda_block *next_kept; /* of those that are freed, and not yet in the pool */
};

/* A handle is the slot's number and how often the slot was named. */
struct cuda_slot {
    struct cuda_block *block; /* NULL: free */
    uint32_t name_count;
    uint32_t next_free; /* of a free slot: the next one, or CUDA_SLOT_NONE */
};

#define CUDA_SLOT_NONE UINT32_MAX
enum { CUDA_MESSAGE_BYTES = 256 };

struct target_instance {
    struct cuda_pool pool;
    struct device_services device;
    struct cuda_slot *slots; /* slot_capacity of them; the first slot_count were used */
    uint32_t slot_count, slot_capacity;
    uint32_t slot_free; /* a free one, or CUDA_SLOT_NONE */
    struct cuda_block *kept;
    uint64_t completed_seen; /* completed_count before events were last looked at */
    uint64_t capacity_bytes;
    bool drains;
    char message[CUDA_MESSAGE_BYTES];
};

/* --- cuda_blocks.c --- */

/* NULL: the harness refused. */
void *cuda_host_alloc(struct target_instance *instance, size_t bytes);
void cuda_host_free(struct target_instance *instance, void *memory, size_t bytes);

/* A block that is nowhere yet, with a handle, and with all that its end will need: no free can
 * fail. NULL: host memory was refused. */
struct cuda_block *cuda_block_create(struct target_instance *instance, uint32_t stream);
/* Forgets the block, whose handle means nothing from now on. */
void cuda_block_forget(struct target_instance *instance, const struct cuda_block *block);
/* Gives its memory back, and that of its uses; its handle was forgotten. */
void cuda_block_destroy(struct target_instance *instance, struct cuda_block *block);
/* NULL: no block that was not freed has that handle. */
struct cuda_block *cuda_block_find(const struct target_instance *instance, uint64_t handle);

bool cuda_is_done(const struct target_instance *instance, uint64_t event);
/* The block waits for the event, with a record that the caller provides. */
void cuda_block_use(struct cuda_block *block, uint64_t event, struct cuda_use *use);
/* Forgets the uses that are done. */
void cuda_block_end_uses(struct target_instance *instance, struct cuda_block *block);

/* Takes in what is done, and ends at an instant at which no more was done. */
void cuda_settle(struct target_instance *instance);
/* Frees a block whose handle was forgotten: now, in the order of its stream, or later. */
void cuda_free_block(struct target_instance *instance, struct cuda_block *block);
/* Awaits every queued free that can complete.  false: the device refused. */
bool cuda_drain(struct target_instance *instance);
/* Ends everything, whatever waits, and frees every block. */
void cuda_free_all(struct target_instance *instance);

#endif
