#include "scenarios/private/training.h"

#include "harness/base/check.h"
#include "scenarios/private/parts.h"
#include "scenarios/scenarios.h"

#include <stdio.h>
#include <string.h>

/* A host with the default options, in 1000ths of its device: what the job holds between two steps,
 * what a step adds, and what is left for what should not be kept. */
enum {
    PART_PARAMETERS = 140,
    PART_OPTIMIZER = 280, /* two moments of Adam */
    PART_GRADIENTS = 140,
    PART_ACTIVATIONS = 310,
    PART_BATCH = 10,
    PART_BUCKET = 6,
    PART_STACK = 50,
    PART_OTHER_STACK = 20,
    PART_IMAGE = 3,
    PART_EXCHANGE = 4,
    PART_LOGITS = 60,
    WHOLE = 1000
};
enum {
    BATCH_DEFAULT = 8,
    SEQUENCE_DEFAULT = 2048,
    PREFETCH_DEFAULT = 2,
    LOG_COUNT = 400,         /* that a job logs in all its steps, unless it is told otherwise */
    LEAK_PERCENT = 72,       /* of all steps: then what is kept has used up the room */
    RECOMPUTED_PERCENT = 25, /* of its activations are left to a job that computes them again */
    LEAVING_PERCENT = 60
};

static const char *const yes_no[] = {"yes", "no", NULL};
static const char *const sharding_words[] = {"none", "optimizer", "full", NULL};
static const char *const checkpoint_words[] = {"all", "weights", "shards", NULL};
static const char *const leak_words[] = {"drawn", "none", "all", NULL};
static const char *const none_words[] = {"none", NULL};
static const char *const never_words[] = {"never", NULL};
static const char *const auto_words[] = {"auto", NULL};
static const char *const framework_words[] = {"jax", "torch_xla", NULL};
static const char *const killer_words[] = {"host_memory", "signal", NULL};
static const char *const launcher_words[] = {"srun", "mpirun", NULL};
static const char *const device_words[] = {"device", NULL};

const struct scenario_option training_options[] = {
    OPTION_NUMBER("batch", 1, 4096, BATCH_DEFAULT, "sequences of a host in a step (default 8)"),
    OPTION_NUMBER("sequence", 16, 1048576, SEQUENCE_DEFAULT, "tokens of a sequence (default 2048)"),
    OPTION_EITHER(
        "model", auto_words, 1, 10000,
        "size of the model, percent of what fills one host (default auto: fills the mesh)"),
    OPTION_NUMBER("tensor", 1, 64, 1, "hosts that share each layer (default 1); the rest is data"),
    OPTION_NUMBER("pipeline", 1, 64, 1, "hosts that have a stage each (default 1)"),
    OPTION_WORDS(
        "sharding", sharding_words,
        "what the hosts of a data group share out: nothing, optimizer state, or all (default none)"),
    OPTION_WORDS("donation", yes_no, "a step takes over the buffers of the last one (default yes)"),
    OPTION_NUMBER("accumulation", 1, 64, 1, "micro-batches of a step (default 1)"),
    OPTION_WORDS("remat", ((const char *const[]){"no", "yes", NULL}),
                 "activation checkpointing: keep a quarter, compute the rest again (default no)"),
    OPTION_NUMBER("prefetch", 1, TRAINING_PREFETCH_COUNT_MAX, PREFETCH_DEFAULT,
                  "batches on the device at once (default 2)"),
    OPTION_NUMBER("held", 0, TRAINING_HELD_COUNT_MAX, 4,
                  "metrics of so many steps stay referenced (default 4)"),
    OPTION_NUMBER("cache", 1, TRAINING_CACHE_COUNT_MAX, 4,
                  "compiled programs that stay loaded (default 4)"),
    OPTION_NUMBER("shapes", 1, 16, 2, "lengths of sequences, each compiled anew (default 2)"),
    OPTION_NUMBER("reduce_every", 1, 10000000, 1,
                  "steps between two reductions of the data groups; above 1 each goes its own way"),
    OPTION_EITHER("evaluate_every", never_words, 1, 10000000,
                  "steps between evaluations (default a tenth of all)"),
    OPTION_EITHER("checkpoint_every", never_words, 1, 10000000,
                  "steps between checkpoints (default an eighth of all)"),
    OPTION_WORDS(
        "checkpoint", checkpoint_words,
        "what is staged on the device: everything, weights only, a shard each (default all)"),
    OPTION_EITHER("log_every", auto_words, 1, 10000000,
                  "steps between logs (default 1/400 of all)"),
    OPTION_EITHER("leak", leak_words, 0, OP_HOST_COUNT_MAX - 1,
                  "the host whose logger keeps each tensor that it logs (default drawn)"),
    OPTION_EITHER("silent", none_words, 0, OP_HOST_COUNT_MAX - 1,
                  "a host that leaves without a word (default none)"),
    OPTION_EITHER("killed", none_words, 0, OP_HOST_COUNT_MAX - 1,
                  "a host that is killed: only the launcher says so (default none)"),
    OPTION_WORDS(
        "killed_by", killer_words,
        "what ends that host: the memory of the machine, or SIGKILL (default host_memory)"),
    OPTION_NUMBER("silent_at", 0, 100, LEAVING_PERCENT,
                  "when a silent or killed host leaves, percent of all steps (default 60)"),
    OPTION_EITHER("timeout", never_words, 1, 1440,
                  "minutes that a collective waits for a host (default 10)"),
    OPTION_WORDS("framework", framework_words, "in whose words the logs are (default jax)"),
    OPTION_WORDS("launcher", launcher_words, "in whose words the hosts' ends are (default srun)"),
    OPTION_EITHER("sized_for", device_words, 1, 1073741824,
                  "KiB of the device whose parts the sizes are (default: those of this one)"),
    {0}};

static uint64_t value_of(const struct setup *setup, const char *name)
{
    return scenario_option_value(&scenario_training, setup, name);
}

const char *training_refuses(const struct setup *setup)
{
    static char wrong[SCENARIO_OPTION_REASON_BYTES];
    const uint64_t shared = value_of(setup, "tensor") * value_of(setup, "pipeline");
    static const char *const names[] = {"leak", "silent", "killed"};
    /* One of many trials chooses its number of hosts. */
    const bool is_free = setup->until_step == 0 && setup->host_count == 1 &&
                         shared <= OP_HOST_COUNT_MAX;
    if (setup->host_count % shared != 0 && !is_free) {
        (void)snprintf(wrong, sizeof wrong,
                       "tensor * pipeline is %u, and --hosts %u is no multiple of it",
                       (unsigned)shared, setup->host_count);
        return wrong;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const uint64_t host = value_of(setup, names[i]);
        if (host < SCENARIO_WORD(0) && host >= setup->host_count) {
            (void)snprintf(wrong, sizeof wrong, "%s=%u: the hosts are 0 to %u (--hosts %u)",
                           names[i], (unsigned)host, setup->host_count - 1, setup->host_count);
            return wrong;
        }
    }
    return value_of(setup, "silent") < SCENARIO_WORD(0) &&
                   value_of(setup, "killed") < SCENARIO_WORD(0)
               ? "silent and killed: one host leaves a job, so give one of them"
               : NULL;
}

/* --- hosts and groups --- */

/* Hosts are numbered with the pipeline's stages next to each other, then the shards of a layer. */
static uint32_t stride_of(const struct training_job *job, enum training_axis axis)
{
    return axis == AXIS_PIPELINE ? 1
           : axis == AXIS_TENSOR ? job->axes[AXIS_PIPELINE]
                                 : job->axes[AXIS_PIPELINE] * job->axes[AXIS_TENSOR];
}

/* The first host of its group. */
static uint32_t first_of(const struct training_job *job, enum training_axis axis, uint32_t host)
{
    const uint32_t stride = stride_of(job, axis);
    return host - host / stride % job->axes[axis] * stride;
}

uint64_t training_members(const struct training_job *job, enum training_axis axis, uint32_t host)
{
    uint64_t members = 0;
    for (uint32_t i = 0; i < job->axes[axis]; i++) {
        members |= UINT64_C(1) << (first_of(job, axis, host) + i * stride_of(job, axis));
    }
    return members;
}

uint16_t training_group(const struct training_job *job, enum training_axis axis, uint32_t host)
{
    return (uint16_t)((uint32_t)axis * TRAINING_GROUPS_PER_AXIS + first_of(job, axis, host));
}

bool training_has_next(const struct training_job *job, uint32_t host)
{
    return host % job->axes[AXIS_PIPELINE] + 1 < job->axes[AXIS_PIPELINE];
}

bool training_has_previous(const struct training_job *job, uint32_t host)
{
    return host % job->axes[AXIS_PIPELINE] != 0;
}

uint16_t training_pair(uint32_t host)
{
    return (uint16_t)((uint32_t)AXIS_PIPELINE * TRAINING_GROUPS_PER_AXIS + host);
}

static void declare_pairs(const struct training_job *job, struct setup *setup)
{
    for (uint32_t host = 0; host < job->host_count; host++) {
        char name[64]; /* printed, at most 26 bytes */
        const uint32_t stages = job->axes[AXIS_PIPELINE];
        if (training_has_next(job, host)) {
            (void)snprintf(name, sizeof name, "pipeline %u stage %u to %u", host / stages,
                           host % stages, host % stages + 1);
            CHECK(setup_set_group(setup, training_pair(host), UINT64_C(3) << host, name));
        }
    }
}

static void declare_groups(const struct training_job *job, struct setup *setup)
{
    static const char *const names[] = {"data", "tensor"};
    for (unsigned i = 0; i < AXIS_PIPELINE; i++) {
        const enum training_axis axis = (enum training_axis)i;
        uint32_t index = 0;
        for (uint32_t host = 0; host < job->host_count && job->axes[axis] > 1; host++) {
            char name[SETUP_GROUP_NAME_BYTES];
            if (first_of(job, axis, host) == host) {
                (void)snprintf(name, sizeof name, "%s %u", names[axis], index++);
                CHECK(setup_set_group(setup, training_group(job, axis, host),
                                      training_members(job, axis, host), name));
            }
        }
    }
    declare_pairs(job, setup);
}

/* --- options --- */

static uint32_t word_of(const struct setup *setup, const char *name)
{
    return (uint32_t)(value_of(setup, name) - SCENARIO_WORD(0));
}

/* A period in steps: what the user gives, never, or a part of all steps. */
static uint32_t period_of(const struct setup *setup, const char *name, uint32_t otherwise)
{
    const uint64_t value = value_of(setup, name);
    if (!scenario_option_is_given(setup, name)) {
        return otherwise == 0 ? 1 : otherwise;
    }
    return value >= SCENARIO_WORD(0) ? UINT32_MAX : (uint32_t)value;
}

/* Any host; where one leaves, another one, of another copy of the model if there are several: hosts
 * of its own copy stop with it. */
static uint32_t draw_leaking(const struct training_job *job, struct random *random)
{
    const uint32_t copy = job->axes[AXIS_TENSOR] * job->axes[AXIS_PIPELINE];
    const bool is_alone = copy == 1 || copy == job->host_count;
    const uint32_t size = job->leaving == OP_NONE || job->host_count == 1 ? 0 : is_alone ? 1 : copy;
    const uint32_t first = size == 0 ? job->host_count : job->leaving / size * size;
    const uint32_t drawn = (uint32_t)random_below(random, job->host_count - size);
    return drawn < first ? drawn : drawn + size;
}

static void read_hosts_that_fail(struct training_job *job, struct random *random,
                                 const struct setup *setup)
{
    const uint64_t leak = value_of(setup, "leak"), silent = value_of(setup, "silent");
    const uint64_t leaving = silent < SCENARIO_WORD(0) ? silent : value_of(setup, "killed");
    job->leaving = leaving < SCENARIO_WORD(0) ? (uint32_t)leaving : OP_NONE;
    const uint64_t drawn = UINT64_C(1) << draw_leaking(job, random);
    const uint64_t of_words[] = {drawn, 0, UINT64_MAX};
    job->leaking = leak < SCENARIO_WORD(0) ? UINT64_C(1) << leak
                                           : of_words[leak - SCENARIO_WORD(0)];
    job->leaving_step = (uint32_t)((uint64_t)job->step_count * value_of(setup, "silent_at") / 100);
}

static void read_options(struct training_job *job, const struct setup *setup)
{
    job->batch = (uint32_t)value_of(setup, "batch");
    job->sequence = (uint32_t)value_of(setup, "sequence");
    job->accumulation = (uint32_t)value_of(setup, "accumulation");
    job->prefetch = (uint32_t)value_of(setup, "prefetch");
    job->held = (uint32_t)value_of(setup, "held");
    job->cache = (uint32_t)value_of(setup, "cache");
    job->shapes = (uint32_t)value_of(setup, "shapes");
    job->donates = word_of(setup, "donation") == 0;
    job->recomputes = word_of(setup, "remat") == 1;
    job->sharding = (uint8_t)word_of(setup, "sharding");
    job->checkpoint = (uint8_t)word_of(setup, "checkpoint");
    job->reduce_every = (uint32_t)value_of(setup, "reduce_every");
    job->shape_every = job->step_count < 40 ? 4 : job->step_count / 10;
    job->evaluation_every = period_of(setup, "evaluate_every", job->step_count / 10);
    job->checkpoint_every = period_of(setup, "checkpoint_every", job->step_count / 8);
    const uint64_t log_every = value_of(setup, "log_every");
    job->log_every = log_every < SCENARIO_WORD(0) ? (uint32_t)log_every
                                                  : job->step_count / LOG_COUNT;
    job->log_every = job->log_every == 0 ? 1 : job->log_every;
}

static void read_mesh(struct training_job *job, struct random *random, const struct setup *setup)
{
    const bool is_drawn = setup->until_step == 0 && random_chance(random, 1, 2);
    job->host_count = setup->host_count;
    job->axes[AXIS_TENSOR] = (uint32_t)value_of(setup, "tensor");
    job->axes[AXIS_PIPELINE] = (uint32_t)value_of(setup, "pipeline");
    const uint32_t shared = job->axes[AXIS_TENSOR] * job->axes[AXIS_PIPELINE];
    if (is_drawn && shared == 1 && job->host_count % 2 == 0) {
        job->axes[random_chance(random, 1, 2) ? AXIS_TENSOR : AXIS_PIPELINE] = 2;
    }
    job->axes[AXIS_DATA] = job->host_count / job->axes[AXIS_TENSOR] / job->axes[AXIS_PIPELINE];
    const uint64_t model = value_of(setup, "model");
    job->model_percent = model < SCENARIO_WORD(0)
                             ? (uint32_t)model
                             : 100 * job->axes[AXIS_TENSOR] * job->axes[AXIS_PIPELINE];
}

void training_job_begin(struct training_job *job, const struct scenario *scenario,
                        struct random *random, struct setup *setup)
{
    CHECK(scenario == &scenario_training);
    if (setup->until_step == 0 && setup->host_count == 1) {
        const uint64_t shared = value_of(setup, "tensor") * value_of(setup, "pipeline");
        setup_set_hosts(setup, (uint32_t)(shared == 1 ? random_between(random, 2, 8) : shared));
    }
    job->step_count = setup->until_step != 0 ? (uint32_t)setup->until_step
                                             : (uint32_t)random_between(random, 20, 60);
    read_mesh(job, random, setup);
    read_options(job, setup);
    read_hosts_that_fail(job, random, setup);
    declare_groups(job, setup);
    const uint64_t timeout = value_of(setup, "timeout");
    const uint64_t minutes = scenario_option_is_given(setup, "timeout") ? timeout : 10;
    setup->collective_bound_ns = minutes < SCENARIO_WORD(0) ? minutes * UINT64_C(60000000000)
                                                            : DELAY_NEVER;
    const uint64_t sized_for = value_of(setup, "sized_for");
    job->sized_for_bytes = sized_for < SCENARIO_WORD(0) ? sized_for << 10 : 0;
    job->step_ns = random_between(random, 300, 1500) * UINT64_C(1000000);
}

/* --- sizes --- */

static uint64_t part_of(const struct training_job *job, const struct model *model,
                        uint64_t thousandths)
{
    return thousandths == 0 ? 0 : capacity_part(model, job->sized_for_bytes, thousandths, WHOLE);
}

/* Beyond all devices a size stays what it is: refused. */
static uint64_t scaled(uint64_t thousandths, uint64_t numerator, uint64_t denominator)
{
    const uint64_t result = thousandths * numerator / denominator;
    return result == 0 ? 1 : result > 8 * WHOLE ? 8 * WHOLE : result;
}

static void size_weights(struct training_job *job, const struct model *model)
{
    const uint64_t shared = (uint64_t)100 * job->axes[AXIS_TENSOR] * job->axes[AXIS_PIPELINE];
    const uint64_t data = job->axes[AXIS_DATA];
    const uint64_t share = job->sharding == SHARDING_FULL ? shared * data : shared;
    const uint64_t optimizer = job->sharding == SHARDING_NONE ? shared : shared * data;
    job->parameter_bytes = part_of(job, model, scaled(PART_PARAMETERS, job->model_percent, share));
    job->optimizer_bytes = part_of(job, model,
                                   scaled(PART_OPTIMIZER, job->model_percent, optimizer));
    job->gradient_bytes = part_of(job, model, scaled(PART_GRADIENTS, job->model_percent, share));
    job->micro_gradient_bytes = job->accumulation == 1
                                    ? 0
                                    : whole_granules(model, job->gradient_bytes / 2);
    job->bucket_bytes = part_of(job, model, scaled(PART_BUCKET, job->model_percent, shared));
    job->gathered_bytes = job->sharding == SHARDING_FULL && data > 1 ? 2 * job->bucket_bytes : 0;
    const uint64_t hosts = job->checkpoint == CHECKPOINT_SHARDS ? job->host_count : 1;
    job->checkpoint_bytes[0] = whole_granules(model, job->parameter_bytes / hosts);
    job->checkpoint_bytes[1] = job->checkpoint == CHECKPOINT_WEIGHTS
                                   ? 0
                                   : whole_granules(model, job->optimizer_bytes / hosts);
}

static void size_batches(struct training_job *job, const struct model *model)
{
    const uint64_t tokens = (uint64_t)job->batch * job->sequence;
    const uint64_t usual = (uint64_t)BATCH_DEFAULT * SEQUENCE_DEFAULT;
    const uint64_t shared = (uint64_t)100 * job->axes[AXIS_TENSOR] * job->axes[AXIS_PIPELINE];
    const uint64_t kept = job->recomputes ? RECOMPUTED_PERCENT : 100;
    job->activation_bytes = part_of(
        job, model,
        scaled(scaled(PART_ACTIVATIONS, tokens * kept, usual * 100 * job->accumulation),
               job->model_percent, shared));
    job->batch_bytes = part_of(job, model, scaled(PART_BATCH, tokens, usual));
    job->exchange_bytes = part_of(job, model,
                                  scaled(PART_EXCHANGE, tokens, usual * job->accumulation));
    job->logit_bytes = part_of(job, model, scaled(PART_LOGITS, tokens, usual));
}

/* Returns what a host with the default options has to spare in a step.  A bucket needs no more than
 * the stack of the step, which is over by then. */
static uint64_t default_room(const struct training_job *job)
{
    const bool has_data = job->axes[AXIS_DATA] > 1, has_stages = job->axes[AXIS_PIPELINE] > 1;
    const uint64_t programs = 3u + has_data + has_stages;
    return WHOLE - (PART_PARAMETERS + PART_OPTIMIZER + PART_GRADIENTS + PART_ACTIVATIONS +
                    PREFETCH_DEFAULT * PART_BATCH + PART_STACK + programs * PART_IMAGE);
}

void training_job_size(struct training_job *job, const struct model *model)
{
    const uint64_t logs = job->step_count /
                          (job->step_count < LOG_COUNT ? 1 : job->step_count / LOG_COUNT);
    const uint64_t kept = logs * LEAK_PERCENT / 100;
    if (job->sized_for_bytes == 0) {
        job->sized_for_bytes = model_capacity_bytes(model);
    }
    size_weights(job, model);
    size_batches(job, model);
    job->metric_bytes = whole_granules(model, job->sized_for_bytes >> 18);
    job->leak_bytes = whole_granules(model, part_of(job, model, default_room(job)) /
                                                (kept == 0 ? 1 : kept));
    job->image_bytes = part_of(job, model, PART_IMAGE);
    job->step_stack_bytes = part_of(job, model, PART_STACK);
    job->other_stack_bytes = part_of(job, model, PART_OTHER_STACK);
}

uint32_t training_shape(const struct training_job *job, uint32_t step)
{
    return step / job->shape_every % job->shapes;
}

uint32_t training_sequence(const struct training_job *job, uint32_t step)
{
    return job->sequence - job->sequence / 16 * training_shape(job, step) / job->shapes;
}
