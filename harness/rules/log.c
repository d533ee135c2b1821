#include "harness/rules/judge.h"
#include "harness/rules/private/families.h"
#include "harness/rules/private/pass.h"

void judge_absorb_until(struct judge *judge, const struct host *host, uint64_t completed_count)
{
    uint64_t *absorbed_count = &judge->absorbed_counts[host->clock];
    /* Blocks of any host with that time may wait for an event, not only those of the host that made
     * it. */
    const uint32_t end = judge->setup->has_clocks ? host->clock + UINT32_C(1) : judge->host_count;
    while (*absorbed_count < completed_count) {
        const uint64_t event = timeline_completed_at(host->timeline, (*absorbed_count)++);
        for (uint32_t i = host->clock; i < end; i++) {
            model_complete(judge->hosts[i].model, event);
            judge_free_deferred(&judge->hosts[i]);
        }
    }
}

void judge_absorb(struct judge *judge, const struct host *host)
{
    judge_absorb_until(judge, host, timeline_completed_count(host->timeline));
}

void judge_absorb_all(struct judge *judge)
{
    const uint64_t completed_count = timeline_completed_beside(judge->hosts[0].timeline);
    if (completed_count == judge->absorbed_beside) {
        return; /* most ops complete nothing, whatever the number of hosts */
    }
    for (uint32_t i = 0; i < judge->host_count; i++) {
        if (judge->hosts[i].clock == i) {
            judge_absorb(judge, &judge->hosts[i]);
        }
    }
    judge->absorbed_beside = completed_count;
}

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
    struct rule_evidence evidence = evidence_on(judge, host, NULL, SIGHT_ANSWER,
                                                judge_unloaded_slot(host, unload));
    evidence.made = unload;
    evidence.op = unload->from - 1;
    evidence.may_evict = may_evict;
    return rule_judge(RULE_WRONG_EVICTION, &evidence); /* and RULE_BUSY_EVICTED with it */
}

bool judge_written(const struct rule_evidence *copy, const struct overlap_stages *stages)
{
    struct span span;
    struct rule_evidence evidence = *copy;
    const uint64_t end = copy->made->to + copy->made->bytes;
    EACH_SPAN_IN(model_map(copy->host->model), copy->made->to, end, &span) {
        evidence.slot = (uint32_t)span.owner;
        evidence.may_be_absent = stages != NULL &&
                                 overlap_stages_hold(stages, copy->host, evidence.slot, true);
        if (!rule_judge(RULE_CONTENTS, &evidence) || !rule_judge(RULE_REUSED_EARLY, &evidence)) {
            return false;
        }
    }
    return true;
}

bool judge_bounds(struct judge *judge, const struct host *host)
{
    const struct rule_evidence evidence = evidence_of(judge, host, NULL, SIGHT_DEVICE);
    return rule_judge(RULE_HANG, &evidence) && rule_judge(RULE_OUTSIDE, &evidence);
}

/* This rule asks if the program may be evicted whose image the device was asked to drop. */

/* If several calls are under way nobody knows which one evicts.  That none of them may is as wrong
 * as a program that is not loaded, and is judged before its being busy. */
bool rules_judge_eviction(const struct rule_evidence *evidence)
{
    const struct block *program = evidence->slot == SLOT_NONE ? NULL : evidence_block(evidence);
    const bool is_overlapping = evidence->judge->is_overlapping;
    if (program == NULL || program->kind != BLOCK_PROGRAM || program->state != BLOCK_LIVE ||
        (is_overlapping && !evidence->may_evict)) {
        return evidence_break(evidence, RULE_WRONG_EVICTION, "evicted program {number}, which %s",
                              is_overlapping ? "is not loaded, or no call may evict"
                                             : "is not loaded");
    }
    if (program->use_count > 0) {
        return evidence_break(evidence, RULE_BUSY_EVICTED,
                              "evicted program {number} with {uses} unfinished executions");
    }
    return evidence->may_evict ||
           evidence_break(evidence, RULE_WRONG_EVICTION,
                          "evicted program {number} for a request that may not evict");
}

/* A target may also hang in what it is asked after the op. */
bool rules_judge_hang(const struct rule_evidence *evidence)
{
    return !device_hung(evidence->host->device) ||
           evidence_break(
               evidence, RULE_HANG,
               evidence->sight == SIGHT_LATER
                   ? "the target kept making device calls or polling outside of an op"
               : evidence->judge->is_overlapping
                   ? "the calls kept polling or making device calls"
                   : "the op kept polling or making device calls: more than 64 for each block and event");
}

/* --- copies and stages --- */

/* The target says that the block is at another address than before. */
static bool is_elsewhere(const struct judge *judge, const struct host *host,
                         const struct call *call, uint32_t slot)
{
    struct target_block at;
    return judge_find_place(judge, host, call, slot, &at) == PLACE_DEVICE &&
           at.address != model_block(host->model, slot)->address;
}

/* A block that is in use when it is copied away is moved while in use, even if the use ends before
 * the call returns. */
static bool check_source(const struct rule_evidence *copy)
{
    struct span span;
    struct rule_evidence evidence = *copy;
    const uint64_t end = copy->made->from + copy->made->bytes;
    EACH_SPAN_IN(model_map(copy->host->model), copy->made->from, end, &span) {
        evidence.slot = (uint32_t)span.owner;
        if (!block_is_movable(evidence_block(&evidence)) &&
            is_elsewhere(copy->judge, copy->host, copy->call, evidence.slot) &&
            !rule_judge(RULE_HELD_MOVED, &evidence)) {
            return false;
        }
    }
    return true;
}

static bool take_unload(struct judge *judge, struct host *host, const struct call *call,
                        const struct device_call *unload)
{
    const uint32_t slot = judge_unloaded_slot(host, unload);
    const bool may_evict = judge_may_evict(host, &call->op) && slot != call->slot;
    if (!judge_eviction(judge, host, unload, may_evict)) {
        return false;
    }
    /* Half an image is of no use, but the program is gone only when all of it is. */
    if (unload->result == DEVICE_PARTIAL) {
        return true;
    }
    judge->spent.evicted_count++;
    judge->spent.evicted_bytes += model_block(host->model, slot)->size_bytes;
    model_evict(host->model, slot);
    judge_clear_gone(host);
    return true;
}

/* --- the log --- */

static bool absorb_device_call(struct judge *judge, struct host *host, const struct call *call,
                               const struct device_call *made, bool *moved)
{
    struct rule_evidence copy = evidence_of(judge, host, call, SIGHT_COPY);
    copy.made = made;
    switch (made->kind) {
    case DEVICE_CALL_UNLOAD:
        judge_begin_spending(judge, host, call);
        return take_unload(judge, host, call, made);
    case DEVICE_CALL_STAGE_OUT:
        judge_begin_spending(judge, host, call);
        judge->spent.moved_bytes += made->bytes;
        *moved = true;
        return check_source(&copy);
    case DEVICE_CALL_STAGE_IN:
        *moved = true;
        return judge_written(&copy, NULL);
    case DEVICE_CALL_COPY:
        judge_begin_spending(judge, host, call);
        judge->spent.moved_bytes += made->bytes;
        *moved = true;
        return judge_written(&copy, NULL) && check_source(&copy);
    case DEVICE_CALL_REGION_GIVE:
        return judge_region_given(judge, host, call, made);
    default:
        return true;
    }
}

bool judge_device_calls(struct judge *judge, struct host *host, const struct call *call,
                        bool *moved)
{
    size_t count = 0;
    (void)device_calls(host->device, &count);
    bool is_good = true;
    for (size_t i = 0; i < count && is_good; i++) {
        /* A free that was kept back until now may add to the log, which may move. */
        size_t now_count = 0;
        const struct device_call *calls = device_calls(host->device, &now_count);
        const struct device_call made = calls[i];
        const uint64_t after = i + 1 < count ? calls[i + 1].completed_before
                                             : timeline_completed_count(host->timeline);
        judge_absorb_until(judge, host, made.completed_before);
        if (made.result != DEVICE_OK && made.result != DEVICE_PARTIAL) {
            continue;
        }
        is_good = judge_order(judge, host, call, &made, after, *moved) &&
                  judge_held_back(judge, host, call, &made, *moved) &&
                  absorb_device_call(judge, host, call, &made, moved);
    }
    if (is_good && call->result == TARGET_NO_MEMORY) {
        judge_absorb_until(judge, host, device_seen_count(host->device));
    } else if (is_good) {
        judge_absorb(judge, host);
    }
    return judge_bounds(judge, host) && is_good && judge_regions(judge, host, call);
}
