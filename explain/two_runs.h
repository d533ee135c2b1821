/* explain's two runs of a list, in a child process. */
#ifndef EXPLAIN_TWO_RUNS_H
#define EXPLAIN_TWO_RUNS_H

#include "explain/options.h"
#include "recording/recording.h"

/* What the child works on. */
struct explain_work {
    const struct recording *recording;
    const struct explain_options *options;
};

/* context: struct explain_work.  Answers with the length of the picture (8 bytes), the exit code,
 * the picture and the text; with nothing when the target refuses. */
void explain_and_answer(void *context, int file);

#endif
