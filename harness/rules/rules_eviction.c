/* Whether the program whose image the device was asked to drop may be evicted. */
#include "harness/rules/private/rules.h"

#include <inttypes.h>

/* Of several calls under way it is not known which one evicts: that none of them may is as wrong as
 * a program that is not loaded, and comes before whether it is busy. */
bool rules_judge_eviction(const struct evidence *evidence)
{
    const struct block *program = evidence->slot == SLOT_NONE ? NULL : evidence_block(evidence);
    const bool is_overlapping = evidence->judge->is_overlapping;
    if (program == NULL || program->kind != BLOCK_PROGRAM || program->state != BLOCK_LIVE ||
        (is_overlapping && !evidence->may_evict)) {
        return evidence_break(evidence, RULE_WRONG_EVICTION, "evicted program %" PRIu64 "%s",
                              evidence->op,
                              is_overlapping ? ", which is not loaded, or no call may evict"
                                             : ", which is not loaded");
    }
    if (program->use_count > 0) {
        return evidence_break(evidence, RULE_BUSY_EVICTED,
                              "evicted program %" PRIu64 " with %" PRIu32 " unfinished executions",
                              evidence->op, program->use_count);
    }
    return evidence->may_evict ||
           evidence_break(evidence, RULE_WRONG_EVICTION,
                          "evicted program %" PRIu64 " for a request that may not evict",
                          evidence->op);
}
