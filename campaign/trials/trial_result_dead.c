/* Makes the result of a trial whose worker died or was stopped. */
#include "campaign/trials/trial_result.h"

#include <stdio.h>
#include <string.h>

/* Notes how the trial ended when its process did, and the verdict on that. */
static void note_death(const struct last_words *words, struct trial_result_head *head)
{
    const struct death *death = &words->death;
    const bool is_in_list = death->progress.phase == PROGRESS_OP &&
                            death->progress.op < words->op_count;
    const uint64_t op_count = words->op_count;
    head->end = death->kind == DEATH_CHECK  ? TRIAL_RESULT_FAILED
                : death->kind == DEATH_HANG ? TRIAL_RESULT_HUNG
                                            : TRIAL_RESULT_CRASHED;
    death_describe(death, head->reason);
    if (head->end == TRIAL_RESULT_FAILED) {
        return;
    }
    head->first = (struct verdict){.kind = VERDICT_BROKEN, .rule = death_rule(death)};
    head->first.op = is_in_list ? death->progress.op : op_count == 0 ? 0 : (uint32_t)(op_count - 1);
    snprintf(head->first.reason, sizeof head->first.reason, "%s", head->reason);
    death_signature(death, head->signature);
    head->findings.count = 1;
    head->findings.findings[0] = (struct run_finding){.count = 1, .verdict = head->first};
    memcpy(head->findings.findings[0].signature, head->signature, sizeof head->signature);
    head->totals.broken = 1;
}

/* The process that noted it may have written anywhere. */
static bool is_sound(const struct run_finding *finding, uint64_t op_count)
{
    const enum verdict_kind kind = finding->verdict.kind;
    return (kind == VERDICT_PREMATURE || kind == VERDICT_BROKEN) &&
           finding->verdict.rule < RULE_COUNT && finding->verdict.op < op_count &&
           memchr(finding->verdict.reason, '\0', sizeof finding->verdict.reason) != NULL &&
           memchr(finding->signature, '\0', sizeof finding->signature) != NULL &&
           memchr(finding->message, '\0', sizeof finding->message) != NULL;
}

/* Notes what the trial had found before it died: the death may not be the first sign of it. */
static void note_earlier(const struct last_words *words, struct trial_result_head *head)
{
    const struct run_findings *earlier = &words->findings;
    struct run_findings *findings = &head->findings;
    if (words->has_lanes || findings->count == 0 || earlier->count > RUN_FINDING_COUNT_MAX) {
        return;
    }
    for (size_t i = 0; i < earlier->count && findings->count < RUN_FINDING_COUNT_MAX; i++) {
        if (is_sound(&earlier->findings[i], words->op_count)) {
            findings->findings[findings->count] = earlier->findings[i];
            findings->findings[findings->count].count = 1;
            findings->findings[findings->count++].list = 0; /* there is one list */
        }
    }
    run_findings_settle(findings);
    for (size_t i = 1; i < findings->count; i++) {
        const bool is_oom = findings->findings[i].verdict.kind == VERDICT_PREMATURE;
        head->totals.ooms += is_oom;
        head->totals.premature += is_oom;
        head->totals.broken += !is_oom;
    }
}

void trial_result_make_dead(const struct task *task, const struct last_words *words,
                            struct trial_result *trial_result)
{
    struct trial_result_head *head = &trial_result->head;
    head->task = *task;
    note_death(words, head);
    head->totals.ops = words->op_count;
    head->has_list = words->has_begun;
    trial_result->setup = words->setup;
    if (words->has_begun) {
        last_words_take(words, &trial_result->ops);
        note_earlier(words, head);
    }
}
