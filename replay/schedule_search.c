#include "replay/private/replay_parts.h"

#include "campaign/base/clock.h"
#include "campaign/base/interrupt.h"
#include "campaign/base/repro.h"
#include "campaign/base/rest.h"
#include "campaign/engine/output.h"
#include "campaign/process/child.h"
#include "campaign/process/shrink_process.h"
#include "campaign/trials/trial_result.h"
#include "explore/strategies/strategies.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "harness/run/trial.h"
#include "present/terminal.h"
#include "recording/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The results that the child leaves even if it dies, in memory shared with it. */
struct search_state {
    struct lanes_found found;
    struct run_totals totals;
    struct run_findings findings; /* what breaks a promise, the gravest first */
    struct refused {
        char mechanism[VERDICT_MECHANISM_BYTES];
        struct oracle_largest largest; /* that would have been served */
    } refused[RUN_FINDING_COUNT_MAX];  /* premature refusals, the first of each mechanism;
                                          refused_count of them */
    size_t refused_count;
    char reason[RUN_REASON_BYTES]; /* why the target cannot be run so */
    bool is_done, is_refused;
};

struct schedule_search {
    const char *path;
    const struct run_options *run;
    const struct recording *recording;
    struct lane_options wanted; /* completed */
    struct op_list plain;       /* the list without its schedule */
    struct op_list broken;      /* with the schedule that shows the finding that is saved */
    size_t saved;               /* its number among the findings */
    struct search_state *state;
    struct last_words *words;
    struct output output;
    struct reporter reporter;
    struct writing text;
    uint64_t start_ns;
    char repro[OUTPUT_PATH_BYTES];
    struct writing replay; /* the line that shows what broke again */
};

/* --- what was found: shrunk, saved and reported --- */

/* The premature refusal of that mechanism; NULL: there is none. */
static const struct refused *find_refused(const struct search_state *state, const char *mechanism)
{
    for (size_t i = 0; i < state->refused_count; i++) {
        if (strcmp(state->refused[i].mechanism, mechanism) == 0) {
            return &state->refused[i];
        }
    }
    return NULL;
}

/* The next list of the answer. */
static void read_broken(struct schedule_search *schedule_search, struct rest *rest)
{
    struct op op;
    uint64_t count = 0;
    op_list_clear(&schedule_search->broken);
    (void)rest_take(rest, &count, sizeof count);
    for (; count > 0 && rest_take(rest, &op, sizeof op); count--) {
        op_list_append(&schedule_search->broken, &op);
    }
}

static struct run_finding *get_finding(const struct schedule_search *schedule_search)
{
    CHECK(schedule_search->saved < schedule_search->state->findings.count);
    return &schedule_search->state->findings.findings[schedule_search->saved];
}

/* False: it stays as it is, and shrunk->why says why. */
static bool shrink_broken(struct schedule_search *schedule_search, struct shrunk *shrunk)
{
    const struct shrink_process shrink_process = {
        .target = schedule_search->recording->target,
        .setup = &schedule_search->recording->setup,
        .ops = &schedule_search->broken,
        .signature = get_finding(schedule_search)->signature,
        .replay_count_max = schedule_search->run->shrink_budget};
    if (schedule_search->run->out == NULL) {
        snprintf(shrunk->why, sizeof shrunk->why, "no repro is kept"); /* ops are the file's */
    } else if (schedule_search->run->shrink_budget == 0) {
        snprintf(shrunk->why, sizeof shrunk->why, "the budget is 0");
    } else if (shrink_process_run(&shrink_process, shrunk) == SHRINK_PROCESS_DONE) {
        return true;
    }
    op_list_copy(&shrunk->ops, &schedule_search->broken);
    return false;
}

static const char *name_rule(const struct run_finding *finding)
{
    const struct verdict *verdict = &finding->verdict;
    return rule_info(verdict->kind == VERDICT_PREMATURE ? RULE_PREMATURE : verdict->rule)->name;
}

/* "", or "-N" for the Nth finding that breaks its rule. */
static void print_twin(const struct schedule_search *schedule_search, char text[16])
{
    const struct run_finding *finding = get_finding(schedule_search);
    unsigned count = 1;
    for (const struct run_finding *before = schedule_search->state->findings.findings;
         before < finding; before++) {
        count += strcmp(name_rule(before), name_rule(finding)) == 0;
    }
    text[0] = '\0';
    if (count > 1) {
        snprintf(text, 16, "-%u", count);
    }
}

/* OUT/repros/RULE-FILE-SEED.ops */
static void name_repro(struct schedule_search *schedule_search)
{
    const char *path = schedule_search->path;
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const size_t length = strlen(name);
    const size_t shown = length > 4 && strcmp(name + length - 4, ".ops") == 0 ? length - 4 : length;
    char twin[16];
    print_twin(schedule_search, twin);
    snprintf(schedule_search->repro, sizeof schedule_search->repro,
             "%.3600s/repros/%s-%.*s-%" PRIu64 "%s.ops", schedule_search->run->out,
             name_rule(get_finding(schedule_search)), shown > 96 ? 96 : (int)shown, name,
             schedule_search->recording->setup.seed, twin);
    writing_append(&schedule_search->replay, "hbmstress replay");
    repeat_word(&schedule_search->replay, schedule_search->repro);
}

/* Without a place for the repro: prints the line that finds it again and keeps it. */
static void name_search(struct schedule_search *schedule_search)
{
    struct writing *text = &schedule_search->replay;
    char strategy[LANE_STRATEGY_TEXT_BYTES];
    writing_append(text, "hbmstress replay");
    repeat_word(text, schedule_search->path);
    repeat_setup(text, schedule_search->run);
    writing_append_format(text, " --strategy %s --schedules %" PRIu64 " --seed %" PRIu64,
                          lane_strategy_print(&schedule_search->wanted, strategy),
                          schedule_search->wanted.schedule_count,
                          schedule_search->recording->setup.seed);
    repeat_option(text, "--backend", lane_options_backend(&schedule_search->run->lanes));
    writing_append(text, schedule_search->recording->setup.checks_races ? " --check-races --out DIR"
                                                                        : " --out DIR");
}

static enum exit_code write_repro(const struct schedule_search *schedule_search,
                                  const struct shrunk *shrunk)
{
    const struct repro repro = {.setup = &schedule_search->recording->setup,
                                .ops = &shrunk->ops,
                                .signature = get_finding(schedule_search)->signature,
                                .reason = get_finding(schedule_search)->verdict.reason,
                                .not_shrunk = shrunk->why,
                                .not_to_the_end = shrunk->cut,
                                .replay = writing_string(&schedule_search->replay)};
    return repro_write(schedule_search->repro, &repro);
}

static void report_broken(struct schedule_search *schedule_search, const struct shrunk *shrunk,
                          const char *repro)
{
    const struct run_finding *found = get_finding(schedule_search);
    const struct refused *refused = found->verdict.kind != VERDICT_PREMATURE
                                        ? NULL
                                        : find_refused(schedule_search->state,
                                                       found->verdict.mechanism);
    const struct report_finding finding = {.verdict = &found->verdict,
                                           .rule = name_rule(found),
                                           .message = found->message,
                                           .largest = refused == NULL ? NULL : &refused->largest,
                                           .signature = found->signature,
                                           .replay = writing_string(&schedule_search->replay),
                                           .repro = repro,
                                           .op_count = shrunk->ops.count,
                                           .lane_count = lanes_count(&shrunk->ops),
                                           .switch_count = lanes_switch_count(&shrunk->ops)};
    (void)reporter_finding(&schedule_search->reporter, REPORT_FINDING, &finding);
}

static enum exit_code save_broken(struct schedule_search *schedule_search)
{
    struct shrunk shrunk = {0};
    enum exit_code code = EXIT_KEPT;
    op_list_init(&shrunk.ops);
    writing_init(&shrunk.certificate);
    writing_clear(&schedule_search->replay);
    if (shrink_broken(schedule_search, &shrunk)) {
        get_finding(schedule_search)->verdict = shrunk.first;
    }
    if (schedule_search->run->out != NULL) {
        name_repro(schedule_search);
        code = write_repro(schedule_search, &shrunk);
    } else {
        name_search(schedule_search);
    }
    const bool is_saved = schedule_search->run->out != NULL && code == EXIT_KEPT;
    report_broken(schedule_search, &shrunk, is_saved ? schedule_search->repro : NULL);
    writing_deinit(&shrunk.certificate);
    op_list_deinit(&shrunk.ops);
    return code;
}

/* Shrinks, saves and reports the findings, one after the other.  answer has the list of each behind
 * its count of ops; of a death there is one finding, and its list is known.  The result is
 * EXIT_KEPT, or a file could not be written. */
static enum exit_code save_findings(struct schedule_search *schedule_search,
                                    const struct writing *answer, bool is_dead)
{
    const size_t count = schedule_search->state->findings.count;
    enum exit_code code = EXIT_KEPT;
    struct rest rest = rest_of(answer);
    for (size_t i = 0; i < count && code == EXIT_KEPT && !interrupt_is_requested(); i++) {
        if (!is_dead) {
            read_broken(schedule_search, &rest);
        }
        schedule_search->saved = i;
        code = save_broken(schedule_search);
    }
    return code;
}

/* --- the search --- */

static void print_start(struct schedule_search *schedule_search)
{
    struct report_start start = {.subcommand = "replay",
                                 .setup = &schedule_search->recording->setup,
                                 .file = schedule_search->path,
                                 .duration_ns = UINT64_MAX};
    lane_options_report(&schedule_search->wanted, &start.lanes);
    (void)reporter_start(&schedule_search->reporter, &start);
}

/* --- the search, in the child --- */

static void save_answer(void *context, const struct run *run, const struct verdict *verdict)
{
    const struct schedule_search *schedule_search = context;
    struct search_state *state = schedule_search->state;
    if (verdict->kind == VERDICT_PREMATURE && state->refused_count < RUN_FINDING_COUNT_MAX &&
        find_refused(state, verdict->mechanism) == NULL) {
        struct refused *refused = &state->refused[state->refused_count++];
        memcpy(refused->mechanism, verdict->mechanism, sizeof refused->mechanism);
        refused->largest = run_find_largest(run, ORACLE_LARGEST_NODES);
    }
}

/* The lists of the findings, each behind its count of ops. */
static void answer_lists(const struct search_state *state, const struct trial *trial, int file)
{
    for (size_t i = 0; i < state->findings.count; i++) {
        const struct op_list *ops = trial_list(trial, &state->findings.findings[i]);
        const uint64_t count = ops->count;
        (void)(file_write_all(file, &count, sizeof count) &&
               file_write_all(file, ops->ops, ops->count * sizeof *ops->ops));
    }
}

static void search_list(void *context, int file)
{
    struct schedule_search *schedule_search = context;
    struct search_state *state = schedule_search->state;
    const struct recording *recording = schedule_search->recording;
    const struct run_listener listener = {schedule_search, save_answer};
    const struct lanes_witness witness = last_words_witness(schedule_search->words);
    struct lanes_search search = lane_options_search(&schedule_search->wanted,
                                                     recording->setup.seed);
    struct trial trial;
    search.witness = &witness;
    state->is_refused = !lanes_search(recording->target, &recording->setup, &schedule_search->plain,
                                      &search, &listener, &trial, &state->found, state->reason);
    state->totals = trial.totals;
    if (trial.totals.not_modelled > 0) {
        message_note("the search ended: it met what is not modelled: %s", trial.why_not_modelled);
    }
    run_findings_copy(&state->findings, &trial.findings);
    run_findings_settle(&state->findings);
    answer_lists(state, &trial, file);
    trial_deinit(&trial);
    state->is_done = true;
}

/* The target never came back from a call. */
static void note_death(struct schedule_search *schedule_search, const struct death *death)
{
    struct search_state *state = schedule_search->state;
    struct run_finding *finding = &state->findings.findings[0];
    *finding = (struct run_finding){
        .verdict = {.kind = VERDICT_BROKEN, .rule = death_rule(death), .op = death->progress.op},
        .count = 1};
    state->findings.count = 1;
    death_describe(death, finding->verdict.reason);
    death_signature(death, finding->signature);
    last_words_take(schedule_search->words, &schedule_search->broken);
    state->totals.broken++;
    state->totals.schedules = state->found.schedule_count;
}

/* --- the end --- */

static void print_search(struct schedule_search *schedule_search)
{
    const struct lanes_found *found = &schedule_search->state->found;
    const struct run_totals *totals = &schedule_search->state->totals;
    char strategy[LANE_STRATEGY_TEXT_BYTES];
    struct writing *text = &schedule_search->text;
    json_open(text, "search");
    json_add_string(text, "strategy", lane_strategy_print(&schedule_search->wanted, strategy));
    json_add_number(text, "schedules", found->schedule_count);
    json_add_boolean(text, "complete", found->is_complete);
    if (schedule_search->wanted.strategy == &strategy_exhaustive) {
        json_add_number(text, "interleavings", found->interleavings);
        json_add_number(text, "pruned", found->pruned);
        json_add_number(text, "bound", found->bound);
        json_add_boolean(text, "diverged", found->diverged);
    }
    if (found->pct_depth != 0) {
        json_add_number(text, "depth", found->pct_depth);
        json_add_number(text, "n", found->pct_participants);
        json_add_number(text, "k", found->pct_decisions);
    }
    json_close(text);
    output_take_line(&schedule_search->output, text);
    lane_options_conclude(&schedule_search->wanted, found, text);
    writing_append_format(text, ", %" PRIu64 " broken\n", (totals->broken + totals->premature));
    output_take_text(&schedule_search->output, text);
    output_flush(&schedule_search->output);
}

static enum exit_code print_end(struct schedule_search *schedule_search, bool is_interrupted)
{
    struct report_end end = {.seed = schedule_search->recording->setup.seed,
                             .trials = 1,
                             .is_interrupted = is_interrupted,
                             .totals = schedule_search->state->totals,
                             .elapsed_ns = clock_now_ns() - schedule_search->start_ns};
    enum exit_code code = totals_exit_code(&end.totals);
    /* A search that was cut short has not shown that every promise is kept. */
    if (code == EXIT_KEPT && is_interrupted) {
        code = EXIT_HARNESS;
    }
    end.exit_code = (int)code;
    (void)reporter_end(&schedule_search->reporter, &end);
    return schedule_search->output.is_failed ? EXIT_HARNESS : code;
}

static enum exit_code fail_check(const struct schedule_search *schedule_search,
                                 const struct death *death)
{
    char words[DEATH_WORDS_BYTES];
    death_describe(death, words);
    return message_fail(EXIT_HARNESS, "%s: %s", schedule_search->path, words);
}

static enum exit_code run_search(struct schedule_search *schedule_search)
{
    const struct child_job job = {.work = search_list,
                                  .context = schedule_search,
                                  .is_interruptible = true,
                                  .duration_ns = UINT64_MAX};
    struct writing answer;
    const struct search_state *state = schedule_search->state;
    struct death *death = &schedule_search->words->death;
    enum exit_code code = EXIT_KEPT;
    writing_init(&answer);
    const enum child_end end = child_work(&job, &answer, death);
    if (end == CHILD_NOT_BORN) {
        code = message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    } else if (death->kind == DEATH_CHECK) {
        code = fail_check(schedule_search, death);
    } else if (death->kind != DEATH_NONE) {
        note_death(schedule_search, death);
    } else if (end == CHILD_DONE && state->is_refused) {
        code = message_fail(EXIT_USAGE, "%s: %s", schedule_search->path, state->reason);
    }
    const struct verdict *first = &state->findings.findings[0].verdict;
    if (code == EXIT_KEPT && state->findings.count > 0 && first->kind == VERDICT_DISPUTED) {
        code = message_fail(
            EXIT_HARNESS,
            "internal error: the two judges disagree on op %lu: %s. Nothing was saved. "
            "Please report this with the command line and the seed above.",
            (unsigned long)first->op, first->reason);
    } else if (code == EXIT_KEPT) {
        code = save_findings(schedule_search, &answer, death->kind != DEATH_NONE);
    }
    writing_deinit(&answer);
    if (code != EXIT_KEPT) {
        return code;
    }
    print_search(schedule_search);
    return print_end(schedule_search, end == CHILD_STOPPED && death->kind == DEATH_NONE);
}

static enum exit_code check_list(struct schedule_search *schedule_search)
{
    struct schedule_switch *switches;
    const char *wrong = lane_options_wrong(&schedule_search->wanted);
    (void)lanes_take_schedule(&schedule_search->recording->ops, &schedule_search->plain, &switches);
    free(switches);
    if (wrong != NULL) {
        return message_fail(EXIT_USAGE, "--schedules: %s", wrong);
    }
    if (!lanes_are_in(&schedule_search->plain)) {
        return message_fail(EXIT_USAGE,
                            "%s: all ops are in one lane, so there is nothing to interleave",
                            schedule_search->path);
    }
    return EXIT_KEPT;
}

static struct lane_options complete_options(const struct run_options *run,
                                            const struct setup *setup)
{
    struct lane_options wanted = run->lanes;
    if (!wanted.has_schedules && wanted.strategy == &strategy_exhaustive) {
        wanted.has_schedules = true; /* all of them */
    }
    wanted.checks_races = setup->checks_races;
    return lane_options_completed(&wanted, setup);
}

enum exit_code schedule_search_run(const char *path, const struct run_options *run,
                                   const struct recording *recording)
{
    struct schedule_search schedule_search = {.path = path,
                                              .run = run,
                                              .recording = recording,
                                              .start_ns = clock_now_ns(),
                                              .wanted = complete_options(run, &recording->setup)};
    op_list_init(&schedule_search.plain);
    op_list_init(&schedule_search.broken);
    output_init(&schedule_search.output, run->is_json);
    reporter_init(&schedule_search.reporter, output_report, &schedule_search.output);
    death_set_op_timeout(run->op_timeout_ns);
    enum exit_code code = check_list(&schedule_search);
    schedule_search.state = shared_memory_create(sizeof *schedule_search.state);
    schedule_search.words = last_words_create();
    if (code == EXIT_KEPT && (schedule_search.state == NULL || schedule_search.words == NULL)) {
        code = message_fail(EXIT_HARNESS, "cannot map shared memory: %s", strerror(errno));
    }
    if (code == EXIT_KEPT) {
        print_start(&schedule_search);
        code = run_search(&schedule_search);
    }
    last_words_destroy(schedule_search.words);
    shared_memory_destroy(schedule_search.state, sizeof *schedule_search.state);
    writing_deinit(&schedule_search.text);
    reporter_deinit(&schedule_search.reporter);
    writing_deinit(&schedule_search.replay);
    op_list_deinit(&schedule_search.plain);
    op_list_deinit(&schedule_search.broken);
    return code;
}
