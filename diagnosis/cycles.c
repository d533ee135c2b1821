#include "diagnosis/private/findings.h"
#include "harness/base/check.h"
#include "harness/base/search.h"

#include <stdlib.h>
#include <string.h>

/* --- the ops of one host --- */

static bool makes_block(const struct op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT;
}

static bool frees_block(const struct op *op)
{
    return op->kind == OP_FREE || op->kind == OP_FREE_AFTER;
}

static void collect_ops(struct own_ops *own, const struct op_list *ops, uint32_t host)
{
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].host == host) {
            own->ops[own->count++] = (uint32_t)i;
        }
    }
}

static void follow_lives(struct own_ops *own, const struct op_list *ops)
{
    for (size_t i = 0; i < own->count; i++) {
        const uint32_t number = own->ops[i];
        const struct op *op = &ops->ops[number];
        const size_t named = op->ref < number ? own_ops_find(own, op->ref) : OWN_OP_NONE;
        own->roots[i] = makes_block(op)        ? i
                        : named == OWN_OP_NONE ? OWN_OP_NONE
                                               : own->roots[named];
        if (frees_block(op) && own->roots[i] != OWN_OP_NONE &&
            own->ends[own->roots[i]] == OP_NONE) {
            own->ends[own->roots[i]] = number;
        }
    }
}

void own_ops_init(struct own_ops *own, const struct evidence *evidence)
{
    const struct op_list *ops = evidence->ops;
    *own = (struct own_ops){.ops = calloc(ops->count + 1, sizeof *own->ops)};
    CHECK(own->ops != NULL);
    collect_ops(own, ops, evidence->host);
    own->roots = calloc(own->count + 1, sizeof *own->roots);
    own->ends = malloc((own->count + 1) * sizeof *own->ends);
    CHECK(own->roots != NULL && own->ends != NULL);
    memset(own->ends, 0xFF, (own->count + 1) * sizeof *own->ends); /* OP_NONE */
    follow_lives(own, ops);
}

void own_ops_deinit(struct own_ops *own)
{
    free(own->ops);
    free(own->roots);
    free(own->ends);
    *own = (struct own_ops){0};
}

size_t own_ops_find(const struct own_ops *own, uint32_t op)
{
    size_t i;
    SEARCH_FIRST(i, 0, own->count, own->ops[i] >= op);
    return i < own->count && own->ops[i] == op ? i : OWN_OP_NONE;
}

int64_t own_ops_change(const struct own_ops *own, const struct evidence *evidence, size_t i,
                       uint8_t *tag)
{
    const struct op_list *ops = evidence->ops;
    const struct op *op = &ops->ops[own->ops[i]];
    const size_t root = own->roots[i];
    *tag = op->tag;
    if (makes_block(op)) {
        return op == evidence->op ? 0 : (int64_t)op->size_bytes;
    }
    if (root == OWN_OP_NONE || !frees_block(op)) {
        return 0;
    }
    const struct op *maker = &ops->ops[own->ops[root]];
    *tag = maker->tag;
    return own->ends[root] == own->ops[i] ? -(int64_t)maker->size_bytes : 0;
}

/* --- the steps that they show --- */

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

/* No device has 1 EiB: a list that asks for more gets it nowhere, and sums of it overflow nowhere.
 */
static int64_t add_bounded(int64_t bytes, int64_t change)
{
    const int64_t most = INT64_C(1) << 60;
    const int64_t bounded = change > most ? most : change < -most ? -most : change;
    const int64_t sum = bytes + bounded;
    return sum > most ? most : sum < -most ? -most : sum;
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
        live = add_bounded(live, own_ops_change(&own, evidence, i, &tag));
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
