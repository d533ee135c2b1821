#include "harness/rules/private/families.h"

#include <inttypes.h>

bool judge_is_sleep(const struct op *op)
{
    return op->kind == OP_SLEEP || op->kind == OP_WAKE;
}

/* The blocks, and what the target keeps for them, are no longer those of the last wake. */
static bool ends_series(const struct host *host, const struct call *call)
{
    const uint8_t kind = call->op.kind;
    const bool is_of_time = kind == OP_COMPLETE || kind == OP_ADVANCE || kind == OP_FAULT;
    const bool is_sound = call->result == TARGET_OK && !device_had_fault(host->device);
    return judge_is_sleep(&call->op) ? !is_sound : !is_of_time;
}

bool judge_take_sleep(struct judge *judge, struct host *host, const struct call *call)
{
    /* Most targets never sleep, and have all of their device. */
    if (host->contract.sleeps == SLEEP_NONE &&
        device_mapped_bytes(host->device) == model_capacity_bytes(host->model)) {
        return true;
    }
    const struct rule_evidence memory = evidence_of(judge, host, call, SIGHT_SLEEP);
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
    struct span span;
    if (model_retired_count(host->model) == 0) {
        return;
    }
    EACH_SPAN(model_map(host->model), &span) {
        if (model_block(host->model, (uint32_t)span.owner)->kind == BLOCK_RETIRED) {
            judge_stamp(host, (uint32_t)span.owner);
        }
    }
}

bool judge_after_sleep(struct judge *judge, struct host *host, const struct call *call)
{
    const bool has_woken = call->op.kind == OP_WAKE;
    const struct rule_evidence left = evidence_of(judge, host, call, SIGHT_WAKE);
    if (has_woken && host->contract.sleeps == SLEEP_DISCARDS) {
        judge_stamp_all(host); /* the client writes them again */
    }
    stamp_retired(host);
    if (!judge_contents(judge, host) || (has_woken && !rule_judge(RULE_WAKE_GROWS, &left))) {
        return false;
    }
    judge->woken_bytes[host->index] = ends_series(host, call) ? 0
                                                              : device_host_bytes(host->device) + 1;
    return true;
}

/* These rules judge what a sleeping target has of the device, and what it leaves in host memory. */

bool rules_judge_not_released(const struct rule_evidence *evidence)
{
    const struct model *model = evidence->host->model;
    const uint64_t capacity = model_capacity_bytes(model);
    const uint64_t mapped = device_mapped_bytes(evidence->host->device);
    /* No wake has taken what it kept in the sleep in which it was opened. */
    const bool has_failed = evidence->call->result != TARGET_OK &&
                            mapped != evidence->host->kept_bytes;
    if (mapped == (model_is_asleep(model) ? 0 : capacity)) {
        return true;
    }
    const char *when = !model_is_asleep(model) ? "awake"
                       : has_failed            ? "after a failed wake"
                                               : "asleep";
    return evidence_break_as(evidence, RULE_NOT_RELEASED, when,
                             "%s the target has %" PRIu64 " bytes of the device's %" PRIu64, when,
                             mapped, capacity);
}

bool rules_judge_wake_grows(const struct rule_evidence *evidence)
{
    const struct host *host = evidence->host;
    const size_t stages = device_stage_count(host->device);
    const uint64_t before = evidence->judge->woken_bytes[host->index];
    const uint64_t held = device_host_bytes(host->device);
    if (stages > 0) {
        return evidence_break_as(evidence, RULE_WAKE_GROWS, "stage after a wake",
                                 "%zu stages are left in host memory after a wake", stages);
    }
    return before == 0 || held < before ||
           evidence_break(evidence, RULE_WAKE_GROWS,
                          "%" PRIu64 " bytes of host memory are held after the wake, but %" PRIu64
                          " were after the one before, with the same blocks",
                          held, before - 1);
}
