/* Whether blocks moved that may not, and how those that may. */
#include "harness/rules/private/judge_contents.h"
#include "harness/rules/private/rules.h"

#include <inttypes.h>
#include <stdio.h>

/* --- blocks that are in use --- */

/* What the op freed may have been moved before that, unless it was in use.  What was in host memory
 * alone when it was held had no place to keep. */
static bool has_leave(const struct evidence *evidence)
{
    const struct block *block = evidence_block(evidence);
    const bool is_idle = block->hold_count == 0 &&
                         (block->state == BLOCK_LIVE || evidence->has_ended);
    return block->use_count == 0 && (is_idle || evidence->may_be_absent);
}

bool rules_judge_held_moved(const struct evidence *evidence)
{
    const struct block *block = evidence_block(evidence);
    char to[40] = "";
    if (has_leave(evidence)) {
        return true;
    }
    if (evidence->sight == SIGHT_MOVE) {
        (void)snprintf(to, sizeof to, " to 0x%" PRIx64 " while it had", evidence->address);
    }
    return evidence_break(evidence, RULE_HELD_MOVED,
                          "block %" PRIu32 " %s%s %" PRIu32 " holds and %" PRIu32 " uses",
                          block->op,
                          evidence->sight == SIGHT_COPY ? "was copied to another place while it had"
                          : evidence->sight == SIGHT_MOVE ? "was moved"
                                                          : "moved although it has",
                          to, block->hold_count, block->use_count);
}

/* --- moves that nobody asked for --- */

/* The block is at another address than before; how: what is wrong with that, to follow the two. */
static bool break_went(const struct evidence *evidence, enum rule rule, const char *how)
{
    const struct block *block = evidence_block(evidence);
    return evidence_break(evidence, rule,
                          "block %" PRIu32 " went from 0x%" PRIx64 " to 0x%" PRIx64 "%s", block->op,
                          block->address, evidence->address, how);
}

/* Where calls overlap, others may have moved the block since. */
static bool judge_donation(const struct evidence *evidence)
{
    const struct block *block = evidence_block(evidence);
    const bool is_there = evidence->address == block->address || evidence->judge->is_overlapping;
    return (is_there && evidence->size_bytes == block->size_bytes) ||
           evidence_break(evidence, RULE_MOVED_UNASKED,
                          "a donation took 0x%" PRIx64 " instead of its input's 0x%" PRIx64,
                          evidence->address, block->address);
}

static bool judge_image(const struct evidence *evidence)
{
    const struct block *block = evidence_block(evidence);
    return evidence->address == block->address ||
           evidence_break(evidence, RULE_MOVED_UNASKED,
                          "the target reports the image of program %" PRIu32 " at 0x%" PRIx64
                          ", but it was at 0x%" PRIx64,
                          block->op, evidence->address, block->address);
}

static bool judge_touch(const struct evidence *evidence)
{
    const struct block *block = evidence_block(evidence);
    if (evidence->is_in_host_memory != block->is_absent) {
        return evidence_break(evidence, RULE_MOVED_UNASKED, "block %" PRIu32 " went %s host memory",
                              block->op, block->is_absent ? "from" : "to");
    }
    return block->is_absent || evidence->address == block->address ||
           break_went(evidence, RULE_MOVED_UNASKED, "");
}

static bool judge_passed(const struct evidence *evidence)
{
    const struct block *block = evidence_block(evidence);
    const struct block *other = model_block(evidence->host->model, evidence->other);
    return block->address > other->address ||
           evidence_break(evidence, RULE_MOVED_UNASKED,
                          "block %" PRIu32 " is at 0x%" PRIx64 " and block %" PRIu32
                          " at 0x%" PRIx64 ", so that they passed each other",
                          block->op, block->address, other->op, other->address);
}

/* A sleep and a wake move nothing. */
static bool may_move(const struct evidence *evidence)
{
    const struct call *call = evidence->call;
    return evidence->host->contract.defrag != DEFRAG_NONE &&
           (call == NULL || (call->op.kind != OP_SLEEP && call->op.kind != OP_WAKE));
}

/* Only a device that refuses may leave a block in host memory, and only where blocks change places.
 */
static bool judge_stranded(const struct evidence *evidence)
{
    const struct host *host = evidence->host;
    const bool is_repack = host->contract.defrag == DEFRAG_REPACK && may_move(evidence);
    return (is_repack && device_faults_fired(host->device) != 0) ||
           evidence_break(evidence, RULE_MOVED_UNASKED,
                          "block %" PRIu32 " was left in host memory, although %s",
                          evidence_block(evidence)->op,
                          is_repack ? "no call was refused"
                                    : "the contract lets no block move past another in this call");
}

static bool break_stays(const struct evidence *evidence)
{
    return evidence_break(
        evidence, RULE_MOVED_UNASKED,
        "block %" PRIu32 " is still in host memory, although no call was refused and [0x%" PRIx64
        ", 0x%" PRIx64 ") is free",
        evidence_block(evidence)->op, evidence->address, evidence->address + evidence->size_bytes);
}

static bool judge_return(const struct evidence *evidence)
{
    return evidence->has_moved ||
           evidence_break(evidence, RULE_MOVED_UNASKED,
                          "block %" PRIu32 " came back from host memory to 0x%" PRIx64
                          ", but nothing was copied",
                          evidence_block(evidence)->op, evidence->address);
}

/* Its bytes are where they were: the target alone lost the block. */
static bool judge_lost_address(const struct evidence *evidence)
{
    const struct block *block = evidence_block(evidence);
    return block->is_absent || !judge_has_contents(evidence->host, evidence->slot) ||
           evidence_break(evidence, RULE_MOVED_UNASKED,
                          "block %" PRIu32 " was at 0x%" PRIx64
                          " and has no address now, but host memory does not hold it",
                          block->op, block->address);
}

bool rules_judge_moved_unasked(const struct evidence *evidence)
{
    const enum defrag_contract defrag = evidence->host->contract.defrag;
    switch (evidence->sight) {
    case SIGHT_DONATION:
        return judge_donation(evidence);
    case SIGHT_IMAGE:
        return judge_image(evidence);
    case SIGHT_PASSED:
        return judge_passed(evidence);
    case SIGHT_TOUCH:
        return judge_touch(evidence);
    case SIGHT_STRANDED:
        return judge_stranded(evidence);
    case SIGHT_STAYS:
        return break_stays(evidence);
    case SIGHT_RETURN:
        return judge_return(evidence);
    case SIGHT_LOST:
        return judge_lost_address(evidence);
    case SIGHT_NEIGHBOUR:
        return defrag != DEFRAG_SLIDE || evidence->address >= evidence->below_address ||
               break_went(evidence, RULE_MOVED_UNASKED, ", past its lower neighbour");
    default:
        return (evidence->has_moved && may_move(evidence)) ||
               break_went(evidence, RULE_MOVED_UNASKED, "");
    }
}
