/* Whether the values of a campaign that was read can be: its folder may come from a stranger.  What
 * is accepted here fires no CHECK later, whatever is done with it. */
#ifndef CAMPAIGN_ENGINE_CHECKPOINT_CHECK_H
#define CAMPAIGN_ENGINE_CHECKPOINT_CHECK_H

#include "campaign/engine/checkpoint.h"

/* Each returns NULL, or the field that cannot be.  Nothing of it was looked at before but
 * part_count, which counts the parts. */
const char *checkpoint_check_description(const struct campaign_description *description);
/* Findings, queue and files as well; description was accepted. */
const char *checkpoint_check_state(const struct checkpoint *checkpoint,
                                   const struct campaign_description *description);

/* The folders that campaigns write; ends with NULL.  A name of saved_files is "FOLDER/FILE" in one.
 */
extern const char *const checkpoint_folders[];

#endif
