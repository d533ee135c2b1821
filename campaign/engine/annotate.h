/* Prints the findings of a subcommand where GitHub or GitLab show them next to a change.  A
 * campaign does not use this: a reporter writes its documents (present/review.h). */
#ifndef CAMPAIGN_ENGINE_ANNOTATE_H
#define CAMPAIGN_ENGINE_ANNOTATE_H

#include "campaign/engine/output.h"
#include "campaign/plan/run_options.h"
#include "present/annotation.h"

/* Before anything is measured: removes the report that GitLab would read from --out (default out).
 * EXIT_KEPT, or EXIT_HARNESS after one message. */
enum exit_code annotate_begin(const struct run_options *options);

/* Prints in the form of options->annotation, and nothing without one.  That is workflow commands by
 * output_commands() and a section for the page of the step, below heading; or the report of GitLab
 * in --out, which is made.  EXIT_KEPT, or after one message another code. */
enum exit_code annotate_put(const struct run_options *options, struct output *output,
                            const char *heading, const struct annotations *annotations);

#endif
