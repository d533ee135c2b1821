#include "diagnosis/private/findings.h"

#include "harness/base/check.h"
#include "harness/base/order.h"

#include <stdlib.h>

static int compare_events(const void *a, const void *b)
{
    return compare_numbers(((const struct queue *)a)->event_op,
                           ((const struct queue *)b)->event_op);
}

/* One for each queued free that waits for an event, those of one event next to each other. */
static size_t collect_frees(const struct evidence *evidence, struct queue *frees)
{
    size_t count = 0;
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        if (block->state == BLOCK_DYING && block->event_op != OP_NONE) {
            frees[count++] = (struct queue){block->event_op, block->waits_for_ever,
                                            block->size_bytes, 1};
        }
    }
    qsort(frees, count, sizeof *frees, compare_events);
    return count;
}

void queues_find(const struct evidence *evidence, struct queue *most, struct queue *all)
{
    struct queue *frees = calloc(evidence->block_count + 1, sizeof *frees);
    CHECK(frees != NULL);
    const size_t count = collect_frees(evidence, frees);
    *most = *all = (struct queue){0};
    for (size_t i = 0; i < count;) {
        struct queue sum = frees[i];
        for (i++; i < count && frees[i].event_op == sum.event_op; i++) {
            sum.bytes += frees[i].bytes;
            sum.count++;
        }
        *most = sum.bytes > most->bytes ? sum : *most;
        all->bytes += sum.bytes;
        all->count += sum.count;
    }
    free(frees);
}
