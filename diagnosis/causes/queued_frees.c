#include "diagnosis/cause.h"

#include "harness/base/check.h"
#include "harness/op/ops_file.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CONFIDENCE = 90, CONFIDENCE_PIECES = 60, CONFIDENCE_PART = 30 };

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
    if (most->is_lost) {
        diagnosis_describe(diagnosis, "which is lost: no wait ends it.");
    } else if (evidence->contract->drains) {
        diagnosis_describe(diagnosis, "which has not ended.");
    } else {
        diagnosis_describe(diagnosis, "which has not ended, and this target does not wait.");
    }
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
    diagnosis->confidence = missing == 0           ? CONFIDENCE_PIECES
                            : all.bytes >= missing ? CONFIDENCE
                                                   : CONFIDENCE_PART;
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
