/* Counts trials, and saves files of them whatever they show: their lists, what their targets
 * printed, and the logs of the hosts of a trial that counts steps. */
#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "campaign/base/place.h"
#include "campaign/base/repro.h"
#include "campaign/engine/private/campaign_state.h"
#include "campaign/plan/plan.h"
#include "harness/base/check.h"
#include "harness/base/whole_file.h"
#include "harness/op/ops_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Names the files that are saved of a trial: PART-SEED. */
static void print_base(const struct campaign *campaign, const struct task *task,
                       char base[FINDING_BASE_BYTES])
{
    const struct part *part = &campaign->plan->parts[task->part];
    char name[SETUP_NAME_BYTES];
    snprintf(name, sizeof name, "%s", part->name);
    file_name_clean(name); /* a section's name may be any text */
    snprintf(base, FINDING_BASE_BYTES, "%s-%" PRIu64, name, plan_trial_seed(part, task->trial));
}

/* --- lists --- */

static const char kept_folder[] = "kept";
enum { HEADLINE_BYTES = 512 };

/* Measures the length of a text that is written nowhere. */
struct measured {
    uint64_t bytes, bytes_max;
};

/* Printing ends where this fails. */
static ssize_t count_bytes(void *cookie, const char *bytes, size_t length)
{
    struct measured *measured = cookie;
    (void)bytes;
    measured->bytes += length;
    return measured->bytes > measured->bytes_max ? 0 : (ssize_t)length;
}

static void print_list(FILE *stream, const struct repro *repro)
{
    struct writing comments;
    writing_init(&comments);
    repro_append_comments(repro, &comments);
    ops_file_print(stream, repro->setup, repro->ops, writing_string(&comments));
    writing_deinit(&comments);
}

/* The bytes of its file; beyond bytes_max some number that is larger.  The text itself, several
 * times as long as the list, is nowhere in memory. */
static uint64_t measure_list(const struct repro *repro, uint64_t bytes_max)
{
    struct measured measured = {.bytes_max = bytes_max};
    FILE *stream = fopencookie(&measured, "w", (cookie_io_functions_t){.write = count_bytes});
    CHECK(stream != NULL);
    print_list(stream, repro);
    (void)fclose(stream);
    return measured.bytes;
}

/* Prints what the trial is and how it went.  If its target ended it, only the end is known. */
static void print_headline(const struct campaign *campaign, const struct trial_result_head *head,
                           char headline[HEADLINE_BYTES])
{
    const struct part *part = &campaign->plan->parts[head->task.part];
    const struct run_totals *totals = &head->totals;
    const int used = snprintf(headline, HEADLINE_BYTES,
                              "trial %" PRIu64 " of %s, seed %" PRIu64 ": ", head->task.trial,
                              part->name, plan_trial_seed(part, head->task.trial));
    if (head->end != TRIAL_RESULT_DONE) {
        snprintf(headline + used, HEADLINE_BYTES - (size_t)used, "%s", head->reason);
        return;
    }
    char schedules[48] = "";
    if (totals->schedules > 0) {
        snprintf(schedules, sizeof schedules, " under %" PRIu64 " schedules", totals->schedules);
    }
    snprintf(headline + used, HEADLINE_BYTES - (size_t)used,
             "%" PRIu64 " out-of-memor%s%s (%" PRIu64 " justified, %" PRIu64 " premature, %" PRIu64
             " unknown)",
             totals->ooms, totals->ooms == 1 ? "y" : "ies", schedules, totals->justified,
             totals->premature, totals->unknown);
}

/* The bytes are not forced to the disk: the trial gives them again. */
static bool write_kept(const char *path, const struct repro *repro)
{
    char directory[FILE_PATH_BYTES], partial[WHOLE_FILE_PATH_BYTES];
    if (!make_directory_of(path, directory)) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", directory, strerror(errno));
        return false;
    }
    FILE *stream = whole_file_begin(path, partial);
    if (stream != NULL) {
        print_list(stream, repro);
    }
    if (stream == NULL || !whole_file_end(stream, partial, path, false)) {
        (void)message_fail(EXIT_HARNESS, "%s: %s", path, strerror(errno));
        return false;
    }
    return true;
}

/* Returns how many bytes the results may still grow by. */
static uint64_t count_allowed(const struct campaign *campaign)
{
    const uint64_t most = campaign->options->results_limit_bytes;
    const uint64_t used = campaign->at->state.limited_bytes + campaign->at->state.end.kept_bytes;
    return used < most ? most - used : 0;
}

static void save_kept(struct campaign *campaign, struct trial_result *trial_result,
                      const char *base, const struct repro_store_paths *paths)
{
    struct report_end *end = &campaign->at->state.end;
    char headline[HEADLINE_BYTES];
    const struct repro repro = {.setup = &trial_result->setup,
                                .ops = &trial_result->ops,
                                .headline = headline,
                                .signature = trial_result->head.signature,
                                .replay = paths->replay};
    print_headline(campaign, &trial_result->head, headline);
    const uint64_t allowed = count_allowed(campaign);
    const uint64_t length = measure_list(&repro, allowed);
    if (length > allowed) {
        end->kept_omitted++;
    } else if (write_kept(paths->repro, &repro)) {
        end->kept_count++;
        end->kept_bytes += length;
        campaign_note_saved(campaign, kept_folder, base, ".ops");
        snprintf(trial_result->kept, sizeof trial_result->kept, "%s", paths->repro);
        output_line(&campaign->output, &trial_result->diagnoses);
        campaign->at->state.limited_bytes += trial_result->diagnoses.length;
    } else {
        campaign_note_failure(campaign);
    }
}

/* The list of a trial that is to be kept: saves it, as far as --results-limit allows, and reports
 * why it ran out of memory. */
static void keep_trial(struct campaign *campaign, struct trial_result *trial_result)
{
    const struct trial_result_head *head = &trial_result->head;
    char base[FINDING_BASE_BYTES];
    struct repro_store_paths paths;
    if (!head->task.is_kept || !head->has_list || trial_result_dispute(trial_result) != NULL ||
        !campaign_is_sound(campaign)) {
        return;
    }
    print_base(campaign, &head->task, base);
    repro_store_paths_init(&paths, &campaign->repro_store, kept_folder, base);
    save_kept(campaign, trial_result, base, &paths);
}

/* --- what the target printed --- */

static bool has_early_verdict(const struct campaign *campaign, const struct run_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *known = findings_find(&campaign->at->findings,
                                                    findings->findings[i].signature);
        if (known == NULL || known->seen_count <= OUTPUT_VERDICT_COUNT) {
            return true;
        }
    }
    return false;
}

/* The line of the trial names the file, so it must be there. */
static bool is_to_save(const struct campaign *campaign, const struct trial_result *trial_result)
{
    return trial_result->output.length > 0 && campaign_is_sound(campaign) &&
           !campaign_results_are_full(campaign) &&
           (trial_result->head.task.trial < OUTPUT_TRIAL_COUNT ||
            has_early_verdict(campaign, &trial_result->head.findings));
}

/* Saves what the target printed in that trial, if it is one of the first or has a finding that is
 * one of the first.  Returns path; NULL: nothing is saved. */
static const char *save_output(struct campaign *campaign, const struct trial_result *trial_result,
                               char path[FILE_PATH_BYTES])
{
    char base[FINDING_BASE_BYTES];
    const struct writing *output = &trial_result->output;
    if (!is_to_save(campaign, trial_result)) {
        return NULL;
    }
    print_base(campaign, &trial_result->head.task, base);
    snprintf(path, FILE_PATH_BYTES, "%.3800s/output/%s.txt", campaign->repro_store.directory, base);
    if (!place_write(path, output->bytes, output->length)) {
        campaign_note_failure(campaign);
        return NULL;
    }
    writing_append_format(&campaign->at->saved_files, "output/%s.txt%c", base, 0);
    return path;
}

/* --- logs of the hosts --- */

/* Prints the path of a log.  False: it is too long, and a message was given. */
static bool print_log_path(const struct campaign *campaign, uint32_t host,
                           char path[FILE_PATH_BYTES])
{
    const char *directory = campaign->repro_store.directory;
    const int used = host == JOB_LOG_LAUNCHER
                         ? snprintf(path, FILE_PATH_BYTES, "%s/logs/launcher.log", directory)
                         : snprintf(path, FILE_PATH_BYTES, "%s/logs/host-%" PRIu32 ".log",
                                    directory, host);
    if (used < FILE_PATH_BYTES) {
        return true;
    }
    (void)message_fail(EXIT_HARNESS, "%.3800s: the path is too long", directory);
    return false;
}

/* Saves the logs of the hosts of a trial that has some as DIR/logs/host-N.log, in the place of
 * those of a trial before.  The bytes are not forced to the disk: the trial gives them again. */
static void save_logs(struct campaign *campaign, const struct trial_result *trial_result)
{
    const struct trial_result_head *head = &trial_result->head;
    const char *from = trial_result->logs.bytes;
    if (trial_result->logs.length == 0) {
        return;
    }
    for (uint32_t host = 0; host < JOB_LOG_COUNT && !campaign->is_failed; host++) {
        char path[FILE_PATH_BYTES];
        bool is_good = print_log_path(campaign, host, path);
        if (is_good && head->log_bytes[host] == 0) {
            (void)unlink(path); /* of an earlier run, with more hosts */
        } else if (is_good) {
            is_good = place_write(path, from, head->log_bytes[host]);
        }
        if (!is_good) {
            campaign_note_failure(campaign);
        }
        from += head->log_bytes[host];
    }
}

/* --- what is counted --- */

/* Noise makes some tag grow in some trial: a scenario's tag is named when most of the trials that
 * were long enough for a look end with one that grows; then the one that grew most. */
static void part_take_growth(struct part_state *part, const struct trial_result_head *head)
{
    part->look_count += head->looked_op_count > 0;
    if (!head->is_growing) {
        return;
    }
    part->growing_count++;
    const uint64_t most = part->growth.last_bytes - part->growth.first_bytes;
    if (head->growth.last_bytes - head->growth.first_bytes <= most) {
        return;
    }
    part->growth = head->growth;
    part->growth_trial = head->task.trial;
    snprintf(part->growing_tag, sizeof part->growing_tag, "%s", head->growing_tag);
}

static void report_trial(struct campaign *campaign, const struct trial_result *trial_result)
{
    const struct trial_result_head *head = &trial_result->head;
    const struct part *part = &campaign->plan->parts[head->task.part];
    char path[FILE_PATH_BYTES];
    const struct report_trial trial = {.place = {part->name, head->task.trial},
                                       .seed = plan_trial_seed(part, head->task.trial),
                                       .totals = &head->totals,
                                       .signature = head->signature,
                                       .kept = trial_result->kept,
                                       .digest = head->digest,
                                       .output = save_output(campaign, trial_result, path)};
    (void)reporter_trial(&campaign->reporter, &trial);
}

static void count_trial(struct campaign *campaign, const struct trial_result_head *head)
{
    struct part_state *part = &campaign->at->parts[head->task.part];
    struct report_end *end = &campaign->at->state.end;
    part->trials++;
    part->elapsed_ns += head->elapsed_ns;
    run_totals_add(&part->totals, &head->totals);
    part_take_growth(part, head);
    if (head->fullest.capacity_bytes > 0) {
        memory_track_add(&part->memory,
                         (struct memory_point){part->totals.ops + part->totals.skipped,
                                               head->fullest.used_bytes,
                                               head->fullest.capacity_bytes});
    }
    end->trials++;
    end->certificates_checked += head->certificates_checked;
    run_totals_add(&end->totals, &head->totals);
}

static void take_refusal(struct campaign *campaign, const struct trial_result_head *head)
{
    struct part_state *part = &campaign->at->parts[head->task.part];
    if (!plan_trial_is_small(&campaign->plan->parts[head->task.part], head->task.trial)) {
        part->note_trial = head->task.trial;
        snprintf(part->note, sizeof part->note,
                 "ended at trial %" PRIu64 ": the target refuses its setup: %s", head->task.trial,
                 head->reason);
    } else if (part->note[0] == '\0') {
        part->note_trial = head->task.trial;
        snprintf(part->note, sizeof part->note,
                 "trial %" PRIu64 " and others like it: the target refuses a small device: %s",
                 head->task.trial, head->reason);
    }
}

/* The canary's verdicts are what is to be seen, not what is wrong. */
static void take_canary(struct campaign *campaign, const struct trial_result *trial_result)
{
    const struct part *canary = canary_of(campaign->plan);
    const struct run_findings *findings = &trial_result->head.findings;
    campaign->at->state.canary_trials++;
    for (size_t i = 0; i < findings->count && trial_result_rule(trial_result) != NULL; i++) {
        const char *rule = rule_info(findings->findings[i].verdict.rule)->name;
        campaign->at->state.is_canary_reported |= strcmp(rule, canary->target->breaks) == 0;
    }
    if (campaign->at->state.is_canary_reported ||
        campaign->at->state.canary_trials >= CANARY_TRIAL_COUNT_MAX) {
        trials_finish(campaign->trials, trial_result->head.task.part);
    }
}

/* Notes it once in a part: its other trials meet the same. */
static void note_not_modelled(const struct campaign *campaign, const struct trial_result_head *head)
{
    const struct part *part = &campaign->plan->parts[head->task.part];
    if (head->totals.not_modelled > 0 &&
        campaign->at->parts[head->task.part].totals.not_modelled == 0) {
        message_note("%s, trial %" PRIu64 " was not modelled: %s", part->name, head->task.trial,
                     head->reason);
    }
}

/* Lanes that nobody asked for: what cannot be modelled is no failure, and not tried any more.  The
 * trials of these parts count up to this one, whichever were started. */
static void end_tentative_lanes(struct campaign *campaign, struct trial_result_head *head)
{
    if (head->totals.not_modelled == 0 || !campaign->plan->parts[head->task.part].is_tentative) {
        return;
    }
    struct part_state *part = &campaign->at->parts[head->task.part];
    part->note_trial = head->task.trial;
    snprintf(part->note, sizeof part->note, "ended at trial %" PRIu64 ": %s%s", head->task.trial,
             widen_not_modelled, head->reason);
    head->totals.not_modelled = 0;
    for (size_t i = 0; i < campaign->plan->count; i++) {
        if (campaign->plan->parts[i].is_tentative) {
            trials_finish(campaign->trials, i);
        }
    }
}

/* Takes in a trial of the jobs: counts it, reports its OOMs and findings, and saves its files. */
static void take_trial(struct campaign *campaign, struct trial_result *trial_result)
{
    end_tentative_lanes(campaign, &trial_result->head);
    note_not_modelled(campaign, &trial_result->head);
    count_trial(campaign, &trial_result->head);
    campaign_report_ooms(campaign, trial_result);
    keep_trial(campaign, trial_result);
    save_logs(campaign, trial_result);
    campaign_report_dispute(campaign, trial_result);
    if (trial_result_rule(trial_result) != NULL && campaign_is_sound(campaign)) {
        campaign_take_findings(campaign, trial_result);
    }
    report_trial(campaign, trial_result);
}

/* The path of the list; false: it could not be saved. */
static bool save_list(const struct plan *plan, const struct trial_result *trial_result,
                      const char *directory, char path[OUTPUT_PATH_BYTES])
{
    const struct trial_result_head *head = &trial_result->head;
    if (!head->has_list) {
        return false;
    }
    const uint64_t seed = plan_trial_seed(&plan->parts[head->task.part], head->task.trial);
    snprintf(path, OUTPUT_PATH_BYTES, "%.3900s/disputes/failed-%" PRIu64 ".ops", directory, seed);
    const struct repro repro = {
        .setup = &trial_result->setup, .ops = &trial_result->ops, .headline = head->reason};
    return repro_write(path, &repro) == EXIT_KEPT;
}

/* A trial that a CHECK of ours ended: a fault of hbmstress, and never a finding. */
static enum exit_code report_failed(const struct plan *plan,
                                    const struct trial_result *trial_result, const char *directory)
{
    char path[OUTPUT_PATH_BYTES];
    const struct trial_result_head *head = &trial_result->head;
    const bool is_saved = save_list(plan, trial_result, directory, path);
    return message_fail(EXIT_HARNESS, "%s, in trial %" PRIu64 " of %s. %s%s. Please report this.",
                        head->reason, head->task.trial, plan->parts[head->task.part].name,
                        is_saved ? "The op list is in " : "Nothing was saved",
                        is_saved ? path : "");
}

void campaign_accept_trial(struct campaign *campaign, struct trial_result *trial_result)
{
    const struct trial_result_head *head = &trial_result->head;
    const bool is_canary = canary_of(campaign->plan) != NULL &&
                           head->task.part == campaign->plan->count - 1;
    if (head->end == TRIAL_RESULT_FAILED) {
        campaign->is_failed = report_failed(campaign->plan, trial_result,
                                            campaign->repro_store.directory) != EXIT_KEPT;
    } else if (is_canary) {
        campaign_report_dispute(campaign, trial_result);
        take_canary(campaign, trial_result);
    } else if (head->end == TRIAL_RESULT_REFUSED) {
        take_refusal(campaign, head);
    } else {
        take_trial(campaign, trial_result);
    }
    trial_result_deinit(trial_result);
}
