#include "scenarios/scenarios.h"

#include "harness/generate/generate.h"
#include "scenarios/private/launch.h"
#include "scenarios/private/parts.h"

#include <assert.h>

enum { PROGRAM_COUNT_MAX = 48, INPUT_COUNT_MAX = 8 };
enum churn_tag { TAG_INPUT, TAG_RESULT, TAG_OLD_PROGRAM, TAG_PROGRAM };

struct churn {
    struct op_queue queue;
    struct launch launch;
    bool is_open, is_launching, clears;
    uint8_t input_count;
    uint32_t inputs[INPUT_COUNT_MAX];
    uint32_t left; /* compilations of this job still to come */
    /* loaded at a time; beyond it one is unloaded, unless the job leaks them */
    uint32_t program_count;
    bool leaks_programs;
    uint64_t image_bytes, stack_bytes, result_bytes; /* the largest of each */
    uint64_t delay_ns;
};
static_assert(sizeof(struct churn) <= SCENARIO_STATE_BYTES, "the state fits");

static void churn_begin(void *state, struct random *random, struct setup *setup,
                        bool capacity_is_free)
{
    (void)state;
    device_draw(random, setup, capacity_is_free,
                &(struct device_options){.chip = "v6e", .granules_min = 16});
    setup_set_tag(setup, TAG_INPUT, "input");
    setup_set_tag(setup, TAG_RESULT, "result");
    setup_set_tag(setup, TAG_PROGRAM, "jit_step");
}

static void begin_job(struct churn *churn, struct random *random, const struct model *model)
{
    churn->input_count = (uint8_t)random_between(random, 1, INPUT_COUNT_MAX);
    churn->left = (uint32_t)random_between(random, 10, 120);
    churn->program_count = (uint32_t)random_log_uniform(random, 2, PROGRAM_COUNT_MAX - 1);
    churn->leaks_programs = random_chance(random, 1, 2);
    if (repacks(model) && churn->program_count > FEW_BLOCKS) {
        churn->program_count = FEW_BLOCKS;
        churn->leaks_programs = false;
    }
    churn->image_bytes = device_part(model, 1, random_log_uniform(random, 4, 200));
    churn->stack_bytes = device_part(model, random_between(random, 1, 28), 64);
    churn->result_bytes = device_part(model, random_between(random, 1, 16), 64);
    churn->delay_ns = random_log_uniform(random, 1000, UINT64_C(10000000));
    const uint64_t input_parts = random_between(random, 8, 44);
    for (uint8_t i = 0; i < churn->input_count; i++) {
        const uint64_t bytes = device_part(model, input_parts, 64 * (uint64_t)churn->input_count);
        op_queue_add(&churn->queue, build_request(OP_ALLOC, bytes, TAG_INPUT));
    }
}

/* Any shape gives a new program: images and stacks of all sizes up to the job's largest. */
static struct op draw_compilation(const struct churn *churn, struct random *random,
                                  const struct model *model)
{
    const uint64_t low = whole_granules(model, churn->image_bytes / 64);
    const uint64_t image = random_log_uniform(random, low,
                                              churn->image_bytes < low ? low : churn->image_bytes);
    const uint64_t stack = random_chance(random, 1, 8)
                               ? 0
                               : random_between(random, 1, churn->stack_bytes);
    return build_load(image, stack, TAG_PROGRAM);
}

/* After a refusal the job lets go of something, or just goes on. */
static void queue_retreat(struct churn *churn, struct random *random, const struct model *model)
{
    const size_t programs = model_program_count(model);
    const size_t buffers = model_live_count(model);
    const uint32_t weights[] = {programs > 0 ? 3 : 0, buffers > 0 ? 3 : 0, 2};
    const size_t way = random_weighted(random, weights, 3);
    if (way == 0) {
        op_queue_add(
            &churn->queue,
            build_on(OP_UNLOAD, model_program(model, (size_t)random_below(random, programs))->op));
    } else if (way == 1) {
        op_queue_add(
            &churn->queue,
            build_on(OP_FREE, model_live(model, (size_t)random_below(random, buffers))->op));
    } else {
        op_queue_add(&churn->queue, build_advance(random_between(random, 1, 4 * churn->delay_ns)));
    }
}

/* An execution of a program picked among old and new ones: an old one may be gone by now, and needs
 * its room back. */
static void begin_launch(struct churn *churn, struct random *random, const struct model *model)
{
    const size_t programs = model_program_count(model);
    const size_t buffers = model_live_count(model);
    const size_t newest = (size_t)random_below(random, programs < 2 ? programs : 2);
    const bool is_new = random_chance(random, 1, 2);
    const size_t index = is_new ? programs - 1 - newest : (size_t)random_below(random, programs);
    const uint64_t delay_ns = random_between(random, 1, 2 * churn->delay_ns);
    const bool holds_inputs = random_chance(random, 1, 2);
    struct launch *launch = &churn->launch;
    *launch = (struct launch){
        .program = model_program(model, index)->op,
        .delay_ns = delay_ns,
        .holds_inputs = holds_inputs,
    };
    launch_add_output(launch, random_between(random, 1, churn->result_bytes), TAG_RESULT,
                      LAUNCH_NOT_DONATED);
    const size_t inputs = buffers < 4 ? buffers : 4;
    for (size_t i = 0; i < inputs; i++) {
        const struct block *block = model_live(model, (size_t)random_below(random, buffers));
        if (block->hold_count == 0) {
            launch->inputs[launch->input_count++] = block->op;
        }
    }
    launch_begin(launch);
    churn->is_launching = true;
}

static void queue_compilation(struct churn *churn, struct random *random, const struct model *model)
{
    const size_t programs = model_program_count(model);
    op_queue_add(&churn->queue, draw_compilation(churn, random, model));
    churn->left--;
    if (programs >= PROGRAM_COUNT_MAX ||
        (!churn->leaks_programs && programs >= churn->program_count)) {
        op_queue_add(&churn->queue, build_on(OP_UNLOAD, model_program(model, 0)->op));
    }
}

static void queue_next_ops(struct churn *churn, struct random *random, const struct model *model)
{
    const size_t buffers = model_live_count(model);
    const bool was_refused = model_last_result(model) == TARGET_NO_MEMORY;
    if (was_refused && random_chance(random, 1, 2)) {
        queue_retreat(churn, random, model);
        return;
    }
    const uint32_t weights[] = {4, model_program_count(model) > 0 ? 5 : 0,
                                buffers > churn->input_count ? 4 : 0, 2, 1};
    const size_t way = random_weighted(random, weights, 5);
    if (way == 0) {
        queue_compilation(churn, random, model);
    } else if (way == 1) {
        begin_launch(churn, random, model);
    } else if (way == 2) {
        op_queue_add(
            &churn->queue,
            build_on(OP_FREE, model_live(model, (size_t)random_below(random, buffers))->op));
    } else if (way == 3) {
        op_queue_add(&churn->queue, build_advance(random_between(random, 1, 2 * churn->delay_ns)));
    } else {
        op_queue_add(&churn->queue,
                     build_request(OP_ALLOC, generate_interesting_size(random, model), TAG_INPUT));
    }
}

static bool churn_next(void *state, struct random *random, const struct scenario_view *view,
                       struct op *op)
{
    struct churn *churn = state;
    const struct model *model = view->hosts[0];
    if (!model_contract(model)->programs) {
        return false;
    }
    for (;;) { /* each turn queues an op that can act, begins a launch, or ends a job */
        if (op_queue_next(&churn->queue, view, op)) {
            return true;
        }
        if (churn->is_launching && launch_next(&churn->launch, view, op)) {
            return true;
        }
        churn->is_launching = false;
        if (churn->clears && clear_next(view, 0, false, op)) {
            return true;
        }
        if (churn->clears || !churn->is_open) {
            begin_job(churn, random, model);
            churn->is_open = true;
            churn->clears = false;
        } else if (churn->left == 0) {
            churn->clears = true;
        } else {
            queue_next_ops(churn, random, model);
        }
    }
}

const struct scenario scenario_recompilation_churn = {
    .name = "recompilation_churn",
    .summary =
        "new programs all the time; old ones are unloaded late or never, and execute again after eviction",
    .source =
        "pytorch/xla#3470 and #6467 (another graph for evaluation); a job that gains 0.3 GB per 1000 steps",
    .chip = "v6e",
    .ops_per_trial = 2000,
    .needs_programs = true,
    .begin = churn_begin,
    .next = churn_next,
};
