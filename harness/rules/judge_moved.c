#include "harness/base/check.h"
#include "harness/rules/private/judge_place.h"

#include <inttypes.h>
#include <stdlib.h>

/* The block is at another address than before; how: what is wrong with that, to follow the two. */
static bool went(struct judge *judge, enum rule rule, const struct block *block, uint64_t address,
                 const char *how)
{
    return judge_broken(judge, rule, "block %" PRIu32 " went from 0x%" PRIx64 " to 0x%" PRIx64 "%s",
                        block->op, block->address, address, how);
}

/* --- nothing was moved --- */

bool judge_touched(struct judge *judge, const struct host *host, const struct call *call)
{
    const struct block *block = model_block(host->model, call->slot);
    uint64_t address = 0;
    const enum place place = judge_find_place(judge, host, call, call->slot, &address);
    if (place == PLACE_NONE) {
        return judge_lost(judge, host, call->slot);
    }
    if ((place == PLACE_HOST) != block->is_absent) {
        return judge_broken(judge, RULE_MOVED_UNASKED, "block %" PRIu32 " went %s host memory",
                            block->op, block->is_absent ? "from" : "to");
    }
    if (block->is_absent) {
        return true;
    }
    if (address != block->address) {
        return went(judge, RULE_MOVED_UNASKED, block, address, "");
    }
    return judge_keeps_contents(judge, host, call->slot);
}

/* --- each change of place --- */

/* While blocks are brought up to date after an op. */
struct placing {
    struct judge *judge;
    struct host *host;
    const struct call *call;
    bool moved;          /* something was copied or staged */
    uint64_t *addresses; /* of the blocks that stay in the map, in its order; count of them */
    size_t count;
    bool has_changes;   /* of address */
    uint32_t *stranded; /* slots of those that left it; stranded_count */
    size_t stranded_count;
};

static bool check_place(const struct placing *placing, const struct block *block, uint64_t address)
{
    struct judge *judge = placing->judge;
    const struct model *model = placing->host->model;
    if (address > model_capacity_bytes(model) ||
        block->size_bytes > model_capacity_bytes(model) - address) {
        return judge_broken(judge, RULE_OUTSIDE, "block %" PRIu32 " moved to 0x%" PRIx64, block->op,
                            address);
    }
    if (address % block->align_bytes != 0) {
        return judge_broken(judge, RULE_MISALIGNED, "block %" PRIu32 " moved to 0x%" PRIx64,
                            block->op, address);
    }
    if (address < model_reserved_bytes(model)) {
        return judge_broken(judge, RULE_OVERLAP,
                            "block %" PRIu32 " moved to 0x%" PRIx64
                            ", into the stack, which ends at 0x%" PRIx64,
                            block->op, address, model_reserved_bytes(model));
    }
    return true;
}

/* What the op freed may have been moved before that, unless it was in use. */
static bool check_movable(const struct placing *placing, uint32_t slot)
{
    const struct block *block = model_block(placing->host->model, slot);
    const bool may_move = judge_ended_handle(placing->call, slot)
                              ? block->hold_count == 0 && block->use_count == 0
                              : block_is_movable(block);
    return may_move || judge_broken(placing->judge, RULE_HELD_MOVED,
                                    "block %" PRIu32 " moved though it has %" PRIu32
                                    " holds and %" PRIu32 " uses",
                                    block->op, block->hold_count, block->use_count);
}

static bool check_move(const struct placing *placing, uint32_t slot, uint64_t address)
{
    struct judge *judge = placing->judge;
    const struct block *block = model_block(placing->host->model, slot);
    if (address == block->address) {
        return true;
    }
    if (!placing->moved && placing->call->result != TARGET_OK) {
        return went(judge, RULE_FAILED_CHANGED, block, address, " in a call that failed");
    }
    if (!placing->moved || placing->host->contract.defrag == DEFRAG_NONE) {
        return went(judge, RULE_MOVED_UNASKED, block, address, "");
    }
    /* Where calls overlapped, each move was held against its own instant. */
    return (judge->is_overlapping || check_movable(placing, slot)) &&
           check_place(placing, block, address);
}

/* Only a device that refuses may leave a block in host memory, and only where blocks change places.
 */
static bool check_stranding(const struct placing *placing, uint32_t slot)
{
    const struct host *host = placing->host;
    const struct block *block = model_block(host->model, slot);
    if (host->contract.defrag != DEFRAG_REPACK || device_faults_fired(host->device) == 0) {
        return judge_broken(placing->judge, RULE_MOVED_UNASKED,
                            "block %" PRIu32 " was left in host memory, though %s", block->op,
                            host->contract.defrag != DEFRAG_REPACK
                                ? "the contract has no block change places"
                                : "no call was refused");
    }
    return check_movable(placing, slot);
}

/* Where a block that has a range is now. */
static bool place_block(struct placing *placing, uint32_t slot)
{
    const struct host *host = placing->host;
    const struct block *block = model_block(host->model, slot);
    uint64_t *address = &placing->addresses[placing->count];
    switch (judge_find_place(placing->judge, host, placing->call, slot, address)) {
    case PLACE_HOST:
        placing->stranded[placing->stranded_count++] = slot;
        return check_stranding(placing, slot);
    case PLACE_NONE:
        return judge_lost(placing->judge, host, slot);
    default:
        break;
    }
    const uint64_t *below = placing->count > 0 ? address - 1 : NULL;
    placing->count++;
    placing->has_changes = placing->has_changes || *address != block->address;
    if (!check_move(placing, slot, *address)) {
        return false;
    }
    return host->contract.defrag != DEFRAG_SLIDE || below == NULL || *address >= *below ||
           went(placing->judge, RULE_MOVED_UNASKED, block, *address, ", past its lower neighbour");
}

/* An absent block: back at an address, or still in host memory. */
static bool place_absent(const struct placing *placing, uint32_t slot)
{
    struct host *host = placing->host;
    const struct block *block = model_block(host->model, slot);
    uint64_t address = 0;
    uint32_t other = SLOT_NONE;
    const enum place place = judge_find_place(placing->judge, host, placing->call, slot, &address);
    if (place != PLACE_DEVICE) {
        return place == PLACE_HOST || judge_lost(placing->judge, host, slot);
    }
    if (!placing->moved) {
        return judge_broken(placing->judge, RULE_MOVED_UNASKED,
                            "block %" PRIu32 " came back from host memory to 0x%" PRIx64
                            ", but nothing was copied",
                            block->op, address);
    }
    if (!check_place(placing, block, address)) {
        return false;
    }
    return model_return(host->model, slot, address, &other) ||
           judge_broken(placing->judge, RULE_OVERLAP,
                        "block %" PRIu32 " came back from host memory onto block %" PRIu32,
                        block->op, model_block(host->model, other)->op);
}

/* All blocks that have a range. */
static bool place_blocks(struct placing *placing)
{
    const struct span_map *map = model_map(placing->host->model);
    struct span_cursor cursor;
    struct span span;
    for (bool found = span_map_first(map, &cursor); found; found = span_map_next(map, &cursor)) {
        span_map_get(map, &cursor, &span);
        if (!place_block(placing, (uint32_t)span.owner)) {
            return false;
        }
    }
    return true;
}

static bool place_all(struct placing *placing)
{
    struct model *model = placing->host->model;
    if (!place_blocks(placing)) {
        return false;
    }
    for (size_t i = 0; i < placing->stranded_count; i++) {
        model_strand(model, placing->stranded[i]);
    }
    uint32_t slot = 0;
    if (placing->has_changes && !model_relocate(model, placing->addresses, &slot)) {
        return judge_broken(placing->judge, RULE_OVERLAP,
                            "block %" PRIu32 " was moved onto another block",
                            model_block(model, slot)->op);
    }
    /* From the last on: one that returns changes the places of those behind it. */
    for (size_t i = model_absent_count(model); i-- > 0;) {
        if (!place_absent(placing, model_absent_slot(model, i))) {
            return false;
        }
    }
    return true;
}

bool judge_places(struct judge *judge, struct host *host, const struct call *call, bool moved)
{
    const size_t count = model_map(host->model)->count;
    struct judge_places *scratch = &judge->places;
    if (count > scratch->capacity) {
        scratch->capacity = 2 * count;
        scratch->addresses = realloc(scratch->addresses,
                                     scratch->capacity * sizeof *scratch->addresses);
        scratch->stranded = realloc(scratch->stranded,
                                    scratch->capacity * sizeof *scratch->stranded);
        CHECK(scratch->addresses != NULL);
        CHECK(scratch->stranded != NULL);
    }
    struct placing placing = {.judge = judge,
                              .host = host,
                              .call = call,
                              .moved = moved,
                              .addresses = scratch->addresses,
                              .stranded = scratch->stranded};
    return place_all(&placing);
}
