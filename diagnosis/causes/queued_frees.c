#include "diagnosis/cause.h"
#include "diagnosis/strength.h"

#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/op/ops_file.h"

#include <inttypes.h>
#include <stdlib.h>

/* What waits for one event. */
struct queue {
    uint32_t event_op;
    bool is_lost;
    uint64_t bytes, count;
};

static int compare_events(const void *a, const void *b)
{
    const struct queue *x = a;
    const struct queue *y = b;
    return (x->event_op > y->event_op) - (x->event_op < y->event_op);
}

/* One entry for each queued free that waits for an event; returns how many. */
static size_t collect_queues(const struct evidence *evidence, struct queue *queues)
{
    size_t count = 0;
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        if (block->state == BLOCK_DYING && block->event_op != OP_NONE) {
            queues[count++] = (struct queue){block->event_op, block->waits_for_ever,
                                             block->size_bytes, 1};
        }
    }
    qsort(queues, count, sizeof *queues, compare_events);
    return count;
}

/* Adds up those of one event; *most is the largest sum, *all that of all. */
static void add_queues(struct queue *queues, size_t count, struct queue *most, struct queue *all)
{
    for (size_t i = 0; i < count;) {
        struct queue sum = queues[i];
        for (i++; i < count && queues[i].event_op == sum.event_op; i++) {
            sum.bytes += queues[i].bytes;
            sum.count++;
        }
        *most = sum.bytes > most->bytes ? sum : *most;
        all->bytes += sum.bytes;
        all->count += sum.count;
    }
}

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
                       diagnosis_size(all->bytes).text, all->count, all->count == 1 ? "" : "s",
                       diagnosis_size(most->bytes).text, most->event_op,
                       op_print(&evidence->ops->ops[most->event_op], op));
    describe_end(evidence, most, diagnosis);
}

static void find_queued_frees(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    struct queue most = {0};
    struct queue all = {0};
    struct queue *queues = calloc(evidence->block_count + 1, sizeof *queues);
    CHECK(queues != NULL);
    add_queues(queues, collect_queues(evidence, queues), &most, &all);
    free(queues);
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
                           diagnosis_size(missing).text);
    }
}

const struct cause cause_queued_frees = {
    .name = "queued_frees",
    .summary = "freed memory is not available yet, because it waits for an event",
    .claim = CLAIM_TIGHT,
    .find = find_queued_frees,
};
