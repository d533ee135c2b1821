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

static const char *const tag_names[TRAINING_TAG_COUNT] = {
    "parameters", "optimizer_state", "gradients",       "micro_gradients", "activations",
    "gathered",   "batch",           "gradient_bucket", "stage_exchange",  "logits",
    "metrics",    "logged_metrics",  "checkpoint",      "train_step",      "evaluate",
    "all_reduce", "send_stage"};

static struct training_host *host_of(struct training *training)
{
    return &training->hosts[training->host];
}

static uint32_t *slot_of(struct training *training, uint32_t slot)
{
    return &host_of(training)->slots[slot];
}

/* Later entries name what it makes by its slot at once. */
static void put(struct training *training, struct op op, uint32_t slot)
{
    op.host = (uint8_t)training->host;
    const uint32_t index = training->queue.count;
    const uint32_t name = op_queue_add(&training->queue, op);
    if (name == OP_NONE) {
        return;
    }
    training->queue_slots[index] = (uint8_t)slot;
    if (slot != SLOT_NOWHERE) {
        *slot_of(training, slot) = name;
    }
}

static void put_request(struct training *training, enum op_kind kind, uint64_t size_bytes,
                        enum training_tag tag, uint32_t slot)
{
    if (size_bytes != 0) {
        put(training, build_request(kind, size_bytes, (uint8_t)tag), slot);
    }
}

/* The block is let go of when the event of that slot completes. */
static void put_free_after(struct training *training, uint32_t slot, uint32_t event_slot)
{
    const uint32_t ref = *slot_of(training, slot), event = *slot_of(training, event_slot);
    if (ref != OP_NONE) {
        put(training,
            event == OP_NONE ? build_on(OP_FREE, ref) : build_awaiting(OP_FREE_AFTER, ref, event),
            SLOT_NOWHERE);
        *slot_of(training, slot) = OP_NONE;
    }
}

static void put_free(struct training *training, uint32_t slot)
{
    if (*slot_of(training, slot) != OP_NONE) {
        put(training, build_on(OP_FREE, *slot_of(training, slot)), SLOT_NOWHERE);
        *slot_of(training, slot) = OP_NONE;
    }
}

static void put_collective(struct training *training, uint32_t program, uint64_t delay_ns,
                           uint32_t event_slot, uint16_t group)
{
    struct op op = build_delayed(OP_EXECUTE, program, delay_ns);
    op.flags |= OP_COLLECTIVE;
    op.group = group;
    put(training, op, event_slot);
}

static bool is_due(uint32_t step, uint32_t every)
{
    return (step + 1) % every == 0;
}

static bool is_reduced(const struct training *training)
{
    return training->job.axes[AXIS_DATA] > 1 && is_due(training->step, training->job.reduce_every);
}

static enum training_axis axis_of_phase(const struct training *training)
{
    const uint8_t phase = training->phase;
    const enum training_axis axis = phase == PHASE_STEP ? AXIS_TENSOR
                                    : phase == PHASE_REDUCE || phase == PHASE_EVALUATE
                                        ? AXIS_DATA
                                        : TRAINING_AXIS_COUNT;
    const bool is_there = axis != TRAINING_AXIS_COUNT && training->job.axes[axis] > 1 &&
                          (axis != AXIS_DATA || is_reduced(training)) &&
                          (training->phase != PHASE_EVALUATE ||
                           is_due(training->step, training->job.evaluation_every));
    return is_there ? axis : TRAINING_AXIS_COUNT;
}

/* Runs a program: with the others of its group on that axis, or alone where there is none. */
static void put_execute(struct training *training, uint32_t program, uint64_t delay_ns,
                        uint32_t event_slot)
{
    const enum training_axis axis = axis_of_phase(training);
    if (axis != TRAINING_AXIS_COUNT) {
        put_collective(training, program, delay_ns, event_slot,
                       training_group(&training->job, axis, training->host));
    } else {
        put(training, build_delayed(OP_EXECUTE, program, delay_ns), event_slot);
    }
}

/* --- what a job has --- */

/* Returns the size scaled with the length of the sequences. */
static uint64_t of_shape(const struct training_job *job, const struct model *model, uint32_t step,
                         uint64_t size_bytes)
{
    const uint64_t each = size_bytes / job->sequence;
    return size_bytes == 0
               ? 0
               : whole_granules(model,
                                size_bytes - each * (job->sequence - training_sequence(job, step)));
}

static void put_batch(struct training *training, const struct model *model, uint32_t step)
{
    const struct training_job *job = &training->job;
    put_request(training, OP_ALLOC, of_shape(job, model, step, job->batch_bytes),
                TRAINING_TAG_BATCH, SLOT_BATCH_FIRST + step % job->prefetch);
}

static void put_load(struct training *training, uint64_t stack_bytes, enum training_tag tag,
                     uint32_t slot)
{
    put(training, build_load(training->job.image_bytes, stack_bytes, (uint8_t)tag), slot);
}

/* The program for the shape of the step: one that is loaded, or a new one, for which the oldest one
 * goes when the cache is full. */
static void put_program(struct training *training)
{
    const struct training_job *job = &training->job;
    struct training_host *host = host_of(training);
    const uint8_t wanted = (uint8_t)(1 + training_shape(job, training->step));
    for (uint8_t i = 0; i < job->cache; i++) {
        if (host->shapes[i] == wanted) {
            host->newest = i;
            return;
        }
    }
    const uint8_t place = (uint8_t)((host->newest + 1u) % job->cache);
    const uint32_t slot = SLOT_PROGRAM_FIRST + place;
    if (host->shapes[place] != 0) {
        put(training, build_on(OP_UNLOAD, *slot_of(training, slot)), SLOT_NOWHERE);
    }
    put_load(training, job->step_stack_bytes, TRAINING_TAG_STEP, slot);
    host->shapes[place] = wanted;
    host->newest = place;
}

/* --- phases --- */

/* So long after its start a host has compiled what it runs. */
#define COMPILED_NS UINT64_C(60000000000)

static void queue_start(struct training *training, const struct model *model)
{
    const struct training_job *job = &training->job;
    put_program(training);
    put_load(training, job->other_stack_bytes, TRAINING_TAG_EVALUATE, SLOT_EVALUATE);
    if (job->axes[AXIS_DATA] > 1) {
        put_load(training, job->other_stack_bytes, TRAINING_TAG_REDUCE, SLOT_REDUCE);
    }
    if (job->axes[AXIS_PIPELINE] > 1) {
        put_load(training, job->other_stack_bytes, TRAINING_TAG_SEND, SLOT_SEND);
    }
    put_request(training, OP_ALLOC, job->parameter_bytes, TRAINING_TAG_PARAMETERS, SLOT_PARAMETERS);
    put_request(training, OP_ALLOC, job->optimizer_bytes, TRAINING_TAG_OPTIMIZER, SLOT_OPTIMIZER);
    for (uint32_t step = 0; step + 1 < job->prefetch; step++) {
        put_batch(training, model, step);
    }
}

/* No host is further from the common pace than a twelfth of a step, so that none runs away. */
static void put_pace(struct training *training, struct random *random, const struct model *model)
{
    const uint64_t step_ns = training->job.step_ns;
    const uint64_t jitter_ns = random_below(random, step_ns / 12);
    const uint64_t target_ns = COMPILED_NS + training->step * step_ns + jitter_ns;
    const uint64_t now_ns = model_now_ns(model);
    put(training, build_advance(target_ns > now_ns ? target_ns - now_ns : 1000), SLOT_NOWHERE);
}

static void queue_begin(struct training *training, struct random *random, const struct model *model)
{
    const struct training_job *job = &training->job;
    put_pace(training, random, model);
    put_program(training);
    put_batch(training, model, training->step + job->prefetch - 1);
    put_request(training, OP_OUTPUT, job->gathered_bytes, TRAINING_TAG_GATHERED, SLOT_GATHERED);
    put_request(training, OP_OUTPUT, of_shape(job, model, training->step, job->activation_bytes),
                TRAINING_TAG_ACTIVATIONS, SLOT_ACTIVATIONS);
    put_request(training, OP_OUTPUT, job->gradient_bytes, TRAINING_TAG_GRADIENTS, SLOT_GRADIENTS);
    put_request(training, OP_OUTPUT, job->micro_gradient_bytes, TRAINING_TAG_MICRO_GRADIENTS,
                SLOT_MICRO_GRADIENTS);
    if (!job->donates) {
        put_request(training, OP_OUTPUT, job->parameter_bytes, TRAINING_TAG_PARAMETERS,
                    SLOT_NEW_PARAMETERS);
        put_request(training, OP_OUTPUT, job->optimizer_bytes, TRAINING_TAG_OPTIMIZER,
                    SLOT_NEW_OPTIMIZER);
    }
}

static void put_use(struct training *training, uint32_t slot)
{
    put(training,
        build_awaiting(OP_USE, *slot_of(training, slot), *slot_of(training, SLOT_STEP_EVENT)),
        SLOT_NOWHERE);
}

static void queue_step(struct training *training)
{
    const struct training_job *job = &training->job;
    if (job->donates) {
        put(training,
            build_donate(*slot_of(training, SLOT_PARAMETERS), job->parameter_bytes,
                         TRAINING_TAG_PARAMETERS),
            SLOT_PARAMETERS);
        put(training,
            build_donate(*slot_of(training, SLOT_OPTIMIZER), job->optimizer_bytes,
                         TRAINING_TAG_OPTIMIZER),
            SLOT_OPTIMIZER);
    }
    put_execute(training, *slot_of(training, SLOT_PROGRAM_FIRST + host_of(training)->newest),
                job->step_ns * 6 / 10, SLOT_STEP_EVENT);
    put_use(training, SLOT_PARAMETERS);
    put_use(training, SLOT_OPTIMIZER);
}

/* A bucket of gradients, which the data group reduces. */
static void queue_reduction(struct training *training)
{
    put_request(training, OP_OUTPUT, training->job.bucket_bytes, TRAINING_TAG_BUCKET, SLOT_LOGITS);
    put_execute(training, *slot_of(training, SLOT_REDUCE), training->job.step_ns * 7 / 10,
                SLOT_LAST_EVENT);
    put_free_after(training, SLOT_LOGITS, SLOT_LAST_EVENT);
}

static bool has_pairs(const struct training *training)
{
    return (training->phase == PHASE_FORWARD || training->phase == PHASE_BACKWARD) &&
           training->job.axes[AXIS_PIPELINE] > 1;
}

static bool lacks_previous(const struct training *training, uint32_t host)
{
    return training_has_previous(&training->job, host) &&
           (training->joined_next >> (host - 1) & 1) == 0;
}

static bool lacks_next(const struct training *training, uint32_t host)
{
    return training_has_next(&training->job, host) &&
           (training->joined_previous >> (host + 1) & 1) == 0;
}

/* A program that runs on two neighbouring stages, of which the sending one came before. */
static void put_pair(struct training *training, uint32_t lower_host)
{
    const struct training_job *job = &training->job;
    put_collective(training, *slot_of(training, SLOT_SEND),
                   job->step_ns * (training->phase == PHASE_FORWARD ? 65 : 70) / 100,
                   SLOT_LAST_EVENT, training_pair(lower_host));
}

/* One micro-batch from stage to stage.  A host asks for memory before it joins, when nothing that
 * it may have to wait for is open; and what it did not receive it does not send. */
static void queue_exchange(struct training *training)
{
    const struct training_job *job = &training->job;
    const uint32_t host = training->host;
    const bool is_forward = training->phase == PHASE_FORWARD;
    const bool receives = is_forward ? training_has_previous(job, host)
                                     : training_has_next(job, host);
    const bool sends = is_forward ? training_has_next(job, host) : training_has_previous(job, host);
    const bool lacks = is_forward ? lacks_previous(training, host) : lacks_next(training, host);
    if (training->micro_batch == 0) { /* one buffer, which each micro-batch passes */
        put_request(training, OP_OUTPUT, job->exchange_bytes, TRAINING_TAG_EXCHANGE, SLOT_LOGITS);
    }
    if (receives) {
        put_pair(training, is_forward ? host - 1 : host);
    }
    if (sends && !(receives && lacks)) {
        put_pair(training, is_forward ? host : host - 1);
    }
    if (training->micro_batch + 1 == job->accumulation) {
        put_free_after(training, SLOT_LOGITS, SLOT_LAST_EVENT);
    }
}

/* The metrics of a step, which stay for some steps, and what the logger makes of them: numbers of
 * the host, or, by mistake, one more tensor that it keeps. */
static void put_metrics(struct training *training)
{
    const struct training_job *job = &training->job;
    const uint32_t slot = job->held == 0 ? SLOT_LOGITS
                                         : SLOT_HELD_FIRST + training->step % job->held;
    put_free(training, slot);
    put_request(training, OP_OUTPUT, job->metric_bytes, TRAINING_TAG_METRICS, slot);
    if (job->held == 0) {
        put_free(training, slot);
    }
    if (training->step % job->log_every == 0) {
        put_request(training, OP_OUTPUT, job->leak_bytes, TRAINING_TAG_LOGGED, SLOT_LOGITS);
        if ((job->leaking >> training->host & 1) == 0) {
            put_free(training, SLOT_LOGITS);
        }
        *slot_of(training, SLOT_LOGITS) = OP_NONE;
    }
}

static void queue_end(struct training *training)
{
    const struct training_job *job = &training->job;
    put_free_after(training, SLOT_ACTIVATIONS, SLOT_STEP_EVENT);
    put_free_after(training, SLOT_GATHERED, SLOT_STEP_EVENT);
    put_free_after(training, SLOT_MICRO_GRADIENTS, SLOT_STEP_EVENT);
    put_free_after(training, SLOT_BATCH_FIRST + training->step % job->prefetch, SLOT_STEP_EVENT);
    const bool is_sent = is_reduced(training) || job->axes[AXIS_PIPELINE] > 1;
    put_free_after(training, SLOT_GRADIENTS, is_sent ? SLOT_LAST_EVENT : SLOT_STEP_EVENT);
    if (!job->donates) {
        put_free_after(training, SLOT_PARAMETERS, SLOT_STEP_EVENT);
        put_free_after(training, SLOT_OPTIMIZER, SLOT_STEP_EVENT);
        *slot_of(training, SLOT_PARAMETERS) = *slot_of(training, SLOT_NEW_PARAMETERS);
        *slot_of(training, SLOT_OPTIMIZER) = *slot_of(training, SLOT_NEW_OPTIMIZER);
    }
    put_metrics(training);
}

static void queue_evaluation(struct training *training)
{
    put_request(training, OP_OUTPUT, training->job.logit_bytes, TRAINING_TAG_LOGITS, SLOT_LOGITS);
    put_execute(training, *slot_of(training, SLOT_EVALUATE), training->job.step_ns / 4,
                SLOT_LAST_EVENT);
}

/* Queues a copy on the device of what is saved, before it goes to the host. */
static void queue_checkpoint(struct training *training)
{
    for (int i = 0; i < 2; i++) {
        const uint32_t index = training->queue.count;
        put_request(training, OP_ALLOC, training->job.checkpoint_bytes[i], TRAINING_TAG_CHECKPOINT,
                    SLOT_NOWHERE);
        if (training->job.checkpoint_bytes[i] != 0) {
            put(training,
                build_delayed(OP_FREE_AFTER, OP_QUEUE_ENTRY(index), training->job.step_ns / 8),
                SLOT_NOWHERE);
        }
    }
}

static void queue_phase(struct training *training, struct random *random,
                        const struct scenario_view *view)
{
    const struct model *model = view->hosts[training->host];
    const struct training_job *job = &training->job;
    const uint8_t phase = training->phase;
    if (phase == PHASE_START) {
        queue_start(training, model);
    } else if (phase == PHASE_BEGIN) {
        queue_begin(training, random, model);
    } else if (phase == PHASE_STEP) {
        queue_step(training);
    } else if (has_pairs(training)) {
        queue_exchange(training);
    } else if (phase == PHASE_REDUCE && is_reduced(training)) {
        queue_reduction(training);
    } else if (phase == PHASE_END) {
        queue_end(training);
    } else if (phase == PHASE_EVALUATE && is_due(training->step, job->evaluation_every)) {
        queue_evaluation(training);
    } else if (phase == PHASE_EVALUATED) {
        put_free_after(training, SLOT_LOGITS, SLOT_LAST_EVENT);
    } else if (phase == PHASE_CHECKPOINT && is_due(training->step, job->checkpoint_every)) {
        queue_checkpoint(training);
    }
}

/* --- the job --- */

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
        setup_set_tag(setup, tag, tag_names[tag]);
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
    queue_phase(training, NULL, view); /* of host 0; PHASE_START draws nothing */
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
    if (!has_pairs(training)) {
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
    const enum training_axis axis = axis_of_phase(training);
    const bool is_paired = has_pairs(training);
    for (uint32_t host = 0; host < job->host_count; host++) {
        const bool lacks = is_paired
                               ? lacks_previous(training, host) || lacks_next(training, host)
                               : axis != TRAINING_AXIS_COUNT &&
                                     (training_members(job, axis, host) & ~training->joined) != 0;
        if (lacks && training->hosts[host].state == HOST_RUNS) {
            training->hosts[host].state = HOST_WAITS;
        }
    }
    training->joined = training->joined_next = training->joined_previous = 0;
}

static void next_phase(struct training *training)
{
    const struct training_job *job = &training->job;
    note_waiting(training);
    if (has_pairs(training) && training->micro_batch + 1 < job->accumulation) {
        training->micro_batch++;
        return;
    }
    training->micro_batch = 0;
    training->phase++;
    if (training->phase == TRAINING_PHASE_COUNT) {
        training->phase = PHASE_BEGIN;
        training->step++;
    }
    if (training->phase == PHASE_BEGIN && training->step == job->leaving_step &&
        job->leaving != OP_NONE && training->hosts[job->leaving].state == HOST_RUNS) {
        training->hosts[job->leaving].state = HOST_LEFT;
    }
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
        training->turn = is_last ? 0 : training->turn + 1;
        training->host = training->phase == PHASE_BACKWARD
                             ? training->job.host_count - 1 - training->turn
                             : training->turn;
        if (is_over(training)) {
            return false;
        }
        if (training->hosts[training->host].state == HOST_RUNS) {
            queue_phase(training, random, view);
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
