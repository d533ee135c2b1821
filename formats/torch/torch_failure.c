/* The request that failed last: whether the final state is the heap in which it failed, which of
 * the free memory there could not serve it, and the file's words for it. */
#include "formats/torch/private/torch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* PyTorch's constants: requests up to 1 MiB are of the small pool, in segments of 2 MiB; those from
 * 10 MiB on get a segment of their own, in steps of 2 MiB. */
#define MIB ((uint64_t)1 << 20)
#define SMALL_BYTES_MAX MIB
#define SMALL_SEGMENT_BYTES (2 * MIB)
#define DIRECT_BYTES_MIN (10 * MIB)

const struct torch_event *torch_find_failure(const struct torch_snapshot *snapshot,
                                             unsigned *other_count)
{
    const struct torch_event *found = NULL;
    *other_count = 0;
    for (size_t i = 0; i < snapshot->event_count; i++) {
        const struct torch_event *event = &snapshot->events[i];
        const bool is_last = i + 1 == snapshot->event_count || event[1].host != event->host;
        if (is_last && event->action == TORCH_OOM) {
            *other_count += found != NULL ? 1 : 0;
            found = found == NULL || event->time_us >= found->time_us ? event : found;
        }
    }
    return found;
}

static uint64_t count_live_bytes(const struct torch_snapshot *snapshot, uint8_t host)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < snapshot->block_count; i++) {
        const struct torch_block *block = &snapshot->blocks[i];
        bytes += block->host == host && block->state != TORCH_INACTIVE ? block->size_bytes : 0;
    }
    return bytes;
}

bool torch_fails_by_place(const struct torch_snapshot *snapshot)
{
    unsigned other_count = 0;
    const struct torch_event *failure = torch_find_failure(snapshot, &other_count);
    if (failure == NULL || failure->size_bytes > CAPACITY_BYTES_MAX) {
        return false;
    }
    const uint64_t capacity_bytes = torch_capacity(snapshot, failure->host);
    return capacity_bytes == 0 || count_live_bytes(snapshot, failure->host) +
                                          torch_rounded(snapshot, failure->size_bytes) <=
                                      capacity_bytes;
}

uint64_t torch_segment_bytes_for(const struct torch_snapshot *snapshot, uint64_t size_bytes)
{
    if (size_bytes <= SMALL_BYTES_MAX) {
        return SMALL_SEGMENT_BYTES;
    }
    return size_bytes < DIRECT_BYTES_MIN ? snapshot->large_segment_bytes
                                         : (size_bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
}

/* max_split_size: a block that large is not split, and serves no request below that size, nor one
 * that would leave a large segment unused. */
static bool is_kept_whole(const struct torch_snapshot *snapshot, const struct torch_block *block,
                          uint64_t size_bytes)
{
    const uint64_t limit_bytes = snapshot->max_split_bytes;
    return limit_bytes != 0 && block->size_bytes >= limit_bytes &&
           (size_bytes < limit_bytes ||
            block->size_bytes >= size_bytes + snapshot->large_segment_bytes);
}

enum torch_idle torch_why_idle(const struct torch_snapshot *snapshot,
                               const struct torch_event *failure, const struct torch_block *block)
{
    const uint64_t size_bytes = failure->size_bytes;
    const bool is_small = size_bytes <= SMALL_BYTES_MAX;
    if (block->state != TORCH_INACTIVE || block->host != failure->host ||
        block->size_bytes < size_bytes) {
        return TORCH_IDLE_NOT;
    }
    if (block->pool == TORCH_POOL_SMALL && !is_small) {
        return TORCH_IDLE_SMALL_POOL;
    }
    if (block->pool == TORCH_POOL_LARGE && is_small) {
        return TORCH_IDLE_LARGE_POOL;
    }
    if (block->is_private) {
        return TORCH_IDLE_PRIVATE_POOL;
    }
    if (block->stream != failure->stream) {
        return TORCH_IDLE_STREAM;
    }
    return is_kept_whole(snapshot, block, size_bytes) ? TORCH_IDLE_WHOLE : TORCH_IDLE_NOT;
}

const char *torch_idle_name(enum torch_idle idle)
{
    static const char *const names[TORCH_IDLE_COUNT] = {
        [TORCH_IDLE_NOT] = "",
        [TORCH_IDLE_SMALL_POOL] = "free in the small pool",
        [TORCH_IDLE_LARGE_POOL] = "free in the large pool",
        [TORCH_IDLE_PRIVATE_POOL] = "free in a private pool",
        [TORCH_IDLE_STREAM] = "free for another stream",
        [TORCH_IDLE_WHOLE] = "free, kept whole by max_split_size",
        [TORCH_IDLE_DEVICE] = "free on the device, not for a segment",
    };
    return names[idle];
}

void torch_quote_failure(const struct torch_snapshot *snapshot, const struct torch_event *failure,
                         struct import *import)
{
    char text[IMPORT_MESSAGE_BYTES];
    char device_free[64] = "";
    const char *place = torch_name_text(&snapshot->names, failure->name);
    if (failure->free_bytes != UINT64_MAX) {
        snprintf(device_free, sizeof device_free, ", device_free %" PRIu64, failure->free_bytes);
    }
    const int length = snprintf(text, sizeof text,
                                "device_traces[%u][%" PRIu32 "]: oom, size %" PRIu64 "%s%s%s",
                                failure->host, failure->index, failure->size_bytes, device_free,
                                place[0] == '\0' ? "" : ", in ", place);
    import_quote(import, text, (size_t)length, 0);
}
