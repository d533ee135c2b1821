/* The lists of trials that are kept, whatever came of them. */
#include "campaign/base/file.h"
#include "campaign/base/repro.h"
#include "campaign/engine/private/campaign_state.h"
#include "harness/base/check.h"
#include "harness/base/whole_file.h"
#include "harness/op/ops_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char kept_folder[] = "kept";
enum { HEADLINE_BYTES = 512 };

/* How long a text is that goes nowhere. */
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

/* What it is, and what came of it; of a trial that its target ended only the end is known. */
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

/* How many bytes the results may still have. */
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

void campaign_keep_trial(struct campaign *campaign, struct trial_result *trial_result)
{
    const struct trial_result_head *head = &trial_result->head;
    char base[FINDING_BASE_BYTES];
    struct repro_store_paths paths;
    if (!head->task.is_kept || !head->has_list || trial_result_dispute(trial_result) != NULL ||
        !campaign_is_sound(campaign)) {
        return;
    }
    campaign_print_base(campaign, &head->task, base);
    repro_store_paths_init(&paths, &campaign->repro_store, kept_folder, base);
    save_kept(campaign, trial_result, base, &paths);
}
