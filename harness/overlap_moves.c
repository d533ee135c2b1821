#include "harness/overlap_moves.h"

#include "harness/array.h"
#include "harness/check.h"
#include "harness/clients.h"
#include "harness/judge_moved.h"

#include <inttypes.h>
#include <stdlib.h>

void overlap_moves_deinit(struct overlap_moves *moves)
{
    free(moves->young);
    free(moves->staged);
    *moves = (struct overlap_moves){0};
}

void overlap_moves_add_young(struct overlap_moves *moves, const struct host *host, uint32_t slot)
{
    moves->young = array_grown(moves->young, moves->young_count, &moves->young_capacity, sizeof *moves->young);
    moves->young[moves->young_count++] = (struct young){host, slot};
}

void overlap_moves_stamp(const struct overlap_moves *moves, const struct host *host)
{
    for (size_t i = 0; i < moves->young_count; i++) {
        const struct young *young = &moves->young[i];
        if (young->host == host && model_block(host->model, young->slot)->state != BLOCK_GONE &&
            !model_block(host->model, young->slot)->is_absent) {
            judge_stamp(host, young->slot);
        }
    }
}

static void stamp_stages(const struct overlap_moves *moves, const struct host *host, uint32_t slot)
{
    for (size_t i = 0; i < moves->staged_count; i++) {
        if (moves->staged[i].host == host && moves->staged[i].slot == slot) {
            const uint64_t bytes = model_block(host->model, slot)->requested_bytes;
            device_stamp_stage(host->device, moves->staged[i].stage, bytes, slot);
        }
    }
}

void overlap_moves_stamp_staged(const struct overlap_moves *moves, const struct host *host)
{
    for (size_t i = 0; i < moves->young_count; i++) {
        const struct young *young = &moves->young[i];
        if (young->host == host && model_block(host->model, young->slot)->state != BLOCK_GONE) {
            stamp_stages(moves, host, young->slot);
        }
    }
}

/* --- which copies were moves ------------------------------------------------------------------------- */

/* A block on its way: at an address, and maybe in a stage that was taken out there. */
struct whereabouts {
    uint64_t address, stage; /* stage 0 = in none */
};

/* Follows the block through one device call.  True: it came to another address. */
static bool follow_call(struct whereabouts *at, const struct device_call *call, const struct block *block)
{
    if (call->result != DEVICE_OK) {
        return false;
    }
    if (call->kind == DEVICE_CALL_STAGE_IN && at->stage != 0 && call->from == at->stage) {
        *at = (struct whereabouts){.address = call->to};
        return true;
    }
    const bool is_in_it = at->address >= call->from && at->address + block->requested_bytes <= call->from + call->bytes;
    if (call->kind == DEVICE_CALL_STAGE_OUT && is_in_it && at->address == call->from) {
        at->stage = call->to;
    } else if (call->kind == DEVICE_CALL_COPY && is_in_it) {
        *at = (struct whereabouts){.address = call->to + (at->address - call->from)};
        return true;
    }
    return false;
}

/* Whether calls from `made` on can bring the block from address to where it is in the end. */
static bool leads_to(const struct host *host, const struct device_call *made, uint32_t slot, uint64_t address,
                     uint64_t final)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(host->device, &count);
    const struct block *block = model_block(host->model, slot);
    struct whereabouts at = {.address = address};
    for (; at.address != final && made < calls + count; made++) {
        if (made->kind == DEVICE_CALL_UNLOAD && made->from == (uint64_t)block->op + 1) {
            return true; /* evicted there: where it is now is another story */
        }
        (void)follow_call(&at, made, block);
    }
    return at.address == final;
}

/* Where the target says that what op made is now, after everything; false: it cannot be asked. */
static bool find_final_of_op(const struct host *host, uint32_t op, uint64_t *address)
{
    const struct block *known = host->clients == NULL ? NULL : clients_block(host->clients, host->index, op);
    struct target_block at = {0};
    if (known == NULL || !known->is_known || host->target->locate == NULL ||
        host->target->locate(host->instance, known->handle, &at) != TARGET_OK) {
        return false;
    }
    *address = at.address;
    return true;
}

static bool find_final(const struct host *host, const struct block *block, uint64_t *address)
{
    return find_final_of_op(host, block->op, address);
}

bool overlap_moves_ends_elsewhere(const struct host *host, uint32_t op, uint64_t address)
{
    uint64_t final = 0;
    return find_final_of_op(host, op, &final) && final != address;
}

/* Whether the copy moved the block; *to is where. */
static bool is_move(const struct host *host, const struct device_call *made, uint32_t slot, uint64_t *to)
{
    const struct block *block = model_block(host->model, slot);
    uint64_t final = 0;
    struct whereabouts at = {.address = block->address, .stage = made->kind == DEVICE_CALL_STAGE_IN ? made->from : 0};
    if (!follow_call(&at, made, block)) {
        return false;
    }
    *to = at.address;
    if (!find_final(host, block, &final)) {
        return block->state == BLOCK_LIVE; /* what was freed since went where its bytes went */
    }
    return leads_to(host, made + 1, slot, *to, final);
}

/* --- taking them in ------------------------------------------------------------------------------------ */

static bool check_target(struct judge *judge, const struct host *host, const struct device_call *made)
{
    struct span span;
    for (uint64_t at = made->to; span_map_intersects(model_map(host->model), at, made->to + made->bytes, &span);
         at = span.end) {
        const struct block *block = model_block(host->model, (uint32_t)span.owner);
        if (block->kind == BLOCK_RETIRED) {
            return judge_broken(judge, RULE_CONTENTS, "a copy to 0x%" PRIx64 " lies on memory that went bad", made->to);
        }
        if (block->state == BLOCK_DYING) {
            return judge_broken(judge, RULE_REUSED_EARLY, "a copy to 0x%" PRIx64 " overwrites block %" PRIu32
                                ", whose events are not done", made->to, block->op);
        }
    }
    return true;
}

static struct staged *find_staged(const struct overlap_moves *moves, const struct host *host, uint64_t stage)
{
    for (size_t i = 0; i < moves->staged_count; i++) {
        if (moves->staged[i].host == host && moves->staged[i].stage == stage) {
            return &moves->staged[i];
        }
    }
    return NULL;
}

bool overlap_moves_find_staged(const struct overlap_moves *moves, const struct host *host, uint64_t stage,
                               uint32_t *slot)
{
    const struct staged *staged = find_staged(moves, host, stage);
    if (staged != NULL) {
        *slot = staged->slot;
    }
    return staged != NULL;
}

void overlap_moves_take_refused(const struct overlap_moves *moves, const struct host *host,
                                const struct device_call *made)
{
    struct staged *staged = made->kind == DEVICE_CALL_STAGE_IN ? find_staged(moves, host, made->from) : NULL;
    if (staged == NULL || made->result != DEVICE_REFUSED) {
        return; /* what was done in part goes on */
    }
    const struct block *block = model_block(host->model, staged->slot);
    const bool is_same = block->state == BLOCK_LIVE && block->op == staged->op;
    staged->may_stay = staged->may_stay || (is_same && block->hold_count == 0 && block->use_count == 0);
}

bool overlap_moves_was_staged(const struct overlap_moves *moves, const struct host *host, uint32_t slot)
{
    for (size_t i = 0; i < moves->staged_count; i++) {
        if (moves->staged[i].host == host && moves->staged[i].slot == slot) {
            return true;
        }
    }
    return false;
}

void overlap_moves_strand_staged(const struct overlap_moves *moves, struct host *host, uint64_t start, uint64_t end)
{
    struct span span;
    for (uint64_t at = start; at < end && span_map_intersects(model_map(host->model), at, end, &span); at = span.end) {
        if (overlap_moves_was_staged(moves, host, (uint32_t)span.owner)) {
            model_strand(host->model, (uint32_t)span.owner);
        }
    }
}

static bool has_no_address(const struct host *host, const struct block *block)
{
    struct target_block at = {0};
    return block->is_known && host->target->locate != NULL &&
           host->target->locate(host->instance, block->handle, &at) != TARGET_OK;
}

void overlap_moves_strand_refused(const struct overlap_moves *moves, struct host *host)
{
    for (size_t i = 0; i < moves->staged_count; i++) {
        const struct staged *staged = &moves->staged[i];
        if (staged->host != host || !staged->may_stay || host->contract.defrag != DEFRAG_REPACK) {
            continue;
        }
        const struct block *block = model_block(host->model, staged->slot);
        if (block->state == BLOCK_LIVE && block->op == staged->op && !block->is_absent && has_no_address(host, block) &&
            device_has_staged(host->device, staged->slot, block->requested_bytes)) {
            model_strand(host->model, staged->slot);
        }
    }
}

/* Blocks that will be elsewhere in the end make room: another one goes where they were. */
static void make_room(const struct overlap_moves *moves, struct host *host, const struct span *range)
{
    const uint64_t start = range->start;
    const uint64_t end = range->end;
    struct span span;
    uint64_t at = start;
    while (at < end && span_map_intersects(model_map(host->model), at, end, &span)) {
        const struct block *block = model_block(host->model, (uint32_t)span.owner);
        uint64_t final = 0;
        if ((find_final(host, block, &final) && final != block->address) ||
            overlap_moves_was_staged(moves, host, (uint32_t)span.owner)) {
            model_strand(host->model, (uint32_t)span.owner);
        }
        at = span.end;
    }
}

/* What is being judged, and the device call that is taken in. */
struct taking {
    const struct overlap_moves *moves;
    struct judge *judge;
    struct host *host;
    const struct device_call *made;
};

/* What was in host memory alone when it was held had no place to keep. */
static bool had_no_place(const struct taking *taking)
{
    const struct device_call *made = taking->made;
    const struct staged *staged =
        made->kind == DEVICE_CALL_STAGE_IN ? find_staged(taking->moves, taking->host, made->from) : NULL;
    return staged != NULL && staged->may_stay;
}

static bool move(const struct taking *taking, uint32_t slot, uint64_t to)
{
    struct judge *judge = taking->judge;
    struct host *host = taking->host;
    const struct block *block = model_block(host->model, slot);
    uint32_t other = SLOT_NONE;
    if (block->use_count > 0 ||
        ((block->hold_count > 0 || block->state != BLOCK_LIVE) && !had_no_place(taking))) {
        return judge_broken(judge, RULE_HELD_MOVED, "block %" PRIu32 " was moved to 0x%" PRIx64 " while it had %" PRIu32
                            " holds and %" PRIu32 " uses", block->op, to, block->hold_count, block->use_count);
    }
    if (!block->is_absent) {
        model_strand(host->model, slot);
    }
    make_room(taking->moves, host, &(struct span){.start = to, .end = to + block->size_bytes});
    (void)model_return(host->model, slot, to, &other); /* else it is looked for when no call is under way */
    return true;
}

static void take_stage_out(struct overlap_moves *moves, const struct host *host, const struct device_call *made)
{
    struct span span;
    if (!span_map_intersects(model_map(host->model), made->from, made->from + 1, &span) || span.start != made->from) {
        return;
    }
    moves->staged =
        array_grown(moves->staged, moves->staged_count, &moves->staged_capacity, sizeof *moves->staged);
    moves->staged[moves->staged_count++] = (struct staged){
        .host = host, .stage = made->to, .slot = (uint32_t)span.owner,
        .op = model_block(host->model, (uint32_t)span.owner)->op};
}

static bool take_stage_in(const struct taking *taking)
{
    uint64_t to = 0;
    uint32_t slot = SLOT_NONE;
    if (!overlap_moves_find_staged(taking->moves, taking->host, taking->made->from, &slot) ||
        model_block(taking->host->model, slot)->state == BLOCK_GONE) {
        return true;
    }
    const bool is_good = !is_move(taking->host, taking->made, slot, &to) || move(taking, slot, to);
    find_staged(taking->moves, taking->host, taking->made->from)->may_stay = false; /* it has a place from here on */
    return is_good;
}

/* The blocks of the source, in the order in which a copy that overlaps itself must take them. */
static bool take_copy(const struct taking *taking)
{
    enum { SLOT_COUNT_MAX = 64 };
    uint32_t slots[SLOT_COUNT_MAX];
    size_t count = 0;
    struct span span;
    const struct device_call *made = taking->made;
    const struct span_map *map = model_map(taking->host->model);
    for (uint64_t at = made->from; at < made->from + made->bytes && count < SLOT_COUNT_MAX &&
                                   span_map_intersects(map, at, made->from + made->bytes, &span);
         at = span.end) {
        slots[count++] = (uint32_t)span.owner;
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t slot = slots[made->to > made->from ? count - 1 - i : i];
        uint64_t to = 0;
        if (is_move(taking->host, made, slot, &to) && !move(taking, slot, to)) {
            return false;
        }
    }
    return true;
}

bool overlap_moves_take(struct overlap_moves *moves, struct judge *judge, struct host *host,
                        const struct device_call *made)
{
    const struct taking taking = {moves, judge, host, made};
    moves->has_moved = true;
    if (made->kind == DEVICE_CALL_STAGE_OUT) {
        take_stage_out(moves, host, made);
        return true;
    }
    return check_target(judge, host, made) &&
           (made->kind == DEVICE_CALL_STAGE_IN ? take_stage_in(&taking) : take_copy(&taking));
}
