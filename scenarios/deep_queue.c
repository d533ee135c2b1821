#include "scenarios/scenarios.h"

#include "scenarios/private/parts.h"

#include <assert.h>

enum {
    RING_COUNT = 1024,
    DEPTH_MIN = 100,
    DEPTH_MAX = 2500,
    GRANULES_PER_BLOCK = 4, /* twice what a block takes on average */
    STEP_OPS = 3            /* of a slide: one free ends, one block comes, and is freed */
};

/* The way in which the queued frees of one round end. */
enum queue_ending {
    FIRST_FIRST, /* by time, in the order in which they were queued */
    LAST_FIRST,
    SHUFFLED,
    TOGETHER,
    LOST, /* by no time: one by one, in an order of their own */
    ENDING_COUNT
};

enum queue_phase { CLEAR, FILL, QUEUE, SLIDE, DRAIN };

struct free_queue {
    struct op_walk walk;
    bool is_open;
    uint8_t phase, ending;
    uint8_t lost_order; /* enum op_walk_order: in which lost events are ended */
    uint8_t step;       /* of a slide */
    uint32_t first;     /* the first op of the phase */
    uint32_t left;
    uint32_t depth, queued_count;
    uint32_t asked; /* the block that a slide has asked for */
    uint64_t unit_bytes, tick_ns;
};
static_assert(sizeof(struct free_queue) <= SCENARIO_STATE_BYTES, "the state fits");

static void queue_begin(void *state, struct random *random, struct setup *setup,
                        bool capacity_is_free)
{
    (void)state;
    device_draw(
        random, setup, capacity_is_free,
        &(struct device_options){.chip = "v5e", .granules_min = GRANULES_PER_BLOCK * DEPTH_MAX});
}

/* The first round of a trial fills a ring of RING_COUNT; later ones often just do, or do not. */
static uint32_t draw_depth(const struct free_queue *queue, struct random *random)
{
    static const uint32_t edges[] = {127, 128, 129,  255,  256,  257,        511,
                                     512, 513, 1023, 1024, 1025, RING_COUNT, RING_COUNT + 1};
    if (!queue->is_open || random_chance(random, 1, 3)) {
        return (uint32_t)random_between(random, RING_COUNT + 1, DEPTH_MAX);
    }
    return random_chance(random, 1, 2) ? edges[random_below(random, sizeof edges / sizeof edges[0])]
                                       : (uint32_t)random_log_uniform(random, DEPTH_MIN, DEPTH_MAX);
}

static void begin_phase(struct free_queue *queue, const struct scenario_view *view,
                        enum queue_phase phase, uint32_t left)
{
    queue->phase = (uint8_t)phase;
    queue->first = view->op_number;
    queue->left = left;
}

static void begin_round(struct free_queue *queue, struct random *random,
                        const struct scenario_view *view)
{
    const struct model *model = view->hosts[0];
    queue->depth = bound_count(model, draw_depth(queue, random), GRANULES_PER_BLOCK);
    queue->unit_bytes = free_part(model, GRANULES_PER_BLOCK * (uint64_t)queue->depth);
    queue->tick_ns = random_log_uniform(random, 1, 1000000);
    queue->ending = (uint8_t)random_below(random, ENDING_COUNT);
    queue->lost_order = (uint8_t)random_below(random, OP_WALK_ORDER_COUNT);
    queue->queued_count = 0;
    queue->asked = OP_NONE;
    queue->step = 0;
    queue->is_open = true;
    begin_phase(queue, view, FILL, queue->depth);
}

static struct op draw_block(const struct free_queue *queue, struct random *random)
{
    const enum op_kind kind = random_chance(random, 1, 4) ? OP_OUTPUT : OP_ALLOC;
    return build_request(kind, queue->unit_bytes * random_between(random, 1, 3), 0);
}

static bool fill_next(struct free_queue *queue, struct random *random,
                      const struct scenario_view *view, struct op *op)
{
    if (queue->left == 0 || is_full(view, queue->first)) {
        op_walk_begin_any(&queue->walk, random, queue->first, view->op_number);
        begin_phase(queue, view, QUEUE, 0);
        return false;
    }
    queue->left--;
    *op = draw_block(queue, random);
    return true;
}

static uint64_t draw_delay(const struct free_queue *queue, struct random *random, uint32_t index)
{
    const enum queue_ending ending = (enum queue_ending)queue->ending;
    return ending == FIRST_FIRST  ? queue->tick_ns * (index + 1)
           : ending == LAST_FIRST ? queue->tick_ns * (index < DEPTH_MAX ? DEPTH_MAX + 1 - index : 1)
           : ending == SHUFFLED   ? queue->tick_ns * random_between(random, 1, queue->depth)
           : ending == TOGETHER   ? queue->tick_ns * DEPTH_MAX
                                  : DELAY_NEVER;
}

static struct op draw_free(struct free_queue *queue, struct random *random, uint32_t block)
{
    const uint64_t delay_ns = draw_delay(queue, random, queue->queued_count++);
    return build_delayed(OP_FREE_AFTER, block, delay_ns);
}

static bool queue_next_free(struct free_queue *queue, struct random *random,
                            const struct scenario_view *view, struct op *op)
{
    uint32_t number = 0;
    if (op_walk_next_made(&queue->walk, view->hosts[0], &number)) {
        *op = draw_free(queue, random, number);
        return true;
    }
    begin_phase(queue, view, SLIDE, STEP_OPS * (uint32_t)random_below(random, queue->depth));
    return false;
}

/* Ends one of those that are queued: one out of the middle, or the next by time. */
static struct op end_one(const struct free_queue *queue, struct random *random,
                         const struct model *model)
{
    const size_t count = model_event_count(model);
    if (count > 0 && (queue->ending == LOST || random_chance(random, 1, 4))) {
        return build_complete(model_event_op(model, (size_t)random_below(random, count)));
    }
    return build_advance(queue->tick_ns);
}

/* The queue stays as full as it is while one comes for each that ends: a ring goes round. */
static bool slide_next(struct free_queue *queue, struct random *random,
                       const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[0];
    if (queue->left == 0) {
        begin_phase(queue, view, DRAIN, 0);
        return false;
    }
    queue->left--;
    queue->step = (uint8_t)((queue->step + 1) % STEP_OPS);
    if (queue->step == 0 && has_made(model, queue->asked)) {
        *op = draw_free(queue, random, queue->asked);
    } else if (queue->step == 1) {
        *op = end_one(queue, random, model);
    } else {
        queue->asked = view->op_number;
        *op = draw_block(queue, random);
    }
    return true;
}

/* A request that the queued frees must make room for. */
static struct op build_waiting(struct random *random, const struct model *model)
{
    const uint64_t most = model_capacity_bytes(model) - model_reserved_bytes(model);
    const uint64_t hole = model_largest_hole_bytes(model);
    const uint64_t more = hole < most ? (most - hole) / 16 : 0;
    return build_request(
        OP_ALLOC, whole_granules(model, hole + 1 + (more > 0 ? random_below(random, more) : 0)), 0);
}

/* Chooses which of the pending events ends by itself. */
static size_t choose_lost(const struct free_queue *queue, struct random *random, size_t count)
{
    switch ((enum op_walk_order)queue->lost_order) {
    case OP_WALK_FORWARD:
        return 0;
    case OP_WALK_BACKWARD:
        return count - 1;
    default:
        return (size_t)random_below(random, count);
    }
}

/* Between any two completions other calls come, each of which may poll. */
static bool drain_next(struct free_queue *queue, struct random *random,
                       const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[0];
    const size_t count = model_event_count(model);
    if (count == 0) {
        begin_phase(queue, view, CLEAR, 0);
        return false;
    }
    const uint64_t way = random_below(random, 512);
    if (way < 2) {
        *op = way == 0 ? op_make(OP_REPORT) : build_waiting(random, model);
    } else if (random_chance(random, 1, 8)) {
        *op = draw_block(queue, random);
    } else if (queue->ending != LOST) {
        *op = build_advance(queue->tick_ns * random_between(random, 1, 8));
    } else {
        *op = build_complete(model_event_op(model, choose_lost(queue, random, count)));
    }
    return true;
}

static bool (*const phases[])(struct free_queue *, struct random *, const struct scenario_view *,
                              struct op *) = {
    [FILL] = fill_next, [QUEUE] = queue_next_free, [SLIDE] = slide_next, [DRAIN] = drain_next};

static bool queue_next(void *state, struct random *random, const struct scenario_view *view,
                       struct op *op)
{
    struct free_queue *queue = state;
    for (;;) { /* each phase goes on to another; a trial begins with CLEAR, on an empty device */
        const bool clears = queue->phase == CLEAR;
        if (clears ? clear_next(view, 0, false, op)
                   : phases[queue->phase](queue, random, view, op)) {
            return true;
        }
        if (clears) {
            begin_round(queue, random, view);
        }
    }
}

const struct scenario scenario_deep_queue = {
    .name = "deep_queue",
    .summary =
        "up to 2,500 frees queued at once, which end one by one in every order while others join them",
    .source = "the sizes of rings: 128, 256, 512 and 1,024 entries",
    .chip = "v5e",
    .ops_per_trial = 20000,
    .begin = queue_begin,
    .next = queue_next,
};
