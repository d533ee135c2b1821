/* Regions of the device: blocks lie in them, and all are given back. */
#include "harness/rules/private/rules.h"

#include <inttypes.h>

static bool judge_given(const struct evidence *evidence)
{
    if (evidence->slot == SLOT_NONE) {
        const struct evidence named = evidence_named(evidence, "no region that was given back");
        return evidence_break(&named, RULE_REGION,
                              "0x%" PRIx64 " was given back, where no region begins",
                              evidence->address);
    }
    return evidence_break(evidence, RULE_REGION,
                          "the region [0x%" PRIx64 ", +%" PRIu64
                          ") was given back while block %" PRIu32 " lay there",
                          evidence->address, evidence->size_bytes, evidence_block(evidence)->op);
}

static bool judge_place(const struct evidence *evidence)
{
    const struct model *model = evidence->host->model;
    if (!evidence->host->contract.regions.grows ||
        model_region_of(model, evidence->address, evidence->size_bytes) != NULL) {
        return true;
    }
    const bool is_split = model_region_of(model, evidence->address, 1) != NULL;
    const struct evidence named = evidence_named(evidence,
                                                 is_split ? "beyond its region" : "in no region");
    return evidence_break(&named, RULE_REGION, "[0x%" PRIx64 ", +%" PRIu64 ") %s",
                          evidence->address, evidence->size_bytes,
                          is_split ? "does not end in the region in which it begins"
                                   : "begins in no region that is held");
}

bool rules_judge_region(const struct evidence *evidence)
{
    switch (evidence->sight) {
    case SIGHT_REGION:
        return judge_given(evidence);
    case SIGHT_CLOSE:
        return evidence->count == 0 ||
               evidence_break(evidence, RULE_REGION, "%" PRIu64 " regions are held after close",
                              evidence->count);
    default:
        return judge_place(evidence);
    }
}
