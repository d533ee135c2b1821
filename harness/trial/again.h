/* What running a list once more shows: whether it gives the same observations, whether the target
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
/* The same of a list without lanes, run under other ids (harness/trial/related.h): one run tells
 * both.  Where it differs the list is run once more as it is. */
bool again_breaks_renamed(const struct target *target, const struct trial *trial,
                          struct verdict *broken);
/* The same as the first for a fuzzer, which runs thousands of lists a second: looks at the heap,
 * which take as long as some thousand ops, only where malloc's count grew.  What a list leaves
 * behind while something else goes, such as what is kept of an ended thread, is not seen. */
bool again_breaks_soon(const struct target *target, const struct trial *trial,
                       struct verdict *broken);

/* The same for a trial of which many schedules were searched, and which no finding ended: one more
 * is drawn, run and then repeated.  What that finds is among the trial's findings. */
bool again_breaks_lanes(const struct target *target, struct trial *trial, struct verdict *broken);

#endif
