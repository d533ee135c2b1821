#include "targets/adapters/private/cuda.h"

#include <stdio.h>
#include <string.h>

/* The driver blocks a call that enqueues on a stream that stands still once about a thousand waits
 * and events are ahead of it: each wait may come with an event.  What is freed later stands behind
 * the last wait, which then is for a later event. */
enum { WAIT_COUNT_MAX = 400 };

/* Returns true when the call succeeded.  No failure but a lack of memory is expected. */
static bool note(struct cuda_pool *pool, int error)
{
    if (error != CUDA_OK && error != CUDA_OUT_OF_MEMORY) {
        pool->error = error;
    }
    return error == CUDA_OK;
}

/* --- life --- */

static bool set_attributes(struct cuda_pool *pool, const struct cuda_pool_setup *setup)
{
    const struct cuda_calls *const calls = &pool->device->calls;
    int no = 0, opportunistic = setup->reuses_done;
    uint64_t threshold = setup->threshold_bytes;
    return note(pool, calls->pool_set(pool->pool, CUDA_POOL_REUSE_EVENTS, &no)) &&
           note(pool, calls->pool_set(pool->pool, CUDA_POOL_REUSE_INTERNAL, &no)) &&
           note(pool, calls->pool_set(pool->pool, CUDA_POOL_REUSE_OPPORTUNISTIC, &opportunistic)) &&
           note(pool, calls->pool_set(pool->pool, CUDA_POOL_RELEASE_THRESHOLD, &threshold));
}

bool cuda_pool_open(struct cuda_pool *pool, const struct cuda_pool_setup *setup,
                    char reason[LIBRARY_REASON_BYTES])
{
    pool->device = cuda_device_start(reason);
    if (pool->device == NULL) {
        return false;
    }
    const struct cuda_pool_properties properties = {
        .allocation_type = CUDA_ALLOCATION_PINNED,
        .location = {.type = CUDA_LOCATION_DEVICE, .id = pool->device->number},
        .size_bytes_max = setup->capacity_bytes};
    const int error = pool->device->calls.pool_create(&pool->pool, &properties);
    if (error == CUDA_OK && set_attributes(pool, setup)) {
        return true;
    }
    (void)snprintf(reason, LIBRARY_REASON_BYTES, "the driver makes no such pool: %s",
                   cuda_error_name(&pool->device->calls, error == CUDA_OK ? pool->error : error));
    cuda_pool_close(pool);
    return false;
}

void cuda_pool_close(struct cuda_pool *pool)
{
    for (size_t i = 0; i < CUDA_QUEUE_COUNT; i++) {
        if (pool->queues[i].own != NULL) {
            pool->queues[i].own->is_taken = false;
        }
    }
    if (pool->pool != NULL) {
        (void)note(pool, pool->device->calls.pool_destroy(pool->pool));
    }
}

/* --- memory --- */

uint64_t cuda_pool_count(struct cuda_pool *pool, enum cuda_pool_attribute attribute)
{
    uint64_t value = 0;
    (void)note(pool, pool->device->calls.pool_get(pool->pool, (int)attribute, &value));
    return value;
}

static void *stream_of(const struct cuda_pool *pool, const struct cuda_queue *queue)
{
    return queue->own != NULL ? queue->own->stream : pool->device->idle;
}

/* Nothing is left to be done, where the stream does not wait. */
static void finish(struct cuda_pool *pool, const struct cuda_queue *queue)
{
    if (queue->first == NULL) {
        (void)note(pool, pool->device->calls.stream_synchronize(stream_of(pool, queue)));
    }
}

bool cuda_pool_allocate(struct cuda_pool *pool, uint32_t stream, uint64_t size_bytes,
                        uint64_t *address, uint64_t *taken_bytes)
{
    struct cuda_queue *const queue = &pool->queues[stream];
    const uint64_t before = cuda_pool_count(pool, CUDA_POOL_USED_CURRENT);
    if (queue->own == NULL) {
        queue->own = cuda_device_take_stream(pool->device);
    }
    if (!note(pool, pool->device->calls.allocate(address, (size_t)size_bytes, pool->pool,
                                                 stream_of(pool, queue)))) {
        return false;
    }
    *taken_bytes = cuda_pool_count(pool, CUDA_POOL_USED_CURRENT) - before;
    finish(pool, queue);
    return true;
}

void cuda_pool_free(struct cuda_pool *pool, uint32_t stream, uint64_t address)
{
    const struct cuda_queue *const queue = &pool->queues[stream];
    (void)note(pool, pool->device->calls.free(address, stream_of(pool, queue)));
    finish(pool, queue);
}

void cuda_pool_free_now(struct cuda_pool *pool, uint64_t address)
{
    const struct cuda_calls *const calls = &pool->device->calls;
    (void)note(pool, calls->free(address, pool->device->idle));
    (void)note(pool, calls->stream_synchronize(pool->device->idle));
}

void cuda_pool_trim(struct cuda_pool *pool)
{
    (void)note(pool, pool->device->calls.pool_trim(pool->pool, 0));
}

/* --- waits --- */

bool cuda_pool_may_wait(const struct cuda_pool *pool, uint32_t stream)
{
    return pool->queues[stream].own != NULL;
}

static void record_event(struct cuda_pool *pool, const struct cuda_stream *own,
                         struct cuda_wait *wait)
{
    const struct cuda_calls *const calls = &pool->device->calls;
    if (note(pool, calls->event_create(&wait->before, CUDA_EVENT_NO_TIMING))) {
        (void)note(pool, calls->event_record(wait->before, own->stream));
    }
}

bool cuda_pool_wait(struct cuda_pool *pool, uint32_t stream, uint64_t event, struct cuda_wait *wait)
{
    const struct cuda_calls *const calls = &pool->device->calls;
    struct cuda_queue *const queue = &pool->queues[stream];
    struct cuda_stream *const own = queue->own;
    if (queue->first != NULL && queue->last->event >= event) {
        return false;
    }
    if (queue->wait_count == WAIT_COUNT_MAX) {
        queue->last->event = event;
        return false;
    }
    *wait = (struct cuda_wait){.event = event, .value = ++own->value};
    if (queue->first == NULL) {
        queue->first = wait;
    } else {
        record_event(pool, own, wait);
        queue->last->next = wait;
    }
    queue->last = wait;
    queue->wait_count++;
    (void)note(pool, calls->stream_wait_value(own->stream, own->flag_address, wait->value,
                                              CUDA_WAIT_AT_LEAST));
    return true;
}

static void raise_flag(struct cuda_stream *stream, uint32_t value)
{
    __atomic_store_n(stream->flag, value, __ATOMIC_SEQ_CST);
}

struct cuda_wait *cuda_pool_pass(struct cuda_pool *pool, uint32_t stream)
{
    const struct cuda_calls *const calls = &pool->device->calls;
    struct cuda_queue *const queue = &pool->queues[stream];
    struct cuda_wait *const over = queue->first;
    queue->first = over->next;
    queue->wait_count--;
    raise_flag(queue->own, over->value);
    finish(pool, queue);
    if (queue->first != NULL && queue->first->before != NULL) {
        (void)note(pool, calls->event_synchronize(queue->first->before));
        (void)note(pool, calls->event_destroy(queue->first->before));
        queue->first->before = NULL;
    }
    return over;
}

/* --- contents --- */

void cuda_pool_read(struct cuda_pool *pool, uint64_t address, void *to, size_t bytes)
{
    const struct cuda_device *const device = pool->device;
    unsigned char *const copied = device->shared->copied;
    (void)note(pool, device->calls.copy_to_host(copied, address, bytes, device->idle));
    (void)note(pool, device->calls.stream_synchronize(device->idle));
    memcpy(to, copied, bytes);
}

void cuda_pool_write(struct cuda_pool *pool, uint64_t address, const void *from, size_t bytes)
{
    const struct cuda_device *const device = pool->device;
    unsigned char *const copied = device->shared->copied;
    memcpy(copied, from, bytes);
    (void)note(pool, device->calls.copy_to_device(address, copied, bytes, device->idle));
    (void)note(pool, device->calls.stream_synchronize(device->idle));
}
