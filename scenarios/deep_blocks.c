#include "scenarios/scenarios.h"

#include "scenarios/private/parts.h"

#include <assert.h>

enum {
    TABLE_COUNT_MIN = 4097, /* just beyond a table of 2^12 entries */
    TABLE_COUNT_MAX = 5000,
    INDEX_COUNT_MIN = 65537, /* just beyond an index of 16 bits */
    INDEX_COUNT_MAX = 66500,
    BLOCK_COUNT_MAX = 100000,
    GRANULES_PER_BLOCK = 4, /* twice what a block takes on average */
    CHURN_COUNT_MAX = 2000,
    TAG_OPS = 4096,
    FIRST_ROUND_COUNT = 2, /* one beyond a table, one beyond an index */
    FREE_DELAY_NS = 1000
};

enum blocks_phase { CLEAR, FILL, CHURN, FREE };

struct blocks {
    struct op_walk walk;
    bool was_deep; /* the last round went to INDEX_COUNT_MIN */
    uint8_t phase;
    uint32_t round_count;
    uint32_t first; /* the first op of this round */
    uint32_t left;  /* ops of the phase */
    uint64_t unit_bytes;
};
static_assert(sizeof(struct blocks) <= SCENARIO_STATE_BYTES, "the state fits");

static void blocks_begin(void *state, struct random *random, struct setup *setup,
                         bool capacity_is_free)
{
    (void)state;
    device_draw(random, setup, capacity_is_free,
                &(struct device_options){.chip = "v5e",
                                         .granules_min = GRANULES_PER_BLOCK * BLOCK_COUNT_MAX});
}

/* A round just beyond a table of a few thousand, then one beyond an index of 16 bits. */
static void begin_round(struct blocks *blocks, struct random *random,
                        const struct scenario_view *view)
{
    const bool is_deep = blocks->round_count > 0 && !blocks->was_deep;
    /* A target that walks through all of its blocks for each call takes long for these: the first
     * time is no deeper than it must be. */
    const bool may_go_on = blocks->round_count > FIRST_ROUND_COUNT && random_chance(random, 1, 2);
    const uint64_t most = may_go_on ? BLOCK_COUNT_MAX : INDEX_COUNT_MAX;
    const uint64_t count = is_deep ? random_between(random, INDEX_COUNT_MIN, most)
                                   : random_between(random, TABLE_COUNT_MIN, TABLE_COUNT_MAX);
    blocks->left = bound_count(view->hosts[0], count, GRANULES_PER_BLOCK);
    blocks->unit_bytes = free_part(view->hosts[0], GRANULES_PER_BLOCK * (uint64_t)blocks->left);
    blocks->first = view->op_number;
    blocks->phase = FILL;
    blocks->was_deep = is_deep;
    blocks->round_count++;
}

/* Gives blocks of one time one tag: what fills once is no leak of one kind of block. */
static struct op draw_block(const struct blocks *blocks, struct random *random,
                            const struct scenario_view *view)
{
    const uint32_t age = view->op_number - blocks->first;
    return build_request(OP_ALLOC, blocks->unit_bytes * random_between(random, 1, 3),
                         (uint8_t)(age / TAG_OPS % OP_TAG_COUNT));
}

/* A target that refuses is full: it would refuse a hundred thousand times. */
static bool fill_next(struct blocks *blocks, struct random *random,
                      const struct scenario_view *view, struct op *op)
{
    if (blocks->left == 0 || is_full(view, blocks->first)) {
        blocks->phase = CHURN;
        blocks->left = (uint32_t)random_below(random, CHURN_COUNT_MAX);
        *op = op_make(OP_REPORT); /* once a round: it looks at every block */
        return true;
    }
    blocks->left--;
    *op = draw_block(blocks, random, view);
    return true;
}

/* One goes, one comes: new blocks between old ones. */
static bool churn_next(struct blocks *blocks, struct random *random,
                       const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[0];
    const size_t count = model_live_count(model);
    if (blocks->left == 0 || count == 0) {
        blocks->phase = FREE;
        op_walk_begin_any(&blocks->walk, random, blocks->first, view->op_number);
        return false;
    }
    blocks->left--;
    *op = blocks->left % 2 == 0
              ? draw_block(blocks, random, view)
              : build_on(OP_FREE, model_live(model, random_below(random, count))->op);
    return true;
}

static bool free_next(struct blocks *blocks, struct random *random,
                      const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[0];
    uint32_t number = 0;
    if (model_event_count(model) > 0 && random_chance(random, 1, 4)) {
        *op = build_advance(FREE_DELAY_NS);
        return true;
    }
    if (op_walk_next_made(&blocks->walk, model, &number)) {
        *op = random_chance(random, 1, 16) ? build_delayed(OP_FREE_AFTER, number, FREE_DELAY_NS)
                                           : build_on(OP_FREE, number);
        return true;
    }
    blocks->phase = CLEAR;
    return false;
}

static bool (*const phases[])(struct blocks *, struct random *, const struct scenario_view *,
                              struct op *) = {
    [FILL] = fill_next, [CHURN] = churn_next, [FREE] = free_next};

static bool blocks_next(void *state, struct random *random, const struct scenario_view *view,
                        struct op *op)
{
    struct blocks *blocks = state;
    for (;;) { /* each phase goes on to another; a trial begins with CLEAR, on an empty device */
        const bool clears = blocks->phase == CLEAR;
        if (clears ? clear_next(view, 0, false, op)
                   : phases[blocks->phase](blocks, random, view, op)) {
            return true;
        }
        if (clears) {
            begin_round(blocks, random, view);
        }
    }
}

const struct scenario scenario_deep_blocks = {
    .name = "deep_blocks",
    .summary =
        "up to 100,000 live blocks: beyond tables of 4,096 entries and indices of 16 bits, freed in every order",
    .source = "the widths of tables and indices: 2^12 and 2^16",
    .chip = "v5e",
    .ops_per_trial = 220000,
    .op_count_default = 80000, /* beyond an index of 16 bits, and 2,000 ops more at least */
    .is_run_once = true,
    .begin = blocks_begin,
    .next = blocks_next,
};
