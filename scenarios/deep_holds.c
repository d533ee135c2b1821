#include "scenarios/scenarios.h"

#include "scenarios/private/parts.h"

#include <assert.h>

enum {
    HOLD_COUNT_MAX = 1000,
    BLOCK_COUNT_MAX = 600,
    NEIGHBOUR_COUNT = 4,
    REUSE_COUNT_MAX = 600,
    GRANULES_PER_BLOCK = 4
};

/* One round each, in turn. */
enum plot {
    FREED,  /* one block held hundreds of times, freed, and released hold by hold */
    REUSED, /* a block stays because it is held, while another place is used hundreds of times */
    MANY,   /* hundreds of blocks held, freed, and released in every order */
    LIVE,   /* as FREED, but the block is freed last */
    PLOT_COUNT
};

enum holds_phase { CLEAR, FILL, HOLD, FREE, REUSE, RELEASE };

struct holds {
    struct op_walk walk;
    bool is_open;
    bool is_used,
        is_released; /* the block of this reuse is there; the held one was released then */
    uint8_t phase, plot;
    uint32_t first, end; /* the ops that made the blocks of this round */
    uint32_t block;      /* the one that is held hundreds of times */
    uint32_t left;
    uint32_t hold_count;
    uint32_t reuse_count; /* blocks that came while the held one stays */
    uint64_t unit_bytes;
};
static_assert(sizeof(struct holds) <= SCENARIO_STATE_BYTES, "the state fits");

static void holds_begin(void *state, struct random *random, struct setup *setup,
                        bool capacity_is_free)
{
    (void)state;
    device_draw(random, setup, capacity_is_free,
                &(struct device_options){.chip = "v5e",
                                         .granules_min = GRANULES_PER_BLOCK * BLOCK_COUNT_MAX});
}

/* Around what a count or a generation of 8 or 9 bits can say. */
static const uint32_t edges[] = {254, 255, 256, 257, 511, 512, 513};
enum { EDGE_COUNT = sizeof edges / sizeof edges[0] };

static uint32_t draw_count(struct random *random)
{
    return random_chance(random, 1, 2) ? edges[random_below(random, EDGE_COUNT)]
                                       : (uint32_t)random_between(random, 256, HOLD_COUNT_MAX);
}

static void begin_round(struct holds *holds, struct random *random,
                        const struct scenario_view *view)
{
    const struct model *model = view->hosts[0];
    holds->plot = (uint8_t)(holds->is_open ? (holds->plot + 1) % PLOT_COUNT : FREED);
    holds->left = holds->plot == MANY ? (uint32_t)random_between(random, 128, BLOCK_COUNT_MAX)
                                      : NEIGHBOUR_COUNT;
    holds->unit_bytes = device_part(model, 1, GRANULES_PER_BLOCK * (uint64_t)BLOCK_COUNT_MAX);
    holds->first = view->op_number;
    holds->phase = FILL;
    holds->is_open = true;
}

static struct op draw_block(const struct holds *holds, struct random *random)
{
    return build_request(OP_ALLOC, holds->unit_bytes * random_between(random, 1, 3), 0);
}

static void begin_walk(struct holds *holds, struct random *random, enum holds_phase phase)
{
    op_walk_begin_any(&holds->walk, random, holds->first, holds->end);
    holds->phase = (uint8_t)phase;
}

static bool fill_next(struct holds *holds, struct random *random, const struct scenario_view *view,
                      struct op *op)
{
    if (holds->left > 0) {
        holds->left--;
        *op = draw_block(holds, random);
        return true;
    }
    holds->end = view->op_number;
    const size_t count = model_live_count(view->hosts[0]);
    holds->block = count == 0 ? OP_NONE
                              : model_live(view->hosts[0], random_below(random, count))->op;
    holds->hold_count = holds->plot == REUSED ? EDGE_COUNT + 1 : draw_count(random);
    holds->left = holds->hold_count;
    begin_walk(holds, random, HOLD);
    return false;
}

static bool hold_next(struct holds *holds, struct random *random, const struct scenario_view *view,
                      struct op *op)
{
    const struct model *model = view->hosts[0];
    uint32_t block = holds->block;
    const bool goes_on = holds->plot == MANY ? op_walk_next_made(&holds->walk, model, &block)
                                             : holds->left > 0 && has_made(model, block);
    if (goes_on) {
        holds->left -= holds->left > 0;
        *op = build_on(OP_HOLD, block);
        return true;
    }
    begin_walk(holds, random, holds->plot == LIVE ? RELEASE : FREE);
    holds->left = holds->hold_count;
    return false;
}

static bool free_next(struct holds *holds, struct random *random, const struct scenario_view *view,
                      struct op *op)
{
    const struct model *model = view->hosts[0];
    uint32_t block = holds->block;
    const bool goes_on = holds->plot == MANY ? op_walk_next_made(&holds->walk, model, &block)
                                             : has_made(model, block);
    if (goes_on) {
        *op = build_on(OP_FREE, block);
        return true;
    }
    begin_walk(holds, random, holds->plot == REUSED ? REUSE : RELEASE);
    holds->left = holds->plot == REUSED ? (uint32_t)random_between(random, 256, REUSE_COUNT_MAX)
                                        : holds->hold_count;
    holds->is_used = holds->is_released = false;
    holds->reuse_count = 0;
    return false;
}

static bool is_edge(uint32_t count)
{
    for (unsigned i = 0; i < EDGE_COUNT; i++) {
        if (edges[i] == count) {
            return true;
        }
    }
    return false;
}

/* A block comes and goes.  After so many that a generation of 8 or 9 bits is the old one again,
 * and while the last of them is there, the held block is released once. */
static bool reuse_next(struct holds *holds, struct random *random, const struct scenario_view *view,
                       struct op *op)
{
    const size_t count = model_live_count(view->hosts[0]);
    if (holds->left == 0) {
        begin_walk(holds, random, RELEASE);
        holds->left = holds->hold_count;
        return false;
    }
    if (holds->is_used && !holds->is_released && is_edge(holds->reuse_count)) {
        holds->is_released = true;
        holds->hold_count--;
        *op = build_on(OP_RELEASE, holds->block);
    } else if (holds->is_used && count > 0) {
        holds->is_used = false;
        holds->left--;
        *op = build_on(OP_FREE, model_live(view->hosts[0], count - 1)->op);
    } else {
        holds->is_used = true;
        holds->is_released = false;
        holds->reuse_count++;
        *op = draw_block(holds, random);
    }
    return true;
}

/* Now and then somebody looks: what is held must be where it was, and not be used again. */
static bool look(const struct holds *holds, struct random *random, struct op *op)
{
    const uint64_t way = random_below(random, 64);
    if (way < 4) {
        *op = way < 2 ? op_make(way == 0 ? OP_DEFRAGMENT : OP_REPORT) : draw_block(holds, random);
    }
    return way < 4;
}

static bool release_next(struct holds *holds, struct random *random,
                         const struct scenario_view *view, struct op *op)
{
    if (holds->plot != REUSED && look(holds, random, op)) {
        return true;
    }
    uint32_t block = holds->block;
    const bool goes_on = holds->plot == MANY ? op_walk_next(&holds->walk, &block)
                                             : holds->left > 0 && block != OP_NONE;
    if (goes_on && (holds->plot != MANY || block < holds->end)) {
        holds->left -= holds->left > 0;
        *op = build_on(OP_RELEASE, block);
        return true;
    }
    if (goes_on) { /* the walk's one number too many */
        return release_next(holds, random, view, op);
    }
    holds->phase = CLEAR;
    return false;
}

static bool (*const phases[])(struct holds *, struct random *, const struct scenario_view *,
                              struct op *) = {[FILL] = fill_next,
                                              [HOLD] = hold_next,
                                              [FREE] = free_next,
                                              [REUSE] = reuse_next,
                                              [RELEASE] = release_next};

static bool holds_next(void *state, struct random *random, const struct scenario_view *view,
                       struct op *op)
{
    struct holds *holds = state;
    for (;;) { /* each phase goes on to another; a trial begins with CLEAR, on an empty device */
        const bool clears = holds->phase == CLEAR;
        if (clears ? clear_next(view, 0, false, op)
                   : phases[holds->phase](holds, random, view, op)) {
            return true;
        }
        if (clears) {
            begin_round(holds, random, view);
        }
    }
}

const struct scenario scenario_deep_holds = {
    .name = "deep_holds",
    .summary =
        "hundreds of holds of one block and of many, and hundreds of reuses of one place while a freed block is held",
    .source = "the widths of counts and generations: 8 and 9 bits",
    .chip = "v5e",
    .ops_per_trial = 10000,
    .begin = holds_begin,
    .next = holds_next,
};
