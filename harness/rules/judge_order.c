#include "harness/rules/private/judge_order.h"

#include "harness/rules/judge_request.h"
#include "harness/rules/private/judge_log.h"
#include "harness/rules/private/rules.h"

/* Only where blocks are plain ranges.  A refused call excuses what comes after it.  What room is
 * kept for a block in host memory nobody can see, a free that the harness keeps back is no queued
 * free of the target, and next to lanes events complete between a look at them and what follows
 * from it. */
static bool is_judged(const struct judge *judge, const struct host *host, const struct call *call)
{
    const struct target_contract *contract = &host->contract;
    return (contract->order_binds || contract->evicts_until_fits) && contract->queues_frees &&
           contract->placement == PLACEMENT_RANGES && contract->header_bytes == 0 &&
           host->clients == NULL && judge_is_request(&call->op) && !judge->had_absent &&
           device_faults_fired(host->device) == 0 && device_faults_struck(host->device) == 0 &&
           model_absent_count(host->model) == 0;
}

/* A wait for what is done already is none. */
static bool is_mitigation(const struct device_call *made, uint64_t completed_after)
{
    return made->kind == DEVICE_CALL_COPY || made->kind == DEVICE_CALL_STAGE_OUT ||
           made->kind == DEVICE_CALL_UNLOAD ||
           (made->kind == DEVICE_CALL_WAIT && completed_after > made->completed_before);
}

bool judge_order(struct judge *judge, const struct host *host, const struct call *call,
                 const struct device_call *made, uint64_t completed_after, bool has_moved)
{
    return !is_mitigation(made, completed_after) || !is_judged(judge, host, call) ||
           rule_judge(RULE_ORDER, &(const struct evidence){.judge = judge,
                                                           .host = host,
                                                           .call = call,
                                                           .made = made,
                                                           .sight = SIGHT_MITIGATION,
                                                           .slot = SLOT_NONE,
                                                           .has_moved = has_moved});
}

/* What is larger than the device is out of memory whatever goes. */
static bool can_ever_fit(const struct host *host, const struct call *call)
{
    const struct oom_request request = judge_request(host, call);
    const uint64_t capacity = model_capacity_bytes(host->model);
    return request.stack_bytes <= capacity && request.size_bytes <= capacity - request.stack_bytes;
}

bool judge_last_eviction(struct judge *judge, const struct host *host, const struct call *call)
{
    struct evidence kept = {.judge = judge, .host = host, .call = call, .sight = SIGHT_KEPT};
    if (!host->contract.evicts_until_fits || !is_judged(judge, host, call) ||
        !judge_may_evict(host, &call->op) || !can_ever_fit(host, call)) {
        return true;
    }
    for (size_t i = 0; i < model_program_count(host->model); i++) {
        const struct block *program = model_program(host->model, i);
        kept.slot = model_slot_of_op(host->model, program->op);
        if (judge_is_evictable(call, kept.slot, program) && !rule_judge(RULE_ORDER, &kept)) {
            return false;
        }
    }
    return true;
}
