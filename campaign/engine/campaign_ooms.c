#include "campaign/engine/private/campaign_state.h"

#include "campaign/base/message.h"
#include "harness/base/json.h"
#include "present/json_lines.h"
#include "present/refusals.h"

#include <inttypes.h>
#include <string.h>

/* --- those that break no promise --- */

/* The lines of a trial's OOMs while the paths of what was saved are put in. */
struct oom_text {
    const struct writing *from;
    size_t done;
    struct writing to;
};

static void lines_add_paths(struct oom_text *lines, size_t line_end,
                            const struct report_finding *finding)
{
    if (line_end == 0) {
        return;
    }
    /* Two bytes end a line: the bracket and the newline. */
    writing_append_bytes(&lines->to, lines->from->bytes + lines->done, line_end - 2 - lines->done);
    refusals_add_largest(&lines->to, finding->largest);
    json_line_paths(&lines->to, finding->repro, finding->certificate);
    json_close(&lines->to);
    lines->done = line_end;
}

static void lines_end(struct oom_text *lines)
{
    writing_append_bytes(&lines->to, lines->from->bytes + lines->done,
                         lines->from->length - lines->done);
}

/* Returns true if the files of one more OOM of that kind are saved. */
static bool is_wanted(struct part_state *part, enum verdict_kind kind)
{
    switch (kind) {
    case VERDICT_JUSTIFIED:
        return part->justified_saved++ < TRIAL_RESULT_JUSTIFIED_COUNT_MAX;
    case VERDICT_UNKNOWN:
        return part->unknown_saved++ < TRIAL_RESULT_UNKNOWN_COUNT_MAX;
    default:
        return kind == VERDICT_DISPUTED; /* a dispute ends the run: there are few */
    }
}

void campaign_note_unsynced(struct campaign *campaign, const char *folder, const char *base,
                            const char *extension)
{
    writing_append_format(&campaign->unsynced, "%.3800s/%s/%s%s%c", campaign->repro_store.directory,
                          folder, base, extension, 0);
}

void campaign_note_saved(struct campaign *campaign, const char *folder, const char *base,
                         const char *extension)
{
    writing_append_format(&campaign->at->saved_files, "%s/%s%s%c", folder, base, extension, 0);
    /* Certificates and what breaks nothing need not be forced: other lists give them again. */
    if (strcmp(folder, "certificates") != 0 && strcmp(folder, "kept") != 0) {
        campaign_note_unsynced(campaign, folder, base, extension);
    }
}

/* Adds why the OOM came; where the whole list is kept, its diagnosis is written next to it. */
static void add_diagnosis(const struct trial_result *trial_result, const struct saved_oom *oom,
                          struct writing *diagnoses)
{
    if (!trial_result->head.task.is_kept) {
        writing_append_bytes(diagnoses, trial_result->diagnoses.bytes + oom->diagnosis_start,
                             oom->diagnosis_bytes);
    }
}

void campaign_report_premature(struct campaign *campaign, const struct trial_result *trial_result)
{
    const struct saved_oom *premature = trial_result_premature(trial_result);
    struct writing diagnosis;
    writing_init(&diagnosis);
    if (premature != NULL) {
        add_diagnosis(trial_result, premature, &diagnosis);
    }
    output_line(&campaign->output, &diagnosis);
    writing_deinit(&diagnosis);
}

/* The texts that are written together with the lines of a trial's OOMs. */
struct oom_lines {
    struct oom_text all, notable;
    struct writing diagnoses;
};

static void save_oom(struct campaign *campaign, const struct trial_result *trial_result,
                     const struct saved_oom *oom, struct oom_lines *lines)
{
    struct repro_store_paths paths;
    const struct saved_repro saved = repro_store_take_oom(&campaign->repro_store, trial_result,
                                                          oom);
    if (saved.result == REPRO_STORE_FAILED) {
        campaign_note_failure(campaign);
        return;
    }
    campaign->at->state.certificate_count++;
    const char *folder = repro_store_oom_folder(oom->verdict.kind);
    repro_store_paths_init(&paths, &campaign->repro_store, folder, saved.base);
    struct report_finding finding = campaign_finding(campaign, trial_result, &oom->verdict,
                                                     oom->message);
    finding.certificate = paths.certificate;
    finding.largest = &oom->largest;
    campaign_note_saved(campaign, "certificates", saved.base, ".json");
    campaign_note_saved(campaign, folder, saved.base, ".ops");
    campaign_add_files(&finding, &paths, &saved);
    if (oom->verdict.kind == VERDICT_UNKNOWN) {
        (void)reporter_finding(&campaign->reporter, REPORT_SAVED, &finding);
    }
    lines_add_paths(&lines->all, oom->all_end, &finding);
    lines_add_paths(&lines->notable, oom->notable_end, &finding);
    add_diagnosis(trial_result, oom, &lines->diagnoses);
}

/* Keeps what is to be saved of the OOMs that break no promise. */
static void save_ooms(struct campaign *campaign, const struct trial_result *trial_result,
                      struct oom_lines *lines)
{
    struct part_state *part = &campaign->at->parts[trial_result->head.task.part];
    for (size_t i = 0; i < trial_result->head.saved_count; i++) {
        const struct saved_oom *oom = &trial_result->head.saved[i];
        if (!campaign_is_sound(campaign)) {
            return; /* one line tells of a full disk */
        }
        const bool is_reported_elsewhere = oom->verdict.kind == VERDICT_PREMATURE ||
                                           oom->verdict.kind == VERDICT_DISPUTED;
        if (!is_reported_elsewhere && is_wanted(part, oom->verdict.kind)) {
            save_oom(campaign, trial_result, oom, lines);
        }
    }
}

/* Lines, not OOMs: those under a schedule have none. */
static uint64_t count_justified(const struct writing *lines)
{
    static const char justified[] = "\"verdict\":\"justified\"";
    uint64_t count = 0;
    const char *at = lines->length == 0 ? NULL : strstr(lines->bytes, justified);
    while (at != NULL) {
        count++;
        at = strstr(at + sizeof justified - 1, justified);
    }
    return count;
}

/* The OOMs of a trial: all of them to standard output, and to the file until that is large. */
void campaign_report_ooms(struct campaign *campaign, const struct trial_result *trial_result)
{
    struct output *output = &campaign->output;
    struct oom_lines lines = {.all = {.from = &trial_result->all},
                              .notable = {.from = &trial_result->notable}};
    save_ooms(campaign, trial_result, &lines);
    lines_end(&lines.all);
    lines_end(&lines.notable);
    output_line_to_standard(output, &lines.all.to);
    if (!campaign_results_are_full(campaign)) {
        output_line_to_results(output, &lines.all.to);
        campaign->at->state.limited_bytes += lines.all.to.length + lines.diagnoses.length;
    } else {
        output_line_to_results(output, &lines.notable.to);
        campaign->at->state.end.verdicts_omitted += count_justified(&trial_result->all);
    }
    output_line(output, &lines.diagnoses);
    writing_deinit(&lines.all.to);
    writing_deinit(&lines.notable.to);
    writing_deinit(&lines.diagnoses);
}

/* --- those on which our judges disagree --- */

/* The first one is told on standard error: nothing else of this run counts. */
static void report_alarm(struct campaign *campaign, const struct report_finding *finding)
{
    campaign->at->state.is_disputed = true;
    (void)reporter_finding(&campaign->reporter, REPORT_DISPUTE, finding);
    if (campaign->is_alarmed) {
        return;
    }
    campaign->is_alarmed = true;
    (void)message_fail(EXIT_HARNESS,
                       "internal error: the two judges disagree on op %lu, trial %" PRIu64
                       " of %s, seed %" PRIu64 ": %s. %s%s. Please report this with the command "
                       "line and the seed above.",
                       (unsigned long)finding->verdict->op, finding->place.trial,
                       finding->place.scenario, finding->seed, finding->verdict->reason,
                       finding->repro == NULL ? "Nothing was saved" : "The op list is in ",
                       finding->repro == NULL ? "" : finding->repro);
}

static void add_dispute(struct campaign *campaign, struct report_finding *finding,
                        const struct repro_store_paths *paths, const struct saved_repro *saved)
{
    campaign_add_files(finding, paths, saved);
    finding->certificate = paths->certificate;
    campaign_note_saved(campaign, "disputes", saved->base, ".ops");
    campaign_note_saved(campaign, "disputes", saved->base, ".json");
}

void campaign_report_dispute(struct campaign *campaign, const struct trial_result *trial_result)
{
    const struct saved_oom *oom = trial_result_dispute(trial_result);
    struct repro_store_paths paths;
    if (oom == NULL) {
        return;
    }
    struct report_finding finding = campaign_finding(campaign, trial_result, &oom->verdict,
                                                     oom->message);
    const struct saved_repro saved = repro_store_take_oom(&campaign->repro_store, trial_result,
                                                          oom);
    repro_store_paths_init(&paths, &campaign->repro_store, "disputes", saved.base);
    if (saved.result == REPRO_STORE_FAILED) {
        campaign_note_failure(campaign);
    } else {
        add_dispute(campaign, &finding, &paths, &saved);
    }
    report_alarm(campaign, &finding);
}

/* The checker does not accept the certificate of a shrunk list. */
void campaign_report_shrunk_dispute(struct campaign *campaign,
                                    const struct trial_result *trial_result,
                                    const struct saved_repro *saved)
{
    struct repro_store_paths paths;
    struct report_finding finding = campaign_finding(campaign, trial_result, &saved->dispute,
                                                     trial_result->head.message);
    repro_store_paths_init(&paths, &campaign->repro_store, "disputes", saved->base);
    add_dispute(campaign, &finding, &paths, saved);
    campaign->at->parts[trial_result->head.task.part].totals.disputed++;
    campaign->at->state.end.totals.disputed++;
    report_alarm(campaign, &finding);
}
