/* The shards of a campaign become what one run with the same seeds would have left. */
#ifndef CAMPAIGN_ENGINE_MERGE_H
#define CAMPAIGN_ENGINE_MERGE_H

#include "campaign/base/message.h"
#include "present/annotation.h"

/* Texts belong to the caller. */
struct merge_options {
    const char *const *directories; /* directory_count of shards, in any order */
    size_t directory_count;
    const char *out;
    enum annotation_form annotation;
    bool is_json;
};

/* Writes the folder, and prints.  The code of one run of the whole campaign, or another one after
 * one message. */
enum exit_code campaign_merge(const struct merge_options *options);

#endif
