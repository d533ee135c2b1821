/* A fresh instance of a target: a process in which none ever ran, kept apart for comparison.  A
 * target that answers a list otherwise there keeps state between trials. */
#ifndef CAMPAIGN_PROCESS_FRESH_H
#define CAMPAIGN_PROCESS_FRESH_H

#include "harness/run/trial.h"

/* The mechanism of what is found here. */
#define FRESH_MECHANISM "state outlives a trial"

struct fresh;

/* Forks the process that stays fresh, so it is called before any target ran in this one.  It dies
 * with this one.  NULL: it could not be started; then nothing is compared. */
struct fresh *fresh_create(void);
void fresh_destroy(struct fresh *fresh); /* NULL: nothing */

/* The trial ran in this process, and nothing ended it.  Runs its list in a child of the fresh
 * process, for ten seconds at most.  True when the target answers otherwise there: then *broken is
 * the verdict, on the first op that differs.  What that child dies of is no answer. */
bool fresh_breaks(struct fresh *fresh, const struct target *target, const struct trial *trial,
                  struct verdict *broken);

#endif
