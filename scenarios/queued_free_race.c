#include "scenarios/scenarios.h"

#include "harness/generate/generate.h"
#include "scenarios/private/parts.h"

#include <assert.h>
#include <string.h>

enum { BLOCK_COUNT_MAX = 256, QUEUED_COUNT_MAX = 20, HELD_COUNT_MAX = 8 };

/* The way in which the frees of one round become due. */
enum race_order {
    EARLY,    /* before the request that needs them, or soon after it begins to wait */
    LATE,     /* a thousand times later than the other work */
    REVERSED, /* the last queued is the first to end: a FIFO of frees stalls behind the first */
    SHUFFLED,
    SHARED,   /* one event ends them all */
    USED,     /* freed at once, but uses are in flight */
    EXECUTED, /* inputs of an execution, freed while it runs */
    HELD,     /* an external reference outlives the free; only its release ends the block */
    LOST,     /* never, until somebody completes the events in another order */
    ORDER_COUNT
};

enum race_phase { FILL, QUEUE, REQUEST, COMPLETE, MIX, CLEAR };

struct free_race {
    struct generate generate;
    uint16_t weights[OP_KIND_COUNT]; /* of the setup */
    struct op_queue queue;
    bool is_open;
    uint8_t phase, order;
    uint32_t asked;   /* the request whose answer is not yet seen; OP_NONE */
    uint32_t program; /* for EXECUTED; OP_NONE when there is none */
    uint32_t left, count;
    uint64_t unit_bytes;   /* blocks are one to four of these */
    uint64_t queued_bytes; /* freed in this round */
    uint64_t delay_ns;
    uint32_t held_count;
    uint32_t held[HELD_COUNT_MAX]; /* freed while held, not yet released */
    uint32_t blocks[BLOCK_COUNT_MAX];
};
static_assert(sizeof(struct free_race) <= SCENARIO_STATE_BYTES, "the state fits");

static void race_begin(void *state, struct random *random, struct setup *setup,
                       bool capacity_is_free)
{
    struct free_race *race = state;
    memcpy(race->weights, setup->weights, sizeof race->weights);
    race->asked = OP_NONE;
    race->program = OP_NONE;
    device_draw(random, setup, capacity_is_free,
                &(struct device_options){.chip = "v5e", .granules_min = 4});
}

/* Lost events and forgotten holds stay in the way; see FEW_BLOCKS. */
static uint8_t draw_order(struct random *random, const struct model *model, uint32_t block_count)
{
    const uint8_t order = (uint8_t)random_below(random, ORDER_COUNT);
    const bool stays = order == LOST || order == HELD;
    return stays && repacks(model) && block_count > FEW_BLOCKS ? (uint8_t)REVERSED : order;
}

static void begin_fill(struct free_race *race, struct random *random, const struct model *model)
{
    const bool few = repacks(model) && random_chance(random, 1, 2);
    const uint64_t block_count = random_log_uniform(random, 4, few ? FEW_BLOCKS : BLOCK_COUNT_MAX);
    race->phase = FILL;
    race->order = draw_order(random, model, (uint32_t)block_count);
    race->count = 0;
    race->left = BLOCK_COUNT_MAX;
    race->queued_bytes = 0;
    race->unit_bytes = whole_granules(model, model_free_bytes(model) / (2 * block_count));
    race->delay_ns = random_log_uniform(random, 1000, UINT64_C(1000000000));
    race->asked = OP_NONE;
}

/* Fills the device until it refuses. */
static bool fill_next(struct free_race *race, struct random *random,
                      const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[0];
    if (race->asked != OP_NONE && model_find(model, race->asked) != NULL &&
        race->count < BLOCK_COUNT_MAX) {
        race->blocks[race->count++] = race->asked;
    } else if (race->asked != OP_NONE) {
        race->left = 0;
    }
    race->asked = OP_NONE;
    if (race->left == 0) {
        race->phase = QUEUE;
        return false;
    }
    race->left--;
    race->asked = view->op_number;
    *op = build_request(OP_ALLOC, race->unit_bytes * random_between(random, 1, 4), 0);
    return true;
}

static uint64_t draw_delay(const struct free_race *race, struct random *random, uint32_t index)
{
    return race->order == EARLY      ? 1 + random_below(random, 100)
           : race->order == LATE     ? race->delay_ns * 1000 + index
           : race->order == REVERSED ? race->delay_ns * (QUEUED_COUNT_MAX + 1 - index)
           : race->order == LOST     ? DELAY_NEVER
                                     : random_log_uniform(random, 1, race->delay_ns);
}

/* Returns this round's shared event; OP_NONE for orders without one. */
static uint32_t queue_shared_event(struct free_race *race, struct random *random,
                                   const struct model *model)
{
    if (race->order == SHARED && race->count > 0) {
        const uint32_t ref = race->blocks[random_below(random, race->count)];
        return op_queue_add(&race->queue, build_delayed(OP_USE, ref, race->delay_ns));
    }
    if (race->order == EXECUTED && race->program != OP_NONE &&
        model_find(model, race->program) != NULL) {
        return op_queue_add(&race->queue, build_delayed(OP_EXECUTE, race->program, race->delay_ns));
    }
    return OP_NONE;
}

static void queue_free(struct free_race *race, struct random *random, const struct block *block,
                       uint32_t index, uint32_t shared_event)
{
    if (race->order == SHARED && shared_event != OP_NONE) {
        op_queue_add(&race->queue, build_awaiting(OP_FREE_AFTER, block->op, shared_event));
    } else if (race->order == EXECUTED && shared_event != OP_NONE) {
        op_queue_add(&race->queue, build_awaiting(OP_USE, block->op, shared_event));
        op_queue_add(&race->queue, build_on(OP_FREE, block->op));
    } else if (race->order == HELD && race->held_count < HELD_COUNT_MAX) {
        /* Now and then two hold it: when one lets go the other still does (tcmalloc commit 9c82c5e,
         * a pin shared as a boolean). */
        const uint32_t holders = race->held_count + 1 < HELD_COUNT_MAX &&
                                         random_chance(random, 1, 4)
                                     ? 2
                                     : 1;
        for (uint32_t i = 0; i < holders; i++) {
            race->held[race->held_count++] = block->op;
            op_queue_add(&race->queue, build_on(OP_HOLD, block->op));
        }
        op_queue_add(&race->queue, build_on(OP_FREE, block->op));
    } else if (race->order == USED) {
        op_queue_add(&race->queue,
                     build_delayed(OP_USE, block->op, draw_delay(race, random, index)));
        op_queue_add(&race->queue, build_on(OP_FREE, block->op));
    } else {
        op_queue_add(&race->queue,
                     build_delayed(OP_FREE_AFTER, block->op, draw_delay(race, random, index)));
    }
    race->queued_bytes += block->size_bytes;
}

/* Queues the frees of neighbours in allocation order, so that together they make one hole. */
static void queue_frees(struct free_race *race, struct random *random, const struct model *model)
{
    const uint32_t event = queue_shared_event(race, random, model);
    const uint32_t frees = (uint32_t)random_between(random, 1, QUEUED_COUNT_MAX);
    const uint32_t stride = random_chance(random, 1, 2) ? 1
                                                        : (uint32_t)random_between(random, 2, 4);
    const uint32_t first = race->count == 0 ? 0 : (uint32_t)random_below(random, race->count);
    uint32_t queued = 0;
    for (uint32_t i = first; i < race->count && queued < frees; i += stride) {
        const struct block *block = model_find(model, race->blocks[i]);
        if (block != NULL && block->hold_count == 0) {
            queue_free(race, random, block, ++queued, event);
        }
    }
}

/* Among many blocks to repack a request leaves some room over; see FEW_BLOCKS. */
static uint64_t limit_request_size(const struct free_race *race, const struct model *model,
                                   uint64_t size_bytes)
{
    const uint64_t all_bytes = model_free_bytes(model) + race->queued_bytes;
    if (!repacks(model) || model_live_count(model) <= FEW_BLOCKS || size_bytes > all_bytes) {
        return size_bytes;
    }
    const uint64_t most = all_bytes < model_capacity_bytes(model) / 32 ? 1 : all_bytes / 4 * 3;
    return size_bytes < most ? size_bytes : whole_granules(model, most);
}

static uint64_t draw_request_size(const struct free_race *race, struct random *random,
                                  const struct model *model)
{
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t free_bytes = model_free_bytes(model), queued_bytes = race->queued_bytes;
    const uint64_t way = random_below(random, 7);
    return limit_request_size(race, model,
                              way == 0   ? whole_granules(model, queued_bytes)
                              : way == 1 ? queued_bytes + granule
                              : way == 2 ? whole_granules(model, free_bytes + queued_bytes)
                              : way == 3 ? free_bytes + queued_bytes + granule
                              : way == 4 ? generate_interesting_size(random, model)
                                         : race->unit_bytes * random_between(random, 1, 6));
}

static void queue_requests(struct free_race *race, struct random *random, const struct model *model)
{
    const uint64_t count = random_between(random, 1, 10);
    for (uint64_t i = 0; i < count; i++) {
        const enum op_kind kind = random_chance(random, 1, 3) ? OP_OUTPUT : OP_ALLOC;
        op_queue_add(&race->queue, build_request(kind, draw_request_size(race, random, model), 1));
        if (random_chance(random, 1, 3)) {
            op_queue_add(&race->queue,
                         build_advance(random_log_uniform(random, 1, race->delay_ns)));
        }
    }
    if (race->order == EXECUTED && race->program == OP_NONE && model_contract(model)->programs) {
        op_queue_add(&race->queue, build_load(race->unit_bytes, 2 * race->unit_bytes, 2));
    }
}

/* Ends pending events, in any order but that of their making. */
static void queue_completions(struct free_race *race, struct random *random,
                              const struct model *model)
{
    op_queue_add(&race->queue, op_make(OP_REPORT)); /* dying blocks are listed too */
    while (race->held_count > 0) {
        op_queue_add(&race->queue, build_on(OP_RELEASE, race->held[--race->held_count]));
        if (random_chance(random, 1, 2)) {
            op_queue_add(&race->queue,
                         build_request(OP_ALLOC, draw_request_size(race, random, model), 1));
        }
    }
    const size_t pending = model_event_count(model);
    for (size_t i = 0; i < pending && i < 12; i++) {
        const uint32_t event = model_event_op(model, (size_t)random_below(random, pending));
        op_queue_add(&race->queue, build_complete(event));
        if (random_chance(random, 1, 3)) {
            op_queue_add(&race->queue,
                         build_request(OP_ALLOC, draw_request_size(race, random, model), 1));
        }
    }
}

/* The queue is empty: decides on the next part of the round. */
static void queue_next_phase(struct free_race *race, struct random *random,
                             const struct model *model)
{
    if (race->phase == QUEUE) {
        queue_frees(race, random, model);
        race->phase = REQUEST;
    } else if (race->phase == REQUEST) {
        queue_requests(race, random, model);
        race->phase = COMPLETE;
    } else if (race->phase == COMPLETE) {
        queue_completions(race, random, model);
        race->phase = MIX;
        race->left = random_chance(random, 1, 4) ? (uint32_t)random_below(random, 120) : 0;
    } else {
        race->phase = random_chance(random, 1, 2) ? CLEAR : QUEUE;
        race->queued_bytes = 0;
        race->order = draw_order(random, model, race->count);
    }
}

static bool race_next(void *state, struct random *random, const struct scenario_view *view,
                      struct op *op)
{
    struct free_race *race = state;
    const struct model *model = view->hosts[0];
    if (!race->is_open) {
        generate_init(&race->generate, random, model_capacity_bytes(model),
                      model_granule_bytes(model),
                      &(struct generate_limits){.weights = race->weights});
        begin_fill(race, random, model);
        race->is_open = true;
    }
    race->program = model_program_count(model) == 0 ? OP_NONE : model_program(model, 0)->op;
    for (;;) { /* a round passes through each phase once: fill makes an op, or the device is full */
        if (op_queue_next(&race->queue, view, op)) {
            return true;
        }
        if (race->phase == FILL) {
            if (fill_next(race, random, view, op)) {
                return true;
            }
        } else if (race->phase == MIX && race->left > 0) {
            race->left--;
            *op = generate_next(&race->generate, random, model, 0);
            return true;
        } else if (race->phase == CLEAR) {
            if (clear_next(view, 0, random_chance(random, 15, 16), op)) {
                return true;
            }
            begin_fill(race, random, model);
        } else {
            queue_next_phase(race, random, model);
        }
    }
}

const struct scenario scenario_queued_free_race = {
    .name = "queued_free_race",
    .summary =
        "queued frees whose events complete early, late, out of order, during the request that needs them, or never",
    .source =
        "AI-Hypercomputer/tpu-recipes#151, pytorch/xla#7849, pytorch/pytorch#71616 and #189504",
    .chip = "v5e",
    .ops_per_trial = 2000,
    .takes_weights = true,
    .begin = race_begin,
    .next = race_next,
};
