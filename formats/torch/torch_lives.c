/* The life of each block: from the event that made it, or from before the ring begins, to the event
 * that freed it, or into the final state; and whether two that live at the same time overlap. */
#include "formats/torch/private/torch.h"

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/device/span_map.h"

#include <inttypes.h>

/* An event that names an address. */
struct use {
    uint64_t address;
    uint32_t event;
    uint8_t host;
};

enum life_state {
    LIFE_UNSEEN, /* no event yet */
    LIFE_LIVE,
    LIFE_REQUESTED, /* to be freed */
    LIFE_OVER
};

struct block_lives {
    struct torch_snapshot *snapshot;
    enum life_state state; /* of the address that is followed */
    uint32_t life;         /* the event that began its present life */
    struct import_error *error;
};

static int compare_uses(const void *a, const void *b)
{
    const struct use *x = a;
    const struct use *y = b;
    return compare_then(compare_places(x->host, x->address, y->host, y->address),
                        compare_numbers(x->event, y->event));
}

/* Returns the uses sorted by host, address and time; the caller frees them. */
static struct use *sort_uses(const struct torch_snapshot *snapshot, size_t *count)
{
    struct use *uses = array_resized(NULL, (snapshot->event_count + 1) * sizeof *uses);
    *count = 0;
    for (size_t i = 0; i < snapshot->event_count; i++) {
        const struct torch_event *event = &snapshot->events[i];
        if (event->action <= TORCH_FREE_COMPLETED) {
            uses[(*count)++] = (struct use){
                .host = event->host, .address = event->address, .event = (uint32_t)i};
        }
    }
    qsort(uses, *count, sizeof *uses, compare_uses);
    return uses;
}

/* A free says the bytes that were requested, or what the block took: old versions do. */
static enum import_result check_freed_size(struct block_lives *lives,
                                           const struct torch_event *event)
{
    struct torch_event *begun = &lives->snapshot->events[lives->life];
    if (event->size_bytes == begun->size_bytes) {
        return IMPORT_OK;
    }
    if (event->size_bytes < begun->taken_bytes ||
        event->size_bytes % lives->snapshot->granule_bytes != 0) {
        return TORCH_FAIL_EVENT(lives->error, event,
                                "it frees %" PRIu64 " bytes at %" PRIu64 ", but event [%" PRIu32
                                "] gives %" PRIu64,
                                event->size_bytes, event->address, begun->index, begun->size_bytes);
    }
    begun->taken_bytes = event->size_bytes;
    return IMPORT_OK;
}

static enum import_result take_alloc(struct block_lives *lives, struct torch_event *event,
                                     uint32_t index)
{
    if (lives->state == LIFE_LIVE || lives->state == LIFE_REQUESTED) {
        return TORCH_FAIL_EVENT(lives->error, event,
                                "it allocates a block at %" PRIu64
                                ", where the block of event [%" PRIu32 "] is not yet free",
                                event->address, lives->snapshot->events[lives->life].index);
    }
    lives->state = LIFE_LIVE;
    lives->life = index;
    event->taken_bytes = torch_rounded(lives->snapshot, event->size_bytes);
    return IMPORT_OK;
}

static enum import_result take_free(struct block_lives *lives, struct torch_event *event,
                                    uint32_t index)
{
    const bool is_request = event->action == TORCH_FREE_REQUESTED;
    if (lives->state == LIFE_OVER || (is_request && lives->state == LIFE_REQUESTED)) {
        return TORCH_FAIL_EVENT(lives->error, event,
                                "it frees the block at %" PRIu64 " a second time", event->address);
    }
    if (lives->state == LIFE_UNSEEN) {
        event->is_there_before = true;
        event->taken_bytes = torch_rounded(lives->snapshot, event->size_bytes);
        lives->life = index;
    }
    lives->state = is_request ? LIFE_REQUESTED : LIFE_OVER;
    return check_freed_size(lives, event);
}

static enum import_result check_last(struct block_lives *lives, const struct torch_event *last,
                                     struct torch_block *block)
{
    struct torch_event *begun = &lives->snapshot->events[lives->life];
    static const char *const what[] = {"", "never freed", "waiting for its free", "freed"};
    static const char *const shown[] = {"inactive", "active_allocated", "active_awaiting_free"};
    static const enum torch_state wanted[] = {TORCH_INACTIVE, TORCH_ALLOCATED, TORCH_AWAITING_FREE,
                                              TORCH_INACTIVE};
    const enum torch_state found = block == NULL ? TORCH_INACTIVE : block->state;
    if (found != wanted[lives->state]) {
        return TORCH_FAIL_EVENT(
            lives->error, last, "the block at %" PRIu64 " is %s, but the final state has %s%s",
            last->address, what[lives->state], block == NULL ? "no block there" : "it as ",
            block == NULL ? "" : shown[found]);
    }
    if (found == TORCH_INACTIVE) {
        return IMPORT_OK;
    }
    if (begun->taken_bytes > block->size_bytes || begun->size_bytes > block->requested_bytes) {
        return TORCH_FAIL_BLOCK(lives->error, block,
                                "it has %" PRIu64 " bytes, %" PRIu64
                                " of them requested, but device_traces[%u][%" PRIu32
                                "] gives %" PRIu64,
                                block->size_bytes, block->requested_bytes, begun->host,
                                begun->index, begun->size_bytes);
    }
    begun->taken_bytes = block->size_bytes;
    block->is_in_trace = true;
    return IMPORT_OK;
}

/* Follows all events of one address, uses[count]. */
static enum import_result follow_block(struct block_lives *lives, const struct use *uses,
                                       size_t count)
{
    lives->state = LIFE_UNSEEN;
    for (size_t i = 0; i < count; i++) {
        struct torch_event *event = &lives->snapshot->events[uses[i].event];
        IMPORT_TRY(event->action == TORCH_ALLOC ? take_alloc(lives, event, uses[i].event)
                                                : take_free(lives, event, uses[i].event));
        event->life = lives->life;
    }
    struct torch_block *blocks = lives->snapshot->blocks;
    size_t i;
    SEARCH_FIRST(i, 0, lives->snapshot->block_count,
                 compare_places(blocks[i].host, blocks[i].address, uses[0].host, uses[0].address) >=
                     0);
    const bool is_there = i < lives->snapshot->block_count && blocks[i].host == uses[0].host &&
                          blocks[i].address == uses[0].address;
    return check_last(lives, &lives->snapshot->events[uses[count - 1].event],
                      is_there ? &blocks[i] : NULL);
}

static enum import_result follow_all(struct block_lives *lives)
{
    size_t count = 0;
    enum import_result result = IMPORT_OK;
    struct use *uses = sort_uses(lives->snapshot, &count);
    for (size_t i = 0, end = 0; result == IMPORT_OK && i < count; i = end) {
        while (end < count && uses[end].host == uses[i].host &&
               uses[end].address == uses[i].address) {
            end++;
        }
        result = follow_block(lives, &uses[i], end - i);
    }
    free(uses);
    return result;
}

/* --- overlaps --- */

/* begun: an event that begins a life. */
static enum import_result put_life(struct block_lives *lives, struct span_map *map, uint32_t begun)
{
    const struct torch_event *event = &lives->snapshot->events[begun];
    const struct span_claim claim = span_map_claim(map, event->address,
                                                   event->address + event->taken_bytes, begun);
    struct span other;
    if (claim.is_free) {
        return IMPORT_OK;
    }
    span_map_get(map, &claim.cursor, &other);
    return TORCH_FAIL_EVENT(lives->error, event,
                            "its block of %" PRIu64 " bytes at %" PRIu64
                            " overlaps the live one at %" PRIu64,
                            event->taken_bytes, event->address, other.start);
}

/* Puts into the map what was there when the ring begins. */
static enum import_result put_first(struct block_lives *lives, struct span_map *map, uint8_t host,
                                    size_t first, size_t end)
{
    const struct torch_snapshot *snapshot = lives->snapshot;
    for (size_t i = 0; i < snapshot->block_count; i++) {
        const struct torch_block *block = &snapshot->blocks[i];
        if (block->host == host && block->state != TORCH_INACTIVE && !block->is_in_trace) {
            span_map_insert(map, &(struct span){.start = block->address,
                                                .end = block->address + block->size_bytes});
        }
    }
    enum import_result result = IMPORT_OK;
    for (size_t i = first; result == IMPORT_OK && i < end; i++) {
        if (snapshot->events[i].is_there_before) {
            result = put_life(lives, map, (uint32_t)i);
        }
    }
    return result;
}

/* The events of one host, first..end - 1. */
static enum import_result refuse_overlaps(struct block_lives *lives, size_t first, size_t end)
{
    struct span_map map;
    span_map_init(&map);
    enum import_result result = put_first(lives, &map, lives->snapshot->events[first].host, first,
                                          end);
    for (size_t i = first; result == IMPORT_OK && i < end; i++) {
        struct torch_event *event = &lives->snapshot->events[i];
        if (event->life == TORCH_NO_EVENT) {
            continue;
        }
        event->taken_bytes = lives->snapshot->events[event->life].taken_bytes;
        if (event->action == TORCH_ALLOC) {
            result = put_life(lives, &map, (uint32_t)i);
        } else if (event->action == TORCH_FREE_COMPLETED) {
            span_map_erase(&map, event->address, event->address + event->taken_bytes);
        }
    }
    span_map_deinit(&map);
    return result;
}

/* --- all of it --- */

/* Sizes of events are those of requests, which need not be multiples. */
static uint64_t find_granule(const struct torch_snapshot *snapshot)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < snapshot->block_count; i++) {
        bits |= snapshot->blocks[i].address | snapshot->blocks[i].size_bytes;
    }
    for (size_t i = 0; i < snapshot->event_count; i++) {
        bits |= snapshot->events[i].action <= TORCH_FREE_COMPLETED ? snapshot->events[i].address
                                                                   : 0;
    }
    return capacity_granule(bits);
}

enum import_result torch_lives(struct torch_snapshot *snapshot, struct import_error *error)
{
    struct block_lives lives = {.snapshot = snapshot, .error = error};
    snapshot->granule_bytes = find_granule(snapshot);
    enum import_result result = follow_all(&lives);
    for (size_t i = 0, end = 0; result == IMPORT_OK && i < snapshot->event_count; i = end) {
        while (end < snapshot->event_count &&
               snapshot->events[end].host == snapshot->events[i].host) {
            end++;
        }
        result = refuse_overlaps(&lives, i, end);
    }
    return result;
}
