#include "campaign/engine/private/campaign_state.h"

#include "campaign/base/message.h"
#include "harness/base/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How much the state on the disk may be behind. */
enum { CHECKPOINT_MS = 1000 };

static struct trials_progress *progress_create(const struct campaign *campaign)
{
    struct trials_progress *progress = calloc(campaign->plan->count, sizeof *progress);
    CHECK(progress != NULL);
    return progress;
}

static void take_progress(struct campaign *campaign)
{
    struct trials_progress *progress = progress_create(campaign);
    campaign->at->state.mark = trials_save(campaign->trials, progress);
    for (size_t i = 0; i < campaign->plan->count; i++) {
        campaign->at->parts[i].progress = progress[i];
    }
    free(progress);
}

bool campaign_save(struct campaign *campaign, bool is_due)
{
    struct checkpoint *at = campaign->at;
    const uint64_t now_ns = clock_now_ns();
    if (!is_due && now_ns - campaign->checkpoint_ns < CHECKPOINT_MS * UINT64_C(1000000)) {
        return false;
    }
    campaign->checkpoint_ns = now_ns;
    output_sync(&campaign->output);
    take_progress(campaign);
    at->state.end.elapsed_ns = campaign_elapsed_ns(campaign);
    at->state.results_bytes = campaign->output.results_bytes;
    if (campaign->is_failed || campaign->output.is_failed || campaign->is_cut) {
        return false; /* the state from before is still true */
    }
    if (checkpoint_save(at, campaign->description, campaign->repro_store.directory)) {
        return true;
    }
    (void)message_fail(EXIT_HARNESS, "%s/checkpoint: %s", campaign->repro_store.directory,
                       strerror(errno));
    campaign->is_failed = true;
    return false;
}

void campaign_restore(struct campaign *campaign)
{
    struct trials_progress *progress = progress_create(campaign);
    for (size_t i = 0; i < campaign->plan->count; i++) {
        progress[i] = campaign->at->parts[i].progress;
    }
    trials_restore(campaign->trials, &campaign->at->state.mark, progress);
    free(progress);
}
