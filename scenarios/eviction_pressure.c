#include "scenarios/scenarios.h"

#include "harness/generate/generate.h"
#include "scenarios/private/eviction_cases.h"
#include "scenarios/private/parts.h"

#include <assert.h>

enum { PROGRAM_COUNT_MAX = 24, CASE_TAG_FIRST = 1 };

enum pressure_phase { CASE, LOAD, PRESSURE, CLEAR };

struct pressure {
    struct op_queue queue;
    bool is_open;
    uint8_t phase;
    uint8_t case_index;   /* this trial's eviction case */
    uint8_t lost_percent; /* executions that end only when somebody completes them */
    uint32_t left;
    uint32_t program_count;                          /* aimed at */
    uint64_t image_bytes, stack_bytes, buffer_bytes; /* the largest of each */
};
static_assert(sizeof(struct pressure) <= SCENARIO_STATE_BYTES, "the state fits");

static void pressure_begin(void *state, struct random *random, struct setup *setup,
                           bool capacity_is_free)
{
    struct pressure *pressure = state;
    device_draw(random, setup, capacity_is_free, &(struct device_options){.chip = "v5e"});
    pressure->case_index = (uint8_t)random_below(random, EVICTION_CASE_COUNT);
    for (uint8_t i = 0; i < EVICTION_CASE_COUNT; i++) {
        setup_set_tag(setup, (uint8_t)(CASE_TAG_FIRST + i), eviction_cases[i].name);
    }
}

static void begin_load(struct pressure *pressure, struct random *random, const struct model *model)
{
    pressure->phase = LOAD;
    pressure->program_count = (uint32_t)random_log_uniform(random, 1, PROGRAM_COUNT_MAX);
    pressure->left = pressure->program_count + 2;
    /* The images together take a quarter of the device to twice the device. */
    const uint64_t parts = random_between(random, 8, 64);
    pressure->image_bytes = device_part(model, parts, 32 * pressure->program_count);
    pressure->stack_bytes = device_part(model, random_between(random, 0, 20), 32);
    pressure->buffer_bytes = device_part(model, 1,
                                         random_log_uniform(random, 4, repacks(model) ? 8 : 128));
    pressure->lost_percent = random_chance(random, 1, 3) ? 10 : 0;
}

static struct op draw_load(const struct pressure *pressure, struct random *random,
                           const struct model *model)
{
    const uint64_t low = whole_granules(model, pressure->image_bytes / 16);
    const uint64_t image = random_log_uniform(
        random, low, pressure->image_bytes < low ? low : pressure->image_bytes);
    return build_load(
        image, random_chance(random, 1, 4) ? 0 : random_between(random, 0, pressure->stack_bytes),
        0);
}

static uint64_t draw_delay(const struct pressure *pressure, struct random *random)
{
    return random_chance(random, pressure->lost_percent, 100)
               ? DELAY_NEVER
               : random_log_uniform(random, 1000, UINT64_C(10000000));
}

static const struct block *draw_program(struct random *random, const struct model *model)
{
    const size_t count = model_program_count(model);
    return count == 0 ? NULL : model_program(model, (size_t)random_below(random, count));
}

/* Buffers until the device refuses one: by then every idle program is gone. */
static void queue_burst(struct pressure *pressure, struct random *random, const struct model *model)
{
    const uint64_t count = random_between(random, 4, 40);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t size = random_chance(random, 1, 8)
                                  ? generate_interesting_size(random, model)
                                  : random_between(random, 1, pressure->buffer_bytes);
        op_queue_add(&pressure->queue,
                     build_request(random_chance(random, 1, 4) ? OP_OUTPUT : OP_ALLOC, size, 0));
    }
}

/* A program becomes busy, or idle again, while frees and requests are in flight. */
static void queue_executions(struct pressure *pressure, struct random *random,
                             const struct model *model)
{
    const uint64_t count = random_between(random, 1, 6);
    for (uint64_t i = 0; i < count; i++) {
        const struct block *program = draw_program(random, model);
        if (program == NULL) {
            return;
        }
        const uint32_t execution = op_queue_add(
            &pressure->queue, build_delayed(OP_EXECUTE, program->op, draw_delay(pressure, random)));
        if (model_live_count(model) > 0 && random_chance(random, 1, 2)) {
            const struct block *block = model_live(
                model, (size_t)random_below(random, model_live_count(model)));
            op_queue_add(&pressure->queue, build_awaiting(OP_FREE_AFTER, block->op, execution));
        }
        if (random_chance(random, 1, 2)) {
            const uint64_t size = random_between(random, 1, 2 * pressure->buffer_bytes);
            op_queue_add(&pressure->queue, build_request(OP_ALLOC, size, 0));
        }
    }
}

static void queue_frees(struct pressure *pressure, struct random *random, const struct model *model)
{
    const size_t live = model_live_count(model);
    const size_t count = live == 0 ? 0 : (size_t)random_between(random, 1, live < 30 ? live : 30);
    for (size_t i = 0; i < count; i++) {
        const struct block *block = model_live(model, (live - 1 - i) % live);
        op_queue_add(&pressure->queue,
                     build_on(block->hold_count > 0 ? OP_RELEASE : OP_FREE, block->op));
    }
}

static void queue_completions(struct pressure *pressure, struct random *random,
                              const struct model *model)
{
    const size_t pending = model_event_count(model);
    for (size_t i = 0; i < pending && i < 4; i++) {
        const uint32_t event = model_event_op(model, (size_t)random_below(random, pending));
        op_queue_add(&pressure->queue, build_complete(event));
    }
    op_queue_add(&pressure->queue,
                 build_advance(random_log_uniform(random, 1000, UINT64_C(20000000))));
}

static void queue_program(struct pressure *pressure, struct random *random,
                          const struct model *model)
{
    op_queue_add(&pressure->queue, draw_load(pressure, random, model));
    if (model_program_count(model) > pressure->program_count) {
        op_queue_add(&pressure->queue, build_on(OP_UNLOAD, draw_program(random, model)->op));
    }
}

static void (*const ways[])(struct pressure *, struct random *, const struct model *) = {
    queue_burst, queue_executions, queue_frees, queue_completions, queue_program};
static const uint32_t weights[] = {4, 5, 3, 3, 3}; /* of ways */

/* The queue is empty and so is, after CLEAR, the device. */
static void queue_next_phase(struct pressure *pressure, struct random *random,
                             const struct model *model)
{
    if (pressure->phase == CASE) {
        eviction_cases[pressure->case_index].queue(
            &pressure->queue, random, model, (uint8_t)(CASE_TAG_FIRST + pressure->case_index));
        pressure->phase = CLEAR;
    } else if (pressure->phase == LOAD) {
        op_queue_add(&pressure->queue, draw_load(pressure, random, model));
        if (--pressure->left == 0) {
            pressure->phase = PRESSURE;
            pressure->left = (uint32_t)random_between(random, 4, 40);
        }
    } else {
        ways[random_weighted(random, weights, 5)](pressure, random, model);
        if (--pressure->left == 0) {
            op_queue_add(&pressure->queue, op_make(OP_REPORT));
            pressure->phase = CLEAR;
        }
    }
}

static bool pressure_next(void *state, struct random *random, const struct scenario_view *view,
                          struct op *op)
{
    struct pressure *pressure = state;
    const struct model *model = view->hosts[0];
    while (!op_queue_next(&pressure->queue, view, op)) {
        if (pressure->phase != CLEAR) {
            queue_next_phase(pressure, random, model);
        } else if (clear_next(view, 0, false, op)) {
            return true;
        } else if (random_chance(random, 1, 3)) {
            pressure->phase = CASE;
        } else {
            begin_load(pressure, random, model);
        }
    }
    return true;
}

const struct scenario scenario_eviction_pressure = {
    .name = "eviction_pressure",
    .summary =
        "bursts of buffers while programs are idle, busy or becoming busy, and the kernel's seven eviction cases",
    .source =
        "Linux drivers/gpu/drm/ttm/tests/ttm_bo_validate_test.c; openxla.org/xla/errors/error_0101",
    .chip = "v5e",
    .ops_per_trial = 2000,
    .needs_programs = true,
    .begin = pressure_begin,
    .next = pressure_next,
};
