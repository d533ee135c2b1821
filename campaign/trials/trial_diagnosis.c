#include "campaign/trials/trial_diagnosis.h"

#include "campaign/trials/trials.h"
#include "diagnosis/cause.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/trial/trial_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trial_diagnosis {
    struct report_place place;
    uint64_t seed;
    size_t op_count; /* that the history has */
    struct history history;
};

struct trial_diagnosis *trial_diagnosis_create(const struct report_place *place, uint64_t seed)
{
    struct trial_diagnosis *trial_diagnosis = malloc(sizeof *trial_diagnosis);
    CHECK(trial_diagnosis != NULL);
    trial_diagnosis->place = *place;
    trial_diagnosis->seed = seed;
    trial_diagnosis->op_count = 0;
    history_init(&trial_diagnosis->history);
    return trial_diagnosis;
}

void trial_diagnosis_destroy(struct trial_diagnosis *trial_diagnosis)
{
    if (trial_diagnosis != NULL) {
        history_deinit(&trial_diagnosis->history);
        free(trial_diagnosis);
    }
}

static void append_line(const struct trial_diagnosis *trial_diagnosis,
                        const struct evidence *evidence, struct writing *lines)
{
    struct diagnosis diagnoses[CAUSE_COUNT];
    char seed[24], name[SETUP_NAME_BYTES];
    const size_t count = causes_find(evidence, diagnoses);
    snprintf(seed, sizeof seed, "%" PRIu64, trial_diagnosis->seed);
    json_open(lines, "diagnosis");
    json_add_string(lines, "scenario", trial_diagnosis->place.scenario);
    json_add_number(lines, "trial", trial_diagnosis->place.trial);
    json_add_string(lines, "seed", seed);
    json_add_number(lines, "op", evidence->verdict->op);
    json_add_string(lines, "verdict", verdict_name(evidence->verdict->kind));
    json_nest(lines, "causes", '[');
    for (size_t i = 0; i < count; i++) {
        json_nest(lines, NULL, '{');
        causes_add_members(lines, &diagnoses[i],
                           evidence_tag_name(evidence, diagnoses[i].tag, name));
        json_unnest(lines, '}');
    }
    json_unnest(lines, ']');
    json_close(lines);
}

void trial_diagnosis_step(struct trial_diagnosis *trial_diagnosis, const struct run *run)
{
    if (run_ops(run)->count != trial_diagnosis->op_count) {
        trial_diagnosis->op_count = run_ops(run)->count;
        history_step(&trial_diagnosis->history, run);
    }
}

void trial_diagnosis_explain(const struct trial_diagnosis *trial_diagnosis, const struct run *run,
                             const struct verdict *verdict, struct writing *lines)
{
    struct evidence evidence;
    evidence_take(&trial_diagnosis->history, run, verdict, &evidence);
    append_line(trial_diagnosis, &evidence, lines);
    evidence_deinit(&evidence);
}

/* --- by one more run --- */

/* What this process explained. */
enum { EXPLAINED_COUNT_MAX = 1024 };
static struct {
    struct explained {
        enum verdict_kind kind;
        char mechanism[VERDICT_MECHANISM_BYTES]; /* of a premature OOM */
        struct task task;
    } all[EXPLAINED_COUNT_MAX];
    size_t count;
} explained;

static bool is_same_kind(const struct explained *one, const struct verdict *verdict, uint32_t part)
{
    return one->kind == verdict->kind &&
           (verdict->kind == VERDICT_UNKNOWN ? one->task.part == part
                                             : strcmp(one->mechanism, verdict->mechanism) == 0);
}

/* How many like it count before the task. */
static uint64_t count_explained(const struct plan *plan, const struct task *task,
                                const struct verdict *verdict)
{
    uint64_t count = 0;
    for (size_t i = 0; i < explained.count; i++) {
        count += is_same_kind(&explained.all[i], verdict, task->part) &&
                 trials_counts_before(plan, &explained.all[i].task, task);
    }
    return count;
}

static bool is_to_explain(const struct plan *plan, const struct task *task,
                          const struct saved_oom *saved)
{
    if (saved->diagnosis_bytes != 0) {
        return false;
    }
    switch (saved->verdict.kind) {
    case VERDICT_PREMATURE:
        return count_explained(plan, task, &saved->verdict) == 0;
    case VERDICT_UNKNOWN:
        return count_explained(plan, task, &saved->verdict) < TRIAL_RESULT_UNKNOWN_COUNT_MAX;
    default:
        return false;
    }
}

static void note_explained(const struct task *task, const struct verdict *verdict)
{
    if (explained.count == EXPLAINED_COUNT_MAX) {
        return; /* others like it are explained again */
    }
    struct explained *one = &explained.all[explained.count++];
    *one = (struct explained){.kind = verdict->kind, .task = *task};
    memcpy(one->mechanism, verdict->mechanism, sizeof one->mechanism);
}

/* The run in which they are explained. */
struct completing {
    struct trial_diagnosis *diagnosis;
    struct trial_result *trial_result;
    uint32_t wanted; /* bit per index of saved */
};
static_assert(TRIAL_RESULT_SAVED_COUNT_MAX <= 32, "each saved OOM has its bit");

static void explain_saved(void *context, const struct run *run, const struct verdict *verdict)
{
    struct completing *completing = context;
    struct trial_result *trial_result = completing->trial_result;
    struct writing *lines = &trial_result->diagnoses;
    trial_diagnosis_step(completing->diagnosis, run);
    for (size_t i = 0; i < trial_result->head.saved_count; i++) {
        struct saved_oom *saved = &trial_result->head.saved[i];
        if ((completing->wanted >> i & 1) != 0 && saved->verdict.op == verdict->op &&
            saved->verdict.kind == verdict->kind) {
            completing->wanted &= ~(UINT32_C(1) << i);
            saved->diagnosis_start = lines->length;
            trial_diagnosis_explain(completing->diagnosis, run, verdict, lines);
            saved->diagnosis_bytes = lines->length - saved->diagnosis_start;
            note_explained(&trial_result->head.task, verdict);
        }
    }
}

void trial_diagnosis_complete(const struct plan *plan, const struct report_place *place,
                              const struct trial *trial, struct trial_result *trial_result)
{
    const struct trial_result_head *head = &trial_result->head;
    struct completing completing = {.trial_result = trial_result};
    struct op_list ops = trial->ops; /* up to the last of them */
    ops.count = 0;
    for (size_t i = 0; i < head->saved_count && trial->totals.schedules == 0; i++) {
        const size_t op_count = (size_t)head->saved[i].verdict.op + 1;
        if (is_to_explain(plan, &head->task, &head->saved[i]) && op_count <= trial->ops.count) {
            completing.wanted |= UINT32_C(1) << i;
            ops.count = op_count > ops.count ? op_count : ops.count;
        }
    }
    if (completing.wanted == 0) {
        return;
    }
    struct trial again;
    char reason[RUN_REASON_BYTES];
    const struct run_listener listener = {&completing, explain_saved};
    completing.diagnosis = trial_diagnosis_create(place, trial->setup.seed);
    if (trial_replay(plan->parts[head->task.part].target, &trial->setup, &ops, &listener, &again,
                     reason)) {
        trial_deinit(&again);
    }
    trial_diagnosis_destroy(completing.diagnosis);
}
