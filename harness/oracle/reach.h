/* A state that mitigations reach from an out-of-memory: which blocks are still there, which of them
 * may move, and where the spans between the others lie. */
#ifndef HARNESS_ORACLE_REACH_H
#define HARNESS_ORACLE_REACH_H

#include "harness/oracle/oom.h"

/* The limits of the mitigations, within what the contract and the refused calls allow. */
struct reach_limits {
    uint64_t until_ns;  /* events due by then are awaited; at most reach_drain_ns of the same oom */
    bool moves, evicts; /* whether blocks may move, whether idle programs go */
    const bool *stays;  /* by block: idle programs that stay all the same; NULL = none */
};

/* A fence of a contract that grows: no block, but what lies between the places for one; it may have
 * 0 bytes. */
#define REACH_FENCE UINT32_MAX

/* A block that is still there. */
struct reach_range {
    uint64_t start, size_bytes, align_bytes;
    uint32_t block; /* index into oom->blocks; REACH_FENCE */
    bool is_movable;
};

/* The ranges ascend and are disjoint; scratch grows and stays.  Zero is a valid start. */
struct reach {
    const struct oom *oom;
    enum defrag_contract defrag;
    uint64_t until_ns;
    uint64_t bottom;      /* nothing may lie below: the stack, grown for the request */
    uint64_t need, align; /* of the request; need in whole granules, one more than the device has
                             when it is larger; 0 = no block is needed */
    struct reach_range *ranges;
    size_t range_count, range_capacity;
    size_t absent_count; /* of them are in host memory: movable, and at OOM_IN_HOST_MEMORY */
    uint64_t *tops;      /* scratch of slides: range_capacity + 1 of them */
    uint64_t frees_awaited, programs_evicted;
};
void reach_deinit(struct reach *reach);

/* The time until which draining waits at most; 0 = it awaits nothing. */
uint64_t reach_drain_ns(const struct oom *oom);
/* True if the mitigations may take this block away once events due by until_ns are done. */
bool reach_may_evict(const struct oom *oom, const struct oom_block *block, uint64_t until_ns);

/* O(blocks). */
void reach_decide(struct reach *reach, const struct oom *oom, const struct reach_limits *limits);
/* Goes as far as the mitigations go at all: that state decides. */
void reach_decide_fully(struct reach *reach, const struct oom *oom);

/* The request or the stack is larger than the device. */
bool reach_is_too_large(const struct reach *reach);
/* An unmovable block below bottom: no mitigation helps.  NULL: there is none. */
const struct reach_range *reach_fixed_below(const struct reach *reach);

/* One span [start, end) between unmovable blocks (or fences), and the movable ranges first..last
 * (not included) that lie in it; start and end are not below bottom. */
struct reach_gap {
    uint64_t start, end;
    size_t first, last;
};
extern const struct reach_gap reach_before_all;
/* The lowest place for the request at or above `at`, and the highest at or below it (0: none): what
 * is aligned lies the header above the place. */
uint64_t reach_aligned_up(const struct reach *reach, uint64_t at);
uint64_t reach_aligned_down(const struct reach *reach, uint64_t at);
/* The gap after *gap (begin with a copy of reach_before_all).  False: no more. */
bool reach_next_gap(const struct reach *reach, struct reach_gap *gap);

/* True if the movable ranges of the gap, order kept, fit into it together with need bytes (0 =
 * nothing more). */
bool reach_gap_slides(const struct reach *reach, const struct reach_gap *gap, uint64_t need,
                      uint64_t align);
/* The lowest gap that takes the request so; false: none does, or the lowest one does not take its
 * own. */
bool reach_slides(const struct reach *reach, struct reach_gap *where);

#endif
