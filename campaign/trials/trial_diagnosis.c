#include "campaign/trials/trial_diagnosis.h"

#include "campaign/trials/rounds.h"
#include "diagnosis/cause.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/trial/trial_run.h"

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
    char name[SETUP_NAME_BYTES];
    const size_t count = causes_find(evidence, diagnoses);
    json_open(lines, "diagnosis");
    json_add_string(lines, "scenario", trial_diagnosis->place.scenario);
    json_add_number(lines, "trial", trial_diagnosis->place.trial);
    json_add_digits(lines, "seed", trial_diagnosis->seed);
    json_add_number(lines, "op", evidence->verdict->op);
    json_add_string(lines, "verdict", verdict_name(evidence->verdict->kind));
    json_nest(lines, "causes", '[');
    for (size_t i = 0; i < count; i++) {
        json_nest(lines, NULL, '{');
        causes_add_members(lines, &diagnoses[i],
                           setup_tag_name(evidence->setup, diagnoses[i].tag, name));
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

/* --- what this process explained --- */

struct explained {
    enum verdict_kind kind;
    char mechanism[VERDICT_MECHANISM_BYTES]; /* of a premature OOM */
    struct task task;
};
enum { EXPLAINED_COUNT_MAX = 1024 };
static struct {
    struct explained all[EXPLAINED_COUNT_MAX];
    size_t count;
} explained;

static bool is_same_kind(const struct explained *one, const struct verdict *verdict, uint32_t part)
{
    return one->kind == verdict->kind &&
           (verdict->kind == VERDICT_UNKNOWN ? one->task.part == part
                                             : strcmp(one->mechanism, verdict->mechanism) == 0);
}

/* Returns how many verdicts of its kind count before the task. */
static uint64_t count_explained(const struct plan *plan, const struct task *task,
                                const struct verdict *verdict)
{
    uint64_t count = 0;
    for (size_t i = 0; i < explained.count; i++) {
        count += is_same_kind(&explained.all[i], verdict, task->part) &&
                 rounds_count_before(plan, &explained.all[i].task, task);
    }
    return count;
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

/* --- one more run --- */

struct again {
    struct trial_diagnosis *diagnosis;
    struct trial_result *trial_result;
    uint32_t wanted; /* bit per saved OOM */
};
static_assert(TRIAL_RESULT_SAVED_COUNT_MAX <= 32, "each saved OOM has a bit");

static void explain_wanted(void *context, const struct run *run, const struct verdict *verdict)
{
    struct again *again = context;
    struct trial_result_head *head = &again->trial_result->head;
    struct writing *lines = &again->trial_result->diagnoses;
    trial_diagnosis_step(again->diagnosis, run);
    for (size_t i = 0; i < head->saved_count; i++) {
        struct saved_oom *oom = &head->saved[i];
        if ((again->wanted >> i & 1) == 0 || oom->verdict.op != verdict->op ||
            oom->verdict.kind != verdict->kind) {
            continue;
        }
        again->wanted &= ~(UINT32_C(1) << i);
        oom->diagnosis_start = lines->length;
        trial_diagnosis_explain(again->diagnosis, run, verdict, lines);
        oom->diagnosis_bytes = lines->length - oom->diagnosis_start;
        note_explained(&head->task, verdict);
    }
}

static bool is_wanted(const struct plan *plan, const struct task *task,
                      const struct verdict *verdict)
{
    const uint64_t most = verdict->kind == VERDICT_PREMATURE ? 1
                          : verdict->kind == VERDICT_UNKNOWN ? TRIAL_RESULT_UNKNOWN_COUNT_MAX
                                                             : 0;
    return most > 0 && count_explained(plan, task, verdict) < most;
}

static void run_again(struct again *again, const struct plan *plan, const struct trial *trial,
                      const struct op_list *ops)
{
    const struct task *task = &again->trial_result->head.task;
    const struct part *part = &plan->parts[task->part];
    const struct report_place place = {part->name, task->trial};
    const struct run_listener listener = {again, explain_wanted};
    struct trial repeated;
    char reason[RUN_REASON_BYTES];
    again->diagnosis = trial_diagnosis_create(&place, trial->setup.seed);
    if (trial_repeat(part->target, &trial->setup, ops, &listener, &repeated, reason)) {
        trial_deinit(&repeated);
    }
    trial_diagnosis_destroy(again->diagnosis);
}

void trial_diagnosis_again(const struct plan *plan, const struct trial *trial,
                           struct trial_result *trial_result)
{
    const struct trial_result_head *head = &trial_result->head;
    struct again again = {.trial_result = trial_result};
    struct op_list ops = trial->ops; /* up to the last that is wanted */
    ops.count = 0;
    for (size_t i = 0; i < head->saved_count && trial->totals.schedules == 0; i++) {
        const struct saved_oom *oom = &head->saved[i];
        const size_t op_count = (size_t)oom->verdict.op + 1;
        if (oom->diagnosis_bytes == 0 && op_count <= trial->ops.count &&
            is_wanted(plan, &head->task, &oom->verdict)) {
            again.wanted |= UINT32_C(1) << i;
            ops.count = op_count > ops.count ? op_count : ops.count;
        }
    }
    if (again.wanted != 0) {
        run_again(&again, plan, trial, &ops);
    }
}
