/* A campaign: the trials of a plan, run by workers, judged, counted in their order; what breaks is
 * shrunk in the background and kept; at every moment another process could go on with it. */
#ifndef CAMPAIGN_ENGINE_CAMPAIGN_H
#define CAMPAIGN_ENGINE_CAMPAIGN_H

#include "campaign/base/message.h"
#include "campaign/engine/checkpoint.h"
#include "campaign/plan/plan.h"
#include "campaign/plan/run_options.h"
#include "present/annotation.h"

/* Runs the plan into options->out.  EXIT_KEPT or another code by what was found, after all
 * messages. */
enum exit_code campaign_run(const struct run_options *options, const struct plan *plan);

/* Goes on where *checkpoint says, in directory; plan is the one that description was made from
 * (campaign_is_of_plan). Takes over both. */
enum exit_code campaign_resume(const struct run_options *options, const struct plan *plan,
                               const char *directory, struct campaign_description *description,
                               struct checkpoint *checkpoint);

/* True if the plan decides on the same trials as the campaign's plan did. */
bool campaign_is_of_plan(const struct campaign_description *description, const struct plan *plan);

/* True if trials of that plan can have reached the state of the checkpoint. */
bool campaign_can_go_on(const struct plan *plan, const struct checkpoint *at);

/* The shards of a campaign become what one run with the same seeds would have left. */

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
