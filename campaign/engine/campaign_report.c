#include "campaign/base/message.h"
#include "campaign/engine/findings.h"
#include "campaign/engine/private/campaign_state.h"
#include "campaign/plan/plan.h"

#include <inttypes.h>

/* Trials go to results.jsonl until that is large, and a start that is repeated does not go there.
 */
static void put_line(struct campaign *campaign, enum report_kind kind, const struct writing *text)
{
    struct output *output = &campaign->output;
    const bool is_full = kind == REPORT_TRIAL && campaign_results_are_full(campaign);
    campaign->at->state.limited_bytes += kind == REPORT_TRIAL && !is_full ? text->length : 0;
    campaign->at->state.end.trials_omitted += is_full;
    if (is_full || (kind == REPORT_START && campaign->is_resumed)) {
        output_line_to_standard(output, text);
    } else {
        output_line(output, text);
    }
}

static void put_text(struct campaign *campaign, enum report_kind kind, const struct writing *text)
{
    campaign_view_clear(&campaign->view);
    output_text(&campaign->output, text);
    if (kind == REPORT_START || kind == REPORT_FOUND || kind == REPORT_CAMPAIGN) {
        output_flush(&campaign->output);
    }
}

bool campaign_put(void *context, const struct report_sink *sink, enum report_kind kind,
                  const struct writing *text)
{
    struct campaign *campaign = context;
    switch (sink->form) {
    case REPORT_LINES:
        if (campaign->audience == AUDIENCE_PEOPLE) {
            break;
        }
        put_line(campaign, kind, text);
        break;
    case REPORT_PEOPLE:
        if (campaign->audience == AUDIENCE_PROGRAMS) {
            break;
        }
        put_text(campaign, kind, text);
        break;
    case REPORT_COMMANDS:
        output_commands(&campaign->output, text);
        output_flush(&campaign->output);
        break;
    case REPORT_STEP:
        output_step(&campaign->output, text);
        break;
    case REPORT_DOCUMENT:
        return campaign_is_sound(campaign) && campaign_view_put(&campaign->view, sink->name, text);
    }
    return !campaign->output.is_failed;
}

void campaign_note_failure(struct campaign *campaign)
{
    campaign->is_failed = campaign->output.is_silent = true;
}

bool campaign_results_are_full(const struct campaign *campaign)
{
    const struct campaign_state *state = &campaign->at->state;
    return state->limited_bytes + state->end.kept_bytes >= campaign->options->results_limit_bytes;
}

struct report_finding campaign_finding(const struct campaign *campaign,
                                       const struct trial_result *trial_result,
                                       const struct verdict *verdict, const char *message)
{
    const struct task *task = &trial_result->head.task;
    const struct part *part = &campaign->plan->parts[task->part];
    return (struct report_finding){.place = {part->name, task->trial},
                                   .verdict = verdict,
                                   .message = message,
                                   .seed = plan_trial_seed(part, task->trial)};
}

void campaign_add_files(struct report_finding *finding, const struct repro_store_paths *paths,
                        const struct saved_repro *saved)
{
    finding->repro = paths->repro;
    finding->replay = paths->replay;
    finding->op_count = saved->op_count;
}

void campaign_add_repeats(const struct campaign *campaign, struct report_finding *finding,
                          const struct shrink_entry *entry, struct writing *replay)
{
    const char *directory = campaign->repro_store.directory;
    before_append_replay(replay, directory, entry->base, entry->before_count);
    finding->replay = writing_string(replay);
    finding->repeats = before_report(directory, entry->base, entry->before_count,
                                     entry->is_unrepeated);
}

enum exit_code campaign_exit_code(struct campaign *campaign)
{
    return campaign_is_sound(campaign) ? campaign_view_exit_code(&campaign->view, campaign->at)
                                       : EXIT_HARNESS;
}

static void report_what_is_missing(struct campaign *campaign)
{
    const char *missed = campaign_view_missed_probes(&campaign->view, campaign->at);
    if (!campaign->at->state.is_finished) {
        return;
    }
    if (campaign->plan->has_canary && !campaign->at->state.is_canary_reported) {
        (void)message_fail(EXIT_HARNESS,
                           "the canary %s ran %" PRIu64
                           " times, but its defect was not reported. That this campaign "
                           "found nothing else proves nothing.",
                           canary_of(campaign->plan)->setup.target,
                           campaign->at->state.canary_trials);
    }
    campaign_view_say_nothing_shown(&campaign->view, campaign->at);
    if (missed != NULL) {
        (void)message_fail(EXIT_HARNESS, "probes that the job requires were never hit: %s", missed);
    }
}

/* Ends the rest of the queue when the run ended early, and reports the lines of the whole queue. */
static void end_queue(struct campaign *campaign)
{
    campaign_cut_shrinking(campaign);
    findings_settle(&campaign->at->findings);
    campaign_settle_unrepeated(campaign);
    if (!campaign->at->state.is_queue_told) {
        campaign->at->state.queue_bytes = campaign->output.results_bytes;
        campaign_report_entries(campaign);
        campaign->at->state.is_queue_told = campaign->at->state.is_finished;
    }
}

/* A campaign that may go on later saves its state first, so that the rest is still shrunk then. */
static void end_and_save(struct campaign *campaign)
{
    struct campaign_state *state = &campaign->at->state;
    state->is_finished = !state->end.is_interrupted && campaign_is_sound(campaign);
    if (!state->is_finished) {
        campaign_save_last(campaign);
        end_queue(campaign);
        return;
    }
    end_queue(campaign);
    campaign_save_last(campaign);
}

void campaign_report_end(struct campaign *campaign)
{
    end_and_save(campaign);
    campaign_view_conclude(&campaign->view, campaign->at);
    campaign->at->state.end.exit_code = (int)campaign_exit_code(campaign);
    campaign_view_clear(&campaign->view);
    report_what_is_missing(campaign);
    const struct report_campaign report = campaign_view_report(&campaign->view, campaign->at);
    if (!reporter_campaign(&campaign->reporter, &report)) {
        campaign->is_failed = true;
    }
    campaign_sync_reports(campaign);
}

void campaign_report_start(struct campaign *campaign)
{
    (void)reporter_start(&campaign->reporter, &campaign->view.start);
}
