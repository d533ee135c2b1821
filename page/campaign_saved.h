/* Reads the state that a campaign saved in its folder to go on with, for a page.  The folder may
 * come from a stranger: no link is followed, and each field is checked (checkpoint.h). */
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

/* For a campaign without an end: takes whether it has a canary.  If --results-limit kept trials out
 * of its lines, also takes totals and parts as they were saved last. */
void campaign_saved_take(struct campaign_lines *lines);

#endif
