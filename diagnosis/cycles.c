#include "diagnosis/private/cycles.h"

#include "diagnosis/private/own_ops.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

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

/* What lives behind an own op, by its number in the list. */
static int64_t live_behind(const struct lives *lives, uint32_t op)
{
    const size_t own = own_ops_find(&lives->own, op);
    CHECK(own != OWN_OP_NONE);
    return lives->bytes[own];
}

/* --- cycles --- */

static int64_t find_largest_fall(const struct lives *lives)
{
    int64_t peak = 0;
    int64_t fall = 0;
    for (size_t i = 0; i < lives->own.count; i++) {
        peak = lives->bytes[i] > peak ? lives->bytes[i] : peak;
        fall = peak - lives->bytes[i] > fall ? peak - lives->bytes[i] : fall;
    }
    return fall;
}

/* A valley is known when what lives has risen from it by swing bytes again.  ends has room for one
 * of every two own ops. */
static size_t find_valleys(const struct lives *lives, int64_t swing, uint32_t *ends)
{
    size_t found = 0;
    int64_t peak = 0;
    int64_t valley = INT64_MAX; /* while it falls: the least since the peak */
    uint32_t valley_op = 0;
    for (size_t i = 0; i < lives->own.count; i++) {
        const int64_t live = lives->bytes[i];
        if (valley != INT64_MAX && live >= valley + swing) {
            ends[found++] = valley_op;
            valley = INT64_MAX;
            peak = live;
        }
        peak = live > peak ? live : peak;
        if (live <= peak - swing && live < valley) {
            valley = live;
            valley_op = lives->own.ops[i];
        }
    }
    if (valley != INT64_MAX) {
        ends[found++] = valley_op;
    }
    return found;
}

static uint64_t count_per_step(unsigned level)
{
    uint64_t count = 1;
    for (unsigned i = 0; i < level; i++) {
        count *= CYCLES_PER_STEP;
    }
    return count;
}

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

/* The longest run of cycles [i, j) whose ends rise by less than half a swing each. */
static size_t find_longest_settled(struct cycles *cycles, const struct lives *lives)
{
    const int64_t most = (int64_t)(cycles->swing_bytes / 2);
    size_t longest = 0;
    int64_t *least_behind = calloc(cycles->count + 1, sizeof *least_behind);
    CHECK(least_behind != NULL);
    least_behind[cycles->count] = INT64_MAX;
    for (size_t i = cycles->count; i-- > 0;) {
        const int64_t excess = live_behind(lives, cycles->ends[i]) - (int64_t)i * most;
        least_behind[i] = excess < least_behind[i + 1] ? excess : least_behind[i + 1];
    }
    for (size_t i = 0, j = 0; i < cycles->count; i++) {
        const int64_t excess = live_behind(lives, cycles->ends[i]) - (int64_t)i * most;
        while (j < cycles->count && least_behind[j] <= excess) {
            j++;
        }
        if (j > i + 1 && j - i - 1 > longest) {
            longest = j - i - 1;
            cycles->settled_first = i + 1;
        }
    }
    free(least_behind);
    return longest;
}

void cycles_init(struct cycles *cycles, const struct evidence *evidence)
{
    struct lives lives;
    uint64_t steps = 0;
    *cycles = (struct cycles){.are_many = are_many(evidence)};
    lives_init(&lives, evidence);
    const size_t count = lives.own.count;
    cycles->ends = calloc(count + 1, sizeof *cycles->ends);
    uint32_t *ends = calloc(count + 1, sizeof *ends);
    CHECK(cycles->ends != NULL);
    CHECK(ends != NULL);
    int64_t swing = find_largest_fall(&lives) / 2;
    for (unsigned level = 0; level < CYCLES_LEVEL_COUNT && swing > 0; level++) {
        const size_t found = find_valleys(&lives, swing, ends);
        if (found / count_per_step(level) > steps) {
            steps = found / count_per_step(level);
            memcpy(cycles->ends, ends, found * sizeof *ends);
            cycles->count = found;
            cycles->level = level;
            cycles->swing_bytes = (uint64_t)swing;
        }
        swing /= CYCLES_LEVEL_FACTOR;
    }
    cycles->settled_count = find_longest_settled(cycles, &lives) / count_per_step(cycles->level);
    lives_deinit(&lives);
    free(ends);
}

void cycles_deinit(struct cycles *cycles)
{
    free(cycles->ends);
    *cycles = (struct cycles){0};
}

size_t cycles_find(const struct cycles *cycles, uint64_t op)
{
    size_t low = 0;
    size_t high = cycles->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (cycles->ends[middle] < op) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint64_t cycles_count_steps(const struct cycles *cycles, size_t first)
{
    return first < cycles->count ? (cycles->count - first) / count_per_step(cycles->level) : 0;
}

uint64_t cycles_settled_steps(const struct evidence *evidence)
{
    struct cycles cycles;
    cycles_init(&cycles, evidence);
    const uint64_t count = cycles.settled_count;
    cycles_deinit(&cycles);
    return count;
}
