/* What the counters of a host should be, now and after its last ops: for counters that may show
 * what was right a while ago. */
#ifndef HARNESS_RULES_PRIVATE_COUNTER_HISTORY_H
#define HARNESS_RULES_PRIVATE_COUNTER_HISTORY_H

#include "harness/call/host.h"

/* By enum target_counter; low <= high.  A value between them is right. */
struct counter_bounds {
    uint64_t low[TARGET_COUNTER_COUNT], high[TARGET_COUNTER_COUNT];
};

/* So many ops back a late counter may be: see enum target_counting. */
enum { COUNTER_HISTORY_COUNT = 64 };

/* An open value; counter_history_init() begins it. */
struct counter_history {
    struct counter_bounds bounds[COUNTER_HISTORY_COUNT]; /* of op i at i % COUNTER_HISTORY_COUNT */
    uint64_t op_count;                                   /* that it knows, open() among them */
    uint64_t shown[TARGET_COUNTER_COUNT]; /* the earliest op whose value each may show now */
    uint32_t run;                         /* judge.run */
};

/* As it is after open. */
void counter_history_init(struct counter_history *history, const struct host *host, uint32_t run);
/* The bounds after one more op. */
void counter_history_add(struct counter_history *history, const struct counter_bounds *bounds);
/* Whether the value was right after one of the last ops, and not before what the counter showed the
 * last time.  If so it shows that from now on. */
bool counter_history_takes(struct counter_history *history, enum target_counter counter,
                           uint64_t value);

/* Whether some counter of the host may be late. */
bool counter_history_is_needed(const struct target_contract *contract);

/* What is right now.  The largest hole costs O(blocks).  It may be anything without_hole, while a
 * block is in host memory, and where places are hidden, unless the heap is empty. */
struct counter_bounds counter_bounds_of(const struct host *host, bool without_hole);
/* Any value is right. */
struct counter_bounds counter_bounds_open(void);

#endif
