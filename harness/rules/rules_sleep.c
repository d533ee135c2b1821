/* What a target that sleeps has of the device, and what its sleep leaves in host memory. */
#include "harness/rules/private/rules.h"

#include <inttypes.h>

bool rules_judge_not_released(const struct evidence *evidence)
{
    const struct model *model = evidence->host->model;
    const uint64_t capacity = model_capacity_bytes(model);
    const uint64_t mapped = device_mapped_bytes(evidence->host->device);
    /* What it kept in the sleep in which it was opened, no wake has taken. */
    const bool has_failed = evidence->call->result != TARGET_OK &&
                            mapped != evidence->host->kept_bytes;
    if (mapped == (model_is_asleep(model) ? 0 : capacity)) {
        return true;
    }
    const char *when = !model_is_asleep(model) ? "awake"
                       : has_failed            ? "after a failed wake"
                                               : "asleep";
    const struct evidence named = evidence_named(evidence, when);
    return evidence_break(&named, RULE_NOT_RELEASED,
                          "%s the target has %" PRIu64 " bytes of the device's %" PRIu64, when,
                          mapped, capacity);
}

bool rules_judge_wake_grows(const struct evidence *evidence)
{
    const struct host *host = evidence->host;
    const size_t stages = device_stage_count(host->device);
    const uint64_t before = evidence->judge->woken_bytes[host->index];
    const uint64_t held = device_host_bytes(host->device);
    if (stages > 0) {
        const struct evidence named = evidence_named(evidence, "stage after a wake");
        return evidence_break(&named, RULE_WAKE_GROWS,
                              "%zu stages are left in host memory after a wake", stages);
    }
    return before == 0 || held < before ||
           evidence_break(evidence, RULE_WAKE_GROWS,
                          "%" PRIu64 " bytes of host memory are held after the wake, but %" PRIu64
                          " were after the one before, with the same blocks",
                          held, before - 1);
}
