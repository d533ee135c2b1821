/* Makes an input shorter step by step, for an engine that tries each step itself: runs of ops go,
 * then single ops, then numbers get simpler, in the order of harness/shrink/shrink.h.  What names
 * an op that goes, goes with it. */
#ifndef FUZZ_MUTATE_MUTATE_TRIM_H
#define FUZZ_MUTATE_MUTATE_TRIM_H

#include "fuzz/input.h"

/* A trim makes so many steps at most: an engine trims each input that it keeps. */
enum { TRIM_STEPS_MAX = 256 };

/* trim_init, trim_deinit; its fields are its own, best excepted: the shortest input so far that is
 * as good as the first.  Each step is a shorter list, or the same one with one op that has simpler
 * numbers; it never has more bytes than best. */
struct trim {
    struct input best;
    struct input candidate;
    bool *keep; /* keep_capacity of them, scratch */
    size_t keep_capacity;
    size_t chunk;   /* ops that go at a time; 0 = the lists are done, numbers are next */
    size_t end;     /* the next chunk ends here; or the op whose numbers are next */
    unsigned field; /* of that op */
    uint32_t step_count;
};
void trim_init(struct trim *trim);
void trim_deinit(struct trim *trim);

/* Begins with an input, which is copied. */
void trim_begin(struct trim *trim, const struct input *input);
/* The next input to try, valid until the next call; NULL: there is none, or TRIM_STEPS_MAX were
 * tried.  O(ops). */
const struct input *trim_next(struct trim *trim);
/* Tells the trim whether that one was as good: then it is the best, and the steps go on from it.
 * Once after each trim_next(). */
void trim_tell(struct trim *trim, bool is_as_good);

#endif
