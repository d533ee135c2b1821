/* The edits that a mutator draws from: tables of small functions, each of which changes an input in
 * the one way that its name says. */
#ifndef FUZZ_MUTATE_MUTATE_EDIT_H
#define FUZZ_MUTATE_MUTATE_EDIT_H

#include "fuzz/input.h"
#include "harness/base/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The input that an edit works on. */
struct editing {
    struct input *input;
    const struct input *other; /* to take ops from; NULL: there is none */
    struct random *random;
    struct op_list block; /* scratch: the ops that are about to be inserted */
    size_t op_count_max;  /* the list is not made longer */
};
void editing_init(struct editing *editing, struct input *input, struct random *random,
                  size_t op_count_max);
void editing_deinit(struct editing *editing);

/* apply gives false, and leaves the input as it was, where the edit does not apply: no op of its
 * kind, no room. */
struct edit {
    const char *name;
    uint32_t weight; /* how often it is drawn, against the sum of all */
    bool (*apply)(struct editing *editing);
};

/* One table for each file; each ends with a row without a name.  The weights are measured:
 * fuzz/mutate/mutate.c. */
extern const struct edit list_edits[]; /* mutate_list.c: whatever the ops mean, and copies of ops */
extern const struct edit size_edits[]; /* mutate_size.c: what is asked for */
extern const struct edit state_edits[]; /* mutate_state.c: events, holds, executions, faults */
extern const struct edit swarm_edits[]; /* mutate_swarm.c: many ops of one character or heap */
extern const struct edit
    host_edits[]; /* mutate_hosts.c: what several hosts do, their time, groups */
extern const struct edit setup_edits[]; /* mutate_setup.c: the header, lanes and the schedule */

/* Every edit; ends with NULL. */
extern const struct edit *const edit_tables[];
/* NULL: there is none of that name. */
const struct edit *edit_find(const char *name);

#endif
