/* The files of a campaign's folder that may come from a stranger, looked at before any is copied or
 * written to: those that its checkpoint names, results.jsonl, and the folders below. */
#ifndef CAMPAIGN_ENGINE_CAMPAIGN_FOLDER_H
#define CAMPAIGN_ENGINE_CAMPAIGN_FOLDER_H

#include "campaign/engine/checkpoint.h"

/* Calls visit for each file that the checkpoint names, as "FOLDER/FILE": of findings, and others.
 * finding is NULL for these.  Stops at the first code that is not EXIT_KEPT and returns it. */
struct campaign_folder_visitor {
    enum exit_code (*visit)(void *context, const char *name, const struct finding *finding);
    void *context;
};
enum exit_code campaign_folder_walk(const struct checkpoint *at,
                                    const struct campaign_folder_visitor *visitor);

/* EXIT_KEPT; or EXIT_USAGE after one message: a file that is there is a link or no regular file, or
 * results.jsonl is missing or shorter than the checkpoint says. */
enum exit_code campaign_folder_check(const char *directory, const struct checkpoint *at);

#endif
