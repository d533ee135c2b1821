/* How large and how small things may be, how large blocks are for what was asked, and what ops cost
 * with few blocks and with many. */
#include "infer/experiment.h"

#include "harness/base/align.h"
#include "harness/base/order.h"
#include "harness/device/device.h"
#include "harness/model/model.h"

/* More than any chip has: an allocator may need memory of its own in proportion. */
#define CAPACITY_BYTES_MAX (UINT64_C(1) << 40)
enum { SIZE_COUNT_MAX = 1024, GRANULE_COUNT = 8, STEPS_LOG2_MAX = 6 };

/* --- capacities --- */

static bool opens_with(const struct lab *lab, uint64_t capacity_bytes)
{
    struct setup setup = *lab->setup;
    char reason[RUN_REASON_BYTES];
    setup.chip[0] = '\0';
    setup.capacity_bytes = capacity_bytes;
    struct run *run = run_create(lab->target, &setup, reason);
    const bool is_opened = run != NULL;
    run_destroy(run);
    return is_opened;
}

void experiment_capacities(struct lab *lab)
{
    uint64_t *measured = lab->trace->measured;
    for (uint64_t bytes = lab->granule_bytes; bytes <= CAPACITY_BYTES_MAX; bytes *= 2) {
        if (opens_with(lab, bytes)) {
            measured[MEASURED_LARGEST_CAPACITY] = bytes;
            measured[MEASURED_SMALLEST_CAPACITY] = measured[MEASURED_SMALLEST_CAPACITY] == 0
                                                       ? bytes
                                                       : measured[MEASURED_SMALLEST_CAPACITY];
        }
    }
}

/* --- requests --- */

/* Whether an empty device grants it. */
static bool is_granted(struct lab *lab, uint64_t size_bytes)
{
    const uint32_t op = lab_ask(lab, size_bytes);
    const bool granted = lab_was_granted(lab);
    if (granted) {
        (void)lab_name(lab, OP_FREE, op);
    }
    return granted;
}

void experiment_largest_request(struct lab *lab)
{
    uint64_t low = 0, high = lab->capacity_bytes; /* low is granted or 0 */
    if (is_granted(lab, high)) {
        low = high;
    }
    while (low + 1 < high && !lab_is_over(lab)) {
        const uint64_t middle = low + (high - low) / 2;
        if (is_granted(lab, middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    lab->trace->measured[MEASURED_LARGEST_REQUEST] = low;
}

void experiment_largest_alignment(struct lab *lab)
{
    (void)lab_alloc(lab, lab->granule_bytes);
    for (unsigned log2 = 0; log2 <= OP_ALIGN_LOG2_MAX; log2++) {
        if ((UINT64_C(1) << log2) <= lab->granule_bytes) {
            continue; /* every block has it */
        }
        const uint32_t op = lab_alloc_aligned(lab, lab->granule_bytes, log2);
        lab->trace->asked = op;
        if (!lab_was_granted(lab)) {
            break;
        }
        lab->trace->measured[MEASURED_LARGEST_ALIGN] = UINT64_C(1) << log2;
        (void)lab_name(lab, OP_FREE, op);
    }
}

/* --- blocks --- */

static size_t add_around(uint64_t *sizes, size_t count, uint64_t bytes)
{
    sizes[count++] = bytes - 1;
    sizes[count++] = bytes;
    sizes[count++] = bytes + 1;
    return count;
}

/* Just above what could begin a class of 2^1 to 2^6 steps in the doubling from bytes on. */
static size_t add_steps(uint64_t *sizes, size_t count, uint64_t bytes)
{
    for (unsigned log2 = 1; log2 <= STEPS_LOG2_MAX && bytes >> log2 > 0; log2++) {
        sizes[count++] = bytes + (bytes >> log2) + 1;
    }
    return count;
}

void experiment_sizes(struct lab *lab)
{
    uint64_t sizes[SIZE_COUNT_MAX], last = 0;
    size_t count = 0;
    const uint64_t largest = lab->limits.largest_request_bytes != 0
                                 ? lab->limits.largest_request_bytes
                                 : lab->capacity_bytes;
    for (uint64_t i = 1; i <= GRANULE_COUNT; i++) {
        count = add_around(sizes, count, i * lab->granule_bytes);
    }
    for (uint64_t bytes = 2; bytes <= largest; bytes *= 2) {
        count = add_around(sizes, count, bytes);
        count = add_steps(sizes, count, bytes);
    }
    sizes[count++] = largest;
    sort_numbers(sizes, count);
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] != last && sizes[i] <= largest) {
            last = sizes[i];
            (void)is_granted(lab, last);
        }
    }
}

/* --- host memory --- */

void experiment_host_memory(struct lab *lab)
{
    struct device *device = run_device(lab->run, 0);
    uint64_t *measured = lab->trace->measured;
    measured[MEASURED_HOST_OPEN] = device_host_bytes(device);
    lab_fill(lab);
    measured[MEASURED_HOST_FULL] = device_host_bytes(device);
    measured[MEASURED_BLOCK_COUNT] = lab->block_count;
    for (size_t i = 0; i < lab->block_count; i++) {
        (void)lab_name(lab, OP_FREE, lab->blocks[i].op);
    }
    measured[MEASURED_HOST_END] = device_host_bytes(device);
}

/* --- costs --- */

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
