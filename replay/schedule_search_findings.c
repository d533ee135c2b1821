/* Shrinks, saves and reports what a search for schedules found. */
#include "campaign/base/interrupt.h"
#include "campaign/base/repro.h"
#include "campaign/process/shrink_process.h"
#include "harness/base/check.h"
#include "recording/recording.h"
#include "replay/private/replay_parts.h"

#include <inttypes.h>
#include <string.h>

const struct refused *schedule_search_find_refused(const struct search_state *state,
                                                   const char *mechanism)
{
    for (size_t i = 0; i < state->refused_count; i++) {
        if (strcmp(state->refused[i].mechanism, mechanism) == 0) {
            return &state->refused[i];
        }
    }
    return NULL;
}

/* The next list of the answer; *at is behind it then. */
static void read_broken(struct schedule_search *schedule_search, const struct writing *bytes,
                        size_t *at)
{
    struct op op;
    uint64_t count = 0;
    op_list_clear(&schedule_search->broken);
    if (bytes->length - *at < sizeof count) {
        return;
    }
    memcpy(&count, bytes->bytes + *at, sizeof count);
    *at += sizeof count;
    for (; count > 0 && bytes->length - *at >= sizeof op; count--, *at += sizeof op) {
        memcpy(&op, bytes->bytes + *at, sizeof op);
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
                                        : schedule_search_find_refused(schedule_search->state,
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

enum exit_code schedule_search_save(struct schedule_search *schedule_search,
                                    const struct writing *answer, bool is_dead)
{
    const size_t count = schedule_search->state->findings.count;
    enum exit_code code = EXIT_KEPT;
    size_t at = 0;
    for (size_t i = 0; i < count && code == EXIT_KEPT && !interrupt_is_requested(); i++) {
        if (!is_dead) {
            read_broken(schedule_search, answer, &at);
        }
        schedule_search->saved = i;
        code = save_broken(schedule_search);
    }
    return code;
}
