#include "campaign/trials/diagnosis_again.h"

#include "campaign/trials/rounds.h"
#include "campaign/trials/trial_diagnosis.h"
#include "harness/base/check.h"
#include "harness/trial/trial_run.h"

#include <string.h>

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

/* How many like it count before the task. */
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
    const struct task *task;
    struct undiagnosed *ooms;
    size_t count;
    uint32_t wanted; /* bit per index of ooms */
    struct writing *lines;
};

static void explain_wanted(void *context, const struct run *run, const struct verdict *verdict)
{
    struct again *again = context;
    trial_diagnosis_step(again->diagnosis, run);
    for (size_t i = 0; i < again->count; i++) {
        struct undiagnosed *oom = &again->ooms[i];
        if ((again->wanted >> i & 1) == 0 || oom->verdict->op != verdict->op ||
            oom->verdict->kind != verdict->kind) {
            continue;
        }
        again->wanted &= ~(UINT32_C(1) << i);
        oom->start = again->lines->length;
        trial_diagnosis_explain(again->diagnosis, run, verdict, again->lines);
        oom->bytes = again->lines->length - oom->start;
        note_explained(again->task, verdict);
    }
}

static bool is_wanted(const struct plan *plan, const struct task *task,
                      const struct verdict *verdict, uint64_t unknown_count_max)
{
    const uint64_t most = verdict->kind == VERDICT_PREMATURE ? 1
                          : verdict->kind == VERDICT_UNKNOWN ? unknown_count_max
                                                             : 0;
    return most > 0 && count_explained(plan, task, verdict) < most;
}

static void run_again(struct again *again, const struct plan *plan, const struct trial *trial,
                      const struct op_list *ops)
{
    const struct part *part = &plan->parts[again->task->part];
    const struct report_place place = {part->name, again->task->trial};
    const struct run_listener listener = {again, explain_wanted};
    struct trial repeated;
    char reason[RUN_REASON_BYTES];
    again->diagnosis = trial_diagnosis_create(&place, trial->setup.seed);
    if (trial_repeat(part->target, &trial->setup, ops, &listener, &repeated, reason)) {
        trial_deinit(&repeated);
    }
    trial_diagnosis_destroy(again->diagnosis);
}

void diagnosis_again(const struct plan *plan, const struct task *task, const struct trial *trial,
                     uint64_t unknown_count_max, struct undiagnosed *ooms, size_t count,
                     struct writing *lines)
{
    struct again again = {.task = task, .ooms = ooms, .count = count, .lines = lines};
    struct op_list ops = trial->ops; /* up to the last that is wanted */
    CHECK(count <= 32);
    ops.count = 0;
    for (size_t i = 0; i < count && trial->totals.schedules == 0; i++) {
        const size_t op_count = (size_t)ooms[i].verdict->op + 1;
        if (op_count <= trial->ops.count &&
            is_wanted(plan, task, ooms[i].verdict, unknown_count_max)) {
            again.wanted |= UINT32_C(1) << i;
            ops.count = op_count > ops.count ? op_count : ops.count;
        }
    }
    if (again.wanted != 0) {
        run_again(&again, plan, trial, &ops);
    }
}
