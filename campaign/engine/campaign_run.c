#include "campaign/engine/private/campaign_state.h"

#include "campaign/base/interrupt.h"
#include "campaign/base/message.h"
#include "campaign/process/death.h"
#include "harness/base/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The time to wait for a worker before the clock is read again; less while a finding is
 * shrunk. */
enum { WAIT_MS = 100, WAIT_SHRINKING_MS = 10 };

/* Trials that may be ahead of the next one that counts: as many as the others run while one of the
 * longest is. */
enum { TRIALS_AHEAD_PER_WORKER = 256 };

#define STUCK_NS_MIN UINT64_C(2000000000)

/* --- the loop --- */

/* Asks everything that is under way to end. */
static void begin_stop(struct campaign *campaign)
{
    if (campaign->stop_ns == 0) {
        campaign->stop_ns = clock_now_ns();
        background_ask_to_end(&campaign->shrink_process);
    }
    trials_stop(campaign->trials);
}

static void look_for_stop(struct campaign *campaign)
{
    struct campaign_state *state = &campaign->at->state;
    state->end.is_interrupted = state->end.is_interrupted || interrupt_is_requested() ||
                                campaign->output.is_pipe_closed;
    const bool is_over = campaign_elapsed_ns(campaign) >= campaign->plan->duration_ns;
    if (state->end.is_interrupted || is_over) {
        begin_stop(campaign);
    } else if (state->is_disputed) {
        trials_stop(campaign->trials);
    }
}

static bool is_out_of_grace(const struct campaign *campaign)
{
    return campaign->stop_ns != 0 && clock_now_ns() - campaign->stop_ns >= CAMPAIGN_GRACE_NS;
}

/* Trials that the queue waits for come first. */
static bool next_task(struct campaign *campaign, struct task *task)
{
    return (campaign->stop_ns == 0 &&
            shrink_queue_missing(&campaign->at->queue, &campaign->rerun_at, task)) ||
           trials_next(campaign->trials, task);
}

static bool give_tasks(struct campaign *campaign)
{
    struct task task;
    while (workers_have_idle(campaign->workers) && next_task(campaign, &task)) {
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
    if (result == WORKERS_READY && !shrink_queue_put(&campaign->at->queue, &trial_result)) {
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

static void count_trials(struct campaign *campaign)
{
    struct trial_result trial_result;
    while (trials_take(campaign->trials, &trial_result)) {
        campaign_accept_trial(campaign, &trial_result);
    }
}

/* Takes one turn: gives tasks, takes one judgement, and counts all that can be counted by now.
 * False: all is done, or the time for it is over. */
static bool take_turn(struct campaign *campaign)
{
    look_for_stop(campaign);
    if (!give_tasks(campaign) || is_out_of_grace(campaign)) {
        return false;
    }
    const bool is_busy = workers_have_busy(campaign->workers);
    const bool is_stopping = campaign->stop_ns != 0;
    if (!is_busy && (is_stopping || !campaign_is_shrinking(campaign))) {
        return false;
    }
    if (is_busy) {
        take_answer(campaign);
    }
    if (!is_stopping) { /* what is cut short is for the end alone, not for who goes on */
        campaign_poll_shrinking(campaign, is_busy ? 0 : WAIT_SHRINKING_MS);
    }
    count_trials(campaign);
    if (!is_stopping) {
        campaign_begin_shrinking(campaign);
    }
    output_flush(&campaign->output);
    campaign_save(campaign, false);
    campaign->at->state.end.elapsed_ns = campaign_elapsed_ns(campaign);
    campaign_view_show(&campaign->view, campaign->at);
    return campaign_is_sound(campaign);
}

/* A call that was under way for so long when the time was over hangs: half of the time, and 2 s. */
static uint64_t stuck_call_ns(const struct campaign *campaign)
{
    const uint64_t half_ns = campaign->plan->duration_ns / 2;
    return half_ns > STUCK_NS_MIN ? half_ns : STUCK_NS_MIN;
}

/* When the time is over, a trial that waits for a call counts as a hang, out of order: no later
 * trial goes on. */
static void count_stuck_trials(struct campaign *campaign)
{
    struct trial_result trial_result;
    const bool is_over = campaign->stop_ns != 0 && !campaign->at->state.end.is_interrupted;
    trial_result_init(&trial_result);
    while (is_over && !campaign->is_failed &&
           workers_take_stuck(campaign->workers, stuck_call_ns(campaign), &trial_result)) {
        campaign_accept_trial(campaign, &trial_result);
        trial_result_init(&trial_result);
    }
}

/* --- from start to end --- */

static enum exit_code start_helpers(struct campaign *campaign)
{
    death_set_op_timeout(campaign->options->op_timeout_ns);
    if (!syncer_start(&campaign->syncer)) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    campaign->workers = workers_create(campaign->plan, campaign->worker_count,
                                       campaign->options->trial_timeout_ns);
    return campaign->workers == NULL
               ? message_fail(EXIT_HARNESS, "cannot start the workers: %s", strerror(errno))
               : EXIT_KEPT;
}

static enum exit_code run_trials(struct campaign *campaign)
{
    campaign->worker_count = workers_wanted(campaign->options);
    campaign_report_start(campaign);
    if (!campaign->options->is_json) {
        campaign_view_watch(&campaign->view);
    }
    const uint64_t begin_ns = campaign->plan->begin_ns;
    campaign->start_ns = begin_ns == 0 || campaign->is_resumed ? clock_now_ns() : begin_ns;
    const enum exit_code code = start_helpers(campaign);
    if (code == EXIT_KEPT) {
        campaign_save_first(campaign);
        while (take_turn(campaign)) {
            continue;
        }
        count_stuck_trials(campaign);
        workers_destroy(campaign->workers);
        campaign_report_end(campaign);
    }
    syncer_stop(&campaign->syncer);
    checkpoint_unstage(campaign->repro_store.directory); /* a failed run has no use for it */
    return code;
}

static enum exit_code run_prepared(struct campaign *campaign)
{
    const bool is_resumed = campaign->is_resumed;
    const struct run_options *options = campaign->options;
    const char *directory = campaign->repro_store.directory;
    struct checkpoint *at = campaign->at;
    /* Before anything is written. */
    enum exit_code code = options->baseline == NULL
                              ? EXIT_KEPT
                              : baseline_read(options->baseline, &campaign->baseline);
    at->state.end.has_baseline = options->baseline != NULL;
    campaign->view.annotation = options->annotation;
    if (code == EXIT_KEPT) {
        code = output_open_results(&campaign->output, directory, at->state.results_bytes);
    }
    if (code == EXIT_KEPT && !is_resumed &&
        !campaign_description_save(campaign->description, directory)) {
        code = message_fail(EXIT_HARNESS, "%s/campaign: %s", directory, strerror(errno));
    }
    if (code == EXIT_KEPT) {
        campaign->trials = trials_create(campaign->plan, options->replay_sample,
                                         TRIALS_AHEAD_PER_WORKER);
        campaign_clean(campaign);
        if (is_resumed) {
            trials_restore(campaign->trials, &at->state.mark, &at->parts->progress,
                           sizeof *at->parts);
        }
        code = run_trials(campaign);
        trials_destroy(campaign->trials);
    }
    output_close(&campaign->output);
    code = code == EXIT_KEPT ? campaign_exit_code(campaign) : code;
    baseline_deinit(&campaign->baseline);
    campaign_view_deinit(&campaign->view);
    reporter_deinit(&campaign->reporter);
    writing_deinit(&campaign->shrink_process.answer);
    writing_deinit(&campaign->unsynced);
    return code;
}

static struct campaign make_campaign(const struct run_options *options, const struct plan *plan,
                                     const char *directory)
{
    return (struct campaign){
        .options = options,
        .plan = plan,
        .repro_store = {directory, options->shrink_budget, plan->shard_count > 1, plan}};
}

/* Takes over both. */
static enum exit_code run_with(struct campaign *campaign, struct campaign_description *description,
                               struct checkpoint *at)
{
    campaign->description = description;
    campaign->at = at;
    output_init(&campaign->output, campaign->options->is_json);
    campaign->output.is_of_github = campaign->options->annotation == ANNOTATION_GITHUB;
    reporter_init(&campaign->reporter, campaign_put, campaign);
    campaign_view_init(&campaign->view, description, campaign->repro_store.directory);
    const enum exit_code code = run_prepared(campaign);
    checkpoint_deinit(at);
    campaign_description_deinit(description);
    return code;
}

enum exit_code campaign_run(const struct run_options *options, const struct plan *plan)
{
    struct campaign campaign = make_campaign(options, plan,
                                             options->out == NULL ? "out" : options->out);
    struct campaign_description description;
    struct checkpoint checkpoint = {.parts = calloc(plan->count, sizeof *checkpoint.parts)};
    CHECK(checkpoint.parts != NULL);
    campaign_describe(options, plan, &description);
    return run_with(&campaign, &description, &checkpoint);
}

enum exit_code campaign_resume(const struct run_options *options, const struct plan *plan,
                               const char *directory, struct campaign_description *description,
                               struct checkpoint *checkpoint)
{
    struct campaign campaign = make_campaign(options, plan, directory);
    campaign.is_resumed = true;
    campaign.elapsed_before_ns = checkpoint->state.end.elapsed_ns;
    checkpoint->state.end.is_interrupted = false;
    return run_with(&campaign, description, checkpoint);
}
