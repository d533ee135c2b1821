#include "harness/rules/private/judge_sleep.h"

#include "harness/rules/private/judge_contents.h"
#include "harness/rules/private/rules.h"

bool judge_is_sleep(const struct op *op)
{
    return op->kind == OP_SLEEP || op->kind == OP_WAKE;
}

/* The blocks, and what the target keeps for them, are no longer those of the last wake. */
static bool ends_series(const struct host *host, const struct call *call)
{
    const uint8_t kind = call->op.kind;
    const bool is_of_time = kind == OP_COMPLETE || kind == OP_ADVANCE || kind == OP_FAULT;
    const bool is_sound = call->result == TARGET_OK && device_faults_struck(host->device) == 0 &&
                          device_faults_fired(host->device) == 0;
    return judge_is_sleep(&call->op) ? !is_sound : !is_of_time;
}

bool judge_take_sleep(struct judge *judge, struct host *host, const struct call *call)
{
    /* Most targets never sleep, and have all of their device. */
    if (host->contract.sleeps == SLEEP_NONE &&
        device_mapped_bytes(host->device) == model_capacity_bytes(host->model)) {
        return true;
    }
    const struct evidence memory = {
        .judge = judge, .host = host, .call = call, .sight = SIGHT_SLEEP};
    if (ends_series(host, call)) {
        judge->woken_bytes[host->index] = 0;
    }
    if (judge_is_sleep(&call->op) && call->result == TARGET_OK) {
        model_set_asleep(host->model, call->op.kind == OP_SLEEP);
    }
    return rule_judge(RULE_NOT_RELEASED, &memory);
}

/* Memory that went bad holds nothing that a wake could restore. */
static void stamp_retired(const struct host *host)
{
    struct span_cursor cursor;
    struct span span;
    const struct span_map *map = model_map(host->model);
    bool found = model_retired_count(host->model) > 0 && span_map_first(map, &cursor);
    for (; found; found = span_map_next(map, &cursor)) {
        span_map_get(map, &cursor, &span);
        if (model_block(host->model, (uint32_t)span.owner)->kind == BLOCK_RETIRED) {
            judge_stamp(host, (uint32_t)span.owner);
        }
    }
}

bool judge_after_sleep(struct judge *judge, struct host *host, const struct call *call)
{
    const bool has_woken = call->op.kind == OP_WAKE;
    const struct evidence left = {.judge = judge, .host = host, .call = call, .sight = SIGHT_WAKE};
    if (has_woken && host->contract.sleeps == SLEEP_DISCARDS) {
        judge_stamp_all(host); /* the client writes them again */
    }
    stamp_retired(host);
    if (!judge_contents(judge, host)) {
        return false;
    }
    if (has_woken && !rule_judge(RULE_WAKE_GROWS, &left)) {
        return false;
    }
    judge->woken_bytes[host->index] = ends_series(host, call) ? 0
                                                              : device_host_bytes(host->device) + 1;
    return true;
}
