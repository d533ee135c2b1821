#include "harness/rules/private/judge_log.h"

#include "harness/rules/private/rules.h"

uint32_t judge_unloaded_slot(const struct host *host, const struct device_call *unload)
{
    const uint64_t op = unload->from - 1;
    return op < OP_NONE ? model_slot_of_op(host->model, (uint32_t)op) : SLOT_NONE;
}

bool judge_may_evict(const struct host *host, const struct op *op)
{
    switch ((enum op_kind)op->kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
        return host->contract.evicts;
    case OP_LOAD:
    case OP_EXECUTE:
        return host->contract.program_evicts_program;
    default:
        return false;
    }
}

bool judge_is_evictable(const struct call *call, uint32_t slot, const struct block *block)
{
    return slot != call->slot && block->kind == BLOCK_PROGRAM && block->state == BLOCK_LIVE &&
           !block->is_absent && block->use_count == 0;
}

bool judge_eviction(struct judge *judge, const struct host *host, const struct device_call *unload,
                    bool may_evict)
{
    const struct evidence evidence = {.judge = judge,
                                      .host = host,
                                      .made = unload,
                                      .op = unload->from - 1,
                                      .slot = judge_unloaded_slot(host, unload),
                                      .may_evict = may_evict};
    return rule_judge(RULE_WRONG_EVICTION, &evidence); /* and RULE_BUSY_EVICTED with it */
}

bool judge_written(const struct evidence *copy, const struct overlap_stages *stages)
{
    struct span span;
    struct evidence evidence = *copy;
    const uint64_t end = copy->made->to + copy->made->bytes;
    for (uint64_t at = copy->made->to;
         span_map_intersects(model_map(copy->host->model), at, end, &span); at = span.end) {
        evidence.slot = (uint32_t)span.owner;
        evidence.may_be_absent = stages != NULL &&
                                 overlap_stages_may_hold_alone(stages, copy->host, evidence.slot);
        if (!rule_judge(RULE_CONTENTS, &evidence) || !rule_judge(RULE_REUSED_EARLY, &evidence)) {
            return false;
        }
    }
    return true;
}

bool judge_bounds(struct judge *judge, const struct host *host)
{
    const struct evidence evidence = {.judge = judge, .host = host, .sight = SIGHT_DEVICE};
    return rule_judge(RULE_HANG, &evidence) && rule_judge(RULE_OUTSIDE, &evidence);
}
