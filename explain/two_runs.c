/* explain's two runs of a list: the first finds what is to be explained, the second stops there.  A
 * list with lanes is explained while it runs. */
#include "campaign/base/message.h"
#include "campaign/process/child.h"
#include "explain/private/explanation.h"
#include "explain/private/files.h"
#include "harness/base/check.h"
#include "harness/lanes/lanes.h"
#include "harness/run/trial.h"
#include "recording/lane_columns.h"

#include <stdlib.h>

/* Runs the list to see which of its ops is to be explained: the first broken promise, else the
 * first OOM. ops->count: what comes after the last op. */
static size_t choose_op(struct run *run, const struct op_list *ops, struct survey *survey)
{
    size_t oom = ops->count;
    for (size_t i = 0; i < ops->count; i++) {
        const enum verdict_kind kind = run_step(run, &ops->ops[i])->kind;
        survey_hear(survey, run);
        if (kind == VERDICT_BROKEN || kind == VERDICT_PREMATURE || kind == VERDICT_DISPUTED) {
            return i;
        }
        if (kind != VERDICT_NONE && oom == ops->count) {
            oom = i;
        }
    }
    return run_finish(run)->kind == VERDICT_NONE ? oom : ops->count;
}

/* Runs a new run up to that op, and says what is to be said there; or, when the list went well,
 * that. */
static void tell_run(struct run *run, const struct op_list *ops, size_t chosen,
                     struct explanation *explanation)
{
    const struct verdict *verdict = NULL;
    for (size_t i = 0; i < ops->count && i <= chosen; i++) {
        verdict = run_step(run, &ops->ops[i]);
        history_step(explanation->history, run);
        explain_hear(explanation, run);
    }
    if (chosen < ops->count) {
        explain_now(explanation, run, verdict);
        return;
    }
    explain_nothing(explanation, ops, run_totals(run)->ooms);
    explain_without_oom(explanation, run);
    verdict = run_finish(run);
    if (verdict->kind != VERDICT_NONE) {
        facts_clear(&explanation->facts);
        explain_now(explanation, run, verdict);
    }
}

/* What both runs share. */
struct view {
    struct step_axis steps;
    struct survey survey;
};

static struct view *view_create(const struct explain_work *work)
{
    const struct recording *recording = work->recording;
    struct view *view = malloc(sizeof *view);
    CHECK(view != NULL);
    step_axis_init(&view->steps, recording->said, recording->said_count,
                   recording->view == IMPORT_EVENTS ? &recording->ops : NULL,
                   recording->setup.granule_bytes);
    survey_init(&view->survey, &view->steps, &recording->setup,
                recording->ops.count - lanes_switch_count(&recording->ops));
    if (work->options->has_timeline) {
        view->survey.curves = calloc(1, sizeof *view->survey.curves);
        CHECK(view->survey.curves != NULL);
    }
    return view;
}

static void view_destroy(struct view *view)
{
    step_axis_deinit(&view->steps);
    free(view->survey.curves);
    free(view);
}

static struct explanation *explanation_create(const struct explain_work *work,
                                              const struct view *view)
{
    struct explanation *explanation = calloc(1, sizeof *explanation);
    CHECK(explanation != NULL);
    explanation->options = work->options;
    explanation->recording = work->recording;
    explanation->steps = &view->steps;
    explanation->survey = &view->survey;
    explanation->host = survey_fullest_host(&view->survey);
    explanation->oracle = oracle_create();
    explanation->history = malloc(sizeof *explanation->history);
    CHECK(explanation->history != NULL);
    explanation->curves = calloc(1, sizeof *explanation->curves);
    CHECK(explanation->curves != NULL);
    history_init(explanation->history);
    explanation->history->whole = &work->recording->ops;
    return explanation;
}

static void explanation_destroy(struct explanation *explanation)
{
    history_deinit(explanation->history);
    free(explanation->history);
    free(explanation->curves);
    if (explanation->trial != NULL) {
        what_if_trial_destroy(explanation->trial);
    }
    oracle_destroy(explanation->oracle);
    oom_deinit(&explanation->oom);
    facts_deinit(&explanation->facts);
    writing_deinit(&explanation->svg);
    free(explanation);
}

/* The answer: how long the picture is, the picture, the exit code, and the text: words that stand
 * before the explanation, and it. */
static void answer_with(int file, enum exit_code code, struct explanation *explanation,
                        struct writing *text)
{
    const uint64_t svg_bytes = explanation->svg.length;
    code = code == EXIT_KEPT && explanation->is_served ? EXIT_UNKNOWN : code;
    code = code == EXIT_KEPT && explanation->is_alarmed ? EXIT_BROKEN : code;
    facts_print(&explanation->facts, explanation->options->is_json ? FACTS_JSON : FACTS_WORDS,
                text);
    (void)(file_write_all(file, &svg_bytes, sizeof svg_bytes) &&
           file_write_all(file, explanation->svg.bytes, explanation->svg.length) &&
           file_write_all(file, &code, sizeof code) &&
           file_write_all(file, text->bytes, text->length));
}

/* With lanes the list is run once, and explained while it runs. */
struct hearing {
    struct explanation *explanation;
    const struct op_list *ops;
    size_t heard_count;
    bool has_oom, has_finding;
    enum rule_gravity gravity; /* of the finding that is explained */
};

/* Of several findings the gravest is explained, and of equally grave ones the first; of
 * out-of-memories that break nothing the first, where there is no finding. */
static bool is_explained(const struct hearing *hearing, const struct verdict *verdict, bool is_oom)
{
    if (verdict->kind == VERDICT_NONE || is_oom) {
        return is_oom && !hearing->has_oom;
    }
    return !hearing->has_finding || rule_gravity(verdict->rule) > hearing->gravity;
}

/* The last call has no other sign than that no op is left. */
static void explain_last_call(struct hearing *hearing, const struct run *run)
{
    explain_nothing(hearing->explanation, hearing->ops, run_totals(run)->ooms);
    explain_without_oom(hearing->explanation, run);
}

static void explain_verdict_now(void *context, const struct run *run, const struct verdict *verdict)
{
    struct hearing *hearing = context;
    const bool is_oom = verdict->kind == VERDICT_JUSTIFIED || verdict->kind == VERDICT_UNKNOWN;
    if (!hearing->has_oom) {
        history_step(hearing->explanation->history, run);
        explain_hear(hearing->explanation, run);
    }
    hearing->heard_count++;
    if (verdict->kind == VERDICT_NONE && !hearing->has_oom &&
        hearing->heard_count == hearing->ops->count - lanes_switch_count(hearing->ops)) {
        explain_last_call(hearing, run);
    }
    if (!is_explained(hearing, verdict, is_oom)) {
        return;
    }
    hearing->has_oom = true;
    if (!is_oom) {
        hearing->has_finding = true;
        hearing->gravity = rule_gravity(verdict->rule);
    }
    facts_clear(&hearing->explanation->facts);
    explain_now(hearing->explanation, run, verdict);
}

static void survey_verdict_now(void *context, const struct run *run, const struct verdict *verdict)
{
    (void)verdict;
    survey_hear(context, run);
}

/* The first of the two runs.  False: the target refuses. */
static bool survey_lanes(const struct recording *recording, struct survey *survey)
{
    const struct run_listener listener = {survey, survey_verdict_now};
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    if (!lanes_replay(recording->target, &recording->setup, &recording->ops, &listener, &trial,
                      reason)) {
        return false;
    }
    trial_deinit(&trial);
    return true;
}

/* The second, with what is said. */
static void explain_second_run(const struct explain_work *work, struct explanation *explanation,
                               int file)
{
    const struct recording *recording = work->recording;
    struct hearing hearing = {.explanation = explanation, .ops = &recording->ops};
    const struct run_listener listener = {&hearing, explain_verdict_now};
    struct lane_columns *columns = lane_columns_create(&recording->ops);
    const struct scheduler_trace trace = lane_columns_trace(columns);
    const struct lanes_watch watch = lane_columns_watch(columns);
    const struct lanes_plan told = {.trace = &trace, .watch = &watch};
    struct trial trial;
    struct writing text = {0};
    char reason[RUN_REASON_BYTES];
    explanation->history->has_lanes = true;
    if (!lanes_replay_traced(recording->target, &recording->setup, &recording->ops, &told,
                             &listener, &trial, reason)) {
        return;
    }
    if (!work->options->is_json) {
        lane_columns_print(columns, &trial.first, &text);
        writing_append(&text, "\n");
    }
    if (!hearing.has_oom &&
        explanation->facts.count == 0) { /* a call that did not come back is not heard */
        explain_nothing(explanation, &recording->ops, trial.totals.ooms);
    }
    if (trial.totals.not_modelled > 0) {
        message_note("the replay ended: it met what is not modelled: %s", trial.why_not_modelled);
    }
    answer_with(file, totals_exit_code(&trial.totals), explanation, &text);
    trial_deinit(&trial);
    lane_columns_destroy(columns);
    writing_deinit(&text);
}

static void explain_lanes(const struct explain_work *work, struct view *view, int file)
{
    if (!survey_lanes(work->recording, &view->survey)) {
        return;
    }
    struct explanation *explanation = explanation_create(work, view);
    explain_second_run(work, explanation, file);
    explanation_destroy(explanation);
}

/* What the first run says. */
struct first_run {
    size_t chosen; /* choose_op() */
    enum exit_code code;
    struct hangs hangs;
    struct standstills standstills;
    struct shortages shortages;
};

static void take_waits(const struct run *run, struct first_run *first)
{
    run_hangs(run, &first->hangs);
    if (run_standstills(run) != NULL) {
        first->standstills = *run_standstills(run);
    }
    first->shortages = *run_shortages(run);
}

/* A run that ended with what it broke does not know who came later: one that goes on does. */
static void take_waits_to_end(const struct recording *recording, struct first_run *first)
{
    char reason[RUN_REASON_BYTES];
    struct run *run = run_create(recording->target, &recording->setup, reason);
    if (run == NULL) {
        return;
    }
    run_go_on(run);
    for (size_t i = 0; i < recording->ops.count && !run_is_broken(run); i++) {
        (void)run_step(run, &recording->ops.ops[i]);
    }
    if (!run_is_broken(run)) {
        (void)run_finish(run);
    }
    take_waits(run, first);
    run_destroy(run);
}

/* False: the target refuses. */
static bool survey_ops(const struct recording *recording, struct survey *survey,
                       struct first_run *first)
{
    char reason[RUN_REASON_BYTES];
    struct run *run = run_create(recording->target, &recording->setup, reason);
    if (run == NULL) {
        return false;
    }
    first->chosen = choose_op(run, &recording->ops, survey);
    first->code = totals_exit_code(run_totals(run));
    take_waits(run, first);
    const bool may_wait = recording->setup.host_count > 1 || run_standstills(run) != NULL;
    const bool has_ended_early = run_ops(run)->count < recording->ops.count;
    run_destroy(run);
    if (may_wait && has_ended_early) {
        take_waits_to_end(recording, first);
    }
    return true;
}

static void explain_ops(const struct explain_work *work, struct view *view, int file)
{
    const struct recording *recording = work->recording;
    char reason[RUN_REASON_BYTES];
    struct first_run first = {0};
    struct writing text = {0};
    if (!survey_ops(recording, &view->survey, &first)) {
        return;
    }
    struct run *run = run_create(recording->target, &recording->setup, reason);
    if (run == NULL) {
        return;
    }
    struct explanation *explanation = explanation_create(work, view);
    explanation->hangs = first.hangs;
    explanation->standstills = first.standstills;
    explanation->shortages = first.shortages;
    if (first.chosen < recording->ops.count) {
        explanation->host = recording->ops.ops[first.chosen].host;
    }
    tell_run(run, &recording->ops, first.chosen, explanation);
    answer_with(file, first.code, explanation, &text);
    writing_deinit(&text);
    explanation_destroy(explanation);
    run_destroy(run);
}

void explain_and_answer(void *context, int file)
{
    const struct explain_work *work = context;
    struct view *view = view_create(work);
    if (lanes_are_in(&work->recording->ops)) {
        explain_lanes(work, view, file);
    } else {
        explain_ops(work, view, file);
    }
    view_destroy(view);
}
