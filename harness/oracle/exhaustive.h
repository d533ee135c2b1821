/* A second judge of small out-of-memories, by trying everything: every time until which an
 * allocator may wait, every choice of idle programs that it may evict, and for each of these states
 * every order of blocks.  It shares nothing with the oracle, and does not know that one state
 * decides for all of them. */
#ifndef HARNESS_ORACLE_EXHAUSTIVE_H
#define HARNESS_ORACLE_EXHAUSTIVE_H

#include "harness/oracle/oom.h"
#include "harness/oracle/verdict.h"

enum {
    EXHAUSTIVE_BLOCKS_MAX = 32,
    EXHAUSTIVE_REGIONS_MAX = 32,
    EXHAUSTIVE_LOOSE_MAX = 6, /* blocks that move, come back or are evicted in some state: 3^6 ways
                                 to evict some and place some */
    EXHAUSTIVE_WAITS_MAX = 5  /* times until which it may wait, 0 (it does not) included */
};

/* VERDICT_PREMATURE: a placement exists in a state that the mitigations reach.  VERDICT_JUSTIFIED:
 * in none. VERDICT_NONE: the state is larger than the limits above.  Everything is meant as in
 * docs/certificate.md.  Takes no memory.  O(1) to refuse more than 32 blocks, O(blocks) to refuse
 * the others; else some ten thousand steps at most. */
enum verdict_kind exhaustive_judge(const struct oom *oom);

#endif
