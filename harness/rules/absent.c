#include "harness/base/align.h"
#include "harness/base/array.h"
#include "harness/rules/private/families.h"

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
static bool check_hole(const struct evidence *stays, const struct judge_hole *hole)
{
    const struct block *block = evidence_block(stays);
    const uint64_t start = align_up(hole->start, block->align_bytes);
    struct evidence evidence = *stays;
    evidence.address = start;
    evidence.size_bytes = block->size_bytes;
    return start >= hole->end || block->size_bytes > hole->end - start ||
           rule_judge(RULE_MOVED_UNASKED, &evidence);
}

/* False if the block could lie in a hole.  A hole that the target still keeps free is the room of
 * no other block: each that was granted its return has its room. */
static bool check_block(struct judge *judge, const struct host *host, uint32_t slot)
{
    const struct evidence stays = evidence_on(judge, host, NULL, SIGHT_STAYS, slot);
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
