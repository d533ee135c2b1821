/* Whether blocks keep their contents. */
#include "harness/rules/private/judge_contents.h"
#include "harness/rules/private/rules.h"

#include <inttypes.h>

bool rules_judge_contents(const struct evidence *evidence)
{
    const struct block *block = evidence_block(evidence);
    if (evidence->sight == SIGHT_COPY) {
        return block->kind != BLOCK_RETIRED ||
               evidence_break(evidence, RULE_CONTENTS,
                              "a copy to 0x%" PRIx64 " overlaps retired memory",
                              evidence->made->to);
    }
    if (evidence->sight == SIGHT_LOST) {
        return evidence_break(evidence, RULE_CONTENTS,
                              "block %" PRIu32
                              " has no address, and host memory does not hold its contents",
                              block->op);
    }
    if (evidence->sight == SIGHT_READ) {
        return evidence_break(evidence, RULE_CONTENTS,
                              "block %" PRIu32 " does not read as it was written", block->op);
    }
    return judge_has_contents(evidence->host, evidence->slot) ||
           evidence_break(evidence, RULE_CONTENTS,
                          "block %" PRIu32 " at 0x%" PRIx64 " lost its contents", block->op,
                          block->address);
}
