/* How large and how small things may be, and how large blocks are for what was asked. */
#include "infer/private/experiments.h"

#include "harness/base/align.h"
#include "harness/device/device.h"
#include "harness/model/model.h"

#include <stdlib.h>

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
    uint64_t *facts = lab->trace->facts;
    for (uint64_t bytes = lab->granule_bytes; bytes <= CAPACITY_BYTES_MAX; bytes *= 2) {
        if (opens_with(lab, bytes)) {
            facts[FACT_LARGEST_CAPACITY] = bytes;
            facts[FACT_SMALLEST_CAPACITY] = facts[FACT_SMALLEST_CAPACITY] == 0
                                                ? bytes
                                                : facts[FACT_SMALLEST_CAPACITY];
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
    lab->trace->facts[FACT_LARGEST_REQUEST] = low;
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
        lab->trace->facts[FACT_LARGEST_ALIGN] = UINT64_C(1) << log2;
        (void)lab_name(lab, OP_FREE, op);
    }
}

/* --- blocks --- */

static int compare_sizes(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

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
    qsort(sizes, count, sizeof *sizes, compare_sizes);
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
    uint64_t *facts = lab->trace->facts;
    facts[FACT_HOST_OPEN] = device_host_bytes(device);
    lab_fill(lab);
    facts[FACT_HOST_FULL] = device_host_bytes(device);
    facts[FACT_BLOCK_COUNT] = lab->block_count;
    for (size_t i = 0; i < lab->block_count; i++) {
        (void)lab_name(lab, OP_FREE, lab->blocks[i].op);
    }
    facts[FACT_HOST_END] = device_host_bytes(device);
}
