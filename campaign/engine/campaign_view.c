#include "campaign/engine/campaign_view.h"

#include "campaign/base/clock.h"
#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "campaign/plan/plan.h"
#include "harness/base/check.h"
#include "harness/base/whole_file.h"
#include "harness/run/probe.h"
#include "present/reporter.h"
#include "present/screen.h"
#include "targets/targets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In a pipe the view prints a line a minute, from the first minute on. */
#define PIPE_LINE_NS UINT64_C(60000000000)

void campaign_view_init(struct campaign_view *view, const struct campaign_description *description,
                        const char *directory)
{
    const struct campaign_head *head = &description->head;
    const size_t count = head->part_count;
    *view = (struct campaign_view){.description = description,
                                   .directory = directory,
                                   .part_count = count - (head->has_canary != 0)};
    view->parts = calloc(count, sizeof *view->parts);
    view->results = calloc(count, sizeof *view->results);
    view->part_names = calloc(count, sizeof *view->part_names);
    view->probes = calloc(PROBE_COUNT, sizeof *view->probes);
    CHECK(view->parts != NULL && view->results != NULL && view->part_names != NULL &&
          view->probes != NULL);
    for (size_t i = 0; i < count; i++) {
        const struct campaign_part *part = &description->parts[i];
        view->part_names[i] = part->name;
        view->parts[i] = (struct report_part){.name = part->name,
                                              .scenario = part->setup.scenario,
                                              .setup = &part->setup,
                                              .op_count_max = part->op_count_max,
                                              .faults = part->faults,
                                              .fault_period = part->fault_period,
                                              .trace = part->trace,
                                              .job = part->job,
                                              .job_line = part->job_line,
                                              .lanes = part->lanes};
    }
    view->start = (struct report_start){
        .subcommand = "run",
        .setup = &head->setup,
        .duration_ns = head->duration_ns,
        .seed_source = head->seed_source[0] == '\0' ? NULL : head->seed_source,
        .replay_sample = head->replay_sample,
        .parts = view->parts,
        .part_count = view->part_count};
    if (head->has_canary) {
        const struct setup *setup = &description->parts[count - 1].setup;
        const struct target *target = target_find(setup->target);
        view->canary = (struct report_canary){
            .target = setup->target,
            .scenario = setup->scenario,
            .breaks = target == NULL || target->breaks == NULL ? "" : target->breaks};
    }
}

static void forget_findings(struct campaign_view *view)
{
    findings_free_report(view->known, view->known_count);
    view->known = NULL;
    view->known_count = 0;
}

void campaign_view_deinit(struct campaign_view *view)
{
    forget_findings(view);
    free(view->parts);
    free(view->results);
    free(view->part_names);
    free(view->probes);
    writing_deinit(&view->text);
    writing_deinit(&view->missed);
}

/* --- what stands --- */

/* Takes how far a part is, in the unit of its own bound.  A part without a bound is as far as the
 * time of the campaign, of which elapsed_ns have passed. */
static void take_progress(const struct campaign_head *head, const struct campaign_part *part,
                          const struct part_state *state, uint64_t elapsed_ns,
                          struct report_result *result)
{
    result->is_finished = state->progress.is_finished;
    if (part->trial_count_max != UINT64_MAX) {
        result->done = state->trials;
        result->due = part->trial_count_max / head->shard_count;
    } else if (part->op_count_max != UINT64_MAX) {
        result->done = state->progress.op_count;
        result->due = part->op_count_max / head->shard_count;
    } else if (part->duration_ns != UINT64_MAX) {
        result->done = state->elapsed_ns;
        result->due = part->duration_ns;
    } else if (head->duration_ns != UINT64_MAX) {
        result->done = elapsed_ns;
        result->due = head->duration_ns;
    }
}

static const char how_device[] = "--capacity SIZE, with one that the target accepts";

/* Takes what the part leaves out, and how to include it. */
static void take_not_tried(const struct campaign_part *part, const struct part_state *state,
                           struct report_result *result)
{
    const bool is_skipped = part->note[0] != '\0';
    const bool is_not_modelled = strstr(state->note, widen_not_modelled) != NULL;
    if (!is_skipped && state->note[0] == '\0') {
        return;
    }
    const bool is_of_lanes = is_skipped ? part->lanes.lane_count != 0 : is_not_modelled;
    const char *how = is_skipped ? part->how : is_not_modelled ? widen_how_free : how_device;
    result->note = is_skipped ? part->note : state->note;
    result->how = how[0] == '\0' ? NULL : how;
    result->not_tried = is_of_lanes ? "lanes" : part->name;
}

static void take_result(const struct campaign_view *view, const struct checkpoint *at, size_t i)
{
    const struct part_state *state = &at->parts[i];
    const struct campaign_part *part = &view->description->parts[i];
    struct report_result *result = &view->results[i];
    *result = (struct report_result){.name = part->name,
                                     .scenario = part->setup.scenario,
                                     .trials = state->trials,
                                     .totals = state->totals,
                                     .elapsed_ns = state->elapsed_ns,
                                     .finding_count = findings_shown_in(&at->findings, i),
                                     .findings_only_counted = state->findings_only_counted};
    take_progress(&view->description->head, part, state, at->state.end.elapsed_ns, result);
    take_not_tried(part, state, result);
    if (state->growing_count * 2 > state->look_count) {
        result->growing_tag = state->growing_tag;
        result->growth = state->growth;
    }
}

struct report_campaign campaign_view_report(struct campaign_view *view, const struct checkpoint *at)
{
    const struct report_end *end = &at->state.end;
    const uint64_t duration_ns = view->description->head.duration_ns;
    for (size_t i = 0; i < view->part_count; i++) {
        take_result(view, at, i);
    }
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        view->probes[i] = (struct report_probe){probe_info((enum probe)i)->name,
                                                end->totals.probes[i]};
    }
    forget_findings(view);
    view->known_count = findings_shown_count(&at->findings);
    view->known = findings_report(&at->findings, view->directory, view->part_names);
    view->canary.trials = at->state.canary_trials;
    view->canary.is_reported = at->state.is_canary_reported;
    return (struct report_campaign){
        .start = &view->start,
        .results = view->results,
        .result_count = view->part_count,
        .findings = view->known,
        .finding_count = view->known_count,
        .probes = view->probes,
        .probe_count = view->description->head.requires_probes ? PROBE_COUNT : 0,
        .canary = view->description->head.has_canary ? &view->canary : NULL,
        .end = end,
        .duration_left_ns = duration_ns == UINT64_MAX        ? UINT64_MAX
                            : end->elapsed_ns >= duration_ns ? 0
                                                             : duration_ns - end->elapsed_ns,
        .directory = view->directory,
        .certificate_count = at->state.certificate_count,
        .annotation = view->annotation};
}

/* --- while it runs --- */

static void resize_watch(struct watch *watch)
{
    const struct screen screen = screen_look(STDERR_FILENO);
    watch_resize(watch, screen.width, screen.height);
}

void campaign_view_watch(struct campaign_view *view)
{
    const struct screen screen = screen_look(STDERR_FILENO);
    const bool is_terminal = isatty(STDOUT_FILENO) && screen.has_cursor;
    watch_init(&view->watch, is_terminal, screen.has_colour);
    resize_watch(&view->watch);
    if (!is_terminal) {
        view->watch.next_ns = clock_now_ns() +
                              PIPE_LINE_NS; /* a short run says nothing in between */
    }
    view->is_watching = true;
}

static void draw_text(struct campaign_view *view)
{
    (void)writing_print(&view->text, stderr);
    (void)fflush(stderr);
    writing_clear(&view->text);
}

void campaign_view_show(struct campaign_view *view, const struct checkpoint *at)
{
    const uint64_t now_ns = clock_now_ns();
    if (!view->is_watching || !watch_is_due(&view->watch, now_ns)) {
        return;
    }
    const struct report_campaign campaign = campaign_view_report(view, at);
    resize_watch(&view->watch);
    watch_print(&view->watch, &campaign, now_ns, &view->text);
    draw_text(view);
}

void campaign_view_clear(struct campaign_view *view)
{
    if (!view->is_watching) {
        return;
    }
    watch_clear(&view->watch, &view->text);
    draw_text(view);
}

/* --- at the end --- */

static bool forget_report(const char *directory, const char *name)
{
    char path[FILE_PATH_BYTES];
    snprintf(path, sizeof path, "%.3800s/%s", directory, name);
    if (unlink(path) == 0 || errno == ENOENT) {
        return true;
    }
    (void)message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
    return false;
}

bool campaign_view_forget(const char *directory)
{
    bool is_forgotten = true;
    for (size_t i = 0; report_sinks[i] != NULL; i++) {
        if (report_sinks[i]->form == REPORT_DOCUMENT) {
            is_forgotten = forget_report(directory, report_sinks[i]->name) && is_forgotten;
        }
    }
    return is_forgotten;
}

bool campaign_view_put(const struct campaign_view *view, const char *name,
                       const struct writing *text)
{
    char path[FILE_PATH_BYTES];
    snprintf(path, sizeof path, "%.3800s/%s", view->directory, name);
    if (whole_file_write(path, text->bytes, text->length, false)) {
        return true;
    }
    (void)message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
    (void)campaign_view_forget(view->directory);
    return false;
}

const char *campaign_view_missed_probes(struct campaign_view *view, const struct checkpoint *at)
{
    writing_clear(&view->missed);
    for (unsigned i = 0; i < PROBE_COUNT && view->description->head.requires_probes; i++) {
        if (at->state.end.totals.probes[i] != 0) {
            continue;
        }
        writing_append(&view->missed, view->missed.length == 0 ? "" : ", ");
        writing_append(&view->missed, probe_info((enum probe)i)->name);
    }
    return view->missed.length == 0 ? NULL : writing_string(&view->missed);
}

static bool shows_nothing(const struct campaign_view *view, const struct checkpoint *at)
{
    return at->state.is_finished && view->description->head.duration_ns != UINT64_MAX &&
           at->state.end.trials == 0;
}

void campaign_view_say_nothing_shown(const struct campaign_view *view, const struct checkpoint *at)
{
    if (shows_nothing(view, at)) {
        (void)message_fail(EXIT_HARNESS, "no trial ended within the time of the run: it shows "
                                         "nothing. Give it more time.");
    }
}

enum exit_code campaign_view_exit_code(struct campaign_view *view, const struct checkpoint *at)
{
    const struct campaign_state *state = &at->state;
    const struct campaign_head *head = &view->description->head;
    const bool is_silent = head->has_canary && !state->is_canary_reported;
    if (state->is_disputed || shows_nothing(view, at) ||
        (state->is_finished && (is_silent || campaign_view_missed_probes(view, at) != NULL))) {
        return EXIT_HARNESS;
    }
    struct run_totals totals = state->end.totals;
    if (findings_new_count(&at->findings) == 0) {
        totals.broken = totals.premature = 0;
    } else if (totals.broken + totals.premature == 0) {
        totals.broken = 1; /* what is reported as a finding is never green */
    }
    const struct report_allowed allowed = allowance_of_run(&head->allowance, totals.ooms);
    const enum exit_code code = totals_exit_code_within(&totals, &allowed);
    /* A campaign that was cut short has not shown everything: it does not pass. */
    return code != EXIT_BROKEN && !state->is_finished ? EXIT_HARNESS : code;
}

void campaign_view_conclude(struct campaign_view *view, struct checkpoint *at)
{
    const struct campaign_head *head = &view->description->head;
    struct report_end *end = &at->state.end;
    end->seed = head->setup.seed;
    end->known_count = findings_shown_count(&at->findings) - findings_new_count(&at->findings);
    end->allowed = allowance_of_run(&head->allowance, end->totals.ooms);
    end->exit_code = (int)campaign_view_exit_code(view, at);
}
