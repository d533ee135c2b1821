#include "scenarios/private/launch.h"

#include "harness/base/check.h"
#include "scenarios/private/parts.h"

/* In this order. */
enum launch_phase {
    HOLD,
    OUTPUT,
    DONATE,
    EXECUTE,
    EXECUTED,
    USE_INPUT,
    USE_OUTPUT,
    RELEASE,
    DROP,
    OVER
};

void launch_add_output(struct launch *launch, uint64_t size_bytes, uint8_t tag, uint8_t donor)
{
    launch->outputs[launch->output_count++] = (struct launch_output){
        .size_bytes = size_bytes, .op = OP_NONE, .tag = tag, .donor = donor};
}

void launch_begin(struct launch *launch)
{
    CHECK(launch->input_count <= LAUNCH_INPUT_COUNT_MAX);
    CHECK(launch->output_count <= LAUNCH_OUTPUT_COUNT_MAX);
    launch->phase = launch->holds_inputs ? HOLD : OUTPUT;
    launch->index = 0;
    launch->has_failed = false;
    launch->event = OP_NONE;
    for (uint8_t i = 0; i < launch->output_count; i++) {
        launch->outputs[i].op = OP_NONE;
    }
}

static void enter_phase(struct launch *launch, enum launch_phase phase)
{
    launch->phase = (uint8_t)phase;
    launch->index = 0;
}

static bool is_donated(const struct launch *launch, uint8_t input)
{
    for (uint8_t i = 0; i < launch->output_count; i++) {
        if (launch->outputs[i].donor == input) {
            return true;
        }
    }
    return false;
}

/* Drops the launch when the output asked for before this call was refused. */
static bool was_refused(struct launch *launch, const struct model *model)
{
    if (launch->index == 0) {
        return false;
    }
    const struct launch_output *before = &launch->outputs[launch->index - 1];
    if (before->donor != LAUNCH_NOT_DONATED || has_made(model, before->op)) {
        return false;
    }
    launch->has_failed = true;
    enter_phase(launch, RELEASE);
    return true;
}

/* --- the phases with an op for some inputs or outputs: true when item i has one --- */

static bool hold_input(struct launch *launch, uint8_t i, const struct scenario_view *view,
                       struct op *op)
{
    *op = build_on(OP_HOLD, launch->inputs[i]);
    return !is_donated(launch, i) && has_made(view->hosts[launch->host], launch->inputs[i]);
}

static bool make_output(struct launch *launch, uint8_t i, const struct scenario_view *view,
                        struct op *op)
{
    struct launch_output *output = &launch->outputs[i];
    if (output->donor != LAUNCH_NOT_DONATED) {
        return false;
    }
    output->op = view->op_number;
    *op = build_request(OP_OUTPUT, output->size_bytes, output->tag);
    op->flags = launch->flags & OP_SPMD;
    op->group = op->flags == 0 ? 0 : (uint16_t)(launch->group + launch->index);
    return true;
}

static bool donate_input(struct launch *launch, uint8_t i, const struct scenario_view *view,
                         struct op *op)
{
    const struct model *model = view->hosts[launch->host];
    struct launch_output *output = &launch->outputs[i];
    if (output->donor >= launch->input_count || !has_made(model, launch->inputs[output->donor])) {
        return false;
    }
    const struct block *donor = model_find(model, launch->inputs[output->donor]);
    if (donor->hold_count > 0 || output->size_bytes > donor->size_bytes) {
        return false;
    }
    output->op = view->op_number;
    *op = build_donate(donor->op, output->size_bytes, output->tag);
    return true;
}

static bool use_input(struct launch *launch, uint8_t i, const struct scenario_view *view,
                      struct op *op)
{
    *op = build_awaiting(OP_USE, launch->inputs[i], launch->event);
    return has_made(view->hosts[launch->host], op->ref);
}

static bool use_output(struct launch *launch, uint8_t i, const struct scenario_view *view,
                       struct op *op)
{
    *op = build_awaiting(OP_USE, launch->outputs[i].op, launch->event);
    return has_made(view->hosts[launch->host], op->ref);
}

static bool release_input(struct launch *launch, uint8_t i, const struct scenario_view *view,
                          struct op *op)
{
    const struct block *block = model_find(view->hosts[launch->host], launch->inputs[i]);
    *op = build_on(OP_RELEASE, launch->inputs[i]);
    return launch->holds_inputs && !is_donated(launch, i) && block != NULL && block->hold_count > 0;
}

static bool drop_output(struct launch *launch, uint8_t i, const struct scenario_view *view,
                        struct op *op)
{
    struct launch_output *output = &launch->outputs[i];
    if (!launch->has_failed || output->donor != LAUNCH_NOT_DONATED ||
        !has_made(view->hosts[launch->host], output->op)) {
        return false;
    }
    *op = build_on(OP_FREE, output->op);
    output->op = OP_NONE;
    return true;
}

/* --- the execution --- */

static bool execute_next(struct launch *launch, const struct scenario_view *view, struct op *op)
{
    if (!has_made(view->hosts[launch->host], launch->program)) {
        launch->has_failed = true;
        enter_phase(launch, RELEASE);
        return false;
    }
    *op = build_delayed(OP_EXECUTE, launch->program, launch->delay_ns);
    op->flags = launch->flags;
    op->group = launch->group;
    launch->event = view->op_number;
    enter_phase(launch, EXECUTED);
    return true;
}

static void note_execution(struct launch *launch, const struct model *model)
{
    const bool executes = model_last_op(model) == launch->event && !model_last_skipped(model) &&
                          model_last_result(model) == TARGET_OK;
    if (!executes) {
        launch->has_failed = true;
        launch->event = OP_NONE;
    }
    enter_phase(launch, executes ? USE_INPUT : RELEASE);
}

static const struct {
    bool (*next)(struct launch *launch, uint8_t i, const struct scenario_view *view, struct op *op);
    bool is_of_outputs;
} items[OVER] = {[HOLD] = {hold_input, false},      [OUTPUT] = {make_output, true},
                 [DONATE] = {donate_input, true},   [USE_INPUT] = {use_input, false},
                 [USE_OUTPUT] = {use_output, true}, [RELEASE] = {release_input, false},
                 [DROP] = {drop_output, true}};

/* One phase: true when it made an op, false when it went on to another phase. */
static bool phase_next(struct launch *launch, const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[launch->host];
    const enum launch_phase phase = (enum launch_phase)launch->phase;
    if (phase == EXECUTE) {
        return execute_next(launch, view, op);
    }
    if (phase == EXECUTED) {
        note_execution(launch, model);
        return false;
    }
    if (phase == OUTPUT && was_refused(launch, model)) {
        return false;
    }
    while (launch->index <
           (items[phase].is_of_outputs ? launch->output_count : launch->input_count)) {
        launch->index++;
        if (items[phase].next(launch, (uint8_t)(launch->index - 1), view, op)) {
            return true;
        }
    }
    enter_phase(launch, phase + 1);
    return false;
}

bool launch_next(struct launch *launch, const struct scenario_view *view, struct op *op)
{
    if (launch->host >= view->host_count) {
        launch->phase = OVER;
    }
    while (launch->phase != OVER) { /* phases only go forward: at most one turn for each */
        if (phase_next(launch, view, op)) {
            op->host = launch->host;
            return true;
        }
    }
    return false;
}
