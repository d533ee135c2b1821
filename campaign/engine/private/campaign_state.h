/* A campaign while it runs, as its parts share it.  Only they, the files campaign_*.c, include it;
 * and their test, tests/campaign/engine/test_campaign_state.c. */
#ifndef CAMPAIGN_ENGINE_PRIVATE_CAMPAIGN_STATE_H
#define CAMPAIGN_ENGINE_PRIVATE_CAMPAIGN_STATE_H

#include "campaign/base/clock.h"
#include "campaign/base/message.h"
#include "campaign/engine/campaign.h"
#include "campaign/engine/campaign_view.h"
#include "campaign/engine/findings.h"
#include "campaign/engine/output.h"
#include "campaign/engine/repro_store.h"
#include "campaign/process/background.h"
#include "campaign/trials/trials.h"
#include "harness/base/writing.h"

/* The time for which everything under way may go on when the run ends early.  What ends until then
 * counts. */
#define CAMPAIGN_GRACE_NS UINT64_C(800000000)

/* The audience of a report. */
enum campaign_audience {
    AUDIENCE_ALL = 0,
    AUDIENCE_PEOPLE,  /* on a terminal */
    AUDIENCE_PROGRAMS /* JSON lines */
};

struct campaign {
    const struct run_options *options;
    const struct plan *plan;
    struct campaign_description *description;
    struct checkpoint *at;
    struct output output;
    struct repro_store repro_store;
    struct baseline baseline;
    struct trials *trials;
    struct workers *workers;
    uint32_t worker_count;
    struct background shrink_process; /* of the first one in the queue */
    struct syncer syncer;
    struct writing
        unsynced; /* paths of files that are to be forced to the disk, each with its NUL */
    enum campaign_audience audience;
    struct campaign_view view;
    uint64_t start_ns, elapsed_before_ns, checkpoint_ns;
    uint64_t stop_ns;  /* since when the run is to end before its time; 0 = it is not */
    size_t rerun_at;   /* up to where trials are run again for the queue */
    bool is_resumed;   /* it goes on where another process stopped */
    bool is_failed;    /* a message was given */
    bool is_described; /* the syncer was asked for the description */
    bool is_save_due;  /* something was found: sooner than by the clock */
    bool is_alarmed;   /* the disagreement of our judges was told */
    struct reporter reporter;
};

static inline uint64_t campaign_elapsed_ns(const struct campaign *campaign)
{
    return campaign->elapsed_before_ns + clock_now_ns() - campaign->start_ns;
}

/* True if nothing failed so far, so that a state and files may be written.  After a failure the
 * state from before is still true. */
static inline bool campaign_is_sound(const struct campaign *campaign)
{
    return !campaign->is_failed && !campaign->output.is_failed;
}

/* --- campaign_description.c --- */

void campaign_describe(const struct run_options *options, const struct plan *plan,
                       struct campaign_description *description);

/* --- campaign_ooms.c --- */

/* A file that was saved, FOLDER/BASE.EXTENSION: a merge takes it.  Those of findings are named by
 * the queue. */
void campaign_note_saved(struct campaign *campaign, const char *folder, const char *base,
                         const char *extension);
/* It is to be forced to the disk before the state names it. */
void campaign_note_unsynced(struct campaign *campaign, const char *folder, const char *base,
                            const char *extension);

/* The OOMs of a trial: keeps those that are saved, and says all of them. */
void campaign_report_ooms(struct campaign *campaign, const struct trial_result *trial_result);
/* The line that says why the premature OOM of the selected finding came, if it is one. */
void campaign_report_premature(struct campaign *campaign, const struct trial_result *trial_result);
/* Our judges disagree on one of its OOMs, or the checker on the certificate of its shrunk list. */
void campaign_report_dispute(struct campaign *campaign, const struct trial_result *trial_result);
void campaign_report_shrunk_dispute(struct campaign *campaign,
                                    const struct trial_result *trial_result,
                                    const struct saved_repro *saved);

/* --- campaign_findings.c --- */

/* Counts the findings of a trial; those worth it go into the queue.  The gravest is selected
 * behind. */
void campaign_take_findings(struct campaign *campaign, struct trial_result *trial_result);
/* True if an entry of the queue waits, or is being shrunk. */
bool campaign_is_shrinking(struct campaign *campaign);
/* Begins to shrink the first of the queue in the background, unless it is at it. */
void campaign_begin_shrinking(struct campaign *campaign);
/* Looks for the end of that; waits at most wait_ms. */
void campaign_poll_shrinking(struct campaign *campaign, int wait_ms);
/* Ends it, with what it has in the time of grace: of each finding that has no files yet one list is
 * saved as it was found. */
void campaign_cut_shrinking(struct campaign *campaign);
/* The lines of all that were in the queue. */
void campaign_report_entries(struct campaign *campaign);

/* At the end: the counted verdicts of a finding that nobody could repeat are unrepeated, too. */
void campaign_settle_unrepeated(struct campaign *campaign);

/* --- campaign_trials.c --- */

/* Counts one trial; all of it in the order of trials.  Takes over the judgement. */
void campaign_accept_trial(struct campaign *campaign, struct trial_result *trial_result);

/* --- campaign_save.c --- */

/* Writes the state, now or when it is too far behind; it takes its name when the syncer is done, in
 * a later call. */
void campaign_save(struct campaign *campaign, bool is_due);
/* The state before any trial.  That of a new campaign takes its name at once, before the disk has
 * confirmed it: whatever kills the campaign, and however slow the disk is, there is one to resume.
 */
void campaign_save_first(struct campaign *campaign);
/* The last state: waits for the syncer, but at most a moment once the run is to end before its
 * time; then one line names what may not be on the disk. */
void campaign_save_last(struct campaign *campaign);
/* After that: forces the reports to the disk, too, as far as that takes no longer. */
void campaign_sync_reports(struct campaign *campaign);
/* Removes what another process left half done, and files that no state names. */
void campaign_clean(struct campaign *campaign);

/* --- campaign_report.c --- */

/* The put of campaign->reporter; context is the campaign. */
bool campaign_put(void *context, const struct report_sink *sink, enum report_kind kind,
                  const struct writing *text);
/* A failed write was told once; no more files then. */
void campaign_note_failure(struct campaign *campaign);
/* results.jsonl and the lists that are kept are so large that what is not notable is left out. */
bool campaign_results_are_full(const struct campaign *campaign);
/* Returns the report of a trial's verdict, with the members that every verdict has. */
struct report_finding campaign_finding(const struct campaign *campaign,
                                       const struct trial_result *trial_result,
                                       const struct verdict *verdict, const char *message);
/* Adds the files that were saved of it; the paths are the caller's. */
void campaign_add_files(struct report_finding *finding, const struct repro_store_paths *paths,
                        const struct saved_repro *saved);

/* Adds its repeats, and appends its replay line to *replay.  The caller frees finding->repeats. */
void campaign_add_repeats(const struct campaign *campaign, struct report_finding *finding,
                          const struct shrink_entry *entry, struct writing *replay);

void campaign_report_start(struct campaign *campaign);
void campaign_report_end(struct campaign *campaign);
enum exit_code campaign_exit_code(struct campaign *campaign);

#endif
