#include "diagnosis/private/cycles.h"

#include "diagnosis/private/own_ops.h"
#include "harness/base/check.h"

#include <stdlib.h>

static bool makes_block(const struct op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT;
}

uint32_t cycles_find_maker(const struct op_list *ops, uint32_t i)
{
    while (i < ops->count && ops->ops[i].kind == OP_DONATE) {
        i = ops->ops[i].ref < i ? ops->ops[i].ref : OP_NONE;
    }
    return i < ops->count && makes_block(&ops->ops[i]) ? i : OP_NONE;
}

/* --- what lives, op by op --- */

/* Lives of blocks: by the op that made each, the op that ended it.  All of it is by own op. */
struct lives {
    struct own_ops own;
    size_t *roots;  /* the op that made the block it names or makes; OWN_OP_NONE */
    bool *is_ended; /* of roots */
    int64_t *bytes; /* what lives behind it */
};

static bool frees_block(const struct op *op)
{
    return op->kind == OP_FREE || op->kind == OP_FREE_AFTER;
}

/* The root of what the i-th own op makes, names or takes over. */
static size_t find_root(const struct lives *lives, const struct op *op, size_t i)
{
    if (makes_block(op)) {
        return i;
    }
    const size_t named = op->ref < lives->own.ops[i] ? own_ops_find(&lives->own, op->ref)
                                                     : OWN_OP_NONE;
    return named == OWN_OP_NONE ? OWN_OP_NONE : lives->roots[named];
}

static int64_t note_op(struct lives *lives, const struct evidence *evidence, size_t i)
{
    const struct op *op = &evidence->ops->ops[lives->own.ops[i]];
    const size_t root = find_root(lives, op, i);
    lives->roots[i] = root;
    if (root == OWN_OP_NONE) {
        return 0;
    }
    if (makes_block(op)) {
        return op == evidence->op ? 0 : (int64_t)op->size_bytes;
    }
    if (frees_block(op) && !lives->is_ended[root]) {
        lives->is_ended[root] = true;
        return -(int64_t)evidence->ops->ops[lives->own.ops[root]].size_bytes;
    }
    return 0;
}

static void lives_init(struct lives *lives, const struct evidence *evidence)
{
    int64_t live = 0;
    own_ops_init(&lives->own, evidence->ops, evidence->host);
    const size_t count = lives->own.count;
    lives->roots = calloc(count + 1, sizeof *lives->roots);
    lives->is_ended = calloc(count + 1, sizeof *lives->is_ended);
    lives->bytes = calloc(count + 1, sizeof *lives->bytes);
    CHECK(lives->roots != NULL);
    CHECK(lives->is_ended != NULL);
    CHECK(lives->bytes != NULL);
    for (size_t i = 0; i < count; i++) {
        live += note_op(lives, evidence, i);
        lives->bytes[i] = live;
    }
}

static void lives_deinit(struct lives *lives)
{
    own_ops_deinit(&lives->own);
    free(lives->roots);
    free(lives->is_ended);
    free(lives->bytes);
}

/* --- cycles --- */

enum { PART_COUNT = 32, STEADY_TAG_COUNT_MIN = 4, STEADY_REQUEST_COUNT_MIN = 8 };

static bool are_many(const struct evidence *evidence)
{
    const struct op_list *ops = evidence->ops;
    uint32_t(*counts)[OP_TAG_COUNT] = calloc(PART_COUNT, sizeof *counts);
    uint32_t steady_count = 0;
    CHECK(counts != NULL);
    for (size_t i = 0; i < ops->count; i++) {
        if (makes_block(&ops->ops[i]) && ops->ops[i].host == evidence->host) {
            counts[i * PART_COUNT / ops->count][ops->ops[i].tag]++;
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
    struct lives lives;
    *cycles = (struct cycles){.are_many = are_many(evidence)};
    lives_init(&lives, evidence);
    swings_init(&cycles->swings, lives.bytes, lives.own.count);
    for (size_t i = 0; i < cycles->swings.count; i++) {
        cycles->swings.ends[i] = lives.own.ops[cycles->swings.ends[i]];
    }
    lives_deinit(&lives);
}

void cycles_deinit(struct cycles *cycles)
{
    swings_deinit(&cycles->swings);
}

size_t cycles_find(const struct cycles *cycles, uint64_t op)
{
    size_t low = 0;
    size_t high = cycles->swings.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (cycles->swings.ends[middle] < op) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
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
