/* A trial in its worker: run, listened to, sampled and compared. */
#include "campaign/trials/trial_result.h"

#include "campaign/base/certificates.h"
#include "campaign/base/clock.h"
#include "campaign/trials/trial_diagnosis.h"
#include "diagnosis/waits.h"
#include "harness/base/check.h"
#include "harness/lanes/lanes.h"
#include "harness/trial/again.h"
#include "harness/trial/lane_trial.h"
#include "harness/trial/related.h"
#include "harness/trial/trial_run.h"
#include "present/json_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The trial that this process runs. */
static struct {
    struct last_words *words;
    struct fresh *fresh; /* NULL: nothing is compared with a fresh instance */
} current;

void trial_result_compare_with(struct fresh *fresh)
{
    current.fresh = fresh;
}

struct listening {
    struct trial_result *trial_result;
    struct report_place place;
    uint64_t first_number; /* of the trial's first OOM, for the sample that is checked */
    struct trial_diagnosis *diagnosis; /* NULL: no list of it will be saved */
    unsigned diagnosed_kinds;          /* bit per enum verdict_kind */
    struct hangs hangs;                /* of a trial that is kept, or has findings, so far */
    struct job_log *log;               /* NULL: the trial leaves none */
    bool will_be_dealt;                /* its list, to lanes */
};

/* A few large blocks that live long are no leak, and neither is the first filling of a device. */
enum { GROWING_BLOCK_COUNT_MIN = 16, GROWING_OP_COUNT_MIN = 4096 };

/* 1024 ops between two looks: each costs as much as 64 samples of all tags.  The last promises are
 * judged after the last op, when all is freed: no second look then. */
static void look_for_growth(struct trial_result_head *head, const struct run *run)
{
    const uint64_t op_count = run_ops(run)->count;
    if (op_count < GROWING_OP_COUNT_MIN || op_count % 1024 != 0 ||
        op_count == head->looked_op_count) {
        return;
    }
    head->looked_op_count = op_count;
    head->is_growing = run_growing_tag(run, 0, &head->growth) &&
                       head->growth.count >= GROWING_BLOCK_COUNT_MIN;
    if (!head->is_growing) {
        return;
    }
    const char *name = run_setup(run)->tags[head->growth.tag];
    if (name[0] != '\0') {
        snprintf(head->growing_tag, sizeof head->growing_tag, "%s", name);
    } else {
        snprintf(head->growing_tag, sizeof head->growing_tag, "tag %u", head->growth.tag);
    }
}

/* The fullest that any of the hosts was, of what it had: memory that was retired is neither there
 * nor in use. */
static void look_at_use(struct trial_result_head *head, const struct run *run)
{
    const struct op_list *ops = run_ops(run);
    if (ops->count == 0) {
        return;
    }
    const struct model *model = run_model(run, ops->ops[ops->count - 1].host);
    const struct memory_point now = {
        ops->count - 1, model_in_use_without(model, OP_TAG_COUNT) + model_reserved_bytes(model),
        model_capacity_bytes(model) - model_retired_bytes(model)};
    if (now.capacity_bytes > 0 &&
        (head->fullest.capacity_bytes == 0 || memory_is_fuller(&now, &head->fullest))) {
        head->fullest = now;
    }
}

static uint64_t count_saved(const struct trial_result_head *head, enum verdict_kind kind)
{
    uint64_t count = 0;
    for (size_t i = 0; i < head->saved_count; i++) {
        count += head->saved[i].verdict.kind == kind;
    }
    return count;
}

/* Returns true if a premature OOM of that mechanism was saved, here or under another schedule. */
static bool has_saved_premature(const struct trial_result_head *head, const char *mechanism)
{
    for (size_t i = 0; i < head->saved_count; i++) {
        const struct verdict *saved = &head->saved[i].verdict;
        if (saved->kind == VERDICT_PREMATURE && strcmp(saved->mechanism, mechanism) == 0) {
            return true;
        }
    }
    return false;
}

/* A premature OOM that is the first of its finding. */
static bool is_new_finding(const struct trial_result_head *head, const struct run *run,
                           const struct verdict *verdict)
{
    const struct run_findings *findings = run_findings(run);
    const size_t last = findings->count;
    return verdict->kind == VERDICT_PREMATURE && last > 0 &&
           findings->findings[last - 1].verdict.op == verdict->op &&
           !has_saved_premature(head, verdict->mechanism);
}

/* Returns true if the OOM leaves the trial with its certificate. */
static bool is_wanted(const struct trial_result_head *head, enum verdict_kind kind, bool is_new)
{
    const uint64_t saved = count_saved(head, kind);
    switch (kind) {
    case VERDICT_PREMATURE:
        return is_new && saved < RUN_FINDING_COUNT_MAX;
    case VERDICT_JUSTIFIED:
        return saved < TRIAL_RESULT_JUSTIFIED_COUNT_MAX &&
               head->task.trial < TRIAL_RESULT_JUSTIFIED_TRIAL_COUNT;
    case VERDICT_UNKNOWN:
        return saved < TRIAL_RESULT_UNKNOWN_COUNT_MAX;
    default:
        return saved == 0;
    }
}

/* Has the checker look at the certificate; the harness's own disputes need none to be told. */
static void check_certificate(struct trial_result *trial_result, struct saved_oom *oom)
{
    char reason[CERTIFICATE_REASON_BYTES];
    if (oom->verdict.kind == VERDICT_DISPUTED) {
        return;
    }
    trial_result->head.certificates_checked++;
    const char *text = trial_result->certificates.bytes + oom->certificate_start;
    if (!certificate_is_accepted(text, oom->certificate_bytes, reason)) {
        certificate_dispute(reason, &oom->verdict);
    }
}

/* Takes the certificate of an OOM if it is to be saved or checked, and saves it if it is wanted, or
 * disputed. */
static void add_certificate(struct listening *listening, const struct run *run,
                            const struct verdict *verdict)
{
    struct trial_result *trial_result = listening->trial_result;
    struct trial_result_head *head = &trial_result->head;
    struct writing *texts = &trial_result->certificates;
    const bool is_new = is_new_finding(head, run, verdict);
    const bool is_repeated = verdict->kind == VERDICT_PREMATURE && !is_new;
    const bool is_due = certificate_is_due(listening->first_number + head->ooms_seen++,
                                           is_repeated ? VERDICT_JUSTIFIED : verdict->kind);
    if (!is_due && !is_wanted(head, verdict->kind, is_new)) {
        return;
    }
    struct saved_oom saved = {.verdict = *verdict, .certificate_start = texts->length};
    run_print_certificate(run, texts);
    saved.certificate_bytes = texts->length - saved.certificate_start;
    check_certificate(trial_result, &saved);
    if (!is_wanted(head, saved.verdict.kind, is_new)) {
        texts->length = saved.certificate_start;
        texts->bytes[texts->length] = '\0';
        return;
    }
    snprintf(saved.message, sizeof saved.message, "%s", run_message(run));
    saved.largest = run_find_largest(run, ORACLE_LARGEST_NODES);
    const bool is_line = verdict->kind == VERDICT_JUSTIFIED || verdict->kind == VERDICT_UNKNOWN;
    saved.all_end = is_line ? trial_result->all.length : 0;
    saved.notable_end = verdict->kind == VERDICT_UNKNOWN ? trial_result->notable.length : 0;
    head->saved[head->saved_count++] = saved;
    if (is_line) {
        head->until_oom_count = run_ops(run)->count;
    }
    if (is_line && listening->will_be_dealt) {
        op_list_copy(&trial_result->oom_ops, run_ops(run));
    }
}

/* The line of an OOM that is no finding of its own. */
static void append_verdict_line(struct listening *listening, const struct run *run,
                                const struct verdict *verdict)
{
    struct trial_result *trial_result = listening->trial_result;
    const size_t start = trial_result->all.length;
    json_line_verdict(&trial_result->all, &(struct report_finding){.place = listening->place,
                                                                   .verdict = verdict,
                                                                   .message = run_message(run)});
    if (verdict->kind == VERDICT_UNKNOWN) {
        writing_append_bytes(&trial_result->notable, trial_result->all.bytes + start,
                             trial_result->all.length - start);
    }
}

/* Returns true if more lists may be saved for a justified OOM, or the trial is kept whole. */
static bool is_diagnosing(const struct trial_result_head *head)
{
    return head->task.is_kept || (head->task.is_diagnosed && count_saved(head, VERDICT_JUSTIFIED) <
                                                                 TRIAL_RESULT_JUSTIFIED_COUNT_MAX);
}

/* Says why the OOM came, if it was saved just now, or if it is the first of its kind in a list that
 * is to be kept.  saved_count: before it. */
static void diagnose(struct listening *listening, const struct run *run,
                     const struct verdict *verdict, uint64_t saved_count)
{
    struct trial_result *trial_result = listening->trial_result;
    struct trial_result_head *head = &trial_result->head;
    struct saved_oom *saved = head->saved_count > saved_count ? &head->saved[saved_count] : NULL;
    const bool is_first = (listening->diagnosed_kinds & 1u << verdict->kind) == 0;
    if (listening->diagnosis == NULL || current.words->has_lanes ||
        verdict->kind == VERDICT_DISPUTED || (saved == NULL && !(is_first && head->task.is_kept))) {
        return;
    }
    const uint64_t start = trial_result->diagnoses.length;
    listening->diagnosed_kinds |= 1u << verdict->kind;
    trial_diagnosis_explain(listening->diagnosis, run, verdict, &trial_result->diagnoses);
    if (saved != NULL) {
        saved->diagnosis_start = start;
        saved->diagnosis_bytes = trial_result->diagnoses.length - start;
    }
    if (!is_diagnosing(head)) {
        trial_diagnosis_destroy(listening->diagnosis);
        listening->diagnosis = NULL;
    }
}

static void note_verdict(void *context, const struct run *run, const struct verdict *verdict)
{
    struct listening *listening = context;
    struct trial_result *trial_result = listening->trial_result;
    last_words_note_findings(current.words, run_findings(run)); /* for whoever survives this */
    look_for_growth(&trial_result->head, run);
    look_at_use(&trial_result->head, run);
    const bool is_told = trial_result->head.task.is_kept ||
                         (run_findings(run)->count > 0 && !current.words->has_lanes);
    if (is_told && run_waits(run)->total > 0) {
        run_hangs(run, &listening->hangs);
    }
    if (listening->diagnosis != NULL && !current.words->has_lanes) {
        trial_diagnosis_step(listening->diagnosis, run);
    }
    if (listening->log != NULL) {
        job_log_step(listening->log, run);
    }
    if (verdict->kind == VERDICT_NONE) {
        return;
    }
    const struct verdict *hidden = run_hidden_oom(run);
    const struct verdict *oom = hidden != NULL ? hidden : verdict;
    const bool is_open = oom->kind == VERDICT_JUSTIFIED || oom->kind == VERDICT_UNKNOWN;
    /* Under each schedule the list meets much the same OOMs: they are counted. */
    if (current.words->has_lanes && is_open) {
        return;
    }
    const bool is_new = is_new_finding(&trial_result->head, run, oom);
    if (is_open || (oom->kind == VERDICT_PREMATURE && !is_new && !current.words->has_lanes)) {
        append_verdict_line(listening, run, oom);
    }
    if (verdict->kind != VERDICT_BROKEN) {
        const uint64_t saved_count = trial_result->head.saved_count;
        add_certificate(listening, run, verdict);
        diagnose(listening, run, verdict, saved_count);
    }
}

/* One in TWICE_PERIOD of the trials run again also runs its list at twice the size: 2 runs more. */
enum { TWICE_PERIOD = 2 };

/* A trial with lanes is represented by one more run of its list, as its schedule is by default. */
static bool is_broken_when_fresh(const struct target *target, struct trial *trial,
                                 struct verdict *broken)
{
    char reason[RUN_REASON_BYTES];
    struct trial one;
    if (trial->totals.schedules == 0) {
        return fresh_breaks(current.fresh, target, trial, broken);
    }
    if (!trial_replay(target, &trial->setup, &trial->searched, NULL, &one, reason)) {
        return false;
    }
    const bool is_broken = !trial_is_ended(&one) && one.totals.not_modelled == 0 &&
                           fresh_breaks(current.fresh, target, &one, broken);
    if (is_broken) {
        run_findings_set(&one.findings, broken, &one.ops);
        trial_take_findings(trial, &one);
        trial_lead(trial);
    }
    trial_deinit(&one);
    return is_broken;
}

static bool is_broken_again(const struct target *target, struct trial *trial,
                            struct verdict *broken)
{
    if (trial->totals.schedules > 0) {
        return again_breaks_lanes(target, trial, broken);
    }
    return again_breaks_renamed(target, trial, broken) ||
           (trial->setup.seed % TWICE_PERIOD == 0 && related_sizes_scale(&trial->setup) &&
            related_breaks_one(target, trial, RELATED_SIZES, broken, NULL));
}

/* Lanes that ran freely pass no points, and nothing repeats them. */
static void run_again(struct trial_result *trial_result, const struct target *target,
                      struct trial *trial)
{
    const bool has_lanes = trial->totals.schedules > 0;
    const bool is_repeatable = !trial_is_ended(trial) && trial->totals.not_modelled == 0 &&
                               (!has_lanes || trial->totals.points > 0);
    const struct task *task = &trial_result->head.task;
    struct verdict broken;
    const bool is_compared = task->is_compared && current.fresh != NULL;
    if (!is_repeatable || !((task->is_sampled && is_broken_again(target, trial, &broken)) ||
                            (is_compared && is_broken_when_fresh(target, trial, &broken)))) {
        return;
    }
    trial->totals.broken++;
    if (!has_lanes) {
        run_findings_set(&trial->findings, &broken, &trial->ops);
    }
}

/* Takes over the lists of what is told, and selects the gravest. */
static void take_lists(struct trial_result *trial_result, struct trial *trial)
{
    const struct run_findings *findings = &trial_result->head.findings;
    trial_result->setup = trial->setup;
    op_list_move(&trial_result->ops, &trial->ops);
    for (size_t i = 0; i < findings->count; i++) {
        const uint32_t list = findings->findings[i].list;
        if (list != 0 && trial->lists[list - 1].count > 0) { /* several may name it */
            op_list_move(&trial_result->lists[list - 1], &trial->lists[list - 1]);
        }
    }
    if (findings->count > 0) {
        trial_result_select(trial_result, 0);
    }
}

/* The hang that is told next to what the trial found. */
static void note_hang(struct trial_result_head *head, const struct setup *setup,
                      const struct hangs *hangs)
{
    struct writing words;
    size_t chosen = 0;
    if (!hangs_are_there(hangs)) {
        return;
    }
    for (size_t i = hangs->count; i-- > 0;) {
        chosen = hangs->hangs[i].until == head->first.op ? i : chosen;
    }
    const uint64_t more = hangs->count - 1 + hangs->more;
    writing_init(&words);
    hang_append(setup, &hangs->hangs[chosen], &words);
    if (more > 0) {
        writing_append_format(&words, "; %" PRIu64 " more", more);
    }
    (void)snprintf(head->hang, sizeof head->hang, "%s", writing_string(&words));
    writing_deinit(&words);
}

static void fill_trial_result(struct trial_result *trial_result, const struct plan *plan,
                              struct trial *trial, const struct hangs *hangs)
{
    struct trial_result_head *head = &trial_result->head;
    const struct target *target = plan->parts[head->task.part].target;
    trial_diagnosis_again(plan, trial, trial_result);
    head->digest = trial->digest;
    if (trial->totals.not_modelled > 0) {
        snprintf(head->reason, sizeof head->reason, "%s", trial->why_not_modelled);
    }
    run_again(trial_result, target, trial);
    head->totals = trial->totals;
    run_findings_copy(&head->findings, &trial->findings);
    run_findings_settle(&head->findings);
    if (head->findings.count > 0) {
        head->first = head->findings.findings[0].verdict;
        note_hang(head, &trial->setup, hangs);
    }
    /* A disputed verdict of the harness itself is in its totals already. */
    if (head->first.kind != VERDICT_DISPUTED) {
        head->totals.disputed += count_saved(head, VERDICT_DISPUTED);
    }
    /* A certificate is of no use without the list that it names. */
    if (head->first.kind != VERDICT_NONE || head->saved_count > 0 || head->task.is_kept ||
        head->task.has_list_kept) {
        head->has_list = true;
        take_lists(trial_result, trial);
    }
    trial_deinit(trial);
}

/* Runs the trial, with lanes if the part has some.  False: the target refused. */
static bool run_trial(const struct part *part, const struct trial_plan *plan,
                      const struct lanes_witness *witness, const struct run_listener *listener,
                      struct trial *trial, char reason[RUN_REASON_BYTES])
{
    struct lanes_found found;
    if (part->lanes.lane_count == 0) {
        return trial_run(plan, listener, trial, reason);
    }
    struct lane_trial_plan with_lanes = {
        .draw = *plan,
        .lane_count = (uint8_t)part->lanes.lane_count,
        .search = lane_options_search(&part->lanes, plan->setup->seed)};
    with_lanes.search.witness = witness;
    if (lane_trial_run(&with_lanes, listener, trial, &found, reason)) {
        return true;
    }
    trial_deinit(trial);
    return false;
}

/* Takes over the log. */
static void take_logs(struct trial_result *trial_result, struct job_log *log)
{
    for (uint32_t host = 0; log != NULL && host < JOB_LOG_COUNT; host++) {
        trial_result->head.log_bytes[host] = job_log_take(log, host, &trial_result->logs);
    }
    job_log_destroy(log);
}

void trial_result_make(const struct plan *plan, const struct task *task, struct last_words *words,
                       struct trial_result *trial_result)
{
    CHECK(task->part < plan->count);
    const struct part *part = &plan->parts[task->part];
    const uint64_t seed = plan_trial_seed(part, task->trial);
    struct listening listening = {.trial_result = trial_result,
                                  .place = {part->name, task->trial},
                                  .first_number = seed % CERTIFICATE_CHECK_PERIOD,
                                  .will_be_dealt = part->lanes.lane_count != 0};
    const struct run_listener listener = {&listening, note_verdict};
    current.words = words;
    last_words_clear(words);
    trial_result->head.task = *task;
    if (is_diagnosing(&trial_result->head)) {
        listening.diagnosis = trial_diagnosis_create(&listening.place, seed);
    }
    if (part->setup.until_step != 0 && part->trace == NULL && task->trial == 0) {
        listening.log = job_log_create();
    }

    /* Large for a stack, which may be a small one. */
    struct made {
        struct setup setup;
        struct trial trial;
    } *made = malloc(sizeof *made);
    CHECK(made != NULL);
    struct op_list given;
    op_list_init(&given);
    const bool is_given = plan_trial_make(part, task->trial, &made->setup, &given);
    const uint64_t start_ns = clock_now_ns();
    const struct trial_plan trial_plan = {.target = part->target,
                                          .scenario = part->scenario,
                                          .setup = &made->setup,
                                          .capacity_is_free = part->capacity_is_free,
                                          .op_count_max = task->op_count_max,
                                          .faults = plan_trial_faults(part, task->trial),
                                          .given = is_given ? &given : NULL,
                                          .begun = last_words_begin,
                                          .chosen = last_words_note,
                                          .context = words};
    const struct lanes_witness witness = last_words_witness(words);
    if (run_trial(part, &trial_plan, &witness, &listener, &made->trial,
                  trial_result->head.reason)) {
        if (task->is_kept) {
            hangs_append_trial_json(&made->trial.setup, &listening.hangs, part->name, task->trial,
                                    &trial_result->diagnoses);
        }
        fill_trial_result(trial_result, plan, &made->trial, &listening.hangs);
    } else {
        trial_result->head.end = TRIAL_RESULT_REFUSED;
    }
    op_list_deinit(&given);
    free(made);
    trial_result->head.elapsed_ns = clock_now_ns() - start_ns;
    trial_diagnosis_destroy(listening.diagnosis);
    take_logs(trial_result, listening.log);
}
