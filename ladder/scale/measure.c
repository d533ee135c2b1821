/* One row of scale, in a process of its own: the job runs to its end and is judged, and the child
 * answers with what it saw. */
#include "campaign/plan/plan.h"
#include "diagnosis/largest_batch.h"
#include "harness/base/check.h"
#include "harness/run/hangs.h"
#include "harness/trial/trial_run.h"
#include "ladder/scale/scale.h"
#include "recording/target_child.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT_CAUSE_COUNT_MAX = 2 };

/* What the child knows; its history is large, and elsewhere. */
struct watch {
    struct history *history;
    struct scale_result *result;
    size_t op_count; /* that were seen */
    unsigned step_tag, filler_tag;
    uint64_t steps[OP_HOST_COUNT_MAX];
    uint8_t peak_tag;
};

struct task {
    const struct scale *scale;
    const struct setup *setup;
    uint64_t percent; /* of the batch of a list; 0: as it is */
};

/* --- what each op did --- */

static bool is_step(const struct watch *watch, const struct run *run, const struct op *op)
{
    const struct op_list *ops = run_ops(run);
    return op->kind == OP_EXECUTE && op->ref < ops->count &&
           ops->ops[op->ref].tag == watch->step_tag;
}

static uint8_t find_largest_tag(const struct model *model, unsigned filler_tag)
{
    const uint64_t *bytes = model_tag_bytes(model);
    unsigned largest = 0;
    for (unsigned tag = 1; tag < OP_TAG_COUNT; tag++) {
        largest = tag != filler_tag && bytes[tag] > bytes[largest] ? tag : largest;
    }
    return (uint8_t)largest;
}

static void note_use(struct watch *watch, const struct run *run, uint8_t host)
{
    struct scale_result *result = watch->result;
    const struct model *model = run_model(run, host);
    const uint64_t used = model_in_use_without(model, watch->filler_tag) +
                          model_reserved_bytes(model);
    const uint64_t left = model_capacity_bytes(model) - model_retired_bytes(model) - used;
    result->headroom_bytes = left < result->headroom_bytes ? left : result->headroom_bytes;
    if (used > result->peak_bytes) {
        result->peak_bytes = used;
        result->peak_host = host;
        watch->peak_tag = find_largest_tag(model, watch->filler_tag);
    }
}

static void note_program(struct scale_result *result, const struct op *op)
{
    if (op->size_bytes > result->image_bytes) {
        result->image_bytes = op->size_bytes;
    }
    if (op->stack_bytes > result->stack_bytes) {
        result->stack_bytes = op->stack_bytes;
    }
}

static bool has_steps(const struct watch *watch)
{
    return watch->step_tag < OP_TAG_COUNT;
}

/* A stored limit is compared as it stands: without what JSON writes otherwise. */
static void clean_limit(struct scale_result *result)
{
    for (char *c = result->limit; *c != '\0'; c++) {
        *c = *c == '\\' || *c == '"' ? '_' : *c;
    }
}

static void append_cause(struct scale_result *result, const struct evidence *evidence,
                         const struct diagnosis *diagnosis)
{
    char tag[SETUP_NAME_BYTES];
    const size_t used = strlen(result->limit);
    (void)snprintf(result->limit + used, sizeof result->limit - used, "%s%s%s%s",
                   used > 0 ? ", " : "", diagnosis->cause->name, diagnosis->has_tag ? " " : "",
                   diagnosis->has_tag ? setup_tag_name(evidence->setup, diagnosis->tag, tag) : "");
}

/* Why the first request that was refused was: the surest cause, and one more that is sure. */
static void name_limit(struct watch *watch, const struct run *run, const struct verdict *verdict)
{
    struct evidence evidence;
    struct diagnosis diagnoses[CAUSE_COUNT];
    evidence_take_of_host(watch->history, run, verdict, watch->result->host, &evidence);
    const size_t count = causes_find(&evidence, diagnoses);
    for (size_t i = 0; i < count && i < LIMIT_CAUSE_COUNT_MAX; i++) {
        if (i == 0 || diagnoses[i].confidence >= DIAGNOSIS_SURE) {
            append_cause(watch->result, &evidence, &diagnoses[i]);
        }
    }
    clean_limit(watch->result);
    evidence_deinit(&evidence);
}

static void note_refusal(struct watch *watch, const struct run *run, const struct op *op,
                         const struct verdict *verdict)
{
    struct scale_result *result = watch->result;
    if (result->op != OP_NONE) {
        return;
    }
    result->op = run_observation(run)->op;
    result->host = op->host;
    result->step = has_steps(watch) ? watch->steps[op->host] : SCALE_NO_STEP;
    result->requested_bytes = verdict->requested_bytes;
    name_limit(watch, run, verdict);
}

static void hear(void *context, const struct run *run, const struct verdict *verdict)
{
    struct watch *watch = context;
    const struct op_list *ops = run_ops(run);
    if (ops->count == watch->op_count) {
        return; /* the last promises */
    }
    watch->op_count = ops->count;
    const struct op *op = &ops->ops[ops->count - 1];
    const struct observation *seen = run_observation(run);
    history_step(watch->history, run);
    if (seen->skipped != 0) {
        return;
    }
    note_use(watch, run, op->host);
    if (seen->result == TARGET_NO_MEMORY) {
        note_refusal(watch, run, op, verdict);
    } else if (seen->result == TARGET_OK && op->kind == OP_LOAD) {
        note_program(watch->result, op);
    } else if (seen->result == TARGET_OK && is_step(watch, run, op)) {
        watch->steps[op->host]++;
    }
}

/* --- the end --- */

static void note_totals(const struct trial *trial, struct scale_result *result)
{
    const struct run_totals *totals = &trial->totals;
    result->ops = totals->ops + totals->skipped;
    result->ooms = totals->ooms;
    result->justified = totals->justified;
    result->premature = totals->premature;
    result->unknown = totals->unknown;
    result->excused = totals->excused;
    result->broken = totals->broken;
    result->code = totals_exit_code(totals);
    if (result->code == EXIT_BROKEN || result->code == EXIT_HARNESS) {
        (void)snprintf(result->why, sizeof result->why, "%s", trial->first.reason);
    }
}

static void note_end(const struct watch *watch, const struct trial *trial,
                     struct scale_result *result)
{
    note_totals(trial, result);
    result->end = result->op != OP_NONE         ? SCALE_NO_MEMORY
                  : result->code == EXIT_BROKEN ? SCALE_BROKEN
                                                : SCALE_FITS;
    result->capacity_bytes = trial->setup.capacity_bytes;
    for (uint32_t host = 0; has_steps(watch) && host < trial->setup.host_count; host++) {
        result->steps = watch->steps[host] < result->steps ? watch->steps[host] : result->steps;
    }
    if (result->end == SCALE_FITS && result->peak_bytes > 0) {
        char name[SETUP_NAME_BYTES];
        (void)snprintf(result->limit, sizeof result->limit, "%s",
                       setup_tag_name(&trial->setup, watch->peak_tag, name));
        clean_limit(result);
    }
}

/* The scenario names its tags when it begins. */
static void begin(void *context, const struct setup *setup)
{
    struct watch *watch = context;
    watch->step_tag = setup_tag_named(setup, HANG_STEP_PROGRAM);
    watch->filler_tag = setup_filler_tag(setup);
}

static bool run_scenario(const struct task *task, struct watch *watch, struct trial *trial,
                         char reason[RUN_REASON_BYTES])
{
    const uint64_t op_count_max = task->scale->options->run->op_count_max;
    const struct part part = {.scenario = task->scale->scenario, .setup = *task->setup};
    struct setup setup = *task->setup;
    setup.seed = plan_trial_seed(&part, 0); /* as the first trial of run */
    const struct trial_plan plan = {.target = task->scale->target,
                                    .scenario = task->scale->scenario,
                                    .setup = &setup,
                                    .op_count_max = op_count_max == 0 ? UINT64_MAX : op_count_max,
                                    .begun = begin,
                                    .context = watch};
    const struct run_listener listener = {.context = watch, .judged = hear};
    return trial_run(&plan, &listener, trial, reason);
}

static bool run_list(const struct task *task, struct watch *watch, struct trial *trial,
                     char reason[RUN_REASON_BYTES])
{
    const struct run_listener listener = {.context = watch, .judged = hear};
    const struct scale *scale = task->scale;
    struct op_list ops;
    op_list_init(&ops);
    /* Made on the base device, so that it is the same list on each. */
    if (task->percent != 0 && !largest_batch_make(scale->target, &scale->base,
                                                  &scale->recording.ops, task->percent, &ops)) {
        (void)snprintf(reason, RUN_REASON_BYTES,
                       "nothing in the list lives within a step, so that it has no batch");
        op_list_deinit(&ops);
        return false;
    }
    begin(watch, task->setup);
    const bool is_taken = trial_replay(scale->target, task->setup,
                                       task->percent == 0 ? &scale->recording.ops : &ops, &listener,
                                       trial, reason);
    op_list_deinit(&ops);
    return is_taken;
}

/* In the child. */
static void run_point(void *context, int file)
{
    const struct task *task = context;
    struct scale_result result = {
        .op = OP_NONE, .step = SCALE_NO_STEP, .steps = SCALE_NO_STEP, .headroom_bytes = UINT64_MAX};
    struct watch watch = {.history = malloc(sizeof *watch.history), .result = &result};
    struct trial trial;
    char reason[RUN_REASON_BYTES] = "";
    CHECK(watch.history != NULL);
    history_init(watch.history);
    const bool is_taken = (task->scale->scenario == NULL ? run_list : run_scenario)(task, &watch,
                                                                                    &trial, reason);
    if (is_taken) {
        note_end(&watch, &trial, &result);
        trial_deinit(&trial);
    } else {
        result.end = SCALE_REFUSED;
        result.headroom_bytes = 0;
        (void)snprintf(result.why, sizeof result.why, "%s", reason);
    }
    history_deinit(watch.history);
    free(watch.history);
    (void)file_write_all(file, &result, sizeof result);
}

enum exit_code scale_measure(struct scale *scale, const struct scale_point *point,
                             struct scale_result *result)
{
    struct setup setup;
    const struct task task = {scale, &setup, scale_batch_percent(scale, point)};
    *result = (struct scale_result){
        .end = SCALE_REFUSED, .op = OP_NONE, .step = SCALE_NO_STEP, .steps = SCALE_NO_STEP};
    const bool is_job = scale_make_setup(scale, point, &setup, result->why);
    result->capacity_bytes = setup.capacity_bytes;
    if (!is_job) {
        return EXIT_KEPT;
    }
    const struct target_question question = {scale->options->run, &scale->death, run_point,
                                             (void *)&task};
    const struct target_reply reply = target_ask(&question, result, sizeof *result, NULL, 0);
    if (reply.code == EXIT_KEPT && !reply.is_whole) {
        const struct call_progress *progress = &scale->death.progress;
        result->end = SCALE_DIED;
        result->code = EXIT_BROKEN;
        result->op = progress->phase == PROGRESS_OP ? progress->op : OP_NONE;
        (void)snprintf(result->why, sizeof result->why, "%s", reply.words);
    }
    return reply.code;
}
