/* explain: the first broken promise of a list, or else its first out-of-memory, in words and
 * numbers, and why it came. */
#include "campaign/base/interrupt.h"
#include "campaign/engine/output.h"
#include "campaign/plan/lookup.h"
#include "campaign/process/child.h"
#include "cli/lane_columns.h"
#include "cli/private/explain_parts.h"
#include "cli/recording.h"
#include "cli/subcommands.h"
#include "cli/what_if.h"
#include "harness/base/check.h"
#include "harness/run/trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Runs the list to see which of its ops is to be explained: the first broken promise, else the
 * first OOM. ops->count: what comes after the last op. */
static size_t choose_op(struct run *run, const struct op_list *ops)
{
    size_t oom = ops->count;
    for (size_t i = 0; i < ops->count; i++) {
        const enum verdict_kind kind = run_step(run, &ops->ops[i])->kind;
        if (kind == VERDICT_BROKEN || kind == VERDICT_PREMATURE || kind == VERDICT_DISPUTED) {
            return i;
        }
        if (kind != VERDICT_NONE && oom == ops->count) {
            oom = i;
        }
    }
    return run_finish(run)->kind == VERDICT_NONE ? oom : ops->count;
}

/* Says what is to be said at the op that was run last. */
static void explain_now(struct explanation *explanation, const struct run *run,
                        const struct verdict *verdict)
{
    explanation->run = run;
    explanation->verdict = verdict;
    explanation->op = verdict->op >= run_ops(run)->count ? NULL : &run_ops(run)->ops[verdict->op];
    const struct model *model = run_model(run, explanation->op == NULL ? 0 : explanation->op->host);
    explanation->contract = model_contract(model);
    occupancy_take(model, &explanation->occupancy);
    if (explanation->is_json) {
        explain_in_json(explanation);
    } else {
        explain_in_words(explanation);
    }
    explain_causes(explanation);
    explain_assumed(explanation);
}

/* Before the run is finished: after that nothing is live. */
static void explain_without_oom(struct explanation *explanation, const struct run *run)
{
    static const struct verdict nothing = {.kind = VERDICT_NONE};
    explanation->run = run;
    explanation->verdict = &nothing;
    explain_causes(explanation);
}

static void explain_nothing(struct explanation *explanation, const struct op_list *ops)
{
    const size_t op_count = ops->count - lanes_switch_count(ops);
    if (explanation->is_json) {
        explain_nothing_in_json(explanation, op_count);
    } else {
        writing_append_format(
            &explanation->text,
            "Nothing to explain: %zu op%s, no out-of-memory, every promise kept.\n", op_count,
            op_count == 1 ? "" : "s");
    }
}

/* Runs a new run up to that op, and says what is to be said there; or, when the list went well,
 * that. */
static void explain_run(struct run *run, const struct op_list *ops, size_t chosen,
                        struct explanation *explanation)
{
    const struct verdict *verdict = NULL;
    for (size_t i = 0; i < ops->count && i <= chosen; i++) {
        verdict = run_step(run, &ops->ops[i]);
        history_step(explanation->history, run);
    }
    if (chosen < ops->count) {
        explain_now(explanation, run, verdict);
        return;
    }
    explain_nothing(explanation, ops);
    explain_without_oom(explanation, run);
    verdict = run_finish(run);
    if (verdict->kind != VERDICT_NONE) {
        writing_clear(&explanation->text);
        explain_now(explanation, run, verdict);
    }
}

/* What the child works on. */
struct work {
    const struct recording *recording;
    const struct arguments *arguments;
};

static void explanation_init(struct explanation *explanation, const struct work *work)
{
    *explanation = (struct explanation){.arguments = work->arguments,
                                        .is_json = work->arguments->run.is_json,
                                        .recording = work->recording};
    explanation->history = malloc(sizeof *explanation->history);
    CHECK(explanation->history != NULL);
    history_init(explanation->history);
    writing_init(&explanation->text);
}

static void explanation_deinit(struct explanation *explanation)
{
    history_deinit(explanation->history);
    free(explanation->history);
    writing_deinit(&explanation->text);
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
    explain_nothing(hearing->explanation, hearing->ops);
    explain_without_oom(hearing->explanation, run);
}

static void explain_verdict_now(void *context, const struct run *run, const struct verdict *verdict)
{
    struct hearing *hearing = context;
    const bool is_oom = verdict->kind == VERDICT_JUSTIFIED || verdict->kind == VERDICT_UNKNOWN;
    if (!hearing->has_oom) {
        history_step(hearing->explanation->history, run);
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
    writing_clear(&hearing->explanation->text);
    explain_now(hearing->explanation, run, verdict);
}

/* What the list breaks, for the columns; NULL: nothing. */
static const char *name_broken(const struct verdict *first)
{
    if (first->kind == VERDICT_NONE) {
        return NULL;
    }
    return first->kind == VERDICT_BROKEN ? rule_info(first->rule)->name : verdict_name(first->kind);
}

static void explain_lanes(const struct work *work, int file)
{
    const struct recording *recording = work->recording;
    struct explanation explanation;
    struct hearing hearing = {.explanation = &explanation, .ops = &recording->ops};
    const struct run_listener listener = {&hearing, explain_verdict_now};
    struct lane_columns *columns = lane_columns_create(&recording->ops);
    const struct scheduler_trace trace = lane_columns_trace(columns);
    const struct lanes_watch watch = lane_columns_watch(columns);
    const struct lanes_plan told = {.trace = &trace, .watch = &watch};
    struct trial trial;
    struct writing text;
    char reason[RUN_REASON_BYTES];
    explanation_init(&explanation, work);
    explanation.history->has_lanes = true;
    if (!lanes_replay_traced(recording->target, &recording->setup, &recording->ops, &told,
                             &listener, &trial, reason)) {
        return;
    }
    writing_init(&text);
    if (!work->arguments->run.is_json) {
        lane_columns_print(columns, &trial.first, name_broken(&trial.first), &text);
        writing_append(&text, "\n");
    }
    if (!hearing.has_oom &&
        explanation.text.length == 0) { /* a call that did not come back is not heard */
        explain_nothing(&explanation, &recording->ops);
    }
    if (trial.totals.not_modelled > 0) {
        message_note("the replay ended: it met what is not modelled: %s", trial.why_not_modelled);
    }
    const enum exit_code code = totals_exit_code(&trial.totals);
    (void)(file_write_all(file, &code, sizeof code) &&
           file_write_all(file, text.bytes, text.length) &&
           file_write_all(file, explanation.text.bytes, explanation.text.length));
    trial_deinit(&trial);
    lane_columns_destroy(columns);
    writing_deinit(&text);
    explanation_deinit(&explanation);
}

/* The child's part: answers with the exit code, then the text; with nothing when the target
 * refuses. */
static void explain_and_answer(void *context, int file)
{
    const struct work *work = context;
    if (lanes_are_in(&work->recording->ops)) {
        explain_lanes(work, file);
        return;
    }
    const struct recording *recording = work->recording;
    char reason[RUN_REASON_BYTES];
    struct explanation explanation;
    struct run *run = run_create(recording->target, &recording->setup, reason);
    if (run == NULL) {
        return;
    }
    const size_t chosen = choose_op(run, &recording->ops);
    const enum exit_code code = totals_exit_code(run_totals(run));
    run_destroy(run);
    run = run_create(recording->target, &recording->setup, reason);
    if (run == NULL) {
        return;
    }
    explanation_init(&explanation, work);
    explain_run(run, &recording->ops, chosen, &explanation);
    (void)(file_write_all(file, &code, sizeof code) &&
           file_write_all(file, explanation.text.bytes, explanation.text.length));
    explanation_deinit(&explanation);
    run_destroy(run);
}

static enum exit_code fail_without_answer(const struct arguments *arguments, enum child_end end,
                                          const char *death)
{
    const char *path = arguments->words[0];
    if (end == CHILD_NOT_BORN) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    if (end == CHILD_STOPPED && interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted: nothing was explained");
    }
    if (end == CHILD_STOPPED) {
        return message_fail(
            EXIT_BROKEN,
            "%s: the list did not end within --trial-timeout or --op-timeout; hbmstress replay reports at which op",
            path);
    }
    if (end == CHILD_FAULTY) {
        return message_fail(EXIT_HARNESS, "%s: internal error: %s", path, death);
    }
    if (end == CHILD_DIED) {
        return message_fail(
            EXIT_BROKEN,
            "%s: the target ended its process: %s; hbmstress replay reports at which op", path,
            death);
    }
    return message_fail(EXIT_HARNESS,
                        "%s: the target now refuses the setup that it accepted before", path);
}

static enum exit_code explain_recording(const struct arguments *arguments,
                                        const struct recording *recording)
{
    struct work work = {recording, arguments};
    struct writing answer;
    char death[CHILD_DEATH_BYTES];
    writing_init(&answer);
    death_set_op_timeout(arguments->run.op_timeout_ns);
    const enum child_end end = child_run(explain_and_answer, &work, arguments->run.trial_timeout_ns,
                                         true, &answer, death);
    const bool is_answered = end == CHILD_DONE && answer.length >= sizeof(enum exit_code);
    const enum exit_code code = is_answered ? output_answer(arguments->run.is_json, &answer)
                                            : fail_without_answer(arguments, end, death);
    writing_deinit(&answer);
    return code;
}

static enum exit_code explain_subcommand(const struct arguments *arguments)
{
    struct recording recording;
    enum exit_code code = recording_read(arguments->words[0], arguments, true, &recording);
    if (code == EXIT_KEPT) {
        code = what_if_check(arguments, &recording);
    }
    if (code == EXIT_KEPT) {
        code = what_if_explain(arguments, &recording, explain_recording(arguments, &recording));
    }
    recording_deinit(&recording);
    return code;
}

static const char *const options[] = {"--format",
                                      "--target",
                                      "--target-option",
                                      "--chip",
                                      "--capacity",
                                      "--hosts",
                                      "--kv-bytes-per-token",
                                      "--kv-tokens-per-second",
                                      "--trial-timeout",
                                      "--op-timeout",
                                      "--what-if",
                                      "--what-if-out",
                                      "--checkpoint-tags",
                                      "--json",
                                      NULL};

const struct subcommand subcommand_explain = {
    .name = "explain",
    .summary = "say why: the first broken promise of a file, or otherwise its first out-of-memory",
    .usage = "FILE [options]",
    .description =
        "FILE is an .ops file or anything that import reads.  Explain prints the request, the free memory,\n"
        "who held the rest, what each mitigation had left, and the verdict.  For a premature out-of-memory\n"
        "it prints the plan that would have met the request.  hbmstress replay FILE.ops --certificates DIR\n"
        "gives the proof.\n\n"
        "Then comes the diagnosis: which of the usual causes were found (docs/diagnosis.md), the surest\n"
        "first, with their numbers.  A leak is reported even if the list has no out-of-memory.\n\n"
        "With --what-if, the list is run again under each change that might help (another chip, donation,\n"
        "half the batch ...: docs/what-if.md), and a table shows which fit.  --checkpoint-tags names the tags\n"
        "whose blocks are released and made again, whether steps are seen or not.\n\n"
        "For a list with lanes, explain first prints which lane ran when, in a column for each lane.\n\n"
        "Example: hbmstress explain crash.log --chip v4\n"
        "Example: hbmstress explain crash.log --chip v4 --what-if --what-if-out variants\n"
        "Example: hbmstress explain crash.log --checkpoint-tags activations,attention\n"
        "Example: hbmstress explain out/repros/deadlock-queued_free_race-7.ops",
    .options = options,
    .word_count_min = 1,
    .word_count_max = 1,
    .word_name = "FILE",
    .run = explain_subcommand,
};
