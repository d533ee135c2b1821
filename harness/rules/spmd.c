#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/rules/private/families.h"

#include <inttypes.h>

/* Holds the answers of the hosts of an SPMD job against each other. */

/* op.group is any number of 16 bits. */
enum { GROUP_COUNT = UINT16_MAX + 1 };

/* Hosts that make the same requests still differ in when their queued frees end, and so in their
 * layouts.  Their answers must be the same all the same where they depend on sums alone: where
 * after all mitigations nothing is left that may not move, and only granules align.  What a host
 * promises is what the first one does: a host that was set up otherwise is the very defect. */

/* Adds up what stays on the host.  False: sums do not decide. */
static bool add_sizes(const struct reach *reach, const struct call *call, uint64_t *sum_bytes)
{
    const struct oom *oom = reach->oom;
    for (size_t i = 0; i < reach->range_count; i++) {
        const struct reach_range *range = &reach->ranges[i];
        const uint32_t op = oom->blocks[range->block].op;
        if (op == call->number || op == oom->request.own_op) {
            continue;
        }
        if (!range->is_movable || range->align_bytes > oom->granule_bytes) {
            return false;
        }
        *sum_bytes += range->size_bytes;
    }
    return true;
}

static enum judge_sums find_sums(struct judge *judge, const struct host *host,
                                 const struct call *call)
{
    if (model_absent_count(host->model) > 0 || model_kept_count(host->model) > 0 ||
        call->op.align_log2 != 0) {
        return JUDGE_SUMS_DO_NOT_DECIDE;
    }
    if (!judge_is_request(&call->op)) {
        return JUDGE_SUMS_FIT; /* whatever else the state, it is granted */
    }
    if (host->contract.limit == TARGET_LIMIT_PROCESS) {
        return JUDGE_SUMS_DO_NOT_DECIDE;
    }
    struct oom_request request = judge_request(host, call);
    if (call->op.kind == OP_EXECUTE) {
        request.size_bytes = judge_needed_bytes(
            host, model_block(host->model, call->slot)->requested_bytes);
    }
    oom_take(&judge->reservable, host->model, &request, 0);
    const struct target_contract *contract = judge->promised != NULL ? judge->promised
                                                                     : &judge->hosts[0].contract;
    judge->reservable.defrag = contract->defrag;
    judge->reservable.drains = contract->drains;
    judge->reservable.evicts = contract->evicts;
    judge->reservable.program_evicts_program = contract->program_evicts_program;
    reach_decide_fully(&judge->reach, &judge->reservable);
    uint64_t sum_bytes = judge->reach.bottom;
    if (contract->defrag == DEFRAG_NONE || !add_sizes(&judge->reach, call, &sum_bytes)) {
        return JUDGE_SUMS_DO_NOT_DECIDE;
    }
    const uint64_t capacity = model_capacity_bytes(host->model);
    const bool fits = !reach_is_too_large(&judge->reach) && sum_bytes <= capacity &&
                      judge->reach.need <= capacity - sum_bytes;
    return fits ? JUDGE_SUMS_FIT : JUDGE_SUMS_DO_NOT_FIT;
}

/* The rounds of the group; those of an earlier run count as none. */
static struct judge_group *find_group(struct judge *judge, uint16_t number)
{
    if (judge->groups == NULL) {
        judge->groups = array_zeroed(GROUP_COUNT, sizeof *judge->groups);
    }
    struct judge_group *group = &judge->groups[number];
    if (group->run != judge->run) {
        *group = (struct judge_group){.run = judge->run};
    }
    return group;
}

static bool is_same_request(const struct op *one, const struct op *other)
{
    return one->kind == other->kind && one->size_bytes == other->size_bytes &&
           one->align_log2 == other->align_log2 &&
           (one->kind != OP_LOAD || one->stack_bytes == other->stack_bytes);
}

/* The latest round of this request in which the host was not seen; a new one when there is none:
 * its second turn begins one.  Hosts may also do several things each before the next one does them,
 * as in the merged list of a pod. */
static struct judge_round *find_round(const struct judge *judge, struct judge_group *group,
                                      const struct host *host, const struct op *op)
{
    for (uint32_t i = JUDGE_ROUND_COUNT; i-- > 0;) {
        struct judge_round *round = &group->rounds[(group->oldest + i) % JUDGE_ROUND_COUNT];
        CHECK(round->hosts_seen == 0 || round->first_op < judge->ops->count);
        if (round->hosts_seen != 0 && (round->hosts_seen >> host->index & 1) == 0 &&
            is_same_request(&judge->ops->ops[round->first_op], op)) {
            return round;
        }
    }
    struct judge_round *begun = &group->rounds[group->oldest];
    group->oldest = (group->oldest + 1) % JUDGE_ROUND_COUNT;
    *begun = (struct judge_round){.sums = JUDGE_SUMS_DO_NOT_DECIDE};
    return begun;
}

/* The call is of no OP_SPMD group, or got the answer of each host of the same round whose state was
 * as good. */
bool rules_judge_spmd(const struct rule_evidence *evidence)
{
    struct judge *judge = evidence->judge;
    const struct host *host = evidence->host;
    const struct call *call = evidence->call;
    const struct op *op = &call->op;
    if ((op->flags & OP_SPMD) == 0 || judge->hosts_differ) {
        return true;
    }
    struct judge_round *round = find_round(judge, find_group(judge, op->group), host, op);
    const enum judge_sums sums = judge->sums = find_sums(judge, host, call);
    if (round->sums == JUDGE_SUMS_DO_NOT_DECIDE) {
        round->first_op = call->number;
        round->sums = (uint8_t)sums;
        round->result = (uint8_t)call->result;
    }
    round->hosts_seen |= (uint64_t)1 << host->index;
    return sums == JUDGE_SUMS_DO_NOT_DECIDE || sums != round->sums ||
           round->result == (uint8_t)call->result ||
           evidence_break(evidence, RULE_SPMD,
                          "host %u got a different answer from op %" PRIu32
                          ", which is the same request",
                          host->index, round->first_op);
}
