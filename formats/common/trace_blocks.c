#include "formats/common/private/trace_blocks.h"

#include "formats/common/slots.h"
#include "harness/base/check.h"

#include <stdlib.h>

/* At most half full and well mixed, one table of 2^40 has a probe as long as this: a longer one is
 * somebody's intention. */
enum { PROBE_MAX = 128, ROOM_LOG2_MIN = 8 };

void trace_blocks_deinit(struct trace_blocks *blocks)
{
    free(blocks->blocks);
    *blocks = (struct trace_blocks){0};
}

/* Multiplications and shifts of SplitMix64 (Steele, Lea and Flood, 2014), which is a bijection: the
 * high bits decide the place. */
static size_t find_place(const struct trace_blocks *blocks, uint8_t host, uint64_t address)
{
    uint64_t hash = (address ^ blocks->seed) + ((uint64_t)host + 1) * UINT64_C(0x9E3779B97F4A7C15);
    hash = (hash ^ hash >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94D049BB133111EB);
    return (size_t)(hash >> (64 - blocks->room_log2));
}

/* Where the block is or belongs; *probe_count says how many places were looked at. */
static struct trace_block *find_block(const struct trace_blocks *blocks, uint8_t host,
                                      uint64_t address, size_t *probe_count)
{
    size_t place = find_place(blocks, host, address);
    *probe_count = 1;
    for (;;) {
        struct trace_block *block = &blocks->blocks[place];
        if (block->state == TRACE_NEVER_SEEN ||
            (block->address == address && block->host == host)) {
            return block;
        }
        place = (place + 1) & (blocks->room - 1);
        (*probe_count)++;
    }
}

/* Moves all to a new table. */
static void rebuild_table(struct trace_blocks *blocks, unsigned room_log2)
{
    struct trace_blocks fresh = {.room = (size_t)1 << room_log2,
                                 .room_log2 = room_log2,
                                 .seed = blocks->seed,
                                 .count = blocks->count};
    fresh.blocks = calloc(fresh.room, sizeof *fresh.blocks);
    CHECK(fresh.blocks != NULL);
    for (size_t i = 0; i < blocks->room; i++) {
        const struct trace_block *block = &blocks->blocks[i];
        size_t probe_count = 0;
        if (block->state != TRACE_NEVER_SEEN) {
            *find_block(&fresh, block->host, block->address, &probe_count) = *block;
        }
    }
    free(blocks->blocks);
    *blocks = fresh;
}

struct trace_block *trace_blocks_at(struct trace_blocks *blocks, uint8_t host, uint64_t address)
{
    size_t probe_count = 0;
    if (blocks->count >= blocks->room / 2) { /* room for one more */
        rebuild_table(blocks, blocks->room == 0 ? ROOM_LOG2_MIN : blocks->room_log2 + 1);
    }
    struct trace_block *block = find_block(blocks, host, address, &probe_count);
    while (probe_count > PROBE_MAX) {
        blocks->seed = hash_seed_draw();
        rebuild_table(blocks, blocks->room_log2);
        block = find_block(blocks, host, address, &probe_count);
    }
    if (block->state == TRACE_NEVER_SEEN) {
        block->address = address;
        block->host = host;
        blocks->count++;
    }
    return block;
}

const struct trace_block *trace_blocks_find(const struct trace_blocks *blocks, uint8_t host,
                                            uint64_t address)
{
    size_t probe_count = 0;
    if (blocks->room == 0) {
        return NULL;
    }
    const struct trace_block *block = find_block(blocks, host, address, &probe_count);
    return block->state == TRACE_NEVER_SEEN ? NULL : block;
}
