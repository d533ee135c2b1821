/* Traces of training jobs with 40 tags, in which one tag leaks or none does, made to be hard to
 * tell apart: what the leak is hidden under warms up, changes with phases, repeats, walks at random
 * between bounds, or is replaced slowly.
 * */
#ifndef TESTS_DIAGNOSIS_LEAK_TRACES_H
#define TESTS_DIAGNOSIS_LEAK_TRACES_H

#include "diagnosis/evidence.h"
#include "harness/base/random.h"
#include "harness/op/op.h"

enum { LEAK_TRACE_TAG_COUNT = 40, LEAK_TRACE_LEAK_NONE = -1 };

enum habit {
    HABIT_PERMANENT = 0, /* made at the start and kept */
    HABIT_BATCH,         /* made and freed in each step */
    HABIT_CACHE,  /* fills in up to half of the time, then replaces its oldest, newest used, or any
                     entry */
    HABIT_PHASES, /* one to five changes of what is kept, up or down, or up alone */
    HABIT_PERIODIC, /* piles up, and is cleared at the end of each period */
    HABIT_WALK, /* goes up and down at random between bounds; frees the oldest, the newest, or any
                 */
    HABIT_LATE_STEP,  /* something large comes late, and stays */
    HABIT_RING,       /* keeps the last few checkpoints */
    HABIT_POOL,       /* as many as ever, replaced slowly */
    HABIT_SATURATING, /* made ever more rarely, and kept */
    HABIT_COUNT
};

struct leak_trace {
    struct history history;
    struct evidence evidence; /* without an out-of-memory; blocks have op, tag and size */
    struct setup setup;
    struct verdict verdict;
    int leaking_tag;  /* LEAK_TRACE_LEAK_NONE */
    enum habit habit; /* of the leaking tag, beside the leak */
    uint64_t leaked_bytes, leaked_count;
    struct op_list ops; /* all of it */
};

/* Makes the trace of that seed.  The caller deinits. */
void leak_trace_make(struct leak_trace *trace, uint64_t seed, uint32_t step_count, bool has_leak);
void leak_trace_deinit(struct leak_trace *trace);

#endif
