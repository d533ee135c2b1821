/* explain: the first broken promise of a list, or else its first out-of-memory, in words and
 * numbers, and why it came. */
#include "campaign/base/interrupt.h"
#include "campaign/base/place.h"
#include "campaign/engine/output.h"
#include "campaign/plan/lookup.h"
#include "campaign/process/child.h"
#include "cli/explain_compare.h"
#include "cli/explain_log.h"
#include "cli/explain_report.h"
#include "cli/lane_columns.h"
#include "cli/picture.h"
#include "cli/private/explain_parts.h"
#include "cli/recording.h"
#include "cli/subcommands.h"
#include "cli/what_if.h"
#include "harness/base/check.h"
#include "harness/run/trial.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static bool is_on_oom(const struct verdict *verdict)
{
    return verdict->kind != VERDICT_NONE && verdict->kind != VERDICT_BROKEN;
}

/* A program keeps its stack while its image varies, which says little of other requests. */
static void take_largest(struct explanation *explanation)
{
    const struct oom *oom = run_oom(explanation->run);
    explanation->largest = run_find_largest(explanation->run, 0);
    if (oom->request.class == REQUEST_BUFFER) {
        explanation->moment.headroom.largest = explanation->largest;
    }
}

/* The last row of a timeline is the failure. */
static void end_rows(struct explanation *explanation)
{
    const struct moment *moment = &explanation->moment;
    const size_t count = explanation->row_count;
    if (explanation->arguments->has_timeline && moment->host == explanation->host &&
        count <= SURVEY_ROW_COUNT && (count == 0 || explanation->rows[count - 1].op < moment->op)) {
        explanation->rows[explanation->row_count++] = (struct moment_row){moment->op,
                                                                          moment->headroom};
    }
}

/* What follows the verdict, or the peak. */
static void explain_more(struct explanation *explanation)
{
    explain_causes(explanation);
    explain_settings(explanation);
    explain_numbers(explanation);
    explain_pictures(explanation);
    explain_told(explanation);
    explain_assumed(explanation);
    explain_next(explanation);
    explain_draw_svg(explanation);
}

/* The list has one of the heaps that the file allows.  Where its refusal is justified there, and
 * would be premature in another, the file has no verdict. */
static const struct verdict *judge_file(struct explanation *explanation,
                                        const struct verdict *verdict)
{
    if (!explanation->recording->is_open || verdict->kind != VERDICT_JUSTIFIED) {
        return verdict;
    }
    explanation->open = *verdict;
    explanation->open.kind = VERDICT_UNKNOWN;
    snprintf(explanation->open.reason, sizeof explanation->open.reason,
             "justified if no free piece that could serve the request was large enough, premature "
             "if one was, and the file has their sum only");
    return &explanation->open;
}

/* Says what is to be said at the op that was run last. */
static void explain_now(struct explanation *explanation, const struct run *run,
                        const struct verdict *verdict)
{
    explanation->run = run;
    explanation->verdict = verdict;
    explanation->op = verdict->op >= run_ops(run)->count ? NULL : &run_ops(run)->ops[verdict->op];
    const uint32_t host = explanation->op == NULL ? 0 : explanation->op->host;
    explanation->contract = model_contract(run_model(run, host));
    explain_take_moment(explanation, run, host, verdict->op);
    if (is_on_oom(verdict)) {
        take_largest(explanation);
    }
    end_rows(explanation);
    explain_log(&explanation->recording->story, explanation->is_json, &explanation->text);
    explanation->verdict = judge_file(explanation, verdict);
    if (explanation->is_json) {
        explain_in_json(explanation);
    } else {
        explain_in_words(explanation);
    }
    explanation->verdict = verdict;                         /* causes are those of the list */
    explanation->moment.is_taken = explanation->op != NULL; /* all is freed after the list */
    explain_more(explanation);
}

/* Before the run is finished: after that nothing is live. */
static void explain_without_oom(struct explanation *explanation, const struct run *run)
{
    static const struct verdict nothing = {.kind = VERDICT_NONE};
    explanation->run = run;
    explanation->verdict = &nothing;
    explanation->contract = model_contract(run_model(run, explanation->moment.host));
    explain_peak(explanation);
    explain_more(explanation);
}

/* excused_count: out-of-memories that cannot be judged. */
static void explain_nothing(struct explanation *explanation, const struct op_list *ops,
                            uint64_t excused_count)
{
    const size_t op_count = ops->count - lanes_switch_count(ops);
    struct writing *text = &explanation->text;
    explain_log(&explanation->recording->story, explanation->is_json, &explanation->text);
    if (explanation->is_json) {
        explain_nothing_in_json(explanation, op_count, excused_count);
        return;
    }
    writing_append_format(text, "Nothing %s: %zu op%s, ", excused_count > 0 ? "broke" : "failed",
                          op_count, op_count == 1 ? "" : "s");
    if (excused_count > 0) {
        writing_append_format(text, "%" PRIu64 " out-of-memor%s that cannot be judged",
                              excused_count, excused_count == 1 ? "y" : "ies");
    } else {
        writing_append(text, "no out-of-memory");
    }
    writing_append(text, ", every promise kept.\n");
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
        writing_clear(&explanation->text);
        explain_now(explanation, run, verdict);
    }
}

/* What the child works on. */
struct work {
    const struct recording *recording;
    const struct arguments *arguments;
};

/* What both runs share. */
struct view {
    struct step_axis steps;
    struct survey survey;
};

static struct view *view_create(const struct recording *recording)
{
    struct view *view = malloc(sizeof *view);
    CHECK(view != NULL);
    step_axis_init(&view->steps, recording->said, recording->said_count,
                   recording->view == IMPORT_EVENTS ? &recording->ops : NULL,
                   recording->setup.granule_bytes);
    survey_init(&view->survey, &view->steps, &recording->setup,
                recording->ops.count - lanes_switch_count(&recording->ops));
    return view;
}

static void view_destroy(struct view *view)
{
    step_axis_deinit(&view->steps);
    free(view);
}

static struct explanation *explanation_create(const struct work *work, const struct view *view)
{
    struct explanation *explanation = calloc(1, sizeof *explanation);
    CHECK(explanation != NULL);
    explanation->arguments = work->arguments;
    explanation->is_json = work->arguments->run.is_json;
    explanation->recording = work->recording;
    explanation->steps = &view->steps;
    explanation->survey = &view->survey;
    explanation->host = survey_fullest_host(&view->survey);
    explanation->oracle = oracle_create();
    explanation->history = malloc(sizeof *explanation->history);
    CHECK(explanation->history != NULL);
    history_init(explanation->history);
    explanation->history->whole = &work->recording->ops;
    writing_init(&explanation->text);
    writing_init(&explanation->svg);
    return explanation;
}

static void explanation_destroy(struct explanation *explanation)
{
    history_deinit(explanation->history);
    free(explanation->history);
    if (explanation->trial != NULL) {
        what_if_trial_destroy(explanation->trial);
    }
    oracle_destroy(explanation->oracle);
    oom_deinit(&explanation->oom);
    writing_deinit(&explanation->text);
    writing_deinit(&explanation->svg);
    free(explanation);
}

/* The answer: the exit code, how long the picture is, the picture, and the text: what stands before
 * the explanation, and it. */
static void answer_with(int file, enum exit_code code, const struct explanation *explanation,
                        const struct writing *before)
{
    const uint64_t svg_bytes = explanation->svg.length;
    code = code == EXIT_KEPT && explanation->open.kind == VERDICT_UNKNOWN ? EXIT_UNKNOWN : code;
    (void)(file_write_all(file, &svg_bytes, sizeof svg_bytes) &&
           file_write_all(file, explanation->svg.bytes, explanation->svg.length) &&
           file_write_all(file, &code, sizeof code) &&
           (before == NULL || file_write_all(file, before->bytes, before->length)) &&
           file_write_all(file, explanation->text.bytes, explanation->text.length));
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
static void explain_second_run(const struct work *work, struct explanation *explanation, int file)
{
    const struct recording *recording = work->recording;
    struct hearing hearing = {.explanation = explanation, .ops = &recording->ops};
    const struct run_listener listener = {&hearing, explain_verdict_now};
    struct lane_columns *columns = lane_columns_create(&recording->ops);
    const struct scheduler_trace trace = lane_columns_trace(columns);
    const struct lanes_watch watch = lane_columns_watch(columns);
    const struct lanes_plan told = {.trace = &trace, .watch = &watch};
    struct trial trial;
    struct writing text;
    char reason[RUN_REASON_BYTES];
    explanation->history->has_lanes = true;
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
        explanation->text.length == 0) { /* a call that did not come back is not heard */
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

static void explain_lanes(const struct work *work, struct view *view, int file)
{
    if (!survey_lanes(work->recording, &view->survey)) {
        return;
    }
    struct explanation *explanation = explanation_create(work, view);
    explain_second_run(work, explanation, file);
    explanation_destroy(explanation);
}

/* The first run.  False: the target refuses. */
static bool survey_ops(const struct recording *recording, struct survey *survey, size_t *chosen,
                       enum exit_code *code)
{
    char reason[RUN_REASON_BYTES];
    struct run *run = run_create(recording->target, &recording->setup, reason);
    if (run == NULL) {
        return false;
    }
    *chosen = choose_op(run, &recording->ops, survey);
    *code = totals_exit_code(run_totals(run));
    run_destroy(run);
    return true;
}

static void explain_ops(const struct work *work, struct view *view, int file)
{
    const struct recording *recording = work->recording;
    char reason[RUN_REASON_BYTES];
    size_t chosen;
    enum exit_code code;
    if (!survey_ops(recording, &view->survey, &chosen, &code)) {
        return;
    }
    struct run *run = run_create(recording->target, &recording->setup, reason);
    if (run == NULL) {
        return;
    }
    struct explanation *explanation = explanation_create(work, view);
    if (chosen < recording->ops.count) {
        explanation->host = recording->ops.ops[chosen].host;
    }
    explain_run(run, &recording->ops, chosen, explanation);
    answer_with(file, code, explanation, NULL);
    explanation_destroy(explanation);
    run_destroy(run);
}

/* The child's part: answers with the exit code, then the text; with nothing when the target
 * refuses. */
static void explain_and_answer(void *context, int file)
{
    const struct work *work = context;
    struct view *view = view_create(work->recording);
    if (lanes_are_in(&work->recording->ops)) {
        explain_lanes(work, view, file);
    } else {
        explain_ops(work, view, file);
    }
    view_destroy(view);
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

static bool is_whole_answer(const struct writing *answer)
{
    uint64_t svg_bytes;
    const size_t least = sizeof svg_bytes + sizeof(enum exit_code);
    if (answer->length < least) {
        return false;
    }
    memcpy(&svg_bytes, answer->bytes, sizeof svg_bytes);
    return svg_bytes <= answer->length - least;
}

/* Writes the picture where it is wanted, and prints the text. */
static enum exit_code take_answer(const struct arguments *arguments, const struct writing *answer)
{
    uint64_t svg_bytes;
    struct writing text;
    memcpy(&svg_bytes, answer->bytes, sizeof svg_bytes);
    const size_t start = sizeof svg_bytes + (size_t)svg_bytes;
    writing_init(&text);
    writing_append_bytes(&text, answer->bytes + start, answer->length - start);
    enum exit_code code = output_answer(arguments->run.is_json, &text);
    writing_deinit(&text);
    if (arguments->svg != NULL && svg_bytes > 0) {
        const enum exit_code written = picture_write(
            arguments->svg, answer->bytes + sizeof svg_bytes, (size_t)svg_bytes);
        code = written == EXIT_KEPT ? code : written;
    } else if (arguments->svg != NULL) {
        message_note("%s: not written, as no memory was ever in use", arguments->svg);
    }
    return code;
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
    const bool is_answered = end == CHILD_DONE && is_whole_answer(&answer);
    const enum exit_code code = is_answered ? take_answer(arguments, &answer)
                                            : fail_without_answer(arguments, end, death);
    writing_deinit(&answer);
    return code;
}

/* A compiler's report is told without a run; what a runtime's failure has of one comes behind. */
static enum exit_code explain_file(const struct arguments *arguments,
                                   const struct recording *recording)
{
    return explain_report_is_told(recording)
               ? explain_report(arguments, recording)
               : explain_report_after(arguments, recording,
                                      explain_recording(arguments, recording));
}

/* With what the options of --what-if ask for there must be a list. */
static enum exit_code check_what_if(const struct arguments *arguments,
                                    const struct recording *recording)
{
    if (recording->why_no_list[0] == '\0') {
        return what_if_check(arguments, recording);
    }
    return arguments->has_what_if || arguments->what_if_out != NULL ||
                   arguments->checkpoint_tags != NULL
               ? fail_in_file(arguments->words[0], 0, 0, recording->why_no_list)
               : EXIT_KEPT;
}

/* What the log tells, where there is no list: because it needs none (code is EXIT_KEPT), or because
 * it could not be read. */
static enum exit_code explain_log_only(const struct arguments *arguments,
                                       const struct recording *recording, enum exit_code code)
{
    struct writing text;
    writing_init(&text);
    if (code == EXIT_KEPT) {
        explain_log_alone(&recording->story, recording->why_no_list, arguments->run.is_json, &text);
    } else if (recording->story.event_count > 1 || recording->story.source_count > 1) {
        explain_log(&recording->story, arguments->run.is_json, &text);
    }
    if (!writing_print(&text, stdout)) {
        code = message_fail(EXIT_HARNESS, "standard output: %s", strerror(errno));
    }
    writing_deinit(&text);
    return code;
}

static enum exit_code explain_subcommand(const struct arguments *arguments)
{
    struct recording recording;
    struct place place;
    if (arguments->word_count == 2) {
        return explain_compare(arguments);
    }
    if (arguments->svg != NULL &&
        place_find(arguments->svg, arguments->words[0], &place) != EXIT_KEPT) {
        return EXIT_USAGE;
    }
    enum exit_code code = recording_read_to_tell(arguments->words[0], arguments, &recording);
    if (code != EXIT_KEPT ||
        (recording.why_no_list[0] != '\0' && recording.compile_report == NULL)) {
        code = explain_log_only(arguments, &recording, code);
        recording_deinit(&recording);
        return code;
    }
    if (code == EXIT_KEPT) {
        code = check_what_if(arguments, &recording);
    }
    if (code == EXIT_KEPT) {
        code = what_if_explain(arguments, &recording, explain_file(arguments, &recording));
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
                                      "--timeline",
                                      "--svg",
                                      "--json",
                                      NULL};

const struct subcommand subcommand_explain = {
    .name = "explain",
    .summary = "say why: the first broken promise of a file, or otherwise its first out-of-memory",
    .usage = "FILE [OTHER_FILE] [options]",
    .description =
        "FILE is an .ops file or anything that import reads.  Explain prints the request, the free memory,\n"
        "who held the rest, what each mitigation had left, and the verdict.  For a premature out-of-memory\n"
        "it prints the plan that would have met the request.  hbmstress replay FILE.ops --certificates DIR\n"
        "gives the proof.  Where a message alone does not say what decides, the verdict is unknown (exit code\n"
        "3), with the condition under which it would be premature, and what would settle it.\n\n"
        "Of the log of a whole job it prints first which rank failed first, at which step, who only waited,\n"
        "and which warnings were no failure (docs/formats/log.md).  A log without an out-of-memory of the\n"
        "device is explained, too: the host's memory, a time-out, a warning.\n\n"
        "Then comes the diagnosis: which of the usual causes were found (docs/diagnosis.md), the surest\n"
        "first, with their numbers.  A leak is reported even if the list has no out-of-memory, and on the\n"
        "host that has it, whichever failed.\n\n"
        "Then come the numbers: what is lost to fragmentation, below which size requests succeed, the\n"
        "smallest device that would have done, and the op after which nothing could have avoided the\n"
        "failure (docs/explain.md).  Where nothing failed, explain describes the peak, and who held memory\n"
        "then.  --timeline prints the same numbers over time; --svg FILE draws memory and the heap.\n\n"
        "With OTHER_FILE, explain compares the two runs, before and after a change: what grew, what is\n"
        "new, what is gone at the peak of each.  It exits with 0 when both were compared.\n\n"
        "A report of XLA's compiler is shown as one: nothing ran, so nothing is replayed.  Explain prints\n"
        "what the program needs, what fragmentation and padding lose, every allocation that is listed, and\n"
        "what the numbers say (docs/formats/hbm_report.md).\n\n"
        "With --what-if, the list is run again under each change that might help (another chip, donation,\n"
        "half the batch ...: docs/what-if.md), and a table shows which fit.  --checkpoint-tags names the tags\n"
        "whose blocks are released and made again, whether steps are seen or not.\n\n"
        "For a list with lanes, explain first prints which lane ran when, in a column for each lane.\n\n"
        "Example: hbmstress explain job.log\n"
        "Example: hbmstress explain crash.log --chip v4\n"
        "Example: hbmstress explain crash.log --chip v4 --what-if --what-if-out variants\n"
        "Example: hbmstress explain crash.log --checkpoint-tags activations,attention\n"
        "Example: hbmstress explain snapshot.pickle --timeline --svg memory.svg\n"
        "Example: hbmstress explain before.pickle after.pickle\n"
        "Example: hbmstress explain out/repros/deadlock-queued_free_race-7.ops",
    .options = options,
    .word_count_min = 1,
    .word_count_max = 2,
    .word_name = "FILE",
    .run = explain_subcommand,
};
