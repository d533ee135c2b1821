#include "diagnosis/cause.h"
#include "diagnosis/private/findings.h"
#include "diagnosis/strength.h"

#include "harness/base/size.h"
#include "harness/op/ops_file.h"

#include <inttypes.h>

/* The op of the list, behind what was run, that completes the event of event_op; OP_NONE.
 * *delay_ns: how much later. */
static uint32_t find_completion(const struct evidence *evidence, uint32_t event_op,
                                uint64_t *delay_ns)
{
    const struct op_list *whole = evidence->history->whole;
    *delay_ns = 0;
    for (size_t i = evidence->ops->count; whole != NULL && i < whole->count; i++) {
        const struct op *op = &whole->ops[i];
        if (op->kind == OP_COMPLETE && (op->flags & OP_RELATIVE) == 0 && op->event == event_op) {
            return (uint32_t)i;
        }
        *delay_ns += op->kind == OP_ADVANCE ? op->delay_ns : 0;
    }
    return OP_NONE;
}

/* An importer that does not know how long a free takes makes its event one that no wait ends; if
 * the file shows its end, it is late. */
static void describe_end(const struct evidence *evidence, const struct queue *most,
                         struct diagnosis *diagnosis)
{
    uint64_t delay_ns = 0;
    char delay[SIZE_TEXT_BYTES];
    const uint32_t end_op = find_completion(evidence, most->event_op, &delay_ns);
    if (end_op != OP_NONE) {
        duration_print(delay_ns, delay);
        diagnosis_number(diagnosis, "completed_by_op", end_op);
        diagnosis_describe(diagnosis, "which ends at op %" PRIu32 "%s%s: it is late, not lost.",
                           end_op, delay_ns > 0 ? ", later by " : "", delay_ns > 0 ? delay : "");
    } else if (most->is_lost) {
        diagnosis_describe(diagnosis, "which is lost: no wait ends it.");
    } else if (evidence->contract->drains) {
        diagnosis_describe(diagnosis, "which has not ended.");
    } else {
        diagnosis_describe(diagnosis, "which has not ended, and this target does not wait.");
    }
}

static void describe_queue(const struct evidence *evidence, const struct queue *most,
                           const struct queue *all, struct diagnosis *diagnosis)
{
    char op[OP_TEXT_BYTES];
    diagnosis->op = most->event_op;
    diagnosis_number(diagnosis, "queued_bytes", all->bytes);
    diagnosis_number(diagnosis, "queued_frees", all->count);
    diagnosis_number(diagnosis, "queued_bytes_behind_op", most->bytes);
    diagnosis_describe(diagnosis,
                       "%s are already freed and wait (%" PRIu64
                       " queued free%s). Of these, %s wait for the event of op %u (%s), ",
                       size_text_of(all->bytes).text, all->count, all->count == 1 ? "" : "s",
                       size_text_of(most->bytes).text, most->event_op,
                       op_print(&evidence->ops->ops[most->event_op], op));
    describe_end(evidence, most, diagnosis);
}

static void find_queued_frees(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    struct queue most, all;
    queues_find(evidence, &most, &all);
    if (all.count == 0) {
        return;
    }
    const uint64_t missing = evidence->missing_bytes;
    strength_set(diagnosis, missing == 0           ? STRENGTH_QUEUED_FREES_PIECES
                            : all.bytes >= missing ? STRENGTH_QUEUED_FREES
                                                   : STRENGTH_QUEUED_FREES_PART);
    if (all.bytes < missing / 2) {
        diagnosis->confidence = 0;
        return;
    }
    describe_queue(evidence, &most, &all, diagnosis);
    if (all.bytes < missing) {
        diagnosis_describe(diagnosis, " That is less than the missing %s.",
                           size_text_of(missing).text);
    }
}

const struct cause cause_queued_frees = {
    .name = "queued_frees",
    .summary = "freed memory is not available yet, because it waits for an event",
    .claim = CLAIM_TIGHT,
    .find = find_queued_frees,
    .remedies = {&remedy_mark_step},
};
