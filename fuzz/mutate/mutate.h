/* Changes inputs as someone would who knows what ops are: it inserts what may matter, keeps
 * references pointing at what they named, and asks for sizes by what fits.  One implementation for
 * every engine: fuzz/mutate/mutator_libfuzzer.c and fuzz/mutate/mutator_afl.c only hand bytes
 * through. */
#ifndef FUZZ_MUTATE_MUTATE_H
#define FUZZ_MUTATE_MUTATE_H

#include "fuzz/input.h"

#include <stddef.h>
#include <stdint.h>

/* A list is not made longer than this: an execution costs what its ops cost. */
enum { MUTATE_OP_COUNT_MAX = 400 };

/* Scratch, kept from one call to the next; nothing of an input stays in it. */
struct mutator;
struct mutator *mutator_create(void);
void mutator_destroy(struct mutator *mutator); /* NULL is allowed */

/* Changes *input by one edit or a few, of fuzz/mutate/mutate_edit.h.  Afterwards
 * input_encode(input) needs at most bytes_max bytes, which is at least INPUT_HEADER_BYTES, and
 * there are at most MUTATE_OP_COUNT_MAX ops: ops go at the end, then choices, until both hold.  The
 * result depends on input, bytes_max and seed alone, which is why two processes with the same seed
 * make the same corpus.  O(ops) for each edit; no target is called. */
void mutator_change(struct mutator *mutator, struct input *input, size_t bytes_max, uint64_t seed);

/* Makes *out, initialised and neither of the two, of parts of both: a run of the ops of other in
 * one, or the front of one and the back of other; now and then changed as above, too.  What an op
 * of other named in its own part it goes on naming; what it named outside of that becomes relative,
 * so that it still acts.  The rest is as with mutator_change(). */
void mutator_cross(struct mutator *mutator, const struct input *one, const struct input *other,
                   size_t bytes_max, uint64_t seed, struct input *out);

/* Makes an input shorter step by step, for an engine that tries each step itself: runs of ops go,
 * then single ops, then numbers get simpler, in the order of harness/shrink/shrink.h.  What names
 * an op that goes, goes with it.
 * A trim makes so many steps at most: an engine trims each input that it keeps. */
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
