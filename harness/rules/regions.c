#include "harness/device/device.h"
#include "harness/oracle/reach.h"
#include "harness/rules/private/families.h"

/* True if the call may have ended the block: the model has not taken that in yet. */
static bool is_ended_by(const struct call *call, uint32_t slot)
{
    const uint8_t kind = call == NULL ? OP_KIND_COUNT : call->op.kind;
    return call != NULL && slot == call->slot && call->result == TARGET_OK &&
           (kind == OP_FREE || kind == OP_FREE_AFTER || kind == OP_RELEASE);
}

bool judge_region_given(struct judge *judge, const struct host *host, const struct call *call,
                        const struct device_call *given)
{
    struct span span;
    struct rule_evidence evidence = evidence_of(judge, host, call, SIGHT_REGION);
    evidence.address = given->from;
    evidence.size_bytes = given->bytes;
    EACH_SPAN_IN(model_map(host->model), given->from, given->from + given->bytes, &span) {
        evidence.slot = (uint32_t)span.owner;
        if (host->contract.regions.grows && !is_ended_by(call, evidence.slot) &&
            !rule_judge(RULE_REGION, &evidence)) {
            return false;
        }
    }
    return true;
}

static bool judge_each_block(struct judge *judge, const struct host *host, const struct call *call,
                             bool *is_one_ended)
{
    struct span span;
    struct rule_evidence evidence = evidence_of(judge, host, call, SIGHT_PLACE);
    EACH_SPAN(model_map(host->model), &span) {
        evidence.slot = (uint32_t)span.owner;
        evidence.address = span.start;
        evidence.size_bytes = span.end - span.start;
        if (is_ended_by(call, evidence.slot)) {
            *is_one_ended = true;
        } else if (!rule_judge(RULE_REGION, &evidence)) {
            return false;
        }
    }
    return true;
}

/* Nothing was given back that is no region. */
static bool judge_wrong_gift(struct judge *judge, const struct host *host)
{
    struct rule_evidence evidence = evidence_on(judge, host, NULL, SIGHT_REGION, SLOT_NONE);
    return !device_gave_wrongly(host->device, &evidence.address) ||
           rule_judge(RULE_REGION, &evidence);
}

bool judge_regions(struct judge *judge, struct host *host, const struct call *call)
{
    const uint64_t changes = device_region_changes(host->device);
    bool is_one_ended = false;
    size_t count = 0;
    if (!host->contract.regions.grows || !judge_wrong_gift(judge, host)) {
        return !host->contract.regions.grows;
    }
    if (changes == host->region_changes) {
        return true;
    }
    const struct device_region *regions = device_regions(host->device, &count);
    model_set_regions(host->model, regions, count);
    const bool is_good = judge_each_block(judge, host, call, &is_one_ended);
    host->region_changes = is_one_ended ? host->region_changes : changes;
    return is_good;
}

void judge_regions_closed(struct judge *judge, const struct host *host)
{
    struct rule_evidence evidence = evidence_of(judge, host, NULL, SIGHT_CLOSE);
    if (!host->contract.regions.grows || !judge_wrong_gift(judge, host)) {
        return;
    }
    size_t count = 0;
    (void)device_regions(host->device, &count);
    evidence.count = count;
    (void)rule_judge(RULE_REGION, &evidence);
}

/* --- a shared device --- */

static bool has_staying_block(const struct oom *oom, const struct device_region *region)
{
    const uint64_t drained_ns = reach_drain_ns(oom);
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        const bool is_inside = block->address >= region->address &&
                               block->address - region->address < region->size_bytes;
        const bool goes = block->state == BLOCK_DYING && block->hold_count == 0 &&
                          block->freed_at_ns <= drained_ns;
        if (is_inside && !goes) {
            return true;
        }
    }
    return false;
}

void judge_pool(const struct host *host, struct oom *oom)
{
    const struct device_pool *pool = device_pool_of(host->device);
    if (pool == NULL || !oom->promised.grows) {
        return;
    }
    const uint64_t need_bytes = oom_region_bytes(oom, oom->request.size_bytes);
    const uint64_t left_bytes = device_pool_left_bytes(pool);
    uint64_t trimmed_bytes = 0;
    for (size_t i = 0; oom->promised.trims && i < oom->region_count; i++) {
        trimmed_bytes += has_staying_block(oom, &oom->regions[i]) ? 0 : oom->regions[i].size_bytes;
    }
    oom->needs_trim = need_bytes > left_bytes;
    if (need_bytes > left_bytes + trimmed_bytes) {
        device_pool_refuse_region(host->device, need_bytes);
        oom->faults_fired = device_faults_fired(host->device);
    }
}

/* Regions of the device: blocks lie in them, and all are given back. */

static bool judge_given(const struct rule_evidence *evidence)
{
    if (evidence->slot == SLOT_NONE) {
        return evidence_break_as(evidence, RULE_REGION, "no region that was given back",
                                 "{at} was given back, where no region begins");
    }
    return evidence_break(
        evidence, RULE_REGION,
        "the region [{at}, +{size}) was given back while block {block} lay there");
}

static bool judge_place(const struct rule_evidence *evidence)
{
    const struct model *model = evidence->host->model;
    if (!evidence->host->contract.regions.grows ||
        model_region_of(model, evidence->address, evidence->size_bytes) != NULL) {
        return true;
    }
    const bool is_split = model_region_of(model, evidence->address, 1) != NULL;
    return evidence_break_as(evidence, RULE_REGION, is_split ? "beyond its region" : "in no region",
                             "[{at}, +{size}) %s",
                             is_split ? "does not end in the region in which it begins"
                                      : "begins in no region that is held");
}

bool rules_judge_region(const struct rule_evidence *evidence)
{
    switch (evidence->sight) {
    case SIGHT_REGION:
        return judge_given(evidence);
    case SIGHT_CLOSE:
        return evidence->count == 0 ||
               evidence_break(evidence, RULE_REGION, "{count} regions are held after close");
    default:
        return judge_place(evidence);
    }
}
