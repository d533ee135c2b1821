#include "harness/call/stamps.h"
#include "harness/rules/private/families.h"

/* --- what became free --- */

void judge_clear_gone(struct host *host)
{
    size_t count = 0;
    const struct model_gone *gone = model_gone(host->model, &count);
    for (size_t i = 0; i < count; i++) {
        device_scrub(host->device, gone[i].slot);
    }
    model_forget_gone(host->model);
}

void judge_free_deferred(struct host *host)
{
    size_t count = 0;
    const struct model_gone *gone = model_gone(host->model, &count);
    for (size_t i = 0; i < count; i++) {
        if (gone[i].is_freed && !host->contract.queues_frees && host->instance != NULL) {
            (void)host->target->free(host->instance, gone[i].handle, 0);
        }
    }
    judge_clear_gone(host);
}

/* --- one block --- */

/* Stamps the bytes that were asked for: the rest up to the granule has no contents to keep.  A
 * block without an address cannot be known so (stamps.h). */
void judge_stamp(const struct host *host, uint32_t slot)
{
    const struct block *block = model_block(host->model, slot);
    if (host->contract.placement != PLACEMENT_RANGES) {
        return;
    }
    device_stamp(host->device, block->address, block->requested_bytes, slot);
}

bool judge_has_contents(const struct host *host, uint32_t slot)
{
    const struct block *block = model_block(host->model, slot);
    return host->contract.placement != PLACEMENT_RANGES ||
           device_holds(host->device, block->address, block->requested_bytes, slot);
}

bool judge_lost(struct judge *judge, const struct host *host, uint32_t slot)
{
    const struct rule_evidence evidence = evidence_on(judge, host, NULL, SIGHT_LOST, slot);
    return rule_judge(RULE_MOVED_UNASKED, &evidence) && rule_judge(RULE_CONTENTS, &evidence);
}

/* --- every block --- */

/* The moved ones and those they may have been written over. */
static bool judge_each_block(struct judge *judge, const struct host *host)
{
    struct span span;
    struct rule_evidence evidence = evidence_of(judge, host, NULL, SIGHT_PLACE);
    const struct span_map *map = model_map(host->model);
    EACH_SPAN(map, &span) {
        evidence.slot = (uint32_t)span.owner;
        if (!rule_judge(RULE_CONTENTS, &evidence)) {
            return false;
        }
    }
    for (size_t i = 0; i < model_absent_count(host->model); i++) {
        const uint32_t slot = model_absent_slot(host->model, i);
        if (!device_has_staged(host->device, slot,
                               model_block(host->model, slot)->requested_bytes)) {
            return judge_lost(judge, host, slot);
        }
    }
    return true;
}

void judge_stamp_all(const struct host *host)
{
    struct span span;
    const struct span_map *map = model_map(host->model);
    device_settle(host->device);
    EACH_SPAN(map, &span) {
        judge_stamp(host, (uint32_t)span.owner);
    }
}

/* Afterwards the device may forget the ranges: each block holds itself. */
bool judge_contents(struct judge *judge, const struct host *host)
{
    if (!judge_each_block(judge, host)) {
        return false;
    }
    judge_stamp_all(host);
    return true;
}

/* --- blocks without an address --- */

static bool judge_read(struct judge *judge, const struct host *host, uint32_t slot)
{
    const struct rule_evidence evidence = evidence_on(judge, host, NULL, SIGHT_READ, slot);
    return rule_judge(RULE_CONTENTS, &evidence);
}

bool judge_stamps(struct judge *judge, const struct host *host, const struct call *call)
{
    bool is_good = !call->is_spoiled || judge_read(judge, host, call->slot);
    if (call->op.kind != OP_REPORT || !stamps_apply(host)) {
        return is_good;
    }
    for (size_t i = 0; i < model_live_count(host->model) && is_good; i++) {
        const uint32_t slot = model_slot_of_op(host->model, model_live(host->model, i)->op);
        is_good = stamps_are_there(host, slot) || judge_read(judge, host, slot);
    }
    return is_good;
}

/* These rules ask if blocks keep their contents. */

bool rules_judge_contents(const struct rule_evidence *evidence)
{
    switch (evidence->sight) {
    case SIGHT_COPY:
        return evidence_block(evidence)->kind != BLOCK_RETIRED ||
               evidence_break(evidence, RULE_CONTENTS,
                              "a copy to {made_to} overlaps retired memory");
    case SIGHT_LOST:
        return evidence_break(
            evidence, RULE_CONTENTS,
            "block {block} has no address, and host memory does not hold its contents");
    case SIGHT_READ:
        return evidence_break(evidence, RULE_CONTENTS,
                              "block {block} does not read as it was written");
    default:
        return judge_has_contents(evidence->host, evidence->slot) ||
               evidence_break(evidence, RULE_CONTENTS, "block {block} at {was} lost its contents");
    }
}
