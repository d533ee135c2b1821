/* Which requests must get the same answer on every host (OP_SPMD)?  The hosts make the same
 * requests in the same order, but their queued frees end at different times, so their layouts
 * differ.  An answer depends on sums alone, and is therefore the same everywhere, when after all
 * mitigations the whole heap can be one hole:
 *  - the target drains and defragments, and only granules align;
 *  - nobody holds a block across a request, and whatever is in use is so until a collective that
 *    has a queued free behind it, so that draining ends every use;
 *  - idle programs are no obstacle: buffers evict them, and a program that needs room either
 *    evicts the others or is the only one.
 *
 * Then a request is refused exactly if it and the live buffers (and, for a program, its image and
 * stack) exceed the device.  A host that carries an extra buffer breaks this, so while one does
 * nothing is flagged. */
#include "scenarios/scenarios.h"

#include "scenarios/private/launch.h"
#include "scenarios/private/parts.h"

#include <assert.h>

enum { PARAMETER_COUNT_MAX = 4, GROUPS_PER_STEP = 16 };
enum skew_tag { TAG_PARAMETERS, TAG_BATCH, TAG_ACTIVATIONS, TAG_LOSS, TAG_STEP, TAG_EXTRA };
/* Which of a step's groups a request belongs to; the launch takes GROUP_EXECUTE and the following
 * ones. */
enum skew_group { GROUP_BATCH, GROUP_LOAD, GROUP_PARAMETERS, GROUP_EXECUTE = 8 };

enum skew_phase { OPEN, BEGIN, RECOMPILE, BATCH, ENQUEUE, LAUNCH, NEXT_HOST, END, CLEAR };

struct skew {
    struct op_queue queue;
    struct launch launch;
    uint8_t phase, turn; /* turn: hosts done in this phase */
    uint8_t first_host;  /* this step begins with it */
    uint8_t parameter_count;
    bool step_is_flagged, holds_inputs, donates;
    bool recompiles, step_recompiles; /* this job does now and then; this step does */
    uint32_t step, steps_left;
    uint64_t failed_hosts; /* bit per host that was refused in this step */
    uint64_t parameter_bytes, image_bytes, stack_bytes;
    uint64_t batch_bytes, activation_bytes, loss_bytes; /* of this step */
    uint64_t delay_ns;                                  /* the slowest host's */
    uint8_t extra_host, extra_steps;                    /* steps that it stays; 0 = there is none */
    uint32_t extra;                                     /* OP_NONE when there is none */
    struct {
        uint32_t batch, activation, loss, old_loss, event; /* ops, OP_NONE */
    } made[OP_HOST_COUNT_MAX];
};
static_assert(sizeof(struct skew) <= SCENARIO_STATE_BYTES, "the state fits");

static void skew_begin(void *state, struct random *random, struct setup *setup,
                       bool capacity_is_free)
{
    struct skew *skew = state;
    skew->extra = OP_NONE;
    device_draw(
        random, setup, capacity_is_free,
        &(struct device_options){.chip = "v4", .granules_min = 16, .must_defragment = true});
    const uint32_t drawn = random_chance(random, 1, 12)
                               ? (uint32_t)random_between(random, 9, OP_HOST_COUNT_MAX)
                               : (uint32_t)random_between(random, 2, 8);
    setup->host_count = setup->host_count > 1 ? setup->host_count : drawn;
    setup_set_tag(setup, TAG_PARAMETERS, "parameters");
    setup_set_tag(setup, TAG_BATCH, "batch");
    setup_set_tag(setup, TAG_ACTIVATIONS, "activations");
    setup_set_tag(setup, TAG_LOSS, "loss");
    setup_set_tag(setup, TAG_STEP, "jit_step");
    setup_set_tag(setup, TAG_EXTRA, "one_host_only");
}

static uint8_t host_of_turn(const struct skew *skew, const struct scenario_view *view)
{
    return (uint8_t)((skew->first_host + skew->turn) % view->host_count);
}

static const struct block *newest_program(const struct model *model)
{
    const size_t count = model_program_count(model);
    return count == 0 ? NULL : model_program(model, count - 1);
}

/* A host that could not load what the others did has another program, and other sums, from then on.
 */
static bool programs_are_equal(const struct scenario_view *view)
{
    const struct block *first = newest_program(view->hosts[0]);
    for (uint32_t host = 1; host < view->host_count; host++) {
        const struct block *program = newest_program(view->hosts[host]);
        if ((program == NULL) != (first == NULL) ||
            (program != NULL && program->requested_bytes != first->requested_bytes)) {
            return false;
        }
    }
    return true;
}

/* True if this step's answers depend on sums alone; see the head of this file. */
static bool answers_are_sums(const struct skew *skew, const struct scenario_view *view)
{
    const struct target_contract *contract = model_contract(view->hosts[0]);
    return programs_are_equal(view) && contract->drains && contract->queues_frees &&
           contract->defrag != DEFRAG_NONE && contract->programs && contract->evicts &&
           skew->extra == OP_NONE && !skew->holds_inputs &&
           (!skew->recompiles || contract->program_evicts_program);
}

static void set_group_flags(const struct skew *skew, uint32_t group, struct op *op)
{
    if (skew->step_is_flagged) {
        op->flags |= OP_SPMD;
        op->group = (uint16_t)(skew->step * GROUPS_PER_STEP + group);
    }
}

/* --- a job: the same parameters and program on every host --- */

static void draw_job(struct skew *skew, struct random *random, const struct model *model)
{
    skew->parameter_count = (uint8_t)random_between(random, 1, PARAMETER_COUNT_MAX);
    skew->parameter_bytes = device_part(model, random_between(random, 10, 36),
                                        64 * (uint64_t)skew->parameter_count);
    skew->image_bytes = device_part(model, random_between(random, 1, 16), 256);
    skew->stack_bytes = device_part(model, random_between(random, 1, 20), 64);
    skew->delay_ns = random_log_uniform(random, 1000, UINT64_C(1000000000));
    skew->donates = random_chance(random, 1, 2);
    skew->recompiles = model_contract(model)->program_evicts_program && random_chance(random, 1, 2);
    skew->holds_inputs = false;
    skew->steps_left = (uint32_t)random_between(random, 8, 60);
    skew->extra = OP_NONE;
    for (int i = 0; i < OP_HOST_COUNT_MAX; i++) {
        skew->made[i].batch = skew->made[i].activation = skew->made[i].loss = OP_NONE;
        skew->made[i].old_loss = skew->made[i].event = OP_NONE;
    }
}

static void queue_load(struct skew *skew, uint8_t host)
{
    struct op op = build_load(skew->image_bytes, skew->stack_bytes, TAG_STEP);
    set_group_flags(skew, GROUP_LOAD, &op);
    op_queue_add_on(&skew->queue, host, op);
}

static void queue_job(struct skew *skew, uint8_t host)
{
    queue_load(skew, host);
    for (uint8_t i = 0; i < skew->parameter_count; i++) {
        struct op op = build_request(OP_ALLOC, skew->parameter_bytes, TAG_PARAMETERS);
        set_group_flags(skew, (uint32_t)GROUP_PARAMETERS + i, &op);
        op_queue_add_on(&skew->queue, host, op);
    }
}

/* --- a step: batch, launch behind the collective, frees --- */

/* Draws sizes so that a step allocates just above or just below what is left. */
static void draw_sizes(struct skew *skew, struct random *random, const struct model *model)
{
    const uint64_t capacity = model_capacity_bytes(model);
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t fixed = skew->parameter_bytes * skew->parameter_count;
    const uint64_t program = random_chance(random, 2, 3) ? skew->image_bytes + skew->stack_bytes
                                                         : 0;
    uint64_t room = capacity > fixed + program ? capacity - fixed - program : granule;
    const uint64_t way = random_below(random, 6);
    room = way == 0   ? room + granule
           : way == 1 ? room + device_part(model, 1, 32)
           : way == 2 ? room - room / 8
           : way == 3 ? room - room / 2
                      : room;
    skew->loss_bytes = random_chance(random, 1, 2) ? granule
                                                   : random_between(random, 1, 2 * granule);
    const uint64_t losses_bytes = 3 * granule; /* the losses of this step and of the one before */
    room = room > losses_bytes ? whole_granules(model, room - losses_bytes) : granule;
    skew->batch_bytes = whole_granules(model, random_between(random, room / 8, room));
    skew->activation_bytes = room > skew->batch_bytes ? room - skew->batch_bytes : granule;
}

/* Now and then one host alone carries something more, and alone runs out of memory. */
static void queue_extra(struct skew *skew, struct random *random, const struct scenario_view *view)
{
    if (skew->extra != OP_NONE && skew->extra_steps-- == 0) {
        op_queue_add_on(&skew->queue, skew->extra_host, build_on(OP_FREE, skew->extra));
        skew->extra = OP_NONE;
    } else if (skew->extra == OP_NONE && random_chance(random, 1, 8)) {
        skew->extra_host = (uint8_t)random_below(random, view->host_count);
        skew->extra_steps = (uint8_t)random_below(random, 4);
        const uint64_t parts = random_between(random, 1, 24);
        op_queue_add_on(&skew->queue, skew->extra_host,
                        build_request(OP_ALLOC,
                                      device_part(view->hosts[skew->extra_host], parts, 64),
                                      TAG_EXTRA));
        skew->extra = view->op_number; /* the queue is empty: this is the next op */
    }
}

static void begin_step(struct skew *skew, struct random *random, const struct scenario_view *view)
{
    const struct model *model = view->hosts[0];
    skew->step++;
    skew->turn = 0;
    skew->failed_hosts = 0;
    skew->first_host = (uint8_t)random_below(random, view->host_count);
    skew->holds_inputs = random_chance(random, 1, 4);
    draw_sizes(skew, random, model);
    queue_extra(skew, random, view);
    skew->step_is_flagged = answers_are_sums(skew, view);
    skew->step_recompiles = skew->recompiles && random_chance(random, 1, 6);
    if (skew->step_recompiles) {
        skew->image_bytes = device_part(model, random_between(random, 1, 16), 256);
    }
    skew->phase = RECOMPILE;
}

/* A new program beside the old one on every host, and the first one where there is none yet. */
static void queue_recompilation(struct skew *skew, const struct scenario_view *view)
{
    const uint8_t host = host_of_turn(skew, view);
    const struct model *model = view->hosts[host];
    const struct block *old = newest_program(model);
    if (old == NULL || skew->step_recompiles) {
        queue_load(skew, host);
    }
    if (model_program_count(model) > 1) {
        op_queue_add_on(&skew->queue, host, build_on(OP_UNLOAD, model_program(model, 0)->op));
    }
    skew->phase = BATCH;
}

static void batch_next(struct skew *skew, const struct scenario_view *view, struct op *op)
{
    const uint8_t host = host_of_turn(skew, view);
    skew->made[host].batch = view->op_number;
    skew->made[host].event = OP_NONE;
    *op = build_request(OP_ALLOC, skew->batch_bytes, TAG_BATCH);
    op->host = host;
    set_group_flags(skew, GROUP_BATCH, op);
    skew->phase = ENQUEUE;
}

static void begin_launch(struct skew *skew, struct random *random, const struct scenario_view *view)
{
    const uint8_t host = host_of_turn(skew, view);
    const struct model *model = view->hosts[host];
    const struct block *program = newest_program(model);
    struct launch *launch = &skew->launch;
    *launch = (struct launch){
        .program = program == NULL ? OP_NONE : program->op,
        .delay_ns = random_log_uniform(random, 1, skew->delay_ns),
        .group = (uint16_t)(skew->step * GROUPS_PER_STEP + GROUP_EXECUTE),
        .flags = OP_COLLECTIVE | (skew->step_is_flagged ? OP_SPMD : 0),
        .host = host,
        .holds_inputs = skew->holds_inputs,
    };
    for (size_t i = 0; i < model_live_count(model) && launch->input_count < skew->parameter_count;
         i++) {
        if (model_live(model, i)->tag == TAG_PARAMETERS) {
            launch->inputs[launch->input_count++] = model_live(model, i)->op;
        }
    }
    launch_add_output(launch, skew->activation_bytes, TAG_ACTIVATIONS, LAUNCH_NOT_DONATED);
    launch_add_output(launch, skew->loss_bytes, TAG_LOSS, LAUNCH_NOT_DONATED);
    if (skew->donates && launch->input_count > 0) {
        launch_add_output(launch, skew->parameter_bytes, TAG_PARAMETERS, 0);
    }
    launch->inputs[launch->input_count++] = skew->made[host].batch;
    launch_begin(launch);
    skew->phase = LAUNCH;
}

static void end_launch(struct skew *skew, struct random *random)
{
    const struct launch *launch = &skew->launch;
    const uint8_t host = launch->host;
    skew->failed_hosts |= (uint64_t)launch->has_failed << host;
    skew->made[host].event = launch->event;
    skew->made[host].activation = launch->outputs[0].op;
    skew->made[host].old_loss = skew->made[host].loss;
    skew->made[host].loss = launch->outputs[1].op;
    if (random_chance(random, 1, 3)) {
        op_queue_add_on(&skew->queue, host,
                        build_advance(random_log_uniform(random, 1, skew->delay_ns)));
    }
    skew->phase = NEXT_HOST;
}

static void queue_free(struct skew *skew, struct random *random, uint8_t host, uint32_t ref)
{
    const uint32_t event = skew->made[host].event;
    struct op op = event != OP_NONE && random_chance(random, 1, 2)
                       ? build_awaiting(OP_FREE_AFTER, ref, event)
                       : build_on(OP_FREE, ref);
    op_queue_add_on(&skew->queue, host, op);
}

/* The frees of a step are queued behind its collective; when any host was refused, all hosts abort:
 * they drop what the step made, and their collective ends with an error. */
static void end_host(struct skew *skew, struct random *random, const struct scenario_view *view)
{
    const uint8_t host = host_of_turn(skew, view);
    const struct model *model = view->hosts[host];
    const bool aborts = skew->failed_hosts != 0;
    const uint32_t refs[] = {skew->made[host].batch, skew->made[host].activation,
                             skew->made[host].old_loss, aborts ? skew->made[host].loss : OP_NONE};
    for (int i = 0; i < 4; i++) {
        if (has_made(model, refs[i])) {
            queue_free(skew, random, host, refs[i]);
        }
    }
    if (aborts) {
        skew->made[host].loss = OP_NONE;
    }
    if (random_chance(random, 1, 24)) {
        op_queue_add_on(&skew->queue, host, op_make(OP_REPORT));
    }
    skew->made[host].batch = skew->made[host].activation = skew->made[host].old_loss = OP_NONE;
}

/* After the last host's turn: the next step, or a new job. */
static void end_turn(struct skew *skew, const struct scenario_view *view, enum skew_phase same,
                     enum skew_phase next)
{
    skew->turn++;
    skew->phase = (uint8_t)same;
    if (skew->turn >= view->host_count) {
        skew->turn = 0;
        skew->phase = (uint8_t)next;
    }
}

static void begin_job(struct skew *skew, struct random *random, const struct scenario_view *view)
{
    draw_job(skew, random, view->hosts[0]);
    skew->step++;
    skew->turn = 0;
    skew->first_host = 0;
    skew->step_is_flagged = answers_are_sums(skew, view);
    skew->phase = OPEN;
}

/* One phase: true when it made an op; otherwise it has queued some or gone on. */
static bool phase_next(struct skew *skew, struct random *random, const struct scenario_view *view,
                       struct op *op)
{
    const uint8_t host = host_of_turn(skew, view);
    const enum skew_phase phase = (enum skew_phase)skew->phase;
    if (phase == OPEN) {
        queue_job(skew, host);
        end_turn(skew, view, OPEN, BEGIN);
    } else if (phase == BEGIN) {
        begin_step(skew, random, view);
    } else if (phase == RECOMPILE) {
        queue_recompilation(skew, view);
    } else if (phase == BATCH) {
        batch_next(skew, view, op);
        return true;
    } else if (phase == ENQUEUE && has_made(view->hosts[host], skew->made[host].batch)) {
        begin_launch(skew, random, view);
    } else if (phase == ENQUEUE) {
        skew->failed_hosts |= UINT64_C(1) << host;
        skew->phase = NEXT_HOST;
    } else if (phase == NEXT_HOST) {
        end_turn(skew, view, RECOMPILE, END);
    } else if (phase == END) {
        end_host(skew, random, view);
        end_turn(skew, view, END, skew->steps_left == 0 ? CLEAR : BEGIN);
        skew->steps_left -= skew->phase == BEGIN;
    } else if (phase == LAUNCH ? launch_next(&skew->launch, view, op)
                               : clear_hosts_next(view, op)) {
        return true;
    } else if (phase == LAUNCH) {
        end_launch(skew, random);
    } else {
        begin_job(skew, random, view);
    }
    return false;
}

static bool skew_next(void *state, struct random *random, const struct scenario_view *view,
                      struct op *op)
{
    struct skew *skew = state;
    if (skew->step == 0) {
        begin_job(skew, random, view);
    }
    do { /* every step makes at least the batch requests */
        if (op_queue_next(&skew->queue, view, op)) {
            return true;
        }
    } while (!phase_next(skew, random, view, op));
    return true;
}

const struct scenario scenario_host_skew = {
    .name = "host_skew",
    .summary =
        "2 to 64 hosts run the same step behind a collective with skewed completions; one host may run out alone",
    .source =
        "pytorch/xla#8216 and #8020, marin-community/marin#8508 (one rank of 704 runs out), tpu-recipes#151",
    .chip = "v4",
    .ops_per_trial = 6000,
    .needs_programs = true,
    .begin = skew_begin,
    .next = skew_next,
};
