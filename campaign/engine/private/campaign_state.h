/* A campaign while it runs, as its parts share it.  Only campaign.c and its parts include it:
 * campaign_description.c, campaign_end.c, campaign_findings.c, campaign_ooms.c, campaign_save.c,
 * campaign_report.c, campaign_trials.c and campaign_unrepeated.c; and their test,
 * tests/cli/test_campaign_state.c. */
#ifndef CAMPAIGN_ENGINE_PRIVATE_CAMPAIGN_STATE_H
#define CAMPAIGN_ENGINE_PRIVATE_CAMPAIGN_STATE_H

#include "campaign/base/clock.h"
#include "campaign/base/message.h"
#include "campaign/engine/baseline.h"
#include "campaign/engine/campaign.h"
#include "campaign/engine/campaign_view.h"
#include "campaign/engine/output.h"
#include "campaign/engine/repro_store.h"
#include "campaign/process/background.h"
#include "campaign/trials/workers.h"
#include "harness/base/writing.h"

/* How long to wait while a finding is shrunk, before looking again. */
enum { WAIT_SHRINKING_MS = 10 };

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
    /* files of longer repros, to be removed; superseded_count of them */
    char superseded[RUN_FINDING_COUNT_MAX][FINDING_BASE_BYTES];
    size_t superseded_count;
    struct background shrink_process; /* of `pending` */
    struct trial_result pending;      /* the next one that counts, while its findings are shrunk */
    size_t pending_finding;           /* of it: the one that is selected */
    struct campaign_view view;
    uint64_t start_ns, elapsed_before_ns, checkpoint_ns;
    bool is_resumed; /* it goes on where another process stopped */
    bool is_failed;  /* a message was given */
    bool is_cut;     /* ctrl-C cut short what was made of `pending`: who goes on begins before that
                        trial */
    bool is_alarmed; /* the disagreement of our judges was told */
    struct reporter reporter;
};

static inline uint64_t campaign_elapsed_ns(const struct campaign *campaign)
{
    return campaign->elapsed_before_ns + clock_now_ns() - campaign->start_ns;
}

/* --- campaign_description.c --- */

void campaign_describe(const struct run_options *options, const struct plan *plan,
                       struct campaign_description *description);

/* --- campaign_ooms.c --- */

/* The OOMs of a trial: keeps those that are saved, and says all of them. */
void campaign_report_ooms(struct campaign *campaign, const struct trial_result *trial_result);
/* Our judges disagree on one of its OOMs, or the checker on the certificate of its shrunk list. */
void campaign_report_dispute(struct campaign *campaign, const struct trial_result *trial_result);
void campaign_report_shrunk_dispute(struct campaign *campaign,
                                    const struct trial_result *trial_result,
                                    const struct saved_repro *saved);

/* --- campaign_findings.c --- */

/* Counts and reports the findings of `pending`, one after the other; each that is to be shrunk is
 * shrunk in the background, and campaign_poll_shrinking() goes on behind it. */
void campaign_take_findings(struct campaign *campaign);
/* Looks for the end of what is shrunk in the background.  Ctrl-C ends it and keeps the whole list.
 */
void campaign_poll_shrinking(struct campaign *campaign);

/* --- campaign_unrepeated.c --- */

/* Whether the verdict of the trial counts only if it can be repeated: nobody scheduled the lanes,
 * and it is no crash, hang or overrun. */
bool campaign_may_be_unrepeated(const struct campaign *campaign,
                                const struct trial_result *trial_result);
/* Looks for it again, for a minute at most.  *shown: the list with the schedule that shows it, or
 * empty. */
bool campaign_repeats(const struct campaign *campaign, const struct trial_result *trial_result,
                      struct op_list *shown);
/* The verdict of `pending`, counted as a finding that was not seen before, is none after all. */
void campaign_end_unrepeated(struct campaign *campaign, const struct saved_repro *saved);

/* --- campaign_trials.c --- */

/* Counts one trial; all of it in the order of trials.  Takes over the judgement: in `pending`,
 * while its finding is shrunk. */
void campaign_accept_trial(struct campaign *campaign, struct trial_result *trial_result);
void campaign_report_trial(struct campaign *campaign, const struct trial_result *trial_result);
/* The canary was reported, or there is none to wait for. */
bool campaign_canary_is_settled(const struct campaign *campaign);

/* --- campaign_save.c --- */

/* The state on the disk, now or when it is too far behind.  False: it is not due, or not there. */
bool campaign_save(struct campaign *campaign, bool is_due);
/* Brings back which trials come next; the reverse of it. */
void campaign_restore(struct campaign *campaign);

/* --- campaign_report.c --- */

/* The put of campaign->reporter; context is the campaign. */
bool campaign_put(void *context, const struct report_sink *sink, enum report_kind kind,
                  const struct writing *text);
/* A failed write was told once; no more files then. */
void campaign_note_failure(struct campaign *campaign);
/* results.jsonl is so large that it leaves out what is not notable. */
bool campaign_results_are_full(const struct campaign *campaign);
/* What is said of a trial's verdict, as far as every one has it. */
struct report_finding campaign_finding(const struct campaign *campaign,
                                       const struct trial_result *trial_result,
                                       const struct verdict *verdict, const char *message);
/* With the files that were saved of it; the paths are the caller's. */
void campaign_add_files(struct report_finding *finding, const struct repro_store_paths *paths,
                        const struct saved_repro *saved);

/* --- campaign_end.c --- */

void campaign_report_start(struct campaign *campaign);
void campaign_report_end(struct campaign *campaign);
enum exit_code campaign_exit_code(struct campaign *campaign);

#endif
