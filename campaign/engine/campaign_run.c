#include "campaign/engine/private/campaign_state.h"

#include "campaign/base/interrupt.h"
#include "campaign/base/message.h"
#include "campaign/process/death.h"
#include "harness/base/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How long to wait for a worker before looking at the clock again. */
enum { WAIT_MS = 100 };

/* Trials that may be ahead of the next one that counts: as many as the others run while one of the
 * longest is, more while a finding is shrunk, so that the workers have something to do. */
enum { TRIALS_AHEAD_PER_WORKER = 256, TRIALS_AHEAD_SHRINKING = 4096 };

/* --- the loop --- */

static bool is_stop_due(struct campaign *campaign)
{
    if (interrupt_is_requested()) {
        campaign->at->state.end.is_interrupted = true;
    }
    if (campaign->at->state.is_disputed || campaign->at->state.end.is_interrupted) {
        return true;
    }
    return campaign_elapsed_ns(campaign) >= campaign->plan->duration_ns &&
           campaign_canary_is_settled(campaign);
}

static bool give_tasks(struct campaign *campaign)
{
    struct task task;
    const bool is_shrinking = campaign->shrink_process.child.process != 0;
    trials_set_window(campaign->trials,
                      is_shrinking ? TRIALS_AHEAD_SHRINKING
                                   : (uint64_t)campaign->worker_count * TRIALS_AHEAD_PER_WORKER);
    while (workers_have_idle(campaign->workers) && trials_next(campaign->trials, &task)) {
        if (workers_start(campaign->workers, &task)) {
            continue;
        }
        (void)message_fail(EXIT_HARNESS, "cannot start a worker: %s", strerror(errno));
        campaign->is_failed = true;
        return false;
    }
    return true;
}

static void take_answer(struct campaign *campaign)
{
    struct trial_result trial_result;
    trial_result_init(&trial_result);
    const int wait_ms = campaign->shrink_process.child.process != 0 ? WAIT_SHRINKING_MS : WAIT_MS;
    const enum workers_result result = workers_take(campaign->workers, wait_ms, &trial_result);
    if (result == WORKERS_READY) {
        trials_put(campaign->trials, &trial_result);
    }
    trial_result_deinit(&trial_result);
    if (result == WORKERS_FAILED) {
        (void)message_fail(
            EXIT_HARNESS,
            "internal error: a worker sent an answer that is not valid. Please report this.");
        campaign->is_failed = true;
    }
}

/* One turn: tasks out, one judgement in, whatever counts by now.  False: all is done. */
static bool take_turn(struct campaign *campaign)
{
    struct trial_result trial_result;
    if (is_stop_due(campaign)) {
        trials_stop(campaign->trials);
    }
    if (!give_tasks(campaign)) {
        return false;
    }
    const bool is_busy = workers_have_busy(campaign->workers);
    if (!is_busy && campaign->shrink_process.child.process == 0) {
        return false;
    }
    if (campaign->output.is_pipe_closed) { /* nobody reads any more, and there is more to do */
        campaign->at->state.end.is_interrupted = true;
        return false;
    }
    if (is_busy) {
        take_answer(campaign);
    }
    if (campaign->shrink_process.child.process != 0) {
        campaign_poll_shrinking(campaign);
    }
    while (campaign->shrink_process.child.process == 0 &&
           trials_take(campaign->trials, &trial_result)) {
        campaign_accept_trial(campaign, &trial_result);
    }
    output_flush(&campaign->output);
    if (campaign->shrink_process.child.process == 0) {
        (void)campaign_save(campaign, false);
    }
    campaign->at->state.end.elapsed_ns = campaign_elapsed_ns(campaign);
    campaign_view_show(&campaign->view, campaign->at);
    return !campaign->is_failed && !campaign->output.is_failed;
}

/* --- from start to end --- */

static enum exit_code run_trials(struct campaign *campaign)
{
    campaign->worker_count = workers_wanted(campaign->options);
    campaign_report_start(campaign);
    if (!campaign->options->is_json) {
        campaign_view_watch(&campaign->view);
    }
    campaign->start_ns = clock_now_ns();
    death_set_op_timeout(campaign->options->op_timeout_ns);
    campaign->workers = workers_create(campaign->plan, campaign->worker_count,
                                       campaign->options->trial_timeout_ns);
    if (campaign->workers == NULL) {
        return message_fail(EXIT_HARNESS, "cannot start the workers: %s", strerror(errno));
    }
    (void)campaign_save(campaign, true);
    while (take_turn(campaign)) {
        continue;
    }
    if (campaign->shrink_process.child.process !=
        0) { /* a write failed meanwhile, or nobody reads any more */
        background_stop(&campaign->shrink_process);
        trial_result_deinit(&campaign->pending);
        campaign->is_cut = true;
    }
    workers_destroy(campaign->workers);
    campaign_report_end(campaign);
    return EXIT_KEPT;
}

/* What is known: before anything is written. */
static enum exit_code read_baseline(struct campaign *campaign)
{
    const char *path = campaign->options->baseline;
    return path == NULL ? EXIT_KEPT : baseline_read(path, &campaign->baseline);
}

static enum exit_code run_prepared(struct campaign *campaign)
{
    const bool is_resumed = campaign->is_resumed;
    const struct run_options *options = campaign->options;
    const char *directory = campaign->repro_store.directory;
    enum exit_code code = read_baseline(campaign);
    if (code == EXIT_KEPT) {
        code = output_open_results(&campaign->output, directory, campaign->at->state.results_bytes);
    }
    if (code == EXIT_KEPT && !is_resumed &&
        !campaign_description_save(campaign->description, directory)) {
        code = message_fail(EXIT_HARNESS, "%s/campaign: %s", directory, strerror(errno));
    }
    if (code == EXIT_KEPT) {
        campaign->trials = trials_create(campaign->plan, options->replay_sample,
                                         TRIALS_AHEAD_PER_WORKER);
        if (is_resumed) {
            campaign_restore(campaign);
        }
        code = run_trials(campaign);
        trials_destroy(campaign->trials);
    }
    output_close(&campaign->output);
    if (code == EXIT_KEPT) {
        code = campaign_exit_code(campaign);
    }
    baseline_deinit(&campaign->baseline);
    campaign_view_deinit(&campaign->view);
    reporter_deinit(&campaign->reporter);
    writing_deinit(&campaign->shrink_process.answer);
    return code;
}

static void campaign_init(struct campaign *campaign, const struct run_options *options,
                          const struct plan *plan, const char *directory)
{
    *campaign = (struct campaign){
        .options = options, .plan = plan, .repro_store = {directory, options->shrink_budget}};
    output_init(&campaign->output, options->is_json);
    reporter_init(&campaign->reporter, campaign_put, campaign);
}

enum exit_code campaign_run(const struct run_options *options, const struct plan *plan)
{
    struct campaign campaign;
    struct campaign_description description;
    struct checkpoint checkpoint = {.parts = calloc(plan->count, sizeof *checkpoint.parts)};
    CHECK(checkpoint.parts != NULL);
    campaign_init(&campaign, options, plan, options->out == NULL ? "out" : options->out);
    campaign_describe(options, plan, &description);
    campaign.description = &description;
    campaign.at = &checkpoint;
    campaign_view_init(&campaign.view, &description, campaign.repro_store.directory);
    const enum exit_code code = run_prepared(&campaign);
    checkpoint_deinit(&checkpoint);
    campaign_description_deinit(&description);
    return code;
}

enum exit_code campaign_resume(const struct run_options *options, const struct plan *plan,
                               const char *directory, struct campaign_description *description,
                               struct checkpoint *checkpoint)
{
    struct campaign campaign;
    campaign_init(&campaign, options, plan, directory);
    campaign.description = description;
    campaign.at = checkpoint;
    campaign.is_resumed = true;
    campaign.elapsed_before_ns = checkpoint->state.end.elapsed_ns;
    checkpoint->state.end.is_interrupted = false;
    campaign_view_init(&campaign.view, description, directory);
    const enum exit_code code = run_prepared(&campaign);
    checkpoint_deinit(checkpoint);
    campaign_description_deinit(description);
    return code;
}
