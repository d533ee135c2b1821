#include "diagnosis/remedy_lives.h"

#include "harness/base/check.h"

#include <stdlib.h>

#define SIZE_BYTES_MAX ((uint64_t)1 << 62)

uint64_t remedy_rounded(uint64_t size_bytes, uint64_t granule_bytes)
{
    if (size_bytes > SIZE_BYTES_MAX) {
        return SIZE_BYTES_MAX;
    }
    return (size_bytes + granule_bytes - 1) / granule_bytes * granule_bytes;
}

bool remedy_is_request(uint8_t kind)
{
    return kind == OP_ALLOC || kind == OP_OUTPUT || kind == OP_DONATE || kind == OP_LOAD ||
           kind == OP_EXECUTE;
}

/* The state of a walk over the list. */
struct lives_walk {
    struct remedy_lives *lives;
    const struct op_list *ops;
    uint32_t *holds; /* by root, now */
    uint64_t live_bytes;
    uint64_t buffer_bytes[OP_HOST_COUNT_MAX];
};

static void count_more(uint64_t *sum, uint64_t bytes)
{
    *sum = bytes > SIZE_BYTES_MAX - *sum ? SIZE_BYTES_MAX : *sum + bytes;
}

static void count_less(uint64_t *sum, uint64_t bytes)
{
    *sum -= bytes < *sum ? bytes : *sum;
}

static void begin_life(struct lives_walk *walk, uint32_t i)
{
    const struct op *op = &walk->ops->ops[i];
    struct remedy_life *life = &walk->lives->lives[i];
    life->root = i;
    life->last_named = i;
    life->bytes = remedy_rounded(op->size_bytes, walk->lives->granule_bytes);
    count_more(&walk->live_bytes, life->bytes);
    if (op->kind != OP_LOAD) {
        uint64_t *sum = &walk->buffer_bytes[op->host];
        count_more(sum, life->bytes);
        if (*sum > walk->lives->buffer_peak_bytes) {
            walk->lives->buffer_peak_bytes = *sum;
        }
    }
}

static void end_life(struct lives_walk *walk, uint32_t i)
{
    const struct op *op = &walk->ops->ops[i];
    struct remedy_life *root = &walk->lives->lives[walk->lives->lives[i].root];
    if (root->end != OP_NONE) {
        return;
    }
    root->end = i;
    count_less(&walk->live_bytes, root->bytes);
    if (op->kind != OP_UNLOAD) {
        count_less(&walk->buffer_bytes[op->host], root->bytes);
    }
}

/* Takes in that op i names the life that op ref stands in. */
static void name_life(struct lives_walk *walk, uint32_t i)
{
    const struct op *op = &walk->ops->ops[i];
    struct remedy_life *lives = walk->lives->lives;
    if (op->ref >= i || lives[op->ref].root == OP_NONE) {
        return;
    }
    const uint32_t root = lives[op->ref].root;
    lives[i].root = root;
    lives[i].before = lives[root].last_named;
    lives[root].last_named = i;
    walk->holds[root] += op->kind == OP_HOLD;
    walk->holds[root] -= op->kind == OP_RELEASE && walk->holds[root] > 0;
    lives[i].hold_count = walk->holds[root];
    lives[root].is_donated = lives[root].is_donated || op->kind == OP_DONATE;
    if (op->kind == OP_FREE || op->kind == OP_FREE_AFTER || op->kind == OP_UNLOAD) {
        end_life(walk, i);
    }
}

void remedy_lives_init(struct remedy_lives *lives, const struct op_list *ops,
                       const bool *has_failed, uint64_t granule_bytes)
{
    struct lives_walk walk = {.lives = lives, .ops = ops};
    *lives = (struct remedy_lives){.op_count = ops->count,
                                   .granule_bytes = granule_bytes == 0 ? 1 : granule_bytes};
    lives->lives = calloc(ops->count + 1, sizeof *lives->lives);
    lives->live_bytes = calloc(ops->count + 1, sizeof *lives->live_bytes);
    CHECK(lives->lives != NULL);
    CHECK(lives->live_bytes != NULL);
    walk.holds = calloc(ops->count + 1, sizeof *walk.holds);
    CHECK(walk.holds != NULL);
    for (uint32_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        lives->lives[i] = (struct remedy_life){OP_NONE, OP_NONE, OP_NONE, .before = OP_NONE};
        lives->live_bytes[i] = walk.live_bytes;
        if (op->event < i) {
            lives->lives[op->event].has_named_event = true;
        }
        const bool is_maker = op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD;
        if (is_maker && (has_failed == NULL || !has_failed[i])) {
            begin_life(&walk, i);
        } else if (!is_maker) {
            name_life(&walk, i);
        }
    }
    free(walk.holds);
}

void remedy_lives_deinit(struct remedy_lives *lives)
{
    free(lives->lives);
    free(lives->live_bytes);
    *lives = (struct remedy_lives){0};
}

bool remedy_lives_invariants_hold(const struct remedy_lives *lives)
{
    bool hold = true;
    for (uint32_t i = 0; hold && i < lives->op_count; i++) {
        const struct remedy_life *life = &lives->lives[i];
        if (life->root == i) {
            hold = life->last_named >= i && life->before == OP_NONE &&
                   (life->end == OP_NONE || (life->end > i && life->end <= life->last_named &&
                                             lives->lives[life->end].root == i));
        } else if (life->root != OP_NONE) {
            hold = life->before < i && lives->lives[life->before].root == life->root &&
                   lives->lives[life->root].root == life->root;
        }
    }
    return hold;
}
