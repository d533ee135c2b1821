/* Bounds how large a block may be that was asked for with so many bytes. */
#ifndef CHECKER_PRIVATE_ROUNDING_H
#define CHECKER_PRIVATE_ROUNDING_H
#include "checker/private/text.h"

struct rounding {
    enum { ROUNDING_GRANULE, ROUNDING_ANY, ROUNDING_CLASSES } kind;
    uint64_t steps, smallest, overhead; /* steps: classes in each doubling */
};

/* Reads it as in a list's head: "granule", "any" or "classes=N", then smallest= and overhead=. */
bool rounding_read(struct word text, struct rounding *rounding);
/* Returns true when a request needs what it asks for, and no more. */
bool rounding_is_exact(const struct rounding *rounding);
/* The most that the block may have; UINT64_MAX: nothing is promised. */
uint64_t rounding_most(const struct rounding *rounding, uint64_t granule, uint64_t asked);
/* Returns what a request of so many bytes needs. */
uint64_t rounding_needed(const struct rounding *rounding, uint64_t granule, uint64_t asked);

#endif
