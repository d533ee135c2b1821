/* What the references of a list mean, found by running it in a process of its own: what names a
 * block by its place among the live ones names it by number then, so that other ops can go without
 * its meaning another block. */
#ifndef CAMPAIGN_PROCESS_RESOLVE_H
#define CAMPAIGN_PROCESS_RESOLVE_H

#include "campaign/process/attempt.h"

/* *resolved, initialised by the caller, becomes the list with the references of each op resolved
 * that was reached, and of the one under way when the target died; the rest is as it was, as is all
 * of it when no process or memory could be had.  Lists with lanes are copied as they are. */
void resolve_run(const struct attempt *attempt, const struct op_list *ops,
                 struct op_list *resolved);

#endif
