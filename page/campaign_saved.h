/* What a campaign left in its folder to go on with, read for a page.  The folder may come from a
 * stranger: no link is followed, and each field is looked at (checkpoint.h). */
#ifndef PAGE_CAMPAIGN_SAVED_H
#define PAGE_CAMPAIGN_SAVED_H

#include "campaign/engine/checkpoint.h"
#include "page/campaign_lines.h"

struct campaign_saved {
    struct campaign_description description;
    struct checkpoint checkpoint;
};

/* NULL, or why not, perhaps in reason; "" where there is none.  deinit in any case. */
const char *campaign_saved_load(const char *directory, struct campaign_saved *saved,
                                char reason[CHECKPOINT_REASON_BYTES]);
void campaign_saved_deinit(struct campaign_saved *saved);

/* Of a campaign without an end: whether it has a canary; and, where --results-limit kept trials out
 * of its lines, totals and parts as they were saved last. */
void campaign_saved_take(struct campaign_lines *lines);

#endif
