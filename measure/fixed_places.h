/* Finds how small a device could be if each block had one place for life.  The whole list is known,
 * as when compilers plan buffers (dynamic storage allocation).  The exact answer is NP-hard. */
#ifndef MEASURE_FIXED_PLACES_H
#define MEASURE_FIXED_PLACES_H

#include "measure/needs.h"

/* The work that the search may spend, in gaps and neighbours looked at: deterministic, about half a
 * second. */
#define FIXED_PLACES_WORK UINT64_C(10000000)

struct fixed_places {
    uint64_t bytes;   /* a plan of that size was found: the witness; 0: there is none */
    uint64_t *starts; /* that plan: of each life, in order, the offset of its first byte; NULL where
                         bytes is 0 */
    bool is_least;    /* bytes equals the bound: no plan is smaller */
};

/* at_least_bytes: a lower bound, as needs.packed.  No two lives that share an op share a byte of
 * the plan, and each keeps its alignment.  Tries first and best fit, forwards and backwards in
 * time, then orders by size, life and both, moving what sticks out ahead; it ends at the bound or
 * when work is spent.  bytes is 0 only where not even one sweep is within work.  The result is a
 * function of the arguments alone.  O(lives log lives + work), 64 bytes a life and 16 MiB.  Deinit
 * it. */
void fixed_places_find(const struct list_lives *lives, uint64_t at_least_bytes, uint64_t work,
                       struct fixed_places *places);
void fixed_places_deinit(struct fixed_places *places);

#endif
