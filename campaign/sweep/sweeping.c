#include "campaign/sweep/sweep_campaign.h"

#include "campaign/base/clock.h"
#include "campaign/base/interrupt.h"
#include "campaign/sweep/private/sweep_parts.h"
#include "campaign/trials/workers.h"
#include "harness/base/check.h"
#include "present/json_lines.h"
#include "present/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_start(struct sweeping *sweeping)
{
    const struct plan *plan = sweeping->plan;
    struct report_part *parts = calloc(plan->count, sizeof *parts);
    CHECK(parts != NULL);
    for (size_t i = 0; i < plan->count; i++) {
        parts[i] = (struct report_part){.name = plan->parts[i].name,
                                        .scenario = plan->parts[i].scenario->name,
                                        .setup = &plan->parts[i].setup,
                                        .op_count_max = plan->parts[i].op_count_max,
                                        .faults = ""};
    }
    const struct report_start start = {.subcommand = "run --sweep",
                                       .setup = &plan->setup,
                                       .duration_ns = UINT64_MAX,
                                       .parts = parts,
                                       .part_count = plan->count};
    (void)reporter_start(&sweeping->reporter, &start);
    free(parts);
}

/* --- the whole --- */

static enum exit_code choose_exit_code(const struct sweeping *sweeping)
{
    if (sweeping->is_failed || sweeping->output.is_failed || sweeping->is_disputed) {
        return EXIT_HARNESS;
    }
    if (sweeping->findings > 0) {
        return EXIT_BROKEN;
    }
    if (sweeping->is_incomplete ||
        report_allowed_is_exceeded(&sweeping->end.allowed, &sweeping->end.totals)) {
        return EXIT_UNKNOWN;
    }
    /* A sweep that was cut short has not shown that every promise is kept. */
    return sweeping->is_stopped ? EXIT_HARNESS : EXIT_KEPT;
}

static void append_meaning(struct writing *text, const struct sweeping *sweeping)
{
    if (sweeping->end.is_interrupted) {
        writing_append(text, "interrupted; so far ");
    }
    if (sweeping->findings > 0) {
        writing_append_format(text, "promises broken %" PRIu64 " times", sweeping->findings);
    } else if (report_allowed_is_exceeded(&sweeping->end.allowed, &sweeping->end.totals)) {
        writing_append_format(text, "no promise broken, but %" PRIu64 " OOMs stayed unknown",
                              sweeping->end.totals.unknown);
    } else if (sweeping->is_incomplete) {
        writing_append(text, "no promise broken, but the sweep could not fail every call");
    } else {
        writing_append(text, "every promise kept");
        terminal_unknown(text, &sweeping->end);
    }
}

static void append_summary(struct writing *text, const struct sweeping *sweeping)
{
    const struct sweep_site_counts sites = sweep_sites_count(&sweeping->sites, FAULTS_REFUSING);
    append_meaning(text, sweeping);
    writing_append_format(text, ": %" PRIu64 " scenario%s, %" PRIu64 " replays, ",
                          sweeping->swept_count, sweeping->swept_count == 1 ? "" : "s",
                          sweeping->end.trials);
    if (sweeping->failed_once == sweeping->calls && sweeping->failed_for_ever == sweeping->calls) {
        writing_append_format(text, "%" PRIu64 " device calls failed once and forever, ",
                              sweeping->calls);
    } else {
        writing_append_format(
            text, "of %" PRIu64 " device calls %" PRIu64 " failed once and %" PRIu64 " forever, ",
            sweeping->calls, sweeping->failed_once, sweeping->failed_for_ever);
    }
    if (sites.plain_struck == sites.plain) {
        writing_append_format(text, "all of %" PRIu64 " call sites, ", sites.plain);
    } else {
        writing_append_format(text, "%" PRIu64 " of %" PRIu64 " call sites, ", sites.plain_struck,
                              sites.plain);
    }
    terminal_seconds(text, sweeping->end.elapsed_ns);
    writing_append_format(text, "; seed %" PRIu64 "\n", sweeping->end.seed);
}

static void print_end(struct sweeping *sweeping)
{
    struct run_totals *totals = &sweeping->end.totals;
    sweeping->end.elapsed_ns = clock_now_ns() - sweeping->start_ns;
    sweeping->end.seed = sweeping->plan->setup.seed;
    totals->broken = sweeping->findings > totals->premature ? sweeping->findings - totals->premature
                                                            : 0;
    sweeping->end.allowed = allowance_of_run(&sweeping->plan->allowance, totals->ooms);
    sweeping->end.exit_code = (int)choose_exit_code(sweeping);
    json_line_end(&sweeping->text, &sweeping->end);
    sweeping_put_line(sweeping);
    append_summary(&sweeping->text, sweeping);
    sweeping_put_text(sweeping);
}

/* Tells of the parts in their order, as soon as all before them are done; cut short, of what was
 * found until then. */
static void sweep_parts(struct sweeping *sweeping)
{
    size_t told = 0;
    bool goes_on = true, is_failed = false;
    while (goes_on) {
        goes_on = sweep_campaign_turn(sweeping->sweep_campaign, &is_failed);
        while (told < sweeping->plan->count &&
               sweep_campaign_part(sweeping->sweep_campaign, told).is_done) {
            sweeping_report_list(sweeping, told++);
        }
        if (is_failed) {
            (void)message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
            sweeping->is_failed = true;
        }
        sweeping->is_stopped = told < sweeping->plan->count && interrupt_is_requested();
        sweeping->end.is_interrupted = sweeping->is_stopped || (told < sweeping->plan->count &&
                                                                sweeping->output.is_pipe_closed);
        goes_on = goes_on && !sweeping->end.is_interrupted && !sweeping->is_failed &&
                  !sweeping->output.is_failed && !sweeping->is_disputed;
    }
    if (sweeping->end.is_interrupted) {
        sweep_campaign_stop(sweeping->sweep_campaign);
    }
    while (sweeping->end.is_interrupted && told < sweeping->plan->count) {
        sweeping_report_list(sweeping, told++);
    }
}

static enum exit_code run_sweep(struct sweeping *sweeping)
{
    const struct sweep_campaign_setup setup = {.plan = sweeping->plan,
                                               .worker_count = workers_wanted(sweeping->options),
                                               .timeout_ns = sweeping->options->trial_timeout_ns};
    sweeping->start_ns = clock_now_ns();
    sweeping->sweep_campaign = sweep_campaign_create(&setup);
    if (sweeping->sweep_campaign == NULL) {
        sweeping->output.is_failed = true; /* nothing worth a final name was written */
        return message_fail(EXIT_HARNESS, "cannot start the sweep: %s", strerror(errno));
    }
    print_start(sweeping);
    sweep_parts(sweeping);
    sweep_campaign_destroy(sweeping->sweep_campaign);
    print_end(sweeping);
    return EXIT_KEPT;
}

static enum exit_code sweep_plan(const struct run_options *options, const struct plan *plan)
{
    enum exit_code code = plan_check_work(plan, "be swept");
    if (code != EXIT_KEPT) {
        return code;
    }
    struct sweeping *sweeping = calloc(1, sizeof *sweeping);
    CHECK(sweeping != NULL);
    sweeping->options = options;
    sweeping->plan = plan;
    sweeping->directory = options->out == NULL ? "out" : options->out;
    output_init(&sweeping->output, options->is_json);
    reporter_init(&sweeping->reporter, output_report, &sweeping->output);
    death_set_op_timeout(options->op_timeout_ns);
    code = output_open_results(&sweeping->output, sweeping->directory, 0);
    if (code == EXIT_KEPT) {
        code = run_sweep(sweeping);
        output_close(&sweeping->output);
        code = code == EXIT_KEPT ? choose_exit_code(sweeping) : code;
    }
    writing_deinit(&sweeping->text);
    reporter_deinit(&sweeping->reporter);
    free(sweeping);
    return code;
}

/* Checks a part as the job describes it, like the command line, and fills in its list's length. */
static enum exit_code check_part(const char *job, struct part *part)
{
    if (!part->has_op_count_max) {
        part->op_count_max = SWEEPING_OP_COUNT_DEFAULT;
    }
    if (part->trace != NULL) {
        return message_fail(EXIT_USAGE, "%s: %s runs a trace, but --sweep accepts scenarios alone",
                            job == NULL ? "--trace" : job, part->name);
    }
    if (part->lanes.lane_count != 0) {
        return message_fail(EXIT_USAGE, "%s: %s has lanes, but --sweep accepts none", job,
                            part->name);
    }
    if (part->faults.kinds != 0) {
        return message_fail(
            EXIT_USAGE,
            "%s: %s has faults, but --sweep arms every fault itself; --faults none leaves them out",
            job, part->name);
    }
    if (part->op_count_max > LAST_OP_COUNT_MAX) {
        return message_fail(EXIT_USAGE, "%s: %s: ops: a sweep accepts at most %d", job, part->name,
                            LAST_OP_COUNT_MAX);
    }
    return EXIT_KEPT;
}

enum exit_code sweeping_run(const struct run_options *options)
{
    struct plan plan;
    enum exit_code code = plan_make(options, options->has_seed ? options->seed : clock_seed(),
                                    &plan);
    for (size_t i = 0; code == EXIT_KEPT && i < plan.count; i++) {
        code = check_part(options->job, &plan.parts[i]);
    }
    if (code == EXIT_KEPT) {
        code = sweep_plan(options, &plan);
    }
    plan_deinit(&plan);
    return code;
}
