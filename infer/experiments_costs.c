/* What ops cost with few blocks and with many. */
#include "infer/private/experiments.h"

/* Up to the class of 255 to 510 blocks: where a walk over all of them costs more than what any op
 * may cost. */
enum { BLOCK_COUNT_FIRST = 8, BLOCK_COUNT_LAST = 512 };
/* One request in so many blocks needs more than a hole of one. */
enum { BLOCKS_PER_REQUEST = 8 };

/* So many blocks that fill the device; how many were granted. */
static size_t fill_with(struct lab *lab, size_t count, uint64_t size_bytes, uint32_t *ops)
{
    size_t granted = 0;
    while (granted < count && !lab_is_over(lab)) {
        ops[granted] = lab_alloc(lab, size_bytes);
        if (!lab_was_granted(lab)) {
            break;
        }
        granted++;
    }
    return granted;
}

/* Every second one, by turns with an event that waiting completes; events: those, or OP_NONE. */
static void free_every_second(struct lab *lab, const uint32_t *ops, size_t count, uint32_t *events)
{
    for (size_t i = 0; i < count && !lab_is_over(lab); i += 2) {
        const bool queues = i % 4 == 0 && lab->trace->contract.queues_frees;
        events[i] = queues ? lab_until(lab, OP_FREE_AFTER, ops[i], EXPERIMENT_DELAY_NS) : OP_NONE;
        if (!queues) {
            (void)lab_name(lab, OP_FREE, ops[i]);
        }
    }
}

/* Each needs two blocks' room: drains and moves make it, where the target has them. */
static void ask_for_pairs(struct lab *lab, size_t count, uint64_t size_bytes)
{
    for (size_t i = 0; i < count / BLOCKS_PER_REQUEST && !lab_is_over(lab); i++) {
        const uint32_t pair = lab_ask(lab, size_bytes * 2);
        if (!lab_was_granted(lab)) {
            return;
        }
        (void)lab_name(lab, OP_FREE, pair);
    }
}

static void free_rest(struct lab *lab, const uint32_t *ops, size_t count, const uint32_t *events)
{
    for (size_t i = 0; i < count && !lab_is_over(lab); i++) {
        if (i % 2 != 0) {
            (void)lab_name(lab, OP_FREE, ops[i]);
        } else if (events[i] != OP_NONE) {
            lab_complete(lab, events[i]);
        }
    }
}

void experiment_many_blocks(struct lab *lab)
{
    const uint64_t largest = lab->limits.largest_request_bytes;
    uint32_t ops[BLOCK_COUNT_LAST], events[BLOCK_COUNT_LAST];
    for (size_t count = BLOCK_COUNT_FIRST; count <= BLOCK_COUNT_LAST && !lab_is_over(lab);
         count *= 2) {
        const uint64_t share = lab->capacity_bytes / count;
        const uint64_t size_bytes = share < lab->granule_bytes ? lab->granule_bytes
                                                               : share - share % lab->granule_bytes;
        if (largest != 0 && size_bytes * 2 > largest) {
            continue;
        }
        const size_t granted = fill_with(lab, count, size_bytes, ops);
        free_every_second(lab, ops, granted, events);
        ask_for_pairs(lab, granted, size_bytes);
        free_rest(lab, ops, granted, events);
    }
}
