/* A job on a mesh of hosts, each with a time of its own: stages of a pipeline, each on several
 * hosts.
 *
 * The hosts of one stage run the same program on batches of the same size, and join one collective
 * of theirs; then those of one pipeline join another.  Hosts have clocks that are ahead and drift,
 * some are seconds behind, one is lost for good or paused for a few steps, or runs out of memory
 * alone.  The others go on without it for a while, wait in vain, and are restarted from a
 * checkpoint.
 *
 * Requests of one stage are flagged where sums alone decide (as in host_skew): there its hosts must
 * be answered alike, however far apart their times are.  All hosts of a group join before one of
 * them calls again, unless one is missing: what it lets the others wait for is a true hang. */
#include "harness/base/check.h"
#include "scenarios/private/parts.h"
#include "scenarios/scenarios.h"

#include <stdio.h>

enum { TAG_PARAMETERS = 1, TAG_BATCH, TAG_ACTIVATIONS, TAG_LOSS, TAG_STEP, TAG_EXTRA };
enum { STAGE_COUNT_MAX = 8, PARAMETER_COUNT_MAX = 3 };
#define NS_PER_S UINT64_C(1000000000)

/* A job begins with OPEN; a step is REQUEST, EXECUTE, SEND, END; a restart begins with CLEAR. */
enum mesh_phase { OPEN, REQUEST, EXECUTE, SEND, END, CLEAR };

enum { AXIS_STAGE, AXIS_PIPELINE, AXIS_COUNT };
enum { CATCH_UP_MAX = 20 }; /* collectives of an axis that a host makes up for at once */

struct mesh_host {
    uint32_t program, batch, activation, loss, old_loss, extra; /* ops, OP_NONE */
    uint32_t send;                                              /* the same, between stages */
    uint32_t event;              /* of its execution in this step; OP_NONE: it has none */
    uint32_t joined[AXIS_COUNT]; /* collectives so far: the n-th of each member are one */
    uint32_t paused;             /* turns that it still leaves out */
    bool is_lost;                /* for the rest of the job */
    bool has_failed;             /* in this step */
};

struct mesh {
    uint8_t stage_count, parameter_count;
    uint8_t phase, item, turn; /* item: of those of the phase, which all hosts get in turn */
    bool is_flagged;           /* the requests of this job */
    uint32_t step_count, step; /* of this job */
    uint32_t steps_after_loss; /* until the others notice that a host is missing */
    uint64_t delay_ns;
    struct stage {
        uint64_t parameter_bytes, image_bytes, stack_bytes, batch_bytes, activation_bytes;
    } stages[STAGE_COUNT_MAX];
    struct mesh_host hosts[OP_HOST_COUNT_MAX];
    struct op_queue queue;
};
static_assert(sizeof(struct mesh) <= SCENARIO_STATE_BYTES, "the state fits");

/* --- the mesh --- */

/* Hosts of one stage, and of one pipeline; host = pipeline * stage_count + stage. */
static uint16_t group_of_stage(uint32_t stage)
{
    return (uint16_t)stage;
}

static uint16_t group_of_pipeline(const struct mesh *mesh, uint32_t pipeline)
{
    return (uint16_t)(mesh->stage_count + pipeline);
}

static void declare_groups(const struct mesh *mesh, struct setup *setup)
{
    const uint32_t pipeline_count = setup->host_count / mesh->stage_count;
    for (uint32_t stage = 0; stage < mesh->stage_count; stage++) {
        uint64_t members = 0;
        char name[SETUP_GROUP_NAME_BYTES];
        for (uint32_t i = 0; i < pipeline_count; i++) {
            members |= UINT64_C(1) << (i * mesh->stage_count + stage);
        }
        snprintf(name, sizeof name, "data %u", stage);
        CHECK(setup_set_group(setup, group_of_stage(stage), members, name));
    }
    for (uint32_t i = 0; i < pipeline_count; i++) {
        char name[SETUP_GROUP_NAME_BYTES];
        snprintf(name, sizeof name, "pipeline %u", i);
        CHECK(setup_set_group(setup, group_of_pipeline(mesh, i),
                              ((UINT64_C(1) << mesh->stage_count) - 1) << (i * mesh->stage_count),
                              name));
    }
}

static void draw_clocks(struct random *random, struct setup *setup)
{
    setup->has_clocks = true;
    for (uint32_t i = 0; i < setup->host_count; i++) {
        if (random_chance(random, 1, 2)) {
            setup->clocks[i].ahead_ns = random_log_uniform(random, 1, 60 * NS_PER_S);
            setup->clocks[i].drift = (int32_t)random_between(random, 0, 200) - 100;
        }
    }
    const uint64_t way = random_below(random, 4);
    if (way < 2) {
        setup->collective_bound_ns = way == 1 ? DELAY_NEVER
                                              : random_log_uniform(random, 1000000, 600 * NS_PER_S);
    }
}

static void mesh_begin(void *state, struct random *random, struct setup *setup,
                       bool capacity_is_free)
{
    struct mesh *mesh = state;
    device_draw(
        random, setup, capacity_is_free,
        &(struct device_options){.chip = "v4", .granules_min = 16, .must_defragment = true});
    const uint32_t stages = (uint32_t)random_between(random, 1, 3);
    const uint32_t pipelines = (uint32_t)random_between(random, 2, 4);
    if (setup->host_count == 1) {
        setup_set_hosts(setup, stages * pipelines);
        mesh->stage_count = (uint8_t)stages;
    } else {
        mesh->stage_count = setup->host_count % 2 == 0 && setup->host_count > 2 ? 2 : 1;
    }
    declare_groups(mesh, setup);
    draw_clocks(random, setup);
    setup_set_tag(setup, TAG_PARAMETERS, "parameters");
    setup_set_tag(setup, TAG_BATCH, "batch");
    setup_set_tag(setup, TAG_ACTIVATIONS, "activations");
    setup_set_tag(setup, TAG_LOSS, "loss");
    setup_set_tag(setup, TAG_STEP, "train_step");
    setup_set_tag(setup, TAG_EXTRA, "one_host_only");
}

static uint32_t stage_of(const struct mesh *mesh, uint32_t host)
{
    return host % mesh->stage_count;
}

static void queue_add(struct mesh *mesh, uint8_t host, struct op op)
{
    (void)op_queue_add_on(&mesh->queue, host, op);
}

static void queue_request(struct mesh *mesh, uint8_t host, struct op op)
{
    if (mesh->is_flagged) {
        op.flags |= OP_SPMD;
        op.group = group_of_stage(stage_of(mesh, host));
    }
    queue_add(mesh, host, op);
}

/* --- a job --- */

static bool are_answers_sums(const struct model *model)
{
    const struct target_contract *contract = model_contract(model);
    return contract->drains && contract->queues_frees && contract->defrag != DEFRAG_NONE &&
           contract->programs && contract->evicts;
}

static void draw_stage(struct mesh *mesh, struct random *random, const struct model *model,
                       struct stage *stage)
{
    stage->parameter_bytes = device_part(model, random_between(random, 4, 20),
                                         64 * (uint64_t)mesh->parameter_count);
    stage->image_bytes = device_part(model, random_between(random, 1, 16), 256);
    stage->stack_bytes = device_part(model, random_between(random, 1, 10), 64);
}

static void draw_job(struct mesh *mesh, struct random *random, const struct scenario_view *view)
{
    const struct model *model = view->hosts[0];
    mesh->parameter_count = (uint8_t)random_between(random, 1, PARAMETER_COUNT_MAX);
    for (uint32_t i = 0; i < mesh->stage_count; i++) {
        draw_stage(mesh, random, model, &mesh->stages[i]);
    }
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        const struct mesh_host before = mesh->hosts[i];
        mesh->hosts[i] = (struct mesh_host){.joined = {before.joined[0], before.joined[1]},
                                            .program = OP_NONE,
                                            .batch = OP_NONE,
                                            .activation = OP_NONE,
                                            .loss = OP_NONE,
                                            .old_loss = OP_NONE,
                                            .extra = OP_NONE,
                                            .event = OP_NONE,
                                            .send = OP_NONE};
    }
    mesh->delay_ns = random_log_uniform(random, 1000, NS_PER_S);
    mesh->step_count = (uint32_t)random_between(random, 6, 30);
    mesh->step = 0;
    mesh->steps_after_loss = 0;
    mesh->is_flagged = are_answers_sums(model);
    mesh->phase = OPEN;
    mesh->item = mesh->turn = 0;
}

/* A program, then the parameters: one item for all hosts, then the next. */
static void queue_job(struct mesh *mesh, uint8_t host, uint32_t op_number)
{
    const struct stage *stage = &mesh->stages[stage_of(mesh, host)];
    if (mesh->item > 0) {
        queue_request(mesh, host, build_request(OP_ALLOC, stage->parameter_bytes, TAG_PARAMETERS));
        return;
    }
    mesh->hosts[host].program = op_number;
    queue_request(mesh, host, build_load(stage->image_bytes, stage->stack_bytes, TAG_STEP));
}

/* --- a step --- */

/* Draws sizes so that a step allocates just above or just below what is left. */
static void draw_sizes(const struct mesh *mesh, struct random *random, const struct model *model,
                       struct stage *stage)
{
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t fixed = stage->parameter_bytes * mesh->parameter_count + stage->stack_bytes +
                           stage->image_bytes + 4 * granule;
    const uint64_t capacity = model_capacity_bytes(model);
    uint64_t room = capacity > fixed ? capacity - fixed : granule;
    if (random_chance(random, 1, 8)) {
        room += device_part(model, 1, 32);
    } else if (random_chance(random, 1, 2)) {
        room -= room / random_between(random, 2, 8);
    }
    stage->batch_bytes = whole_granules(model, random_between(random, room / 8, room));
    stage->activation_bytes = room > stage->batch_bytes
                                  ? whole_granules(model, room - stage->batch_bytes)
                                  : granule;
}

/* One host alone meets what happens in the field now and then. */
static void draw_misfortune(struct mesh *mesh, struct random *random,
                            const struct scenario_view *view)
{
    const uint8_t host = (uint8_t)random_below(random, view->host_count);
    struct mesh_host *one = &mesh->hosts[host];
    const struct model *model = view->hosts[host];
    if (mesh->steps_after_loss > 0 || !random_chance(random, 1, 6)) {
        return;
    }
    const uint64_t way = random_below(random, 4);
    if (way == 0) { /* it leaves without a word */
        one->is_lost = true;
        mesh->steps_after_loss = (uint32_t)random_between(random, 1, 3);
    } else if (way == 1) { /* it is stopped, and comes back */
        one->paused = (uint32_t)random_between(random, 1, 3);
    } else if (one->extra == OP_NONE) { /* it carries more, and may run out of memory alone */
        one->extra = view->op_number;
        queue_add(mesh, host,
                  build_request(OP_ALLOC, device_part(model, random_between(random, 1, 24), 64),
                                TAG_EXTRA));
    }
}

static void begin_step(struct mesh *mesh, struct random *random, const struct scenario_view *view)
{
    for (uint32_t i = 0; i < mesh->stage_count; i++) {
        draw_sizes(mesh, random, view->hosts[0], &mesh->stages[i]);
    }
    for (uint32_t i = 0; i < view->host_count; i++) {
        struct mesh_host *host = &mesh->hosts[i];
        host->batch = host->activation = host->event = OP_NONE;
        host->has_failed = false;
    }
    draw_misfortune(mesh, random, view);
    mesh->step++;
}

static uint16_t group_of(const struct mesh *mesh, uint32_t host, int axis)
{
    return axis == AXIS_STAGE ? group_of_stage(stage_of(mesh, host))
                              : group_of_pipeline(mesh, host / mesh->stage_count);
}

/* Returns how many collectives of its group a host has missed. */
static uint32_t count_missed(const struct mesh *mesh, uint8_t host, int axis, uint32_t host_count)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < host_count; i++) {
        const bool is_member = group_of(mesh, i, axis) == group_of(mesh, host, axis);
        most = is_member && mesh->hosts[i].joined[axis] > most ? mesh->hosts[i].joined[axis] : most;
    }
    const uint32_t missed = most - mesh->hosts[host].joined[axis];
    return missed < CATCH_UP_MAX ? missed : CATCH_UP_MAX;
}

/* A host that was paused, or refused, joins late what the others have joined. */
static void queue_catching_up(struct mesh *mesh, uint8_t host, const struct scenario_view *view)
{
    struct mesh_host *one = &mesh->hosts[host];
    if (!has_made(view->hosts[host], one->program)) {
        return;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        const uint32_t missed = count_missed(mesh, host, axis, view->host_count);
        for (uint32_t i = 0; i < missed; i++) {
            struct op op = build_on(OP_EXECUTE, one->program);
            op.delay_ns = 1;
            op.flags = OP_COLLECTIVE;
            op.group = group_of(mesh, host, axis);
            queue_add(mesh, host, op);
        }
        one->joined[axis] += missed;
    }
}

/* Queues what a step needs, one item for all hosts, then the next.  A straggler's time is behind
 * that of the others, in seconds. */
static void queue_requests(struct mesh *mesh, struct random *random, uint8_t host,
                           const struct scenario_view *view)
{
    const struct stage *stage = &mesh->stages[stage_of(mesh, host)];
    if (mesh->item == 0) {
        queue_catching_up(mesh, host, view);
        if (random_chance(random, 1, 4)) {
            queue_add(mesh, host, build_advance(random_log_uniform(random, 1, 30 * NS_PER_S)));
        }
        queue_request(mesh, host, build_request(OP_ALLOC, stage->batch_bytes, TAG_BATCH));
    } else if (mesh->item == 1) {
        queue_request(mesh, host,
                      build_request(OP_OUTPUT, stage->activation_bytes, TAG_ACTIVATIONS));
    } else {
        queue_request(mesh, host, build_request(OP_OUTPUT, 1, TAG_LOSS));
    }
}

/* Returns the op of the newest live block with the tag; OP_NONE: there is none. */
static uint32_t newest_of(const struct model *model, uint8_t tag)
{
    uint32_t newest = OP_NONE;
    for (size_t i = 0; i < model_live_count(model); i++) {
        const struct block *block = model_live(model, i);
        if (block->tag == tag && (newest == OP_NONE || block->op > newest)) {
            newest = block->op;
        }
    }
    return newest;
}

/* A host that has all that it needs executes, and one that has not joins nothing. */
static void queue_execution(struct mesh *mesh, struct random *random, uint8_t host,
                            const struct scenario_view *view)
{
    struct mesh_host *one = &mesh->hosts[host];
    const struct model *model = view->hosts[host];
    const uint32_t loss = newest_of(model, TAG_LOSS);
    one->batch = newest_of(model, TAG_BATCH);
    one->activation = newest_of(model, TAG_ACTIVATIONS);
    one->old_loss = one->loss;
    one->loss = loss;
    if (one->batch == OP_NONE || one->activation == OP_NONE || loss == one->old_loss ||
        !has_made(model, one->program)) {
        one->has_failed = true;
        return;
    }
    struct op op = build_on(OP_EXECUTE, one->program);
    op.delay_ns = random_log_uniform(random, 1, mesh->delay_ns);
    op.flags = OP_COLLECTIVE;
    op.group = group_of(mesh, host, AXIS_STAGE);
    one->event = view->op_number;
    queue_add(mesh, host, op);
}

/* True if the last op of the host is this one, and was refused. */
static bool was_refused(const struct model *model, uint32_t op)
{
    return model_last_op(model) == op &&
           (model_last_skipped(model) || model_last_result(model) != TARGET_OK);
}

/* Once all hosts have joined: what the execution works on is in use until it ends. */
static void queue_uses(struct mesh *mesh, uint8_t host, int axis, const struct scenario_view *view)
{
    struct mesh_host *one = &mesh->hosts[host];
    const uint32_t event = axis == AXIS_STAGE ? one->event : one->send;
    if (event == OP_NONE || one->has_failed) {
        return;
    }
    if (was_refused(view->hosts[host], event)) {
        one->has_failed = true;
        return;
    }
    one->joined[axis]++;
    if (axis == AXIS_STAGE) {
        queue_add(mesh, host, build_awaiting(OP_USE, one->batch, event));
    }
    queue_add(mesh, host, build_awaiting(OP_USE, one->activation, event));
}

/* Queues what one stage sends to the next. */
static void queue_send(struct mesh *mesh, uint8_t host, const struct scenario_view *view)
{
    struct mesh_host *one = &mesh->hosts[host];
    one->send = OP_NONE;
    if (mesh->stage_count == 1 || one->has_failed || one->event == OP_NONE) {
        return;
    }
    struct op op = build_on(OP_EXECUTE, one->program);
    op.delay_ns = mesh->delay_ns / 8;
    op.flags = OP_COLLECTIVE;
    op.group = group_of(mesh, host, AXIS_PIPELINE);
    one->send = view->op_number;
    queue_add(mesh, host, op);
}

static void queue_end(struct mesh *mesh, struct random *random, uint8_t host,
                      const struct scenario_view *view)
{
    struct mesh_host *one = &mesh->hosts[host];
    const struct model *model = view->hosts[host];
    const uint32_t refs[] = {one->batch, one->activation, one->old_loss};
    for (int i = 0; i < 3; i++) {
        if (has_made(model, refs[i])) {
            queue_add(mesh, host,
                      one->event != OP_NONE && random_chance(random, 1, 2)
                          ? build_awaiting(OP_FREE_AFTER, refs[i], one->event)
                          : build_on(OP_FREE, refs[i]));
        }
    }
    if (has_made(model, one->extra) && random_chance(random, 1, 3)) {
        queue_add(mesh, host, build_on(OP_FREE, one->extra));
        one->extra = OP_NONE;
    }
    if (random_chance(random, 1, 24)) {
        queue_add(mesh, host, op_make(OP_REPORT));
    }
}

/* --- the order of turns --- */

static bool is_there(const struct mesh *mesh, uint8_t host)
{
    return !mesh->hosts[host].is_lost && mesh->hosts[host].paused == 0;
}

/* After a step: hosts that are paused come nearer, and a job that misses one is restarted. */
static void end_step(struct mesh *mesh, const struct scenario_view *view)
{
    bool is_over = mesh->step >= mesh->step_count ||
                   (mesh->steps_after_loss > 0 && --mesh->steps_after_loss == 0);
    for (uint32_t i = 0; i < view->host_count; i++) {
        mesh->hosts[i].paused -= mesh->hosts[i].paused > 0;
        if (mesh->hosts[i].has_failed && mesh->steps_after_loss == 0 && !is_over) {
            mesh->steps_after_loss = 2; /* others notice after one more step */
        }
    }
    mesh->phase = is_over ? CLEAR : REQUEST;
}

static void queue_turn(struct mesh *mesh, struct random *random, const struct scenario_view *view)
{
    const uint8_t host = mesh->turn;
    const enum mesh_phase phase = (enum mesh_phase)mesh->phase;
    if (phase == OPEN) {
        queue_job(mesh, host, view->op_number);
    } else if (!is_there(mesh, host)) {
        return;
    } else if (phase == REQUEST) {
        queue_requests(mesh, random, host, view);
    } else if (phase == EXECUTE && mesh->item == 0) {
        queue_execution(mesh, random, host, view);
    } else if (phase == EXECUTE) {
        queue_uses(mesh, host, AXIS_STAGE, view);
    } else if (phase == SEND && mesh->item == 0) {
        queue_send(mesh, host, view);
    } else if (phase == SEND) {
        queue_uses(mesh, host, AXIS_PIPELINE, view);
    } else {
        queue_end(mesh, random, host, view);
    }
}

/* Hosts that are asked alike are asked one after the other, before the next request; all join
 * before one of them goes on. */
static uint32_t count_items(const struct mesh *mesh)
{
    return mesh->phase == OPEN                             ? 1u + mesh->parameter_count
           : mesh->phase == REQUEST                        ? 3
           : mesh->phase == EXECUTE || mesh->phase == SEND ? 2
                                                           : 1;
}

/* Goes on to the next item: all hosts have had their turn. */
static void next_item(struct mesh *mesh, const struct scenario_view *view)
{
    mesh->turn = 0;
    if (++mesh->item < count_items(mesh)) {
        return;
    }
    mesh->item = 0;
    if (mesh->phase == END) {
        end_step(mesh, view);
    } else {
        mesh->phase++;
    }
}

static bool mesh_next(void *state, struct random *random, const struct scenario_view *view,
                      struct op *op)
{
    struct mesh *mesh = state;
    if (mesh->step_count == 0) {
        draw_job(mesh, random, view);
    }
    while (!op_queue_next(&mesh->queue, view, op)) {
        if (mesh->phase == CLEAR) {
            if (clear_hosts_next(view, op)) {
                return true;
            }
            draw_job(mesh, random, view);
        }
        if (mesh->turn == view->host_count) {
            next_item(mesh, view);
            continue;
        }
        if (mesh->phase == REQUEST && mesh->turn == 0 && mesh->item == 0) {
            begin_step(mesh, random, view);
        }
        queue_turn(mesh, random, view);
        mesh->turn++;
    }
    return true;
}

const struct scenario scenario_mesh_skew = {
    .name = "mesh_skew",
    .summary =
        "pipelines of stages on hosts with clocks of their own; one is late, lost, paused or out of memory while others wait",
    .source =
        "pytorch/xla#8216 and #8020, marin-community/marin#8508 (one rank of 704 runs out); GPipe and DDP meshes",
    .chip = "v4",
    .ops_per_trial = 4000,
    .needs_programs = true,
    .begin = mesh_begin,
    .next = mesh_next,
};
