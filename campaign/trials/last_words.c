#include "campaign/process/child.h"
#include "campaign/trials/trial_result.h"
#include "harness/lanes/lanes.h"

#include <stdio.h>
#include <string.h>

struct last_words *last_words_create(void)
{
    return shared_memory_create(sizeof(struct last_words));
}

void last_words_destroy(struct last_words *words)
{
    shared_memory_destroy(words, sizeof *words);
}

void last_words_clear(struct last_words *words)
{
    words->stray_count = 0;
    words->op_count = 0;
    words->findings.count = 0;
    words->has_begun = words->has_lanes = false;
}

void last_words_begin(void *words, const struct setup *setup)
{
    struct last_words *last = words;
    last->setup = *setup;
    last->op_count = 0;
    last->has_begun = true;
}

void last_words_note(void *words, const struct op *op)
{
    struct last_words *last = words;
    if (last->op_count < LAST_OP_COUNT_MAX) {
        last->ops[last->op_count] = *op;
    }
    last->op_count++;
}

void last_words_note_findings(struct last_words *words, const struct run_findings *findings)
{
    if (!words->has_lanes && findings->count != words->findings.count) {
        run_findings_copy(&words->findings, findings);
    }
}

static void note_schedule(void *context, const struct setup *setup, const struct op_list *ops)
{
    struct last_words *words = context;
    words->switch_count = 0;
    if (words->has_lanes) {
        return; /* another schedule of the same list */
    }
    last_words_begin(words, setup);
    for (size_t i = 0; i < ops->count; i++) {
        last_words_note(words, &ops->ops[i]);
    }
    words->has_lanes = true;
}

static void note_switch(void *context, const struct schedule_switch *taken)
{
    struct last_words *words = context;
    if (words->switch_count < LAST_SWITCH_COUNT_MAX) {
        words->switches[words->switch_count++] = *taken;
    }
}

struct lanes_witness last_words_witness(struct last_words *words)
{
    return (struct lanes_witness){words, note_schedule, note_switch};
}

void last_words_take(const struct last_words *words, struct op_list *ops)
{
    const uint64_t noted = words->op_count < LAST_OP_COUNT_MAX ? words->op_count
                                                               : LAST_OP_COUNT_MAX;
    for (uint64_t i = 0; i < noted; i++) {
        op_list_append(ops, &words->ops[i]);
    }
    if (words->has_lanes) {
        lanes_append_schedule(ops, words->switches, words->switch_count);
    }
}

/* Makes the result of a trial whose worker died or was stopped. */

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
