#include "scenarios/scenarios.h"

#include "scenarios/private/parts.h"

#include <assert.h>

enum {
    PROGRAM_COUNT_DEEP = 1025,
    PROGRAM_COUNT_MAX = 2000,
    GRANULES_PER_PROGRAM = 4, /* twice what an image takes on average */
    BUFFER_COUNT_MAX = 16     /* that programs are evicted for, in one round */
};

enum programs_phase { CLEAR, LOAD, EXECUTE, PRESS, UNLOAD };

struct idle_programs {
    struct op_walk walk;
    bool is_open;
    uint8_t phase;
    uint32_t first, end; /* the ops that loaded the programs of this round */
    uint32_t left;
    uint64_t unit_bytes, tick_ns;
};
static_assert(sizeof(struct idle_programs) <= SCENARIO_STATE_BYTES, "the state fits");

static void programs_begin(void *state, struct random *random, struct setup *setup,
                           bool capacity_is_free)
{
    (void)state;
    device_draw(random, setup, capacity_is_free,
                &(struct device_options){.chip = "v6e",
                                         .granules_min = GRANULES_PER_PROGRAM * PROGRAM_COUNT_MAX});
}

static void begin_round(struct idle_programs *programs, struct random *random,
                        const struct scenario_view *view)
{
    const struct model *model = view->hosts[0];
    const uint64_t count = !programs->is_open || random_chance(random, 1, 2)
                               ? random_between(random, PROGRAM_COUNT_DEEP, PROGRAM_COUNT_MAX)
                               : random_log_uniform(random, 100, PROGRAM_COUNT_DEEP);
    programs->left = bound_count(model, count, GRANULES_PER_PROGRAM);
    programs->unit_bytes = free_part(model, GRANULES_PER_PROGRAM * (uint64_t)programs->left);
    programs->tick_ns = random_log_uniform(random, 1, 100000);
    programs->first = view->op_number;
    programs->phase = LOAD;
    programs->is_open = true;
}

static void begin_walk(struct idle_programs *programs, struct random *random,
                       enum programs_phase phase)
{
    op_walk_begin_any(&programs->walk, random, programs->first, programs->end);
    programs->phase = (uint8_t)phase;
}

static bool load_next(struct idle_programs *programs, struct random *random,
                      const struct scenario_view *view, struct op *op)
{
    if (programs->left == 0 || is_full(view, programs->first)) {
        programs->end = view->op_number;
        begin_walk(programs, random, EXECUTE);
        return false;
    }
    programs->left--;
    const uint64_t stack_bytes = random_chance(random, 1, 2) ? programs->unit_bytes : 0;
    *op = build_load(programs->unit_bytes * random_between(random, 1, 3), stack_bytes, 0);
    return true;
}

/* Executes all of them at once: none ends before the last has begun. */
static bool execute_next(struct idle_programs *programs, struct random *random,
                         const struct scenario_view *view, struct op *op)
{
    uint32_t program = 0;
    if (op_walk_next_made(&programs->walk, view->hosts[0], &program)) {
        const uint64_t ticks = random_between(random, 1, PROGRAM_COUNT_MAX);
        *op = build_delayed(OP_EXECUTE, program, programs->tick_ns * ticks);
        return true;
    }
    programs->phase = PRESS;
    programs->left = (uint32_t)random_between(random, 1, BUFFER_COUNT_MAX);
    return false;
}

/* Some executions end, and a buffer needs more than is free: programs that are idle must go.  Some
 * of those are executed again. */
static bool press_next(struct idle_programs *programs, struct random *random,
                       const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[0];
    const size_t count = model_program_count(model);
    if (programs->left == 0) {
        begin_walk(programs, random, UNLOAD);
        return false;
    }
    const uint64_t way = random_below(random, 4);
    if (way == 0) {
        programs->left--;
        *op = build_request(
            OP_ALLOC,
            whole_granules(model, model_free_bytes(model) / 2 +
                                      programs->unit_bytes * random_below(random, 64)),
            0);
    } else if (way == 1 && count > 0) {
        const uint32_t program = model_program(model, random_below(random, count))->op;
        *op = build_delayed(OP_EXECUTE, program, programs->tick_ns * random_between(random, 1, 64));
    } else {
        *op = build_advance(programs->tick_ns * random_between(random, 1, 64));
    }
    return true;
}

/* Some end while they still execute. */
static bool unload_next(struct idle_programs *programs, struct random *random,
                        const struct scenario_view *view, struct op *op)
{
    uint32_t program = 0;
    if (random_chance(random, 1, 8)) {
        *op = build_advance(programs->tick_ns * random_between(random, 1, 16));
        return true;
    }
    if (op_walk_next_made(&programs->walk, view->hosts[0], &program)) {
        *op = build_on(OP_UNLOAD, program);
        return true;
    }
    programs->phase = CLEAR;
    return false;
}

static bool (*const phases[])(struct idle_programs *, struct random *, const struct scenario_view *,
                              struct op *) = {
    [LOAD] = load_next, [EXECUTE] = execute_next, [PRESS] = press_next, [UNLOAD] = unload_next};

static bool programs_next(void *state, struct random *random, const struct scenario_view *view,
                          struct op *op)
{
    struct idle_programs *programs = state;
    for (;;) { /* each phase goes on to another; a trial begins with CLEAR, on an empty device */
        const bool clears = programs->phase == CLEAR;
        if (clears ? clear_next(view, 0, false, op)
                   : phases[programs->phase](programs, random, view, op)) {
            return true;
        }
        if (clears) {
            begin_round(programs, random, view);
        }
    }
}

const struct scenario scenario_deep_programs = {
    .name = "deep_programs",
    .summary =
        "hundreds to thousands of programs that execute at once, are evicted for buffers, and end in every order",
    .source = "jobs that keep every program they ever compiled: pytorch/xla#3470",
    .chip = "v6e",
    .ops_per_trial = 10000,
    .needs_programs = true,
    .begin = programs_begin,
    .next = programs_next,
};
