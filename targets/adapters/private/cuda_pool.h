/* A stream-ordered pool of a CUDA device, with streams that stand still until events of the harness
 * are done.
 *
 * A stream stands still at a *wait*: for a flag in host memory, which is raised once the event is
 * done.  When a call returns, everything is done that stands behind no wait, so nothing depends on
 * time. */
#ifndef TARGETS_ADAPTERS_PRIVATE_CUDA_POOL_H
#define TARGETS_ADAPTERS_PRIVATE_CUDA_POOL_H

#include "targets/adapters/private/cuda_device.h"

/* A wait of a stream, in the order in which they were enqueued.  The caller provides the memory. */
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

#endif
