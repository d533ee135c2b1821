/* Names of the command line and of files to the things they name, with one message when there is
 * no such thing. */
#ifndef CAMPAIGN_PLAN_LOOKUP_H
#define CAMPAIGN_PLAN_LOOKUP_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"
#include "harness/generate/scenario.h"
#include "harness/op/setup.h"
#include "harness/target.h"

/* Each returns EXIT_KEPT and sets its output, or EXIT_USAGE after one message.  Targets and
 * plug-ins stay valid until the program ends. */
enum exit_code lookup_target(const char *name, const struct target **target);
/* Like lookup_target(), for the target that a list at that path names (base/target_path.h). */
enum exit_code lookup_target_of_list(const char *list, const char *name,
                                     const struct target **target);
enum exit_code lookup_scenario(const char *name, const struct scenario **scenario);
enum exit_code lookup_chip(const char *name, const struct chip **chip);

/* The scenario with the most similar name; NULL: none is near. */
const char *lookup_nearest_scenario(const char *name);

/* Puts what the command line fixes over *setup: target, options, chip or capacity, hosts, seed,
 * regrets. */
enum exit_code setup_override(struct setup *setup, const struct run_options *options);

/* A path as the message of a failed read: "FILE:LINE:COLUMN: reason", without what is 0. */
enum exit_code fail_in_file(const char *path, size_t line, size_t column, const char *reason);

#endif
