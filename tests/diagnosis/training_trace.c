#include "tests/diagnosis/training_trace.h"

#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAYER_MAX = 48,
    TENSOR_MAX = 4, /* of a layer: parameters, activations */
    RING_MAX = 4,
    CACHE_MAX = 64,
    LOG_MAX = 64,
    GROWN_MAX = 4096, /* entries of a cache without a bound */
    GRANULE = 512
};
#define BLOCK_NONE UINT32_MAX
#define CAPACITY_MAX (UINT64_C(1) << 46)

/* What a block is for. */
enum purpose {
    FOR_PARAM = 1,
    FOR_MOMENT,
    FOR_SECOND_MOMENT,
    FOR_GRAD,
    FOR_ACT,
    FOR_TEMP,
    FOR_LOGITS,
    FOR_LOSS,
    FOR_BATCH,
    FOR_EVAL,
    FOR_CHECKPOINT,
    FOR_LOG,
    FOR_CACHE,
    FOR_WORKSPACE,
    FOR_AVERAGE,
    FOR_REQUEST,
    FOR_LEAK,
    PURPOSE_COUNT
};
/* The source line of each, and its phase in a file with few tags. */
static const struct {
    const char *line;
    uint8_t phase;
} purposes[PURPOSE_COUNT] = {
    [FOR_PARAM] = {"model.py:31", 1},        [FOR_MOMENT] = {"adam.py:88", 4},
    [FOR_SECOND_MOMENT] = {"adam.py:92", 4}, [FOR_GRAD] = {"backward", 3},
    [FOR_ACT] = {"model.py:64", 2},          [FOR_TEMP] = {"model.py:70", 2},
    [FOR_LOGITS] = {"head.py:12", 2},        [FOR_LOSS] = {"train.py:57", 2},
    [FOR_BATCH] = {"loader.py:40", 5},       [FOR_EVAL] = {"eval.py:21", 6},
    [FOR_CHECKPOINT] = {"save.py:15", 7},    [FOR_LOG] = {"log.py:9", 2},
    [FOR_CACHE] = {"cache.py:33", 2},        [FOR_WORKSPACE] = {"workspace", 2},
    [FOR_AVERAGE] = {"average.py:7", 4},     [FOR_REQUEST] = {"server.py:81", 2},
    [FOR_LEAK] = {"hooks.py:18", 2},
};

enum tagging { TAGS_LINES, TAGS_LAYERS, TAGS_PHASES, TAGS_ONE, TAGGING_COUNT };

/* One of each tensor of a layer, where it is alive. */
struct layer {
    uint64_t param_bytes[TENSOR_MAX], act_bytes[TENSOR_MAX];
    uint32_t param_count, act_count;
    bool act_is_kept[TENSOR_MAX]; /* for the backward pass */
    uint32_t params[TENSOR_MAX], grads[TENSOR_MAX], moments[TENSOR_MAX], seconds[TENSOR_MAX];
    uint32_t acts[TENSOR_MAX];
};

struct queue {
    uint32_t blocks[CACHE_MAX > LOG_MAX ? CACHE_MAX : LOG_MAX];
    uint32_t count, limit;
};

/* What the plant has to do with an op. */
struct mark {
    bool is_planted;        /* a block that is there for the plant alone */
    uint8_t length_percent; /* by which its size was scaled; 0: it was not */
};

struct job {
    struct training_trace *trace;
    struct mark *marks; /* by op; mark_room of them */
    size_t mark_room;
    struct random random;
    struct op_list *ops;
    uint64_t op_max;
    enum tagging tagging;
    bool is_server, zeroes_grads, is_async, keeps_average;
    uint32_t layer_count, moment_count, accumulation, step_max, step_limit, step;
    uint32_t eval_every, checkpoint_every, log_every, cache_until, unfreeze_every;
    bool checkpoints_all;
    uint32_t frozen_count; /* of the first layers, so far */
    uint64_t batch_bytes, logit_bytes, workspace_bytes, log_bytes, cache_bytes;
    uint32_t length_percent, length_spread; /* of this step's sequences; how much they vary */
    bool has_moments;
    struct layer layers[LAYER_MAX];
    struct queue ring, cache, log;
    uint32_t grown[GROWN_MAX], grown_count;
    /* the planted part */
    uint32_t plant_from, plant_every, plant_width;
    uint64_t plant_bytes;
    uint8_t plant_purpose;
    size_t limit_from; /* the op from which on the device is to be full; 0 = not */
    size_t limit_to;   /* and before which; 0 = the end */
};

static uint8_t tag_of(const struct job *job, uint8_t purpose, uint32_t layer)
{
    switch (job->tagging) {
    case TAGS_ONE:
        return 1;
    case TAGS_PHASES:
        return purposes[purpose].phase;
    case TAGS_LAYERS:
        return purpose <= FOR_TEMP ? (uint8_t)(PURPOSE_COUNT + purpose * 32u + layer % 32)
                                   : purpose;
    default:
        return purpose;
    }
}

static bool is_full(const struct job *job)
{
    return job->ops->count >= job->op_max;
}

static uint32_t add(struct job *job, const struct op *op)
{
    op_list_append(job->ops, op);
    if (job->ops->count > job->mark_room) {
        job->mark_room = job->ops->count * 2;
        job->marks = realloc(job->marks, job->mark_room * sizeof *job->marks);
        CHECK(job->marks != NULL);
    }
    job->marks[job->ops->count - 1] = (struct mark){0};
    return (uint32_t)job->ops->count - 1;
}

static uint32_t make_tagged(struct job *job, uint8_t tag, uint64_t bytes)
{
    if (is_full(job)) {
        return BLOCK_NONE;
    }
    struct op op = op_make(tag % 3 == 0 ? OP_OUTPUT : OP_ALLOC);
    op.size_bytes = bytes < GRANULE ? GRANULE : align_up(bytes, GRANULE);
    op.tag = tag;
    return add(job, &op);
}

static uint32_t make(struct job *job, uint8_t purpose, uint32_t layer, uint64_t bytes)
{
    return make_tagged(job, tag_of(job, purpose, layer), bytes);
}

/* For the plant alone: without it the block would not be there. */
static uint32_t plant(struct job *job, uint32_t block)
{
    if (block != BLOCK_NONE) {
        job->marks[block].is_planted = true;
    }
    return block;
}

/* Of what is as large as the step's sequences are long. */
static uint32_t make_scaled(struct job *job, uint8_t purpose, uint32_t layer, uint64_t bytes)
{
    const uint32_t block = make(job, purpose, layer, bytes / 100 * job->length_percent + 1);
    if (block != BLOCK_NONE) {
        job->marks[block].length_percent = (uint8_t)job->length_percent;
    }
    return block;
}

static uint32_t name_op(struct job *job, enum op_kind kind, uint32_t block, uint64_t delay_ns)
{
    struct op op = op_make(kind);
    op.ref = block;
    op.delay_ns = delay_ns;
    return add(job, &op);
}

static void pass_time(struct job *job, uint64_t ns)
{
    if (!is_full(job)) {
        struct op op = op_make(OP_ADVANCE);
        op.delay_ns = ns;
        add(job, &op);
    }
}

/* Frees the block, if it is there; where work is asynchronous it is in use for a little longer. */
static void drop(struct job *job, uint32_t *block)
{
    if (*block == BLOCK_NONE || is_full(job)) {
        return;
    }
    if (job->is_async && random_chance(&job->random, 1, 8)) {
        name_op(job, OP_USE, *block, random_between(&job->random, 1000, 200000));
    }
    name_op(job, OP_FREE, *block, 0);
    *block = BLOCK_NONE;
}

/* Adds a block and frees the oldest beyond the limit. */
static void queue_push(struct job *job, struct queue *queue, uint32_t block)
{
    if (block == BLOCK_NONE || queue->limit == 0) {
        return;
    }
    if (queue->count == queue->limit) {
        drop(job, &queue->blocks[0]);
        memmove(queue->blocks, queue->blocks + 1, (queue->count - 1) * sizeof queue->blocks[0]);
        queue->count--;
    }
    queue->blocks[queue->count++] = block;
}

static void queue_clear(struct job *job, struct queue *queue)
{
    for (uint32_t i = 0; i < queue->count; i++) {
        drop(job, &queue->blocks[i]);
    }
    queue->count = 0;
}

/* --- The parts of a job ------------------------------------------------------------------- */

static void draw_layers(struct job *job)
{
    struct random *random = &job->random;
    const uint64_t hidden = UINT64_C(1) << random_between(random, 6, 12);
    const uint64_t rows = UINT64_C(1) << random_between(random, 4, 13);
    const uint64_t width = random_chance(random, 1, 2) ? 2 : 4;
    const uint32_t param_count = (uint32_t)random_between(random, 1, TENSOR_MAX);
    const uint32_t act_count = (uint32_t)random_between(random, 1, TENSOR_MAX);
    for (uint32_t i = 0; i < job->layer_count; i++) {
        struct layer *layer = &job->layers[i];
        layer->param_count = param_count;
        layer->act_count = act_count;
        for (uint32_t k = 0; k < TENSOR_MAX; k++) {
            layer->param_bytes[k] = k == 1 ? hidden * width : hidden * hidden * width * (1 + k % 3);
            layer->act_bytes[k] = rows * hidden * width / (k == 2 ? 4 : 1);
            layer->act_is_kept[k] = k != 1;
            layer->params[k] = layer->grads[k] = layer->acts[k] = BLOCK_NONE;
            layer->moments[k] = layer->seconds[k] = BLOCK_NONE;
        }
    }
    job->batch_bytes = rows * 8;
    job->logit_bytes = rows * random_between(random, 16, 4096) * width;
    job->workspace_bytes = random_log_uniform(random, 1 << 16, 1 << 25);
    job->log_bytes = random_chance(random, 1, 2) ? 4 : random_log_uniform(random, 4, 1 << 16);
    job->cache_bytes = random_log_uniform(random, 1 << 12, rows * hidden * width + (1 << 13));
}

static uint32_t draw_every(struct random *random, uint32_t step_max)
{
    return random_chance(random, 1, 2) ? 0 : (uint32_t)random_between(random, 1, step_max / 2 + 1);
}

/* So many layers that a step takes about that many ops. */
static void draw_size(struct job *job, uint32_t step_min)
{
    struct random *random = &job->random;
    job->step_max = (uint32_t)random_log_uniform(random, step_min, job->op_max / 16 + step_min);
    const uint32_t drawn = job->step_max;
    job->step_max = drawn < job->step_limit ? drawn : job->step_limit;
    const uint64_t room = job->op_max / (drawn * (job->is_server ? 8u : 20u)) + 1;
    const uint64_t most = room < LAYER_MAX ? room : LAYER_MAX;
    job->layer_count = (uint32_t)random_between(random, 1, most);
    job->accumulation = random_chance(random, 1, 4) ? (uint32_t)random_between(random, 2, 4) : 1;
}

static void draw_habits(struct job *job)
{
    struct random *random = &job->random;
    const uint32_t steps = job->step_max;
    job->tagging = (enum tagging)random_below(random, TAGGING_COUNT);
    job->moment_count = (uint32_t)random_below(random, 3);
    job->zeroes_grads = random_chance(random, 3, 4);
    job->is_async = random_chance(random, 1, 3);
    job->keeps_average = random_chance(random, 1, 6);
    job->eval_every = draw_every(random, steps);
    job->checkpoint_every = draw_every(random, steps);
    job->checkpoints_all = random_chance(random, 1, 2);
    job->log_every = draw_every(random, steps);
    job->unfreeze_every = random_chance(random, 1, 8) ? steps / 4 + 1 : 0;
    job->frozen_count = job->unfreeze_every != 0 ? job->layer_count * 3 / 4 : 0;
    job->ring.limit = (uint32_t)random_below(random, RING_MAX + 1);
    job->log.limit = job->log_every != 0 ? LOG_MAX : 0;
    job->cache.limit = random_chance(random, 1, 2) ? (uint32_t)random_between(random, 1, CACHE_MAX)
                                                   : 0;
    job->cache_until = steps / 2;
    job->length_spread = random_chance(random, 1, 2) ? 0 : (uint32_t)random_between(random, 5, 80);
}

static void make_params(struct job *job)
{
    for (uint32_t i = 0; i < job->layer_count; i++) {
        struct layer *layer = &job->layers[i];
        for (uint32_t k = 0; k < layer->param_count; k++) {
            layer->params[k] = make(job, FOR_PARAM, i, layer->param_bytes[k]);
        }
    }
}

static void push_batch(struct job *job)
{
    const uint32_t batch = make_scaled(job, FOR_BATCH, 0, job->batch_bytes);
    if (job->ring.limit == 0) {
        uint32_t own = batch;
        drop(job, &own);
        return;
    }
    queue_push(job, &job->ring, batch);
}

static void run_forward(struct job *job, bool keeps)
{
    for (uint32_t i = 0; i < job->layer_count; i++) {
        struct layer *layer = &job->layers[i];
        for (uint32_t k = 0; k < layer->act_count; k++) {
            drop(job, &layer->acts[k]);
            layer->acts[k] = make_scaled(job, layer->act_is_kept[k] ? FOR_ACT : FOR_TEMP, i,
                                         layer->act_bytes[k]);
        }
        for (uint32_t k = 0; k < layer->act_count; k++) {
            if (!keeps || !layer->act_is_kept[k]) {
                drop(job, &layer->acts[k]);
            }
        }
    }
}

static void run_backward(struct job *job)
{
    for (uint32_t i = job->layer_count; i-- > job->frozen_count;) {
        struct layer *layer = &job->layers[i];
        uint32_t temp = make_scaled(job, FOR_TEMP, i, layer->act_bytes[0]);
        for (uint32_t k = 0; k < layer->param_count; k++) {
            if (layer->grads[k] == BLOCK_NONE) {
                layer->grads[k] = make(job, FOR_GRAD, i, layer->param_bytes[k]);
            }
        }
        for (uint32_t k = layer->act_count; k-- > 0;) {
            drop(job, &layer->acts[k]);
        }
        drop(job, &temp);
    }
    for (uint32_t i = job->frozen_count; i-- > 0;) {
        for (uint32_t k = 0; k < TENSOR_MAX; k++) {
            drop(job, &job->layers[i].acts[k]);
        }
    }
}

/* State is made for what has none yet, which is all of it in the first step. */
static void run_optimizer(struct job *job)
{
    for (uint32_t i = job->frozen_count; i < job->layer_count; i++) {
        struct layer *layer = &job->layers[i];
        for (uint32_t k = 0; k < layer->param_count; k++) {
            if (job->moment_count > 0 && layer->moments[k] == BLOCK_NONE) {
                layer->moments[k] = make(job, FOR_MOMENT, i, layer->param_bytes[k]);
            }
            if (job->moment_count > 1 && layer->seconds[k] == BLOCK_NONE) {
                layer->seconds[k] = make(job, FOR_SECOND_MOMENT, i, layer->param_bytes[k]);
            }
        }
        uint32_t temp = make(job, FOR_TEMP, i, layer->param_bytes[0]);
        drop(job, &temp);
    }
    for (uint32_t i = 0; job->zeroes_grads && i < job->layer_count; i++) {
        for (uint32_t k = 0; k < TENSOR_MAX; k++) {
            drop(job, &job->layers[i].grads[k]);
        }
    }
}

static bool is_due(uint32_t step, uint32_t every)
{
    return every != 0 && step % every == every - 1;
}

static void run_evaluation(struct job *job)
{
    uint32_t outputs[8];
    const uint32_t count = (uint32_t)random_between(&job->random, 1, 8);
    for (uint32_t i = 0; i < count; i++) {
        run_forward(job, false);
        outputs[i] = make_scaled(job, FOR_EVAL, 0, job->logit_bytes);
    }
    for (uint32_t i = 0; i < count; i++) {
        drop(job, &outputs[i]);
    }
}

/* A copy of everything at once, or of one layer after the other. */
static void save_checkpoint(struct job *job)
{
    uint32_t copies[LAYER_MAX];
    for (uint32_t i = 0; i < job->layer_count; i++) {
        copies[i] = make(job, FOR_CHECKPOINT, i, job->layers[i].param_bytes[0]);
        if (!job->checkpoints_all) {
            drop(job, &copies[i]);
        }
    }
    for (uint32_t i = 0; i < job->layer_count; i++) {
        drop(job, &copies[i]);
    }
}

static void feed_cache(struct job *job)
{
    struct random *random = &job->random;
    if (job->cache.limit == 0) {
        return;
    }
    /* Entries are new while the job warms up, then some replace the oldest. */
    const uint32_t warm = job->cache_until;
    const uint32_t wanted = warm == 0 || job->step >= warm
                                ? job->cache.limit
                                : (uint32_t)((uint64_t)job->cache.limit * (job->step + 1) / warm);
    while (job->cache.count < wanted && !is_full(job)) {
        queue_push(job, &job->cache,
                   make(job, FOR_CACHE, 0, job->cache_bytes / random_between(random, 1, 4)));
    }
    if (random_chance(random, 1, 4)) {
        queue_push(job, &job->cache, make(job, FOR_CACHE, 0, job->cache_bytes));
    }
}

static void start_average(struct job *job)
{
    for (uint32_t i = 0; i < job->layer_count; i++) {
        make(job, FOR_AVERAGE, i, job->layers[i].param_bytes[0]);
    }
}

/* --- What is planted in a step ------------------------------------------------------------ */

static void leak_some(struct job *job)
{
    struct training_trace *trace = job->trace;
    if (job->step < job->plant_from || (job->step - job->plant_from) % job->plant_every != 0) {
        return;
    }
    for (uint32_t i = 0; i < job->plant_width; i++) {
        if (job->plant_purpose == FOR_ACT) {
            /* The graph of a loss that is kept holds an activation. */
            plant(job, job->layers[i % job->layer_count].acts[0]);
            job->layers[i % job->layer_count].acts[0] = BLOCK_NONE;
        } else {
            plant(job, make(job, job->plant_purpose, 0, job->plant_bytes));
        }
    }
    trace->plant_count++;
}

/* A cache that never ends to grow: entries come at random, and a few go. */
static void feed_without_bound(struct job *job)
{
    for (uint32_t i = 0; i < job->plant_width; i++) {
        if (!random_chance(&job->random, 2, 3) || job->grown_count >= GROWN_MAX) {
            continue;
        }
        job->grown[job->grown_count++] = plant(job, make(job, FOR_CACHE, 0, job->plant_bytes));
        job->trace->plant_count++;
        if (random_chance(&job->random, 1, 3)) {
            const uint32_t any = (uint32_t)random_below(&job->random, job->grown_count);
            drop(job, &job->grown[any]);
            job->grown[any] = job->grown[--job->grown_count];
        }
    }
}

static void act_in_step(struct job *job)
{
    if (job->trace->plant == TRAINING_LEAK) {
        leak_some(job);
    } else if (job->trace->plant == TRAINING_STILL_GROWING) {
        feed_without_bound(job);
    }
}

static void set_length(struct job *job)
{
    job->length_percent = 100;
    if (job->length_spread > 0) {
        job->length_percent = 100 - (uint32_t)random_below(&job->random, job->length_spread + 1);
    }
    if (job->trace->plant == TRAINING_GROWING_SET) {
        job->length_percent = 40 + 120 * job->step / job->step_max;
        job->trace->plant_count++;
    }
}

static void run_logging(struct job *job)
{
    if (job->log_every == 0) {
        return;
    }
    queue_push(job, &job->log, make(job, FOR_LOG, 0, job->log_bytes));
    if (is_due(job->step, job->log_every)) {
        queue_clear(job, &job->log);
    }
}

static void run_training_step(struct job *job)
{
    for (uint32_t i = 0; i < job->accumulation; i++) {
        set_length(job);
        push_batch(job);
        run_forward(job, true);
        uint32_t logits = make_scaled(job, FOR_LOGITS, 0, job->logit_bytes);
        uint32_t loss = make(job, FOR_LOSS, 0, 4);
        if (i == 0) {
            act_in_step(job);
        }
        drop(job, &logits);
        run_backward(job);
        drop(job, &loss);
    }
    run_optimizer(job);
    run_logging(job);
    feed_cache(job);
    if (is_due(job->step, job->unfreeze_every)) {
        job->frozen_count -= job->frozen_count / 2;
    }
    if (is_due(job->step, job->eval_every)) {
        run_evaluation(job);
    }
    if (is_due(job->step, job->checkpoint_every)) {
        save_checkpoint(job);
    }
    if (job->keeps_average && job->step == job->step_max / 3) {
        start_average(job);
    }
    pass_time(job, 1000000);
}

/* A request of a server: its keys and values grow with each token, by a copy that is larger. */
static void run_serving_step(struct job *job)
{
    set_length(job);
    push_batch(job);
    run_forward(job, false);
    uint32_t keys = make_scaled(job, FOR_REQUEST, 0, job->batch_bytes);
    const uint32_t tokens = (uint32_t)random_between(&job->random, 0, 3);
    for (uint32_t i = 0; i < tokens && !is_full(job); i++) {
        const uint32_t next = make_scaled(job, FOR_REQUEST, 0,
                                          job->batch_bytes + (i + 1) * GRANULE * 8);
        drop(job, &keys);
        keys = next;
    }
    act_in_step(job);
    drop(job, &keys);
    run_logging(job);
    feed_cache(job);
    pass_time(job, 1000000);
}

static void run_step_of(struct job *job)
{
    if (job->is_server) {
        run_serving_step(job);
    } else {
        run_training_step(job);
    }
}

/* --- What is planted at the end ------------------------------------------------------------ */

/* What op number `at` adds to the memory in use; what stays when it is freed is never taken off. */
static int64_t change_of(const struct op_list *ops, size_t at, const bool *is_stuck)
{
    const struct op *op = &ops->ops[at];
    switch (op->kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
        return (int64_t)op->size_bytes;
    case OP_LOAD:
        return (int64_t)(op->size_bytes + op->stack_bytes);
    case OP_FREE:
    case OP_FREE_AFTER:
        return is_stuck[op->ref] ? 0 : -(int64_t)ops->ops[op->ref].size_bytes;
    default:
        return 0;
    }
}

/* Marks the blocks that a reference or a lost event keeps.  The caller frees the result. */
static bool *find_stuck(const struct op_list *ops)
{
    bool *is_stuck = calloc(ops->count + 1, 1);
    CHECK(is_stuck != NULL);
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        if (op->kind == OP_HOLD || (op->kind == OP_USE && op->delay_ns == DELAY_NEVER) ||
            (op->kind == OP_FREE_AFTER && op->event != OP_NONE)) {
            is_stuck[op->ref] = true;
        }
    }
    return is_stuck;
}

struct curve {
    uint64_t peak_bytes, end_bytes;
};

/* Of the ops [0, end). */
static struct curve measure(const struct op_list *ops, size_t end)
{
    struct curve curve = {0};
    bool *is_stuck = find_stuck(ops);
    int64_t live = 0, peak = 0;
    for (size_t i = 0; i < end; i++) {
        live += change_of(ops, i, is_stuck);
        peak = live > peak ? live : peak;
    }
    free(is_stuck);
    curve.peak_bytes = (uint64_t)peak;
    curve.end_bytes = (uint64_t)live;
    return curve;
}

static uint64_t peak_bytes(const struct op_list *ops, size_t end)
{
    return measure(ops, end).peak_bytes;
}

/* As much as the job ever took, so that the device is at stake. */
static uint64_t stake_bytes(const struct job *job)
{
    return peak_bytes(job->ops, job->ops->count) + (1 << 16);
}

static void finish_copies(struct job *job)
{
    const bool is_state = job->moment_count > 0 && random_chance(&job->random, 1, 2);
    job->limit_from = job->ops->count;
    for (uint32_t i = 0; i < job->layer_count; i++) {
        for (uint32_t k = 0; k < job->layers[i].param_count; k++) {
            plant(job,
                  make(job, is_state ? FOR_MOMENT : FOR_PARAM, i, job->layers[i].param_bytes[k]));
            job->trace->plant_count++;
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        run_step_of(job);
        job->step++;
    }
}

static void finish_spike(struct job *job)
{
    make(job, FOR_EVAL, 0, stake_bytes(job) * random_between(&job->random, 1, 3));
    job->limit_from = job->ops->count;
    job->trace->plant_count = 1;
    for (uint32_t i = 0; i < 3; i++) {
        run_step_of(job);
    }
}

/* Activations are freed and stay: a reference holds each, an event of its own, or one of all. */
static void finish_waiting(struct job *job)
{
    const bool is_held = job->trace->plant == TRAINING_REFERENCES;
    const bool has_one_event = job->trace->plant == TRAINING_HEAD_OF_LINE;
    const uint32_t count = (uint32_t)random_between(&job->random, 4, 24);
    const uint64_t bytes = stake_bytes(job) / count * random_between(&job->random, 1, 3);
    uint32_t head = BLOCK_NONE, blocks[24];
    if (has_one_event) {
        head = make(job, FOR_LOG, 0, 4096);
        head = name_op(job, OP_USE, head, DELAY_NEVER);
        job->trace->plant_op = head;
    }
    for (uint32_t i = 0; i < count; i++) {
        blocks[i] = make(job, FOR_ACT, i % job->layer_count, bytes);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (has_one_event) {
            const uint32_t at = name_op(job, OP_FREE_AFTER, blocks[i], 0);
            job->ops->ops[at].event = head;
        } else {
            name_op(job, is_held ? OP_HOLD : OP_USE, blocks[i], DELAY_NEVER);
            name_op(job, OP_FREE, blocks[i], 0);
        }
        job->trace->plant_count++;
    }
    job->limit_from = job->ops->count;
    make(job, FOR_ACT, 0, bytes * count);
}

static void finish_padding(struct job *job)
{
    const uint64_t bytes = stake_bytes(job);
    const uint64_t factor = UINT64_C(1) << random_between(&job->random, 1, 6);
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t block = make(job, FOR_ACT, i, bytes);
        job->ops->ops[block].unpadded_bytes = job->ops->ops[block].size_bytes / factor;
        job->trace->plant_count++;
    }
    job->limit_from = job->ops->count;
    make(job, FOR_ACT, 0, bytes);
}

static void finish_fragmented(struct job *job)
{
    const uint32_t count = (uint32_t)random_between(&job->random, 4, 24);
    const uint64_t bytes = align_up(stake_bytes(job) / 2, GRANULE);
    uint32_t blocks[24];
    for (uint32_t i = 0; i < count; i++) {
        blocks[i] = make(job, FOR_ACT, i % job->layer_count, bytes);
        name_op(job, OP_HOLD, make(job, FOR_LOG, 0, 1024), 0);
        job->trace->plant_count++;
    }
    const uint64_t peak = peak_bytes(job->ops, job->ops->count);
    job->trace->setup.capacity_bytes = align_up(peak + bytes / 4, GRANULE);
    for (uint32_t i = 0; i < count; i++) {
        drop(job, &blocks[i]);
    }
    make(job, FOR_ACT, 0, bytes * (count - 1));
}

static uint32_t add_program(struct job *job, uint64_t image_bytes, uint64_t stack_bytes)
{
    struct op load = op_make(OP_LOAD);
    load.size_bytes = align_up(image_bytes, GRANULE);
    load.stack_bytes = align_up(stack_bytes, GRANULE);
    load.tag = tag_of(job, FOR_WORKSPACE, 0);
    return add(job, &load);
}

/* All is filled and one block at the end of it held; the rest goes, and a stack has room, but not
 * at the bottom. */
static void finish_out_of_place(struct job *job)
{
    const uint64_t peak = peak_bytes(job->ops, job->ops->count);
    const uint64_t end = measure(job->ops, job->ops->count).end_bytes;
    uint32_t filler = make(job, FOR_ACT, 0, peak * 2 - end);
    name_op(job, OP_HOLD, make(job, FOR_LOG, 0, peak / 8), 0);
    job->trace->setup.capacity_bytes = align_up(peak * 2, GRANULE) +
                                       align_up(peak / 8 + 1, GRANULE);
    drop(job, &filler);
    job->trace->plant_count = 1;
    add_program(job, 4096, peak / 2);
}

static void finish_reload(struct job *job)
{
    const struct curve curve = measure(job->ops, job->ops->count);
    const uint64_t capacity = align_up(curve.peak_bytes * 4, 1 << 20);
    job->trace->setup.capacity_bytes = capacity;
    job->trace->plant_count = 1;
    const uint32_t program = add_program(job, curve.peak_bytes / 2, curve.peak_bytes);
    name_op(job, OP_EXECUTE, program, 1000);
    pass_time(job, 1000000);
    /* Buffers leave half of its image: it has to go. */
    for (uint32_t i = 0; i < 40; i++) {
        make(job, FOR_ACT, i, (capacity - curve.end_bytes - curve.peak_bytes / 4) / 40 - GRANULE);
    }
    name_op(job, OP_EXECUTE, program, 1000);
}

/* Halves of the request's size class would do. */
static void finish_rounded_up(struct job *job)
{
    uint64_t peak = peak_bytes(job->ops, job->ops->count), power = 1 << 20;
    while (power < peak * 2) {
        power *= 2;
    }
    setup_set_option(&job->trace->setup, "rounding", "pow2");
    snprintf(job->trace->setup.target, sizeof job->trace->setup.target, "first_fit");
    job->trace->setup.capacity_bytes = power * 4;
    job->trace->plant_count = 1;
    make(job, FOR_ACT, 0, power * 2 + power / 8);
}

static void finish_refused(struct job *job)
{
    uint64_t power = 1 << 20;
    while (power < peak_bytes(job->ops, job->ops->count) * 4) {
        power *= 2;
    }
    snprintf(job->trace->setup.target, sizeof job->trace->setup.target, "plant_premature_rounded");
    job->trace->setup.capacity_bytes = measure(job->ops, job->ops->count).end_bytes + power -
                                       (64 << 10);
    job->trace->plant_count = 1;
    make(job, FOR_ACT, 0, power / 2 + power / 4);
}

/* How each is named, and what it does at the end; a growth is planted in the steps. */
static const struct {
    const char *name;
    void (*finish)(struct job *job);
} plants[TRAINING_PLANT_COUNT] = {
    [TRAINING_HEALTHY] = {"healthy", NULL},
    [TRAINING_EXHAUSTED] = {"exhausted", NULL},
    [TRAINING_LEAK] = {"leak", NULL},
    [TRAINING_GROWING_SET] = {"growing_set", NULL},
    [TRAINING_STILL_GROWING] = {"still_growing", NULL},
    [TRAINING_COPIES] = {"copies", finish_copies},
    [TRAINING_SPIKE] = {"spike", finish_spike},
    [TRAINING_REFERENCES] = {"references", finish_waiting},
    [TRAINING_QUEUED_FREES] = {"queued_frees", finish_waiting},
    [TRAINING_HEAD_OF_LINE] = {"head_of_line", finish_waiting},
    [TRAINING_PADDING] = {"padding", finish_padding},
    [TRAINING_FRAGMENTED] = {"fragmented", finish_fragmented},
    [TRAINING_ROUNDED_UP] = {"rounded_up", finish_rounded_up},
    [TRAINING_HOST_SKEW] = {"host_skew", NULL},
    [TRAINING_OUT_OF_PLACE] = {"out_of_place", finish_out_of_place},
    [TRAINING_PROGRAM_RELOAD] = {"program_reload", finish_reload},
    [TRAINING_REFUSED_THOUGH_IT_FITS] = {"refused_though_it_fits", finish_refused},
};

static void finish(struct job *job)
{
    job->op_max = UINT64_MAX;
    if (plants[job->trace->plant].finish != NULL) {
        plants[job->trace->plant].finish(job);
    }
}

/* --- The whole ------------------------------------------------------------------------------ */

static bool is_growth(enum training_plant plant)
{
    return plant == TRAINING_LEAK || plant == TRAINING_GROWING_SET ||
           plant == TRAINING_STILL_GROWING;
}

/* What leaks, how much and when: from a scalar to an activation, in every step or every few. */
static void draw_plant(struct job *job)
{
    static const uint8_t leaking[] = {FOR_LOSS, FOR_LOG,  FOR_LEAK, FOR_CACHE,
                                      FOR_EVAL, FOR_GRAD, FOR_ACT};
    struct random *random = &job->random;
    job->plant_from = (uint32_t)random_below(random, job->step_max / 2);
    job->plant_every = random_chance(random, 1, 2)
                           ? 1
                           : (uint32_t)random_between(random, 1,
                                                      (job->step_max - job->plant_from) / 5 + 1);
    job->plant_purpose = leaking[random_below(random, sizeof leaking - (job->is_server ? 1 : 0))];
    job->plant_width = job->plant_purpose == FOR_ACT ? 1 : (uint32_t)random_between(random, 1, 3);
    job->plant_bytes = random_chance(random, 1, 4) ? 4 : random_log_uniform(random, 4, 1 << 24);
    if (job->trace->plant == TRAINING_STILL_GROWING) {
        job->plant_purpose = FOR_CACHE;
        job->cache.limit = 0;
    }
    job->trace->plant_tag = tag_of(job, job->plant_purpose, 0);
    job->trace->has_plant_tag = job->trace->plant != TRAINING_GROWING_SET;
}

static void name_tags(struct job *job)
{
    struct setup *setup = &job->trace->setup;
    for (uint32_t purpose = 1; purpose < PURPOSE_COUNT; purpose++) {
        setup_set_tag(setup, tag_of(job, (uint8_t)purpose, 0), purposes[purpose].line);
    }
    for (uint32_t tag = PURPOSE_COUNT; job->tagging == TAGS_LAYERS && tag < OP_TAG_COUNT; tag++) {
        char name[SETUP_NAME_BYTES];
        snprintf(name, sizeof name, "layer%u.py:%u", (tag - PURPOSE_COUNT) % 32, tag);
        setup_set_tag(setup, (uint8_t)tag, name);
    }
    if (job->tagging == TAGS_PHASES || job->tagging == TAGS_ONE) {
        static const char *const names[] = {"",          "weights", "forward",    "backward",
                                            "optimizer", "input",   "evaluation", "checkpoint"};
        for (uint8_t tag = 1; tag < 8; tag++) {
            setup_set_tag(setup, tag, job->tagging == TAGS_ONE ? "python" : names[tag]);
        }
    }
}

/* Ends the list before op `end`, or before its window: what was made before either stands in front,
 * as in a file that lists what lives, or is not known. */
static void cut_front(struct job *job, size_t from, bool is_known)
{
    struct training_trace *trace = job->trace;
    bool *keep = calloc(job->ops->count, sizeof *keep);
    CHECK(keep != NULL);
    for (size_t i = 0; i < job->ops->count; i++) {
        const struct op *op = &job->ops->ops[i];
        const bool makes = op->kind == OP_ALLOC || op->kind == OP_OUTPUT;
        keep[i] = i >= from && (op->ref == OP_NONE || keep[op->ref]);
        if (i < from && makes) {
            keep[i] = is_known;
        }
        if (i < from && op->kind == OP_FREE && is_known) {
            keep[op->ref] = false;
        }
    }
    uint32_t kept_before_limit = 0, kept_before_op = 0;
    for (size_t i = 0; i < job->ops->count; i++) {
        kept_before_limit += i < job->limit_from && keep[i];
        kept_before_op += i < trace->plant_op && keep[i];
    }
    for (size_t i = 0, kept = 0; i < job->ops->count; i++) {
        if (keep[i]) {
            job->marks[kept++] = job->marks[i];
        }
    }
    op_list_filter(job->ops, keep);
    free(keep);
    job->limit_from = job->limit_from == 0 ? 0 : kept_before_limit;
    trace->plant_op = trace->plant_op == OP_NONE ? OP_NONE : kept_before_op;
}

/* The same list on each of so many hosts, and on one of them EXTRA_COUNT blocks more that have
 * extra_bytes together: an uneven share, which comes while the job starts (in its first eighth). */
enum { EXTRA_COUNT = 12 };
static void spread_hosts(struct job *job, uint32_t host_count, uint64_t extra_bytes)
{
    struct op_list all;
    uint32_t *first = calloc(job->ops->count, sizeof *first);
    const uint8_t odd = (uint8_t)random_below(&job->random, host_count);
    const size_t apart = job->ops->count / (EXTRA_COUNT * 8) + 1;
    CHECK(first != NULL);
    op_list_init(&all);
    for (size_t i = 0; i < job->ops->count; i++) {
        if (i % apart == apart / 2 && i / apart < EXTRA_COUNT && extra_bytes != 0) {
            struct op extra = op_make(OP_ALLOC);
            extra.host = odd;
            extra.size_bytes = align_up(extra_bytes / EXTRA_COUNT, GRANULE);
            extra.tag = tag_of(job, FOR_EVAL, 0);
            op_list_append(&all, &extra);
        }
        first[i] = (uint32_t)all.count;
        for (uint8_t host = 0; host < host_count; host++) {
            struct op op = job->ops->ops[i];
            op.host = host;
            op.ref = op.ref == OP_NONE ? OP_NONE : first[op.ref] + host;
            op_list_append(&all, &op);
        }
    }
    op_list_copy(job->ops, &all);
    op_list_deinit(&all);
    free(first);
    job->trace->setup.host_count = host_count;
}

/* A capacity between what is needed before limit_from and what is needed behind it. */
static void choose_capacity(struct job *job)
{
    struct training_trace *trace = job->trace;
    if (trace->setup.capacity_bytes != 0) {
        trace->ends_in_oom = true;
        return;
    }
    const uint64_t all = peak_bytes(job->ops, job->limit_to != 0 ? job->limit_to : job->ops->count);
    const uint64_t before = job->limit_from != 0 ? peak_bytes(job->ops, job->limit_from) : all;
    trace->ends_in_oom = all > before + 8 * GRANULE;
    const uint64_t share = random_between(&job->random, 5, 90);
    const uint64_t capacity = trace->ends_in_oom ? before + (all - before) / 100 * share
                                                 : all / 100 * (100 + share * 3) + (1 << 20);
    trace->setup.capacity_bytes = align_up(capacity, GRANULE);
    CHECK(trace->setup.capacity_bytes < CAPACITY_MAX);
}

/* The most that lives in a list as this one would be without its plant: planted blocks are not
 * there, and no batch is longer than the first. */
static uint64_t peak_bytes_without_plant(const struct job *job)
{
    enum { FIRST_LENGTH_PERCENT = 40 };
    const bool grows = job->trace->plant == TRAINING_GROWING_SET;
    struct op_list plain;
    op_list_init(&plain);
    op_list_copy(&plain, job->ops);
    for (size_t i = 0; i < plain.count; i++) {
        const struct mark *mark = &job->marks[i];
        uint64_t *bytes = &plain.ops[i].size_bytes;
        if (mark->is_planted) {
            *bytes = 0;
        } else if (grows && mark->length_percent > FIRST_LENGTH_PERCENT) {
            *bytes = *bytes / mark->length_percent * FIRST_LENGTH_PERCENT;
        }
    }
    const uint64_t peak = peak_bytes(&plain, plain.count);
    op_list_deinit(&plain);
    return peak;
}

/* Whether the plant is what ails the job: without it a twentieth of the device would be free at its
 * peak (or, of a job that runs through, the peak would be a twentieth lower).  A job that starts
 * nearer to the edge than that is on too small a device, whatever a few bytes of it do. */
static bool is_plant_at_fault(const struct job *job)
{
    const struct training_trace *trace = job->trace;
    if (trace->plant != TRAINING_LEAK && trace->plant != TRAINING_STILL_GROWING &&
        trace->plant != TRAINING_GROWING_SET && trace->plant != TRAINING_COPIES) {
        return true;
    }
    const uint64_t at_stake = trace->ends_in_oom ? trace->setup.capacity_bytes
                                                 : peak_bytes(job->ops, job->ops->count);
    return peak_bytes_without_plant(job) <= at_stake / 20 * 19;
}

static void start(struct job *job)
{
    struct random *random = &job->random;
    make(job, FOR_WORKSPACE, 0, job->workspace_bytes);
    make_params(job);
    if (random_chance(random, 1, 3)) { /* Tuning of kernels, or compilation, in front. */
        for (uint32_t i = 0; i < 6; i++) {
            uint32_t trial = make(job, FOR_WORKSPACE, 0, job->workspace_bytes / (i + 1));
            drop(job, &trial);
        }
    }
}

/* A file begins and ends where its buffer does. */
static void choose_window(struct job *job)
{
    struct random *random = &job->random;
    const enum training_plant plant = job->trace->plant;
    const size_t count = job->ops->count;
    const bool has_front = plant != TRAINING_OUT_OF_PLACE && plant != TRAINING_PROGRAM_RELOAD &&
                           plant != TRAINING_REFUSED_THOUGH_IT_FITS &&
                           plant != TRAINING_ROUNDED_UP && plant != TRAINING_EXHAUSTED &&
                           job->step > 3;
    if (has_front && random_chance(random, 1, 3)) {
        const size_t from = random_below(random, is_growth(plant) ? count / 4 + 1 : count / 2 + 1);
        cut_front(job, from, random_chance(random, 1, 2));
    }
}

static void make_job(struct job *job)
{
    const enum training_plant plant = job->trace->plant;
    job->is_server = plant != TRAINING_COPIES && random_chance(&job->random, 1, 5);
    draw_size(job, is_growth(plant) ? 8 : 1);
    draw_layers(job);
    draw_habits(job);
    if (is_growth(plant)) {
        draw_plant(job);
    }
    start(job);
    job->limit_from = plant == TRAINING_EXHAUSTED ? job->ops->count : 0;
    while (job->step < job->step_max && !is_full(job)) {
        run_step_of(job);
        job->step++;
        if (plant == TRAINING_EXHAUSTED && job->step == 1) {
            job->limit_to = job->ops->count;
        }
    }
    if (is_growth(plant) && (plant != TRAINING_LEAK || random_chance(&job->random, 1, 2))) {
        job->limit_from = job->ops->count / 100 * random_between(&job->random, 75, 95);
    }
    finish(job);
}

static void choose_hosts(struct job *job)
{
    const enum training_plant plant = job->trace->plant;
    if (plant == TRAINING_HOST_SKEW) {
        const struct curve curve = measure(job->ops, job->ops->count);
        const uint64_t extra = curve.peak_bytes / 100 * random_between(&job->random, 20, 120) +
                               (1 << 20);
        spread_hosts(job, (uint32_t)random_between(&job->random, 2, 8), extra);
        job->trace->plant_count = 1;
        /* Its peers have room for their peak; it has not. */
        job->trace->setup.capacity_bytes = align_up(curve.peak_bytes + extra / 4, GRANULE);
    } else if (plant == TRAINING_HEALTHY && random_chance(&job->random, 1, 8)) {
        const uint64_t peak = peak_bytes(job->ops, job->ops->count);
        spread_hosts(job, (uint32_t)random_between(&job->random, 2, 4), 0);
        job->trace->setup.capacity_bytes = align_up(peak * 2, 1 << 20);
    }
}

/* Returns how many of its steps it had room for: what takes a share of the steps, as a cache that
 * warms up, takes a share of those that are there. */
static uint32_t make_steps(struct training_trace *trace, uint64_t seed, uint32_t op_count_max,
                           uint32_t step_max)
{
    struct job *job = calloc(1, sizeof *job);
    CHECK(job != NULL);
    op_list_clear(&trace->ops);
    setup_init(&trace->setup);
    trace->plant_count = 0;
    trace->plant_op = OP_NONE;
    trace->has_plant_tag = false;
    job->trace = trace;
    job->ops = &trace->ops;
    job->op_max = op_count_max;
    job->step_limit = step_max;
    random_init(&job->random, seed);
    make_job(job);
    trace->step_count = job->step;
    choose_window(job);
    choose_hosts(job);
    choose_capacity(job);
    trace->ends_in_oom = trace->ends_in_oom && trace->plant != TRAINING_HEALTHY;
    if (trace->plant == TRAINING_FRAGMENTED) {
        setup_set_option(&trace->setup, "defrag", "slide");
    }
    trace->plant_count = is_plant_at_fault(job) ? trace->plant_count : 0;
    name_tags(job);
    free(job->marks);
    free(job);
    return trace->step_count;
}

static void make_once(struct training_trace *trace, uint64_t seed, uint32_t op_count_max)
{
    make_steps(trace, seed, op_count_max, make_steps(trace, seed, op_count_max, UINT32_MAX));
}

void training_trace_make(struct training_trace *trace, uint64_t seed, enum training_plant plant,
                         uint32_t op_count_max)
{
    *trace = (struct training_trace){.plant = plant};
    op_list_init(&trace->ops);
    /* A growth that the list is too short for is drawn anew. */
    const bool needs_oom = plant != TRAINING_HEALTHY && plant != TRAINING_LEAK;
    const uint32_t wanted = plant == TRAINING_HEALTHY || plant == TRAINING_EXHAUSTED ? 0
                            : is_growth(plant)                                       ? 5
                                                                                     : 1;
    for (uint64_t i = 0;
         i == 0 || trace->plant_count < wanted || (needs_oom && !trace->ends_in_oom); i++) {
        make_once(trace, random_derive(seed, i), op_count_max);
    }
}

void training_trace_deinit(struct training_trace *trace)
{
    op_list_deinit(&trace->ops);
}

const char *training_plant_name(enum training_plant plant)
{
    return plants[plant].name;
}
