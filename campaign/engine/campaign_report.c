#include "campaign/engine/private/campaign_state.h"

#include "reports/terminal.h"

void campaign_say_line(struct campaign *campaign)
{
    output_line(&campaign->output, &campaign->text);
    writing_clear(&campaign->text);
}

void campaign_say_text(struct campaign *campaign)
{
    campaign_view_clear(&campaign->view);
    output_text(&campaign->output, &campaign->text);
    writing_clear(&campaign->text);
}

void campaign_say_kept(struct campaign *campaign, const struct report_finding *finding)
{
    terminal_finding(&campaign->text, finding);
    campaign_say_text(campaign);
}

void campaign_take_failure(struct campaign *campaign)
{
    campaign->is_failed = campaign->output.is_silent = true;
}

bool campaign_results_are_full(const struct campaign *campaign)
{
    return campaign->output.results_bytes >= campaign->options->results_limit_bytes;
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
                        const struct kept *kept)
{
    finding->repro = paths->repro;
    finding->replay = paths->replay;
    finding->op_count = kept->op_count;
}
