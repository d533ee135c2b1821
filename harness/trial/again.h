/* Runs a list once more, and shows whether it gives the same observations, whether the target
 * writes beyond its host memory (the pieces are guarded then), and whether each run leaves memory
 * of the process behind. */
#ifndef HARNESS_TRIAL_AGAIN_H
#define HARNESS_TRIAL_AGAIN_H

#include "harness/run/run.h"
#include "harness/run/trial.h"

/* Nothing ended the trial, whatever else it found.  Runs its list again in this process: once, and
 * while each run leaves memory behind up to 4 times that can be compared
 * (harness/trial/process_memory.h), 8 in all.  No other thread of the process may allocate
 * meanwhile.  True when that breaks a promise: then *broken is the verdict. */
bool again_breaks(const struct target *target, const struct trial *trial, struct verdict *broken);
/* Repeats a list without lanes in the same way, under other ids (harness/trial/related.h): one run
 * tells both.  If it differs, the list is run once more as it is. */
bool again_breaks_renamed(const struct target *target, const struct trial *trial,
                          struct verdict *broken);
/* Does the same as the first for a fuzzer, which runs thousands of lists a second.  It looks at the
 * heap, which takes as long as some thousand ops, only if malloc's count grew.  It misses what a
 * list leaves behind while something else goes, such as what is kept of an ended thread. */
bool again_breaks_soon(const struct target *target, const struct trial *trial,
                       struct verdict *broken);

/* Does the same for a trial of which many schedules were searched, and which no finding ended: one
 * more is drawn, run and then repeated.  The trial's findings include what that finds. */
bool again_breaks_lanes(const struct target *target, struct trial *trial, struct verdict *broken);

#endif
