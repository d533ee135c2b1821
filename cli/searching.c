#include "cli/searching.h"

#include "cli/child.h"
#include "cli/clock.h"
#include "cli/judgement.h"
#include "cli/ops_output.h"
#include "cli/output.h"
#include "cli/repeat.h"
#include "cli/shrinking.h"
#include "explore/strategies.h"
#include "harness/base/check.h"
#include "harness/run/trial.h"
#include "reports/json_lines.h"
#include "reports/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What the child leaves behind, whatever becomes of it; shared with it. */
struct search_state {
    struct lanes_found found;
    struct run_totals totals;
    struct verdict first;
    char message[OBSERVATION_MESSAGE_BYTES]; /* the target's words to it */
    char reason[RUN_REASON_BYTES];           /* why the target cannot be run so */
    bool is_done, is_refused;
};

struct searching {
    const struct arguments *arguments;
    const struct recording *recording;
    struct lane_wish wish; /* completed */
    struct op_list plain;  /* the list without its schedule */
    struct op_list broken; /* with the schedule that breaks a promise */
    struct search_state *state;
    struct last_words *words;
    struct output output;
    struct writing text;
    uint64_t start_ns;
    char signature[SIGNATURE_BYTES];
    char repro[OUTPUT_PATH_BYTES];
    struct writing replay; /* the line that shows what broke again */
};

static void say_line(struct searching *searching)
{
    output_line(&searching->output, &searching->text);
    writing_clear(&searching->text);
}

static void say_text(struct searching *searching)
{
    output_text(&searching->output, &searching->text);
    output_flush(&searching->output);
    writing_clear(&searching->text);
}

static void say_start(struct searching *searching)
{
    struct report_start start = {.subcommand = "replay",
                                 .setup = &searching->recording->setup,
                                 .file = searching->arguments->words[0],
                                 .duration_ns = UINT64_MAX};
    lane_wish_report(&searching->wish, &start.lanes);
    json_start(&searching->text, &start);
    say_line(searching);
    terminal_start(&searching->text, &start);
    say_text(searching);
}

/* --- the search, in the child --- */

static void judged(void *context, const struct run *run, const struct verdict *verdict)
{
    struct searching *searching = context;
    if (verdict->kind == VERDICT_BROKEN || verdict->kind == VERDICT_PREMATURE ||
        verdict->kind == VERDICT_DISPUTED) {
        snprintf(searching->state->message, sizeof searching->state->message, "%s",
                 run_message(run));
    }
}

static void search_list(void *context, int file)
{
    struct searching *searching = context;
    struct search_state *state = searching->state;
    const struct recording *recording = searching->recording;
    const struct run_listener listener = {searching, judged};
    const struct lanes_witness witness = last_words_witness(searching->words);
    struct lanes_search search = lane_wish_search(&searching->wish, recording->setup.seed);
    struct trial trial;
    search.witness = &witness;
    state->is_refused = !lanes_search(recording->target, &recording->setup, &searching->plain,
                                      &search, &listener, &trial, &state->found, state->reason);
    state->totals = trial.totals;
    state->first = trial.first;
    if (state->first.kind != VERDICT_NONE) {
        (void)file_write_all(file, trial.ops.ops, trial.ops.count * sizeof *trial.ops.ops);
    }
    trial_deinit(&trial);
    state->is_done = true;
}

static void take_ops(struct searching *searching, const struct writing *bytes)
{
    struct op op;
    for (size_t at = 0; bytes->length - at >= sizeof op; at += sizeof op) {
        memcpy(&op, bytes->bytes + at, sizeof op);
        op_list_append(&searching->broken, &op);
    }
    signature_print(&searching->state->first, &searching->broken, searching->signature);
}

/* The target never came back from a call. */
static void take_death(struct searching *searching, const struct death *death)
{
    struct search_state *state = searching->state;
    state->first = (struct verdict){
        .kind = VERDICT_BROKEN, .rule = death_rule(death), .op = death->progress.op};
    death_describe(death, state->first.reason);
    death_signature(death, searching->signature);
    last_words_take(searching->words, &searching->broken);
    state->totals.broken++;
    state->totals.schedules = state->found.schedule_count;
}

/* --- what broke --- */

/* False: it stays as it is, and shrunk->why says why. */
static bool shrink_broken(struct searching *searching, struct shrunk *shrunk)
{
    const struct shrinking shrinking = {.target = searching->recording->target,
                                        .setup = &searching->recording->setup,
                                        .ops = &searching->broken,
                                        .signature = searching->signature,
                                        .replay_count_max = searching->arguments->shrink_budget};
    if (searching->arguments->shrink_budget == 0) {
        snprintf(shrunk->why, sizeof shrunk->why, "the budget is 0");
    } else if (shrinking_run(&shrinking, shrunk) == SHRINKING_DONE) {
        return true;
    }
    op_list_copy(&shrunk->ops, &searching->broken);
    return false;
}

static const char *rule_of(const struct verdict *first)
{
    return rule_info(first->kind == VERDICT_PREMATURE ? RULE_PREMATURE : first->rule)->name;
}

/* OUT/repros/RULE-FILE-SEED.ops */
static void name_repro(struct searching *searching)
{
    const char *path = searching->arguments->words[0];
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const size_t length = strlen(name);
    const size_t shown = length > 4 && strcmp(name + length - 4, ".ops") == 0 ? length - 4 : length;
    snprintf(searching->repro, sizeof searching->repro, "%.3600s/repros/%s-%.*s-%llu.ops",
             searching->arguments->out, rule_of(&searching->state->first),
             shown > 96 ? 96 : (int)shown, name,
             (unsigned long long)searching->recording->setup.seed);
    writing_append(&searching->replay, "hbmstress replay");
    repeat_word(&searching->replay, searching->repro);
}

/* Without a place for the repro: the line that finds it again and keeps it. */
static void name_search(struct searching *searching)
{
    const struct arguments *arguments = searching->arguments;
    struct writing *text = &searching->replay;
    char strategy[LANE_STRATEGY_TEXT_BYTES];
    writing_append(text, "hbmstress replay");
    repeat_word(text, arguments->words[0]);
    repeat_setup(text, arguments);
    writing_append_format(text, " --strategy %s --schedules %llu --seed %llu",
                          lane_strategy_print(&searching->wish, strategy),
                          (unsigned long long)searching->wish.schedule_count,
                          (unsigned long long)searching->recording->setup.seed);
    repeat_option(text, "--backend", lane_wish_backend(&arguments->lanes));
    writing_append(text, searching->recording->setup.checks_races ? " --check-races --out DIR"
                                                                  : " --out DIR");
}

static enum exit_code write_repro(const struct searching *searching, const struct shrunk *shrunk)
{
    char folder[OUTPUT_PATH_BYTES];
    struct writing comments;
    snprintf(folder, sizeof folder, "%.3600s/repros", searching->arguments->out);
    if (!make_directories(folder)) {
        return message_fail(EXIT_HARNESS, "%s: %m", folder);
    }
    writing_init(&comments);
    comment_append(&comments, "signature: ", searching->signature);
    comment_append(&comments, "reason: ", searching->state->first.reason);
    comment_append(&comments, "not shrunk: ", shrunk->why);
    comment_append(&comments, "not shrunk to the end: ", shrunk->cut);
    comment_append_lanes(&comments, &shrunk->ops);
    comment_append(&comments, "again: ", writing_string(&searching->replay));
    comments.bytes[--comments.length] = '\0'; /* ops_file_print ends the last line itself */
    const enum exit_code code = ops_output(searching->repro, &searching->recording->setup,
                                           &shrunk->ops, writing_string(&comments));
    writing_deinit(&comments);
    return code;
}

static enum exit_code keep_broken(struct searching *searching)
{
    struct shrunk shrunk = {0};
    enum exit_code code = EXIT_KEPT;
    op_list_init(&shrunk.ops);
    writing_init(&shrunk.certificate);
    if (shrink_broken(searching, &shrunk)) {
        searching->state->first = shrunk.first;
    }
    if (searching->arguments->out != NULL) {
        name_repro(searching);
        code = write_repro(searching, &shrunk);
    } else {
        name_search(searching);
    }
    const struct report_finding finding = {
        .verdict = &searching->state->first,
        .rule = rule_of(&searching->state->first),
        .message = searching->state->message,
        .signature = searching->signature,
        .replay = writing_string(&searching->replay),
        .repro = searching->arguments->out == NULL || code != EXIT_KEPT ? NULL : searching->repro,
        .op_count = shrunk.ops.count,
        .lane_count = lanes_count(&shrunk.ops),
        .switch_count = lanes_switch_count(&shrunk.ops)};
    json_finding(&searching->text, &finding);
    say_line(searching);
    terminal_finding(&searching->text, &finding);
    say_text(searching);
    writing_deinit(&shrunk.certificate);
    op_list_deinit(&shrunk.ops);
    return code;
}

/* --- the end --- */

static void say_search(struct searching *searching)
{
    const struct lanes_found *found = &searching->state->found;
    const struct run_totals *totals = &searching->state->totals;
    char strategy[LANE_STRATEGY_TEXT_BYTES];
    struct writing *text = &searching->text;
    line_open(text, "search");
    line_string(text, "strategy", lane_strategy_print(&searching->wish, strategy));
    line_number(text, "schedules", found->schedule_count);
    line_boolean(text, "complete", found->is_complete);
    if (searching->wish.strategy == &strategy_exhaustive) {
        line_number(text, "interleavings", found->interleavings);
        line_number(text, "pruned", found->pruned);
        line_number(text, "bound", found->bound);
        line_boolean(text, "diverged", found->diverged);
    }
    if (found->pct_depth != 0) {
        line_number(text, "depth", found->pct_depth);
        line_number(text, "n", found->pct_participants);
        line_number(text, "k", found->pct_decisions);
    }
    line_close(text);
    say_line(searching);
    lane_wish_conclude(&searching->wish, found, text);
    writing_append_format(text, ", %llu broken\n",
                          (unsigned long long)(totals->broken + totals->premature));
    say_text(searching);
}

static enum exit_code say_end(struct searching *searching, bool is_interrupted)
{
    struct report_end end = {.seed = searching->recording->setup.seed,
                             .trials = 1,
                             .is_interrupted = is_interrupted,
                             .totals = searching->state->totals,
                             .elapsed_ns = clock_now_ns() - searching->start_ns};
    enum exit_code code = totals_exit_code(&end.totals);
    /* A search that was cut short has not shown that every promise is kept. */
    if (code == EXIT_KEPT && is_interrupted) {
        code = EXIT_HARNESS;
    }
    end.exit_code = (int)code;
    json_end(&searching->text, &end);
    say_line(searching);
    terminal_end(&searching->text, &end);
    say_text(searching);
    return searching->output.is_failed ? EXIT_HARNESS : code;
}

static enum exit_code fail_check(const struct searching *searching, const struct death *death)
{
    char words[DEATH_WORDS_BYTES];
    death_describe(death, words);
    return message_fail(EXIT_HARNESS, "%s: %s", searching->arguments->words[0], words);
}

static enum exit_code searching_work(struct searching *searching)
{
    const struct child_job job = {.work = search_list,
                                  .context = searching,
                                  .interruptible = true,
                                  .duration_ns = UINT64_MAX};
    struct writing answer;
    struct search_state *state = searching->state;
    struct death *death = &searching->words->death;
    enum exit_code code = EXIT_KEPT;
    writing_init(&answer);
    const enum child_end end = child_work(&job, &answer, death);
    if (end == CHILD_NOT_BORN) {
        code = message_fail(EXIT_HARNESS, "no process could be had: %m");
    } else if (death->kind == DEATH_CHECK) {
        code = fail_check(searching, death);
    } else if (death->kind != DEATH_NONE) {
        take_death(searching, death);
    } else if (end == CHILD_DONE && state->is_refused) {
        code = message_fail(EXIT_USAGE, "%s: %s", searching->arguments->words[0], state->reason);
    } else if (state->first.kind != VERDICT_NONE) {
        take_ops(searching, &answer);
    }
    writing_deinit(&answer);
    if (code == EXIT_KEPT && state->first.kind == VERDICT_DISPUTED) {
        code = message_fail(EXIT_HARNESS, "the judges disagree: op %lu: %s; a fault of hbmstress",
                            (unsigned long)state->first.op, state->first.reason);
    } else if (code == EXIT_KEPT && state->first.kind != VERDICT_NONE) {
        code = keep_broken(searching);
    }
    if (code != EXIT_KEPT) {
        return code;
    }
    say_search(searching);
    return say_end(searching, end == CHILD_STOPPED && death->kind == DEATH_NONE);
}

static enum exit_code check_list(struct searching *searching)
{
    struct schedule_switch *switches;
    const char *wrong = lane_wish_wrong(&searching->wish);
    (void)lanes_take_schedule(&searching->recording->ops, &searching->plain, &switches);
    free(switches);
    if (wrong != NULL) {
        return message_fail(EXIT_USAGE, "--schedules: %s", wrong);
    }
    if (!lanes_are_in(&searching->plain)) {
        return message_fail(EXIT_USAGE,
                            "%s: its ops are all of one lane: there is nothing to interleave",
                            searching->arguments->words[0]);
    }
    return EXIT_KEPT;
}

static struct lane_wish wish_of(const struct arguments *arguments, const struct setup *setup)
{
    struct lane_wish wish = arguments->lanes;
    if (!wish.has_schedules && wish.strategy == &strategy_exhaustive) {
        wish.has_schedules = true; /* all of them */
    }
    wish.checks_races = setup->checks_races;
    return lane_wish_completed(&wish, setup);
}

enum exit_code searching_run(const struct arguments *arguments, const struct recording *recording)
{
    struct searching searching = {.arguments = arguments,
                                  .recording = recording,
                                  .start_ns = clock_now_ns(),
                                  .wish = wish_of(arguments, &recording->setup)};
    op_list_init(&searching.plain);
    op_list_init(&searching.broken);
    output_init(&searching.output, arguments->json);
    death_set_op_timeout(arguments->op_timeout_ns);
    enum exit_code code = check_list(&searching);
    void *memory = mmap(NULL, sizeof(struct search_state), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    searching.words = last_words_create();
    if (code == EXIT_KEPT && (memory == MAP_FAILED || searching.words == NULL)) {
        code = message_fail(EXIT_HARNESS, "no memory could be had: %m");
    }
    if (code == EXIT_KEPT) {
        searching.state = memory;
        say_start(&searching);
        code = searching_work(&searching);
    }
    if (searching.words != NULL) {
        last_words_destroy(searching.words);
    }
    if (memory != MAP_FAILED) {
        (void)munmap(memory, sizeof(struct search_state));
    }
    writing_deinit(&searching.text);
    writing_deinit(&searching.replay);
    op_list_deinit(&searching.plain);
    op_list_deinit(&searching.broken);
    return code;
}
