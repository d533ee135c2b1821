/* A forecast in words: until which step a list that grows fits, or to the step that its job was
 * headed for. */
#ifndef EXPLAIN_PROJECTION_H
#define EXPLAIN_PROJECTION_H

#include "harness/base/writing.h"

#include <stdint.h>

/* The step, from 1, in which it would be out of memory: about at, between from and to. */
struct projection {
    uint64_t at, from, to;
};

/* Appends a phrase.  until_step: setup.until_step; 0 = nobody knows it. */
void projection_append(const struct projection *projection, uint64_t until_step,
                       struct writing *text);
/* The same as members of the open object: full_step and its bounds, and where it is known
 * until_step, with fits_to_until: yes, no or perhaps. */
void projection_add(const struct projection *projection, uint64_t until_step, struct writing *text);

#endif
