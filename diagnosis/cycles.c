#include "diagnosis/private/cycles.h"

#include "diagnosis/private/own_ops.h"
#include "harness/base/check.h"
#include "harness/base/search.h"

#include <stdlib.h>

enum { PART_COUNT = 32, STEADY_TAG_COUNT_MIN = 4, STEADY_REQUEST_COUNT_MIN = 8 };

static bool are_many(const struct evidence *evidence)
{
    const struct op_list *ops = evidence->ops;
    uint32_t(*counts)[OP_TAG_COUNT] = calloc(PART_COUNT, sizeof *counts);
    uint32_t steady_count = 0;
    CHECK(counts != NULL);
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        if ((op->kind == OP_ALLOC || op->kind == OP_OUTPUT) && op->host == evidence->host) {
            counts[i * PART_COUNT / ops->count][op->tag]++;
        }
    }
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        int part = 0;
        while (part < PART_COUNT && counts[part][tag] >= STEADY_REQUEST_COUNT_MIN) {
            part++;
        }
        steady_count += part == PART_COUNT;
    }
    free(counts);
    return steady_count >= STEADY_TAG_COUNT_MIN;
}

void cycles_init(struct cycles *cycles, const struct evidence *evidence)
{
    struct own_ops own;
    int64_t live = 0;
    uint8_t tag;
    *cycles = (struct cycles){.are_many = are_many(evidence)};
    own_ops_init(&own, evidence);
    int64_t *bytes = calloc(own.count + 1, sizeof *bytes);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < own.count; i++) {
        live += own_ops_change(&own, evidence, i, &tag);
        bytes[i] = live;
    }
    swings_init(&cycles->swings, bytes, own.count);
    for (size_t i = 0; i < cycles->swings.count; i++) {
        cycles->swings.ends[i] = own.ops[cycles->swings.ends[i]];
    }
    own_ops_deinit(&own);
    free(bytes);
}

void cycles_deinit(struct cycles *cycles)
{
    swings_deinit(&cycles->swings);
}

size_t cycles_find(const struct cycles *cycles, uint64_t op)
{
    size_t i;
    SEARCH_FIRST(i, 0, cycles->swings.count, cycles->swings.ends[i] >= op);
    return i;
}

uint64_t cycles_count_steps(const struct cycles *cycles, size_t first)
{
    const size_t count = cycles->swings.count;
    return first < count ? swings_count_steps(&cycles->swings, count - first) : 0;
}

uint64_t cycles_settled_steps(const struct evidence *evidence)
{
    struct cycles cycles;
    cycles_init(&cycles, evidence);
    const uint64_t count = cycles.swings.settled_count;
    cycles_deinit(&cycles);
    return count;
}
