#include "campaign/plan/run_options.h"

#include "campaign/base/message.h"
#include "explore/strategies/strategies.h"
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/base/writing.h"
#include "harness/lanes/lanes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WRONG_BYTES = 512, STRATEGY_COUNT_MAX = 32 };
/* No run has more preemptions than this. */
#define BOUND_MAX UINT64_C(1000000)

/* The last complaint. */
static char wrong[WRONG_BYTES];

/* The argument that a strategy accepts behind its name. */
static const struct strategy_row {
    const struct strategy_kind *strategy;
    const char *argument; /* NULL: nothing */
    uint64_t least, most;
    const char *example; /* how it is written */
} strategy_rows[] = {
    {&strategy_pct, "a depth", 1, STRATEGY_PCT_DEPTH_MAX, "pct=3"},
    {&strategy_delay, "a number of delays", 1, STRATEGY_DELAY_COUNT_MAX, "delay=3"},
    {&strategy_exhaustive, "a bound on preemptions (0 = none)", 0, BOUND_MAX, "exhaustive=2"},
};
enum { STRATEGY_ROW_COUNT = sizeof strategy_rows / sizeof *strategy_rows };

const char *lane_options_set_lanes(struct lane_options *wanted, const char *value)
{
    uint64_t count = 0;
    const bool is_none = strcmp(value, "none") == 0;
    if (!is_none && (!number_parse(value, strlen(value), &count) || count < 2 ||
                     count > LANES_CLIENT_COUNT_MAX)) {
        return "is neither none nor a number from 2 to 16";
    }
    wanted->lane_count = count;
    wanted->has_lanes = true;
    return NULL;
}

bool lane_strategy_is_search(const struct strategy_kind *strategy)
{
    return strategy != &strategy_replay;
}

static const char *complain_unknown(const char *name)
{
    const char *names[STRATEGY_COUNT_MAX];
    size_t count = 0;
    for (size_t i = 0; strategies[i] != NULL && count < STRATEGY_COUNT_MAX; i++) {
        if (lane_strategy_is_search(strategies[i])) {
            names[count++] = strategies[i]->name;
        }
    }
    return option_words_unknown("is not a strategy", name, "valid strategies", names, count);
}

static const struct strategy_row *find_strategy_row(const struct strategy_kind *strategy)
{
    for (size_t i = 0; i < STRATEGY_ROW_COUNT; i++) {
        if (strategy_rows[i].strategy == strategy) {
            return &strategy_rows[i];
        }
    }
    return NULL;
}

/* text: what follows the equals sign. */
static const char *parse_argument(const struct strategy_kind *strategy, const char *text,
                                  uint64_t *argument)
{
    const struct strategy_row *row = find_strategy_row(strategy);
    if (row == NULL) {
        snprintf(wrong, sizeof wrong, "has an argument, but strategy %s accepts none",
                 strategy->name);
        return wrong;
    }
    if (number_parse(text, strlen(text), argument) && *argument >= row->least &&
        *argument <= row->most) {
        return NULL;
    }
    snprintf(wrong, sizeof wrong, "does not give %s from %" PRIu64 " to %" PRIu64 ", as in %s",
             row->argument, row->least, row->most, row->example);
    return wrong;
}

const char *lane_options_set_strategy(struct lane_options *wanted, const char *value)
{
    char name[LANE_STRATEGY_TEXT_BYTES];
    const char *equals = strchr(value, '=');
    const size_t length = equals == NULL ? strlen(value) : (size_t)(equals - value);
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1,
             value);
    const struct strategy_kind *strategy = length < sizeof name ? strategy_find(name) : NULL;
    uint64_t argument = 0;
    if (strategy == NULL || !lane_strategy_is_search(strategy)) {
        return complain_unknown(name);
    }
    const char *complaint = equals == NULL ? NULL : parse_argument(strategy, equals + 1, &argument);
    if (complaint != NULL) {
        return complaint;
    }
    wanted->strategy = strategy;
    wanted->argument = argument;
    return NULL;
}

const char *lane_options_backend(const struct lane_options *wanted)
{
    /* By enum lane_backend. */
    static const char *const names[] = {"auto", "threads", "fibers", "free"};
    return wanted->has_backend ? names[wanted->backend] : NULL;
}

const char *lane_options_how(const struct lane_options *wanted)
{
    return wanted->has_schedules      ? "--schedules"
           : wanted->strategy != NULL ? "--strategy"
           : wanted->has_backend      ? "--backend"
           : wanted->has_races        ? "--check-races"
                                      : NULL;
}

const char *lane_options_wrong(const struct lane_options *wanted)
{
    if (wanted->backend == LANE_BACKEND_FREE && wanted->strategy != NULL) {
        return "free-running lanes follow no strategy";
    }
    if (wanted->backend == LANE_BACKEND_FREE && wanted->checks_races) {
        return "free-running lanes cannot be checked against happens-before; use the thread sanitizer";
    }
    if (wanted->has_schedules && wanted->schedule_count == 0 &&
        wanted->strategy != &strategy_exhaustive) {
        return "0 schedules means all of them, which only the strategy exhaustive can count";
    }
    return NULL;
}

struct lane_options lane_options_completed(const struct lane_options *wanted,
                                           const struct setup *setup)
{
    struct lane_options whole = *wanted;
    if (!whole.has_schedules) {
        whole.schedule_count = LANE_SCHEDULE_COUNT_DEFAULT;
    }
    if (whole.strategy == NULL) {
        whole.strategy = strategies[0];
    }
    if (whole.backend == LANE_BACKEND_AUTO) {
        whole.backend = lanes_backend(setup) == SCHEDULER_FIBERS ? LANE_BACKEND_FIBERS
                                                                 : LANE_BACKEND_THREADS;
    }
    return whole;
}

struct lanes_search lane_options_search(const struct lane_options *wanted, uint64_t seed)
{
    CHECK(wanted->strategy != NULL);
    return (struct lanes_search){
        .strategy = wanted->strategy,
        .seed = seed,
        .argument = wanted->argument,
        .schedule_count_max = wanted->schedule_count,
        .backend = wanted->backend == LANE_BACKEND_THREADS ? SCHEDULER_THREADS : SCHEDULER_FIBERS,
        .goes_on = true,
        .checks_order = wanted->checks_races,
        .is_free_running = wanted->backend == LANE_BACKEND_FREE};
}

const char *lane_strategy_print(const struct lane_options *wanted,
                                char text[LANE_STRATEGY_TEXT_BYTES])
{
    if (wanted->argument == 0) {
        snprintf(text, LANE_STRATEGY_TEXT_BYTES, "%s", wanted->strategy->name);
    } else {
        snprintf(text, LANE_STRATEGY_TEXT_BYTES, "%s=%" PRIu64, wanted->strategy->name,
                 wanted->argument);
    }
    return text;
}

void lane_options_report(const struct lane_options *wanted, struct report_lanes *report)
{
    char strategy[LANE_STRATEGY_TEXT_BYTES];
    memset(report, 0, sizeof *report);
    report->schedule_count = wanted->schedule_count;
    report->lane_count = wanted->lane_count;
    report->checks_races = wanted->checks_races;
    snprintf(report->strategy, sizeof report->strategy, "%s",
             lane_strategy_print(wanted, strategy));
    snprintf(report->backend, sizeof report->backend, "%s",
             wanted->backend == LANE_BACKEND_FREE      ? "free-running"
             : wanted->backend == LANE_BACKEND_THREADS ? "threads"
                                                       : "fibers");
}

/* --- what a search knows at its end --- */

static void conclude_exhaustive(const struct lanes_found *found, struct writing *text)
{
    char bound[64] = "";
    if (found->bound != 0) {
        snprintf(bound, sizeof bound, " (at most %" PRIu64 " preemption%s)", found->bound,
                 found->bound == 1 ? "" : "s");
    }
    if (found->diverged) {
        writing_append(
            text,
            "the same decisions gave another run the second time: the target is not deterministic; ");
    }
    if (found->is_complete) {
        writing_append_format(text,
                              "all %" PRIu64 " interleavings explored%s, %" PRIu64 " runs pruned",
                              found->interleavings, bound, found->pruned);
    } else {
        writing_append_format(
            text, "%" PRIu64 " interleavings explored%s, %" PRIu64 " runs pruned; there are more",
            found->interleavings, bound, found->pruned);
    }
}

/* 1 / (n k^(depth - 1)), as the theorem says it; as a number where that is too large. */
static void append_probability(const struct lanes_found *found, struct writing *text)
{
    uint64_t runs = found->pct_participants;
    for (uint64_t i = 1; i < found->pct_depth; i++) {
        if (__builtin_mul_overflow(runs, found->pct_decisions, &runs)) {
            writing_append_format(text, "%.3g", found->probability);
            return;
        }
    }
    writing_append_format(text, "1/%" PRIu64, runs);
}

void lane_options_conclude(const struct lane_options *wanted, const struct lanes_found *found,
                           struct writing *text)
{
    if (wanted->strategy == &strategy_exhaustive) {
        conclude_exhaustive(found, text);
        return;
    }
    if (found->probability > 0) {
        writing_append_format(text,
                              "pct: depth %" PRIu64 ", n = %" PRIu64 ", k = %" PRIu64
                              ": a defect of that depth is found with "
                              "probability at least ",
                              found->pct_depth, found->pct_participants, found->pct_decisions);
        append_probability(found, text);
        writing_append(text, " per run; ");
    }
    writing_append_format(text, "%" PRIu64 " schedule%s", found->schedule_count,
                          found->schedule_count == 1 ? "" : "s");
}
