#include "harness/rules/private/judge_cost.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/rules/judge_request.h"
#include "harness/rules/private/cost_history.h"
#include "harness/rules/private/rules.h"

/* --- what it cost --- */

/* A wait in which nothing completed did nothing. */
static bool has_completed(const struct host *host, const struct device_call *calls, size_t count,
                          size_t wait)
{
    const uint64_t after = wait + 1 < count ? calls[wait + 1].completed_before
                                            : timeline_completed_count(host->timeline);
    return after > calls[wait].completed_before;
}

static uint64_t asked_bytes(const struct call *call)
{
    return call->result == TARGET_OK && judge_is_request(&call->op) ? call->op.size_bytes : 0;
}

void judge_take_plain_cost(struct judge *judge, const struct call *call)
{
    judge->cost = (struct op_cost){.calls = judge->cost.calls, .asked_bytes = asked_bytes(call)};
    judge->is_cost_counted = true;
}

void judge_note_cost(struct judge *judge, const struct host *host, const struct call *call)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(host->device, &count);
    judge->cost = (struct op_cost){.calls = device_call_total(host->device),
                                   .accesses = host->has_cost ? host->access_count : 0,
                                   .asked_bytes = asked_bytes(call)};
    for (size_t i = 0; i < count; i++) {
        const enum device_call_kind kind = calls[i].kind;
        const bool is_move = kind == DEVICE_CALL_COPY || kind == DEVICE_CALL_STAGE_OUT;
        if (calls[i].result != DEVICE_OK) {
            continue;
        }
        judge->cost.moved_bytes += is_move ? calls[i].bytes : 0;
        judge->cost.effects += is_move || kind == DEVICE_CALL_UNLOAD ||
                               (kind == DEVICE_CALL_WAIT && has_completed(host, calls, count, i));
    }
    CHECK_COSTLY(judge->cost.effects <= count);
}

/* --- whether it counts --- */

/* Calls on one block or program: the others are asked to do what costs, or are none of the target.
 */
static bool is_counted_kind(enum op_kind kind)
{
    switch (kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
    case OP_DONATE:
    case OP_FREE:
    case OP_FREE_AFTER:
    case OP_USE:
    case OP_HOLD:
    case OP_RELEASE:
    case OP_LOAD:
    case OP_EXECUTE:
    case OP_UNLOAD:
        return true;
    default:
        return false;
    }
}

/* What the device did wrong costs calls, in that op or in those that bring a block back.  Of lanes
 * nobody knows whose call it was. */
static bool is_counted(const struct judge *judge, const struct host *host, const struct call *call)
{
    return is_counted_kind((enum op_kind)call->op.kind) && !call->is_pinned && !call->is_deferred &&
           host->guard == NULL && host->clients == NULL && !judge->had_absent &&
           !judge->cannot_follow && device_faults_fired(host->device) == 0 &&
           device_faults_struck(host->device) == 0;
}

static struct cost_history *find_costs(struct judge *judge, const struct host *host)
{
    if (judge->cost_count < judge->host_count) {
        judge->costs = array_resized(judge->costs, judge->host_count * sizeof *judge->costs);
        for (uint32_t i = judge->cost_count; i < judge->host_count; i++) {
            judge->costs[i].run = judge->run - 1;
        }
        judge->cost_count = judge->host_count;
    }
    struct cost_history *costs = &judge->costs[host->index];
    if (costs->run != judge->run) {
        *costs = (struct cost_history){.run = judge->run};
    }
    return costs;
}

/* --- judging --- */

static bool is_beyond(const struct target_latency *latency, const struct op_cost *cost)
{
    return latency->per_mille > 0 &&
           ((latency->calls_max > 0 && cost->calls > latency->calls_max) ||
            (latency->moved_bytes_max > 0 && cost->moved_bytes > latency->moved_bytes_max));
}

static void add_cost(struct cost_history *costs, const struct judge *judge, const struct host *host)
{
    const uint64_t block_count = model_counters(host->model)->block_count;
    if (cost_history_wants_holes(costs)) {
        cost_history_see_holes(costs, model_hole_count(host->model), block_count);
    }
    cost_history_add(costs, &(const struct cost_sample){
                                .cost = judge->cost,
                                .block_count = block_count,
                                .is_beyond = is_beyond(&host->contract.latency, &judge->cost)});
}

void judge_op_cost(struct judge *judge, const struct host *host, const struct call *call)
{
    judge->is_cost_counted = is_counted(judge, host, call);
    if (!judge->is_cost_counted || !host->has_cost) {
        return;
    }
    struct cost_history *costs = find_costs(judge, host);
    add_cost(costs, judge, host);
    if (judge->cost.calls == 0 && judge->cost.accesses == 0) {
        return;
    }
    const struct evidence evidence = {
        .judge = judge, .host = host, .call = call, .sight = SIGHT_COST, .costs = costs};
    (void)rule_judge(RULE_LATENCY, &evidence);
    (void)rule_judge(RULE_COST, &evidence);
}
