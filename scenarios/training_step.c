#include "scenarios/scenarios.h"

#include "harness/generate/generate.h"
#include "scenarios/private/launch.h"
#include "scenarios/private/parts.h"

#include <assert.h>

enum { PARAMETER_COUNT_MAX = 12, LOSS_COUNT_MAX = 256, EVALUATION_EVERY_MAX = 12 };
enum step_tag {
    TAG_PARAMETERS,
    TAG_BATCH,
    TAG_ACTIVATIONS,
    TAG_LOSS,
    TAG_STEP,
    TAG_EVALUATION,
    TAG_COPY
};

enum step_phase { RESTORE, LOAD, BATCH, ENQUEUE, LAUNCH, AFTER, CLEAR };

struct step_job {
    struct op_queue queue;
    struct launch launch;
    uint8_t phase;
    bool donates, keeps_losses, is_evaluation, holds;
    uint8_t parameter_count, evaluation_every, losses_kept_steps;
    uint32_t step, asked;
    uint32_t batch;       /* OP_NONE when there is none */
    uint32_t programs[2]; /* step and evaluation; OP_NONE */
    uint64_t parameter_bytes, batch_bytes, activation_bytes, loss_bytes;
    uint64_t image_bytes, stack_bytes[2];
    uint64_t delay_ns;
    uint32_t parameters[PARAMETER_COUNT_MAX];
    uint32_t loss_count, loss_first; /* ring of losses that are kept */
    uint32_t losses[LOSS_COUNT_MAX];
};
static_assert(sizeof(struct step_job) <= SCENARIO_STATE_BYTES, "the state fits");

static void training_begin(void *state, struct random *random, struct setup *setup,
                           bool capacity_is_free)
{
    (void)state;
    device_draw(random, setup, capacity_is_free,
                &(struct device_options){.chip = "v4", .granules_min = 8});
    setup_set_tag(setup, TAG_PARAMETERS, "parameters");
    setup_set_tag(setup, TAG_BATCH, "batch");
    setup_set_tag(setup, TAG_ACTIVATIONS, "activations");
    setup_set_tag(setup, TAG_LOSS, "loss");
    setup_set_tag(setup, TAG_STEP, "train_step");
    setup_set_tag(setup, TAG_EVALUATION, "evaluate");
    setup_set_tag(setup, TAG_COPY, "optimizer_copy");
}

/* A job whose working set is close to the device: from four fifths of it to a little more than all.
 */
static void begin_job(struct step_job *training, struct random *random, const struct model *model)
{
    training->parameter_count = (uint8_t)random_between(random, 1, PARAMETER_COUNT_MAX);
    const uint64_t parameter_parts = random_between(random, 16, 36);
    const uint64_t batch_parts = random_between(random, 1, 8);
    const uint64_t total_parts = random_between(random, 54, 70);
    const uint64_t stack_parts = random_between(random, 2, 18);
    training->parameter_bytes = device_part(model, parameter_parts,
                                            64 * (uint64_t)training->parameter_count);
    training->batch_bytes = device_part(model, batch_parts, 64);
    const uint64_t used_parts = parameter_parts + batch_parts + stack_parts;
    training->activation_bytes = device_part(
        model, total_parts > used_parts ? total_parts - used_parts : 1, 64);
    training->loss_bytes = random_log_uniform(random, 1, device_part(model, 1, 2048));
    training->image_bytes = device_part(model, 1, random_between(random, 16, 400));
    training->stack_bytes[0] = device_part(model, stack_parts, 64);
    training->stack_bytes[1] = device_part(model, random_between(random, 1, 24), 64);
    training->delay_ns = random_log_uniform(random, 1000, UINT64_C(100000000));
    training->donates = random_chance(random, 2, 3);
    training->keeps_losses = random_chance(random, 1, 2);
    training->holds = random_chance(random, 3, 4);
    training->evaluation_every = (uint8_t)random_between(random, 2, EVALUATION_EVERY_MAX);
    training->losses_kept_steps = (uint8_t)random_between(random, 4, LOSS_COUNT_MAX - 1);
    training->step = 0;
    training->loss_count = 0;
    training->loss_first = 0;
    training->batch = OP_NONE;
    training->asked = OP_NONE;
    training->programs[0] = training->programs[1] = OP_NONE;
    for (int i = 0; i < PARAMETER_COUNT_MAX; i++) {
        training->parameters[i] = OP_NONE;
    }
    training->phase = RESTORE;
}

/* Loads a checkpoint: for each parameter a copy from storage lives beside it for a moment, and
 * leaves a layout that a fresh job does not have (marin#7115). */
static bool restore_next(struct step_job *training, struct random *random,
                         const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[0];
    for (int i = 0; i < training->parameter_count; i++) {
        if (!has_made(model, training->parameters[i])) {
            if (training->asked == (uint32_t)i) { /* refused: this job cannot start */
                training->phase = CLEAR;
                return false;
            }
            training->asked = (uint32_t)i;
            if (random_chance(random, 1, 2)) {
                const uint64_t bytes = whole_granules(model, training->parameter_bytes / 4);
                const uint32_t copy = op_queue_add(&training->queue,
                                                   build_request(OP_ALLOC, bytes, TAG_COPY));
                const uint64_t delay = random_log_uniform(random, 1, training->delay_ns);
                op_queue_add(&training->queue, build_delayed(OP_FREE_AFTER, copy, delay));
            }
            training->parameters[i] = view->op_number;
            *op = build_request(OP_ALLOC, training->parameter_bytes, TAG_PARAMETERS);
            return true;
        }
    }
    training->asked = OP_NONE;
    training->phase = LOAD;
    return false;
}

static bool load_next(struct step_job *training, const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[0];
    if (!model_contract(model)->programs) {
        training->phase = BATCH;
        return false;
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (has_made(model, training->programs[i])) {
            continue;
        }
        if (training->asked == i) {
            training->phase = CLEAR;
            return false;
        }
        training->asked = i;
        training->programs[i] = view->op_number;
        *op = build_load(training->image_bytes, training->stack_bytes[i],
                         i == 0 ? TAG_STEP : TAG_EVALUATION);
        return true;
    }
    training->asked = OP_NONE;
    training->phase = BATCH;
    return false;
}

static bool batch_next(struct step_job *training, const struct scenario_view *view, struct op *op)
{
    training->phase = ENQUEUE;
    training->batch = view->op_number;
    *op = build_request(OP_ALLOC, training->batch_bytes, TAG_BATCH);
    return true;
}

/* Inputs: parameters and batch.  Outputs: the new parameters (donated, or beside the old ones), a
 * loss, and what is kept for the next program. */
static void begin_launch(struct step_job *training, struct random *random,
                         const struct model *model)
{
    struct launch *launch = &training->launch;
    training->is_evaluation = training->step % training->evaluation_every ==
                              training->evaluation_every - 1u;
    *launch = (struct launch){
        .program = training->programs[training->is_evaluation],
        .delay_ns = random_between(random, 1, 2 * training->delay_ns),
        .holds_inputs = training->holds,
    };
    for (uint8_t i = 0; i < training->parameter_count; i++) {
        launch->inputs[launch->input_count++] = training->parameters[i];
        if (!training->is_evaluation) {
            const struct block *parameter = model_find(model, training->parameters[i]);
            const uint64_t bytes = parameter == NULL ? training->parameter_bytes
                                                     : parameter->requested_bytes;
            launch_add_output(launch, bytes, TAG_PARAMETERS,
                              training->donates ? i : LAUNCH_NOT_DONATED);
        }
    }
    if (has_made(model, training->batch)) {
        launch->inputs[launch->input_count++] = training->batch;
    }
    launch_add_output(launch, training->loss_bytes, TAG_LOSS, LAUNCH_NOT_DONATED);
    launch_add_output(launch, training->activation_bytes, TAG_ACTIVATIONS, LAUNCH_NOT_DONATED);
    launch_begin(launch);
    training->phase = LAUNCH;
}

static void keep_loss(struct step_job *training, uint32_t loss)
{
    if (training->loss_count == training->losses_kept_steps || !training->keeps_losses) {
        const uint32_t oldest = training->loss_count == 0 ? loss
                                                          : training->losses[training->loss_first];
        op_queue_add(&training->queue, build_on(OP_FREE, oldest));
        if (training->loss_count == 0) {
            return;
        }
        training->loss_first = (training->loss_first + 1) % LOSS_COUNT_MAX;
        training->loss_count--;
    }
    training->losses[(training->loss_first + training->loss_count++) % LOSS_COUNT_MAX] = loss;
}

/* The new parameters take the old ones' place. */
static void replace_parameters(struct step_job *training, const struct model *model)
{
    const struct launch *launch = &training->launch;
    for (uint8_t i = 0; i < training->parameter_count && !training->is_evaluation; i++) {
        if (!has_made(model, launch->outputs[i].op)) {
            continue;
        }
        if (launch->outputs[i].donor == LAUNCH_NOT_DONATED) {
            op_queue_add(&training->queue, build_on(OP_FREE, training->parameters[i]));
        }
        training->parameters[i] = launch->outputs[i].op;
    }
}

/* The launch is over: the batch and what only this step needed go, asynchronously. */
static void end_step(struct step_job *training, struct random *random, const struct model *model)
{
    const struct launch *launch = &training->launch;
    replace_parameters(training, model);
    if (!launch->has_failed) {
        keep_loss(training, launch->outputs[launch->output_count - 2].op);
        op_queue_add(&training->queue,
                     build_on(OP_FREE, launch->outputs[launch->output_count - 1].op));
    }
    if (launch->event != OP_NONE && random_chance(random, 1, 2)) {
        op_queue_add(&training->queue,
                     build_awaiting(OP_FREE_AFTER, training->batch, launch->event));
    } else {
        op_queue_add(&training->queue, build_on(OP_FREE, training->batch));
    }
    if (random_chance(random, 1,
                      12)) { /* a phase boundary: a second copy of the optimizer's state, briefly */
        const uint64_t bytes = training->parameter_bytes * training->parameter_count;
        const uint32_t copy = op_queue_add(&training->queue,
                                           build_request(OP_ALLOC, bytes, TAG_COPY));
        op_queue_add(&training->queue, build_delayed(OP_FREE_AFTER, copy, training->delay_ns));
    }
    if (random_chance(random, 1, 2)) {
        op_queue_add(&training->queue,
                     build_advance(random_between(random, 1, 2 * training->delay_ns)));
    }
    if (random_chance(random, 1, 16)) {
        op_queue_add(&training->queue, op_make(OP_REPORT));
    }
    training->step++;
    training->phase = AFTER;
}

/* A failed step is tried with less, as users are told to; sometimes the job is given up. */
static void after_step(struct step_job *training, struct random *random, const struct model *model)
{
    training->phase = BATCH;
    if (training->launch.has_failed) {
        const uint64_t smaller = training->activation_bytes - training->activation_bytes / 4;
        training->activation_bytes = whole_granules(model, smaller);
        training->phase = random_chance(random, 1, 8) ? CLEAR : BATCH;
    } else if (random_chance(random, 1, 3)) {
        training->activation_bytes = whole_granules(model, training->activation_bytes +
                                                               training->activation_bytes / 8);
    }
    for (uint8_t i = 0; i < training->parameter_count; i++) {
        if (!has_made(model, training->parameters[i])) {
            training->phase = CLEAR;
        }
    }
}

static bool phase_next(struct step_job *training, struct random *random,
                       const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[0];
    const enum step_phase phase = (enum step_phase)training->phase;
    if (phase == RESTORE  ? restore_next(training, random, view, op)
        : phase == LOAD   ? load_next(training, view, op)
        : phase == BATCH  ? batch_next(training, view, op)
        : phase == LAUNCH ? launch_next(&training->launch, view, op)
                          : phase == CLEAR && clear_next(view, 0, false, op)) {
        return true;
    }
    if (phase == ENQUEUE) {
        begin_launch(training, random, model);
    } else if (phase == LAUNCH) {
        end_step(training, random, model);
    } else if (phase == AFTER) {
        after_step(training, random, model);
    } else if (phase == CLEAR) {
        begin_job(training, random, model);
    }
    return false;
}

static bool training_next(void *state, struct random *random, const struct scenario_view *view,
                          struct op *op)
{
    struct step_job *training = state;
    if (training->parameter_count == 0) {
        begin_job(training, random, view->hosts[0]);
    }
    do { /* between two ops a step passes through each phase at most once */
        if (op_queue_next(&training->queue, view, op)) {
            return true;
        }
    } while (!phase_next(training, random, view, op));
    return true;
}

const struct scenario scenario_training_step = {
    .name = "training_step",
    .summary =
        "steps with donated parameters, batches freed behind them, losses that stay, and evaluations in between",
    .source =
        "pytorch/xla#3470 and #983 (OOM at the next epoch), jax-ml/jax#9064, marin-community/marin#7115",
    .chip = "v4",
    .ops_per_trial = 2500,
    .needs_programs = true,
    .begin = training_begin,
    .next = training_next,
};
