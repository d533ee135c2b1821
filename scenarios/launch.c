#include "scenarios/private/launch.h"

#include "harness/base/check.h"
#include "scenarios/private/parts.h"

enum phase { HOLD, OUTPUT, DONATE, EXECUTE, EXECUTED, USE_INPUT, USE_OUTPUT, RELEASE, DROP, OVER };

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

static void enter_phase(struct launch *launch, enum phase phase)
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

static bool hold_next(struct launch *launch, const struct model *model, struct op *op)
{
    while (launch->index < launch->input_count) {
        const uint8_t i = launch->index++;
        if (!is_donated(launch, i) && has_made(model, launch->inputs[i])) {
            *op = build_on(OP_HOLD, launch->inputs[i]);
            return true;
        }
    }
    enter_phase(launch, OUTPUT);
    return false;
}

static bool output_next(struct launch *launch, const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[launch->host];
    while (!was_refused(launch, model) && launch->index < launch->output_count) {
        struct launch_output *output = &launch->outputs[launch->index++];
        if (output->donor == LAUNCH_NOT_DONATED) {
            output->op = view->op_number;
            *op = build_request(OP_OUTPUT, output->size_bytes, output->tag);
            op->flags = launch->flags & OP_SPMD;
            op->group = op->flags == 0 ? 0 : (uint16_t)(launch->group + launch->index);
            return true;
        }
    }
    if (!launch->has_failed) {
        enter_phase(launch, DONATE);
    }
    return false;
}

static bool donate_next(struct launch *launch, const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[launch->host];
    while (launch->index < launch->output_count) {
        struct launch_output *output = &launch->outputs[launch->index++];
        if (output->donor >= launch->input_count ||
            !has_made(model, launch->inputs[output->donor])) {
            continue;
        }
        const struct block *donor = model_find(model, launch->inputs[output->donor]);
        if (donor->hold_count == 0 && output->size_bytes <= donor->size_bytes) {
            output->op = view->op_number;
            *op = build_donate(donor->op, output->size_bytes, output->tag);
            return true;
        }
    }
    enter_phase(launch, EXECUTE);
    return false;
}

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

static bool use_input_next(struct launch *launch, const struct model *model, struct op *op)
{
    while (launch->index < launch->input_count) {
        const uint8_t i = launch->index++;
        if (has_made(model, launch->inputs[i])) {
            *op = build_awaiting(OP_USE, launch->inputs[i], launch->event);
            return true;
        }
    }
    enter_phase(launch, USE_OUTPUT);
    return false;
}

static bool use_output_next(struct launch *launch, const struct model *model, struct op *op)
{
    while (launch->index < launch->output_count) {
        const uint8_t i = launch->index++;
        if (has_made(model, launch->outputs[i].op)) {
            *op = build_awaiting(OP_USE, launch->outputs[i].op, launch->event);
            return true;
        }
    }
    enter_phase(launch, RELEASE);
    return false;
}

static bool release_next(struct launch *launch, const struct model *model, struct op *op)
{
    while (launch->holds_inputs && launch->index < launch->input_count) {
        const uint8_t i = launch->index++;
        const struct block *block = is_donated(launch, i) ? NULL
                                                          : model_find(model, launch->inputs[i]);
        if (block != NULL && block->hold_count > 0) {
            *op = build_on(OP_RELEASE, launch->inputs[i]);
            return true;
        }
    }
    enter_phase(launch, launch->has_failed ? DROP : OVER);
    return false;
}

static bool drop_next(struct launch *launch, const struct model *model, struct op *op)
{
    while (launch->index < launch->output_count) {
        struct launch_output *output = &launch->outputs[launch->index++];
        if (output->donor == LAUNCH_NOT_DONATED && has_made(model, output->op)) {
            *op = build_on(OP_FREE, output->op);
            output->op = OP_NONE;
            return true;
        }
    }
    enter_phase(launch, OVER);
    return false;
}

/* One phase: true when it made an op, false when it went on to another phase. */
static bool phase_next(struct launch *launch, const struct scenario_view *view, struct op *op)
{
    const struct model *model = view->hosts[launch->host];
    switch ((enum phase)launch->phase) {
    case HOLD:
        return hold_next(launch, model, op);
    case OUTPUT:
        return output_next(launch, view, op);
    case DONATE:
        return donate_next(launch, view, op);
    case EXECUTE:
        return execute_next(launch, view, op);
    case EXECUTED:
        note_execution(launch, model);
        return false;
    case USE_INPUT:
        return use_input_next(launch, model, op);
    case USE_OUTPUT:
        return use_output_next(launch, model, op);
    case RELEASE:
        return release_next(launch, model, op);
    case DROP:
        return drop_next(launch, model, op);
    default:
        return false;
    }
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
