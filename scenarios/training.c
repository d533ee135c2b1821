/* A training job as users of JAX and PyTorch/XLA know it, on hosts that each have a time of their
 * own: it compiles, and takes steps with donated state, gradient buckets that the data group
 * reduces, batches that a loader puts on the device ahead, evaluations, checkpoints, new shapes
 * that are compiled, and a logger.  On one host the logger keeps what it logs.  That host runs out
 * of memory before the last step and dies; the others enter their next collective and wait. */
#include "scenarios/scenarios.h"

#include "scenarios/private/parts.h"
#include "scenarios/private/training.h"

#include <assert.h>

static_assert(sizeof(struct training) <= SCENARIO_STATE_BYTES, "the state fits");

/* Clocks of machines that ntp keeps together: up to 2 s apart, and up to 40 millionths off. */
static void draw_clocks(struct random *random, struct setup *setup)
{
    setup->has_clocks = true;
    for (uint32_t host = 0; host < setup->host_count; host++) {
        setup->clocks[host].ahead_ns = random_below(random, UINT64_C(2000000000));
        setup->clocks[host].drift = (int32_t)random_below(random, 81) - 40;
    }
}

static void training_begin(void *state, struct random *random, struct setup *setup,
                           bool capacity_is_free)
{
    struct training *training = state;
    if (setup->until_step == 0) { /* one of many trials: any device, any contract */
        device_draw(random, setup, capacity_is_free,
                    &(struct device_options){.chip = "v4", .granules_min = 64});
    }
    for (uint8_t tag = 0; tag < TRAINING_TAG_COUNT; tag++) {
        setup_set_tag(setup, tag, training_tag_names[tag]);
    }
    training_job_begin(&training->job, &scenario_training, random, setup);
    draw_clocks(random, setup);
}

static void open_job(struct training *training, const struct scenario_view *view)
{
    training_job_size(&training->job, view->hosts[0]);
    training->last_op = OP_NONE;
    for (uint32_t host = 0; host < view->host_count; host++) {
        for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) {
            training->hosts[host].slots[slot] = OP_NONE;
        }
    }
    training_queue_phase(training, NULL, view); /* of host 0; PHASE_START draws nothing */
    training->is_open = true;
}

/* True if what the host did last was refused, or failed otherwise. */
static bool has_failed(const struct training *training, const struct model *model)
{
    if (training->last_op == OP_NONE) {
        return false;
    }
    const struct op_kind_info *info = op_kind_info((enum op_kind)training->last_kind);
    if (info->makes_block || info->makes_program) {
        return !has_made(model, training->last_op);
    }
    if (training->last_kind != OP_EXECUTE || model_last_op(model) == OP_NONE) {
        return false;
    }
    return model_last_op(model) == training->last_op
               ? model_last_skipped(model) || model_last_result(model) != TARGET_OK
               : model_last_result(model) == TARGET_NO_MEMORY; /* it was asked again */
}

static void note_joined(struct training *training)
{
    const uint64_t bit = UINT64_C(1) << training->host;
    if (!training_phase_has_pairs(training)) {
        training->joined |= bit;
    } else if (training->last_group == training_pair(training->host)) {
        training->joined_next |= bit;
    } else {
        training->joined_previous |= bit;
    }
}

/* An error ends the host's process; a collective that it ran is joined. */
static void note_answer(struct training *training, const struct scenario_view *view)
{
    struct training_host *host = &training->hosts[training->host];
    if (has_failed(training, view->hosts[training->host])) {
        host->state = HOST_DIED;
        op_queue_clear(&training->queue);
        training->noted = 0;
    } else if (training->last_op != OP_NONE && training->last_kind == OP_EXECUTE) {
        note_joined(training);
    }
    training->last_op = OP_NONE;
}

/* The entries up to `end` were handed out or dropped. */
static void note_slots(struct training *training, uint32_t end)
{
    for (; training->noted < end; training->noted++) {
        const uint8_t slot = training->queue_slots[training->noted];
        uint32_t *made = &training->hosts[training->host].slots[slot == SLOT_NOWHERE ? 0 : slot];
        const bool is_newest = *made == OP_QUEUE_ENTRY(training->noted);
        if (slot != SLOT_NOWHERE && is_newest) {
            *made = training->queue.numbers[training->noted];
        }
    }
}

static bool queued_next(struct training *training, const struct scenario_view *view, struct op *op)
{
    const uint32_t count = training->queue.count;
    if (op_queue_next(&training->queue, view, op)) {
        note_slots(training, training->queue.next);
        training->last_op = view->op_number;
        training->last_kind = op->kind;
        training->last_group = op->group;
        return true;
    }
    note_slots(training, count);
    training->noted = 0;
    return false;
}

/* At the end of a phase: who is in a collective with a host that did not come waits from now on. */
static void note_waiting(struct training *training)
{
    const struct training_job *job = &training->job;
    const enum training_axis axis = training_phase_axis(training);
    const bool has_pairs = training_phase_has_pairs(training);
    for (uint32_t host = 0; host < job->host_count; host++) {
        const bool lacks = has_pairs
                               ? training_lacks_neighbour(training, host)
                               : axis != TRAINING_AXIS_COUNT &&
                                     (training_members(job, axis, host) & ~training->joined) != 0;
        if (lacks && training->hosts[host].state == HOST_RUNS) {
            training->hosts[host].state = HOST_WAITS;
        }
    }
    training->joined = training->joined_next = training->joined_previous = 0;
}

static void note_leaving(struct training *training)
{
    const struct training_job *job = &training->job;
    if (training->phase == PHASE_BEGIN && training->step == job->leaving_step &&
        job->leaving != OP_NONE && training->hosts[job->leaving].state == HOST_RUNS) {
        training->hosts[job->leaving].state = HOST_LEFT;
    }
}

static void next_phase(struct training *training)
{
    note_waiting(training);
    if (training_phase_has_pairs(training) &&
        training->micro_batch + 1 < training->job.accumulation) {
        training->micro_batch++;
        return;
    }
    training->micro_batch = 0;
    training->phase++;
    if (training->phase == TRAINING_PHASE_COUNT) {
        training->phase = PHASE_BEGIN;
        training->step++;
    }
    note_leaving(training);
}

static void give_turn(struct training *training, uint32_t turn)
{
    training->turn = turn;
    training->host = training->phase == PHASE_BACKWARD ? training->job.host_count - 1 - turn : turn;
}

static bool is_over(const struct training *training)
{
    for (uint32_t host = 0; host < training->job.host_count; host++) {
        if (training->hosts[host].state == HOST_RUNS) {
            return training->step >= training->job.step_count;
        }
    }
    return true;
}

static bool training_next(void *state, struct random *random, const struct scenario_view *view,
                          struct op *op)
{
    struct training *training = state;
    if (!training->is_open) {
        open_job(training, view);
    }
    note_answer(training, view);
    while (!queued_next(training, view, op)) { /* a step has an op: few turns without one */
        const bool is_last = training->turn + 1 == training->job.host_count;
        if (is_last) {
            next_phase(training);
        }
        give_turn(training, is_last ? 0 : training->turn + 1);
        if (is_over(training)) {
            return false;
        }
        if (training->hosts[training->host].state == HOST_RUNS) {
            training_queue_phase(training, random, view);
        }
    }
    return true;
}

const struct scenario scenario_training = {
    .name = "training",
    .summary =
        "a job of several hosts with groups and clocks, from compiling to its end: the logger of one host keeps what it logs, that host runs out of memory, and the others wait for it",
    .source =
        "pytorch/xla#8216 (20,000 to 80,000 steps on 4 hosts), pytorch/xla#3470, jax-ml/jax#7913",
    .chip = "v4",
    .ops_per_trial = 4000,
    .needs_programs = true,
    .counts_steps = true,
    .has_clocks = true,
    .options = training_options,
    .refuses = training_refuses,
    .begin = training_begin,
    .next = training_next,
};
