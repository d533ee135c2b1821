#include "harness/base/align.h"
#include "harness/base/array.h"
#include "harness/rules/private/families.h"

bool judge_ended_handle(const struct call *call, uint32_t slot)
{
    const uint8_t kind = call->op.kind;
    return slot == call->slot && call->result == TARGET_OK &&
           (kind == OP_FREE || kind == OP_FREE_AFTER || kind == OP_UNLOAD);
}

/* Returns the handle by which to ask the target where the block is; 0 = there is none. */
static uint64_t find_handle(const struct host *host, const struct call *call, uint32_t slot)
{
    const struct block *block = model_block(host->model, slot);
    if (!block->is_known || host->target->locate == NULL || host->contract.header_bytes > 0 ||
        host->contract.placement != PLACEMENT_RANGES || judge_ended_handle(call, slot)) {
        return 0;
    }
    const bool is_donated = slot == call->slot && call->op.kind == OP_DONATE &&
                            call->result == TARGET_OK;
    return is_donated ? call->block.handle : block->handle;
}

/* For a block of which the target cannot be asked: it goes where its bytes go. */
static enum block_place follow_bytes(const struct judge *judge, const struct host *host,
                                     const struct call *call, uint32_t slot, uint64_t *address)
{
    const struct block *block = model_block(host->model, slot);
    bool is_absent = block->is_absent;
    /* While calls overlapped, stages were followed one by one, and whose they were by their bytes
     * was not known yet.  No single call ended the block: it is absent. */
    if (judge->is_overlapping && device_has_staged(host->device, slot, block->requested_bytes)) {
        return PLACE_HOST;
    }
    *address = block->address;
    EACH_DEVICE_CALL(host->device, made) {
        const bool is_back = made->kind == DEVICE_CALL_STAGE_IN && made->owner == slot;
        const bool is_copied = made->kind == DEVICE_CALL_COPY && !is_absent &&
                               made->from == *address;
        /* Dying before this op, it may come back, but then stays. */
        if (made->result == DEVICE_OK &&
            (is_back || (is_copied && judge_ended_handle(call, slot)))) {
            *address = made->to;
            is_absent = false;
        }
    }
    if (!is_absent && (!judge_ended_handle(call, slot) ||
                       device_holds(host->device, *address, block->requested_bytes, slot))) {
        return PLACE_DEVICE;
    }
    return device_has_staged(host->device, slot, block->requested_bytes) ? PLACE_HOST
           : is_absent                                                   ? PLACE_NONE
                                                                         : PLACE_DEVICE;
}

enum block_place judge_find_place(const struct judge *judge, const struct host *host,
                                  const struct call *call, uint32_t slot, struct target_block *at)
{
    const struct block *block = model_block(host->model, slot);
    const uint64_t handle = find_handle(host, call, slot);
    *at = (struct target_block){0};
    if (handle != 0 && host->target->locate(host->instance, handle, at) == TARGET_OK) {
        return PLACE_DEVICE;
    }
    at->size_bytes = 0;
    if (handle != 0 && host->contract.defrag != DEFRAG_NONE) {
        return device_has_staged(host->device, slot, block->requested_bytes) ? PLACE_HOST
                                                                             : PLACE_NONE;
    }
    if (block->is_absent || judge_ended_handle(call, slot)) {
        return follow_bytes(judge, host, call, slot, &at->address);
    }
    at->address = block->address;
    return PLACE_DEVICE;
}

bool judge_touched(struct judge *judge, const struct host *host, const struct call *call)
{
    struct rule_evidence evidence = evidence_on(judge, host, call, SIGHT_TOUCH, call->slot);
    struct target_block at;
    const enum block_place place = judge_find_place(judge, host, call, call->slot, &at);
    evidence.address = at.address;
    if (place == PLACE_NONE) {
        return judge_lost(judge, host, call->slot);
    }
    evidence.is_in_host_memory = place == PLACE_HOST;
    return rule_judge(RULE_MOVED_UNASKED, &evidence) &&
           (evidence.is_in_host_memory || rule_judge(RULE_CONTENTS, &evidence));
}

/* --- each change of place --- */

/* While blocks are brought up to date after an op. */
struct block_placing {
    struct judge *judge;
    struct host *host;
    const struct call *call;
    bool moved;   /* something was copied or staged */
    bool is_late; /* not all blocks were looked at after the ops before: this need not have moved
                     them */
    struct judge_places *scratch; /* the judge's */
    size_t count;                 /* of addresses: the blocks that stay in the map, in its order */
    bool has_changes;             /* of address */
    size_t stranded_count;        /* of slots of those that left it */
};

static struct rule_evidence seen_block(const struct block_placing *placing, uint32_t slot,
                                       enum evidence_sight sight)
{
    const struct block *block = model_block(placing->host->model, slot);
    struct rule_evidence evidence = evidence_on(placing->judge, placing->host, placing->call, sight,
                                                slot);
    evidence.size_bytes = block->size_bytes;
    evidence.align_bytes = block->align_bytes;
    evidence.has_moved = placing->moved;
    evidence.has_ended = judge_ended_handle(placing->call, slot);
    return evidence;
}

static bool check_place(const struct rule_evidence *place)
{
    return rule_judge(RULE_OUTSIDE, place) && rule_judge(RULE_MISALIGNED, place) &&
           rule_judge(RULE_OVERLAP, place);
}

static bool check_move(const struct block_placing *placing, const struct rule_evidence *place)
{
    /* If calls overlapped, each move was judged at its own instant. */
    return (placing->is_late || rule_judge(RULE_FAILED_CHANGED, place)) &&
           rule_judge(RULE_MOVED_UNASKED, place) &&
           (place->judge->is_overlapping || rule_judge(RULE_HELD_MOVED, place)) &&
           check_place(place);
}

/* The block is at address, and its lower neighbour (0 = it has none) at below_address. */
static bool check_address(const struct block_placing *placing, uint32_t slot, uint64_t address,
                          uint64_t below_address)
{
    const bool has_moved = address != model_block(placing->host->model, slot)->address;
    if (!has_moved && address >= below_address) {
        return true;
    }
    struct rule_evidence place = seen_block(placing, slot, SIGHT_PLACE);
    place.address = address;
    place.below_address = below_address;
    if (has_moved && !check_move(placing, &place)) {
        return false;
    }
    place.sight = SIGHT_NEIGHBOUR;
    return rule_judge(RULE_MOVED_UNASKED, &place);
}

/* No call makes a block larger or smaller; what a failed one did to it is told of that call. */
static bool check_size(const struct block_placing *placing, uint32_t slot,
                       const struct target_block *at)
{
    if (at->size_bytes == 0 ||
        at->size_bytes == model_block(placing->host->model, slot)->size_bytes) {
        return true;
    }
    struct rule_evidence size = seen_block(placing, slot, SIGHT_SIZE);
    size.size_bytes = at->size_bytes;
    return rule_judge(RULE_FAILED_CHANGED, &size);
}

/* Finds where a block that has a range is now. */
static bool place_block(struct block_placing *placing, uint32_t slot)
{
    const struct host *host = placing->host;
    uint64_t *address = &placing->scratch->addresses[placing->count];
    struct target_block at;
    const enum block_place place = judge_find_place(placing->judge, host, placing->call, slot, &at);
    if (place == PLACE_HOST) {
        const struct rule_evidence stranded = seen_block(placing, slot, SIGHT_STRANDED);
        placing->scratch->stranded[placing->stranded_count++] = slot;
        return rule_judge(RULE_MOVED_UNASKED, &stranded) && rule_judge(RULE_HELD_MOVED, &stranded);
    }
    if (place == PLACE_NONE) {
        return judge_lost(placing->judge, host, slot);
    }
    const uint64_t below_address = placing->count > 0 ? *(address - 1) : 0;
    *address = at.address;
    placing->count++;
    placing->has_changes = placing->has_changes ||
                           *address != model_block(host->model, slot)->address;
    return check_address(placing, slot, *address, below_address) && check_size(placing, slot, &at);
}

/* An absent block: back at an address, or still in host memory. */
static bool place_absent(const struct block_placing *placing, uint32_t slot)
{
    struct host *host = placing->host;
    struct rule_evidence back = seen_block(placing, slot, SIGHT_RETURN);
    struct target_block at;
    const enum block_place place = judge_find_place(placing->judge, host, placing->call, slot, &at);
    back.address = at.address;
    if (place != PLACE_DEVICE) {
        return place == PLACE_HOST || judge_lost(placing->judge, host, slot);
    }
    if (!rule_judge(RULE_MOVED_UNASKED, &back) || !check_place(&back)) {
        return false;
    }
    back.sight = SIGHT_RETAKEN;
    return model_return(host->model, slot, back.address, &back.other) ||
           rule_judge(RULE_OVERLAP, &back);
}

/* Places all blocks that have a range. */
static bool place_blocks(struct block_placing *placing)
{
    const struct span_map *map = model_map(placing->host->model);
    struct span span;
    EACH_SPAN(map, &span) {
        if (!place_block(placing, (uint32_t)span.owner)) {
            return false;
        }
    }
    return true;
}

static bool place_all(struct block_placing *placing)
{
    struct model *model = placing->host->model;
    if (!place_blocks(placing)) {
        return false;
    }
    for (size_t i = 0; i < placing->stranded_count; i++) {
        model_strand(model, placing->scratch->stranded[i]);
    }
    uint32_t slot = 0;
    if (placing->has_changes && !model_relocate(model, placing->scratch->addresses, &slot)) {
        const struct rule_evidence taken = seen_block(placing, slot, SIGHT_TAKEN);
        return rule_judge(RULE_OVERLAP, &taken);
    }
    /* This goes from the last on: one that returns changes the places of those behind it. */
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
    const bool is_late = judge->looked_counts[host->index] > 0;
    judge->looked_counts[host->index] = 0;
    struct judge_places *scratch = &judge->places;
    if (count > scratch->capacity) {
        scratch->capacity = 2 * count;
        scratch->addresses = array_resized(scratch->addresses,
                                           scratch->capacity * sizeof *scratch->addresses);
        scratch->stranded = array_resized(scratch->stranded,
                                          scratch->capacity * sizeof *scratch->stranded);
    }
    struct block_placing placing = {.judge = judge,
                                    .host = host,
                                    .call = call,
                                    .moved = moved,
                                    .is_late = is_late,
                                    .scratch = scratch};
    return place_all(&placing);
}

/* --- blocks in host memory come back as soon as they can --- */

/* The first free range at or above `at`, cut off at `limit`; false: none begins below that. */
static bool find_free(const struct host *host, uint64_t at, uint64_t limit, struct judge_hole *hole)
{
    if (at >= limit || !model_free_range(host->model, at, &hole->start, &hole->end) ||
        hole->start < at || hole->start >= limit) {
        return false;
    }
    hole->end = hole->end < limit ? hole->end : limit;
    return true;
}

void judge_note_holes(struct judge *judge, const struct host *host)
{
    struct judge_holes *holes = &judge->holes;
    struct judge_hole hole = {0};
    const uint64_t capacity = model_capacity_bytes(host->model);
    holes->count = 0;
    while (model_absent_count(host->model) > 0 && find_free(host, hole.end, capacity, &hole)) {
        holes->holes = array_grown(holes->holes, holes->count, &holes->capacity,
                                   sizeof *holes->holes);
        holes->holes[holes->count++] = hole;
    }
}

/* True unless the op only reads, which moves nothing, or can never be right. */
static bool has_called_target(const struct call *call)
{
    switch ((enum op_kind)call->op.kind) {
    case OP_COMPLETE:
    case OP_ADVANCE:
    case OP_FAULT:
    case OP_SWITCH:
    case OP_TOUCH:
    case OP_REPORT:
        return false;
    default:
        return !call->is_deferred && call->result != TARGET_INVALID;
    }
}

/* The block has no place in the hole. */
static bool check_hole(const struct rule_evidence *stays, const struct judge_hole *hole)
{
    const struct block *block = evidence_block(stays);
    const uint64_t start = align_up(hole->start, block->align_bytes);
    struct rule_evidence evidence = *stays;
    evidence.address = start;
    evidence.size_bytes = block->size_bytes;
    return start >= hole->end || block->size_bytes > hole->end - start ||
           rule_judge(RULE_MOVED_UNASKED, &evidence);
}

/* False if the block could lie in a hole.  A hole that the target still keeps free is the room of
 * no other block: each that was granted its return has its room. */
static bool check_block(struct judge *judge, const struct host *host, uint32_t slot)
{
    const struct rule_evidence stays = evidence_on(judge, host, NULL, SIGHT_STAYS, slot);
    for (size_t i = 0; i < judge->holes.count; i++) {
        struct judge_hole hole = {.end = judge->holes.holes[i].start};
        while (find_free(host, hole.end, judge->holes.holes[i].end, &hole)) {
            if (!check_hole(&stays, &hole)) {
                return false;
            }
        }
    }
    return true;
}

bool judge_absent(struct judge *judge, const struct host *host, const struct call *call)
{
    if (!has_called_target(call) || device_faults_fired(host->device) != 0) {
        return true;
    }
    for (size_t i = 0; i < model_absent_count(host->model); i++) {
        const uint32_t slot = model_absent_slot(host->model, i);
        const struct block *block = model_block(host->model, slot);
        if (!device_has_staged(host->device, slot, block->requested_bytes)) {
            return judge_lost(judge, host, slot);
        }
        /* A freed block goes from where it is. */
        if (block->state == BLOCK_LIVE && !check_block(judge, host, slot)) {
            return false;
        }
    }
    return true;
}
