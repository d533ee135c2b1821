/* The placement that shows an out-of-memory to be premature: what it needs first, and the hole that
 * it leads to. */
#ifndef DIAGNOSIS_FIT_H
#define DIAGNOSIS_FIT_H

#include "harness/run/run.h"

/* The place where a refused request would have gone, by the plan of the oracle.  Efforts are what
 * the plan needs first.  What the target itself did in the call stands next to them. */
struct line_fit {
    uint64_t need_bytes;  /* of the block, in whole granules; 0 = the stack alone had room */
    uint64_t align_bytes; /* at least the granule */
    uint64_t stack_bytes; /* of a program */
    uint64_t address;     /* meaningless when need_bytes is 0 */
    uint64_t hole_address, hole_bytes; /* around the address, once the plan is carried out */
    uint64_t awaited_count, evicted_count, evicted_bytes, moved_count, moved_bytes;
    bool needs_region;                               /* the hole is a new region */
    uint64_t waits_done, moves_done, evictions_done; /* 0 with lanes: nobody knows whose they are */
};

/* After a premature verdict of the run.  O(blocks) beside the plan, which is made again.  With
 * lanes nobody knows which call did what. */
void fit_take(const struct run *run, bool has_lanes, struct line_fit *fit);
/* True if the plan awaits, moves, evicts or takes something first. */
bool fit_has_efforts(const struct line_fit *fit);

#endif
