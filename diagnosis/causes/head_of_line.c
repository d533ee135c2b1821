#include "diagnosis/cause.h"
#include "diagnosis/private/findings.h"
#include "diagnosis/strength.h"

#include "harness/op/ops_file.h"

#include <inttypes.h>

/* Shares are one in so many. */
enum {
    FREE_COUNT_MIN = 4,     /* behind the event */
    SHARE_PERCENT_MIN = 75, /* of what waits for any event */
    OWN_DIVISOR = 8         /* the op that made the event takes at most this share of what waits */
};

/* Returns the size that the op which made the event works on: an op on blocks of its own size would
 * not be small. */
static uint64_t find_own_bytes(const struct evidence *evidence, uint32_t event_op)
{
    const struct op *op = &evidence->ops->ops[event_op];
    const bool names_block = op->ref < evidence->ops->count;
    return names_block ? evidence->ops->ops[op->ref].size_bytes : op->size_bytes;
}

static uint64_t find_time_since(const struct evidence *evidence, uint32_t event_op)
{
    uint64_t ns = 0;
    for (size_t i = event_op; i < evidence->ops->count; i++) {
        ns += evidence->ops->ops[i].kind == OP_ADVANCE ? evidence->ops->ops[i].delay_ns : 0;
    }
    return ns;
}

static void describe_queue(const struct evidence *evidence, const struct queue *queue,
                           uint64_t own_bytes, struct diagnosis *diagnosis)
{
    char op[OP_TEXT_BYTES];
    const uint64_t ops = evidence->ops->count - 1 - queue->event_op;
    const uint64_t ns = find_time_since(evidence, queue->event_op);
    diagnosis->op = queue->event_op;
    diagnosis_number(diagnosis, "bytes_behind_op", queue->bytes);
    diagnosis_number(diagnosis, "frees_behind_op", queue->count);
    diagnosis_number(diagnosis, "own_bytes", own_bytes);
    diagnosis_number(diagnosis, "late_ops", ops);
    diagnosis_number(diagnosis, "late_ns", ns);
    diagnosis_describe(
        diagnosis,
        "%" PRIu64
        " frees with %s wait behind one event, that of op %u (%s), whose own block has %s. ",
        queue->count, size_text_of(queue->bytes).text, queue->event_op,
        op_print(&evidence->ops->ops[queue->event_op], op), size_text_of(own_bytes).text);
    diagnosis_describe(diagnosis,
                       "It began %" PRIu64 " ops (%" PRIu64 ".%03" PRIu64 " ms) ago and ", ops,
                       ns / 1000000, ns / 1000 % 1000);
    diagnosis_describe(diagnosis, "%s",
                       queue->is_lost ? "is lost: nothing behind it comes back."
                       : evidence->contract->drains
                           ? "has not ended."
                           : "has not ended, and this target does not wait.");
}

static void find_head_of_line(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    struct queue longest, all;
    queues_find(evidence, &longest, &all);
    if (longest.count < FREE_COUNT_MIN || longest.bytes < evidence->missing_bytes ||
        (double)longest.bytes * 100 < (double)all.bytes * SHARE_PERCENT_MIN) {
        return;
    }
    const uint64_t own_bytes = find_own_bytes(evidence, longest.event_op);
    if (own_bytes <= longest.bytes / OWN_DIVISOR) {
        strength_set(diagnosis, evidence->missing_bytes == 0 ? STRENGTH_HEAD_OF_LINE_PIECES
                                                             : STRENGTH_HEAD_OF_LINE);
        describe_queue(evidence, &longest, own_bytes, diagnosis);
    }
}

const struct cause cause_head_of_line = {
    .name = "head_of_line",
    .summary = "many frees wait behind one event of a small op",
    .claim = CLAIM_TIGHT,
    .find = find_head_of_line,
    .remedies = {&remedy_mark_step},
};
