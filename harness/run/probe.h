/* States of the allocator's world that are worth reaching, by name.  A run counts how often each
 * was reached: a promise that was kept says little about a state that no op ever led to. */
#ifndef HARNESS_RUN_PROBE_H
#define HARNESS_RUN_PROBE_H

#include <stdbool.h>
#include <stdint.h>

/* "Placed": a request (alloc, output, load, execute) that was granted.  "Refused": one that ended
 * out of memory. */
enum probe {
    /* placed */
    PROBE_DRAINED_FOR_A_REQUEST = 0,
    PROBE_MOVED_FOR_A_REQUEST,
    PROBE_EVICTED_FOR_A_BUFFER,
    PROBE_EVICTED_FOR_A_PROGRAM,
    PROBE_PLACED_AFTER_ALL_THREE,
    PROBE_HOLE_EXACTLY_THE_REQUEST,
    PROBE_RELOADED_BY_EXECUTE,
    PROBE_STACK_MET_THE_HEAP,
    PROBE_DEVICE_FULL,
    PROBE_FAILED_AND_RECOVERED,
    /* placed, refused or failed */
    PROBE_HOLE_ONE_GRANULE_SHORT,
    PROBE_HOLE_FITS_BUT_FOR_ALIGNMENT,
    PROBE_EVICTED_WHILE_A_FREE_WAS_QUEUED,
    PROBE_EVICTED_ONCE_IT_WAS_IDLE,
    PROBE_MOVED_WHILE_A_PROGRAM_LOADS,
    PROBE_MOVED_WHILE_A_PROGRAM_EXECUTES,
    PROBE_MOVED_THROUGH_THE_HOST,
    PROBE_MOVED_AROUND_A_HELD_BLOCK,
    PROBE_COMPLETED_WHILE_AWAITING_ANOTHER,
    PROBE_AWAITED_OUT_OF_ORDER,
    PROBE_FAULT_STRUCK_A_MOVE,
    PROBE_FAULT_STRUCK_A_WAIT,
    PROBE_FAULT_STRUCK_AN_UNLOAD,
    PROBE_FAULT_STRUCK_HOST_MEMORY,
    /* refused */
    PROBE_OOM_AFTER_ALL_THREE,
    PROBE_OOM_WITH_ENOUGH_FREE,
    PROBE_OOM_WITHOUT_ENOUGH_FREE,
    PROBE_OOM_FOR_THE_STACK,
    PROBE_OOM_WHILE_A_FREE_IS_LOST,
    PROBE_OOM_WHILE_A_PROGRAM_EXECUTES,
    PROBE_RELOAD_REFUSED,
    PROBE_SEVERAL_HOSTS_SHORT_TOGETHER,
    /* other ops */
    PROBE_DONATED_WHILE_USED,
    PROBE_FREED_WHILE_HELD,
    PROBE_RELEASED_BY_ONE_OF_TWO,
    PROBE_RETIRED_MEMORY,
    PROBE_COUNT
};
enum { PROBE_PAIR_COUNT = PROBE_COUNT * (PROBE_COUNT - 1) / 2 };

struct probe_info {
    const char *name;    /* "drained_for_a_request" */
    const char *summary; /* one sentence without its full stop */
};
const struct probe_info *probe_info(enum probe probe);

/* A pair is two different probes that one and the same op hit.  Its place among all pairs, below
 * PROBE_PAIR_COUNT; the order of the two does not matter. */
uint32_t probe_pair_index(enum probe one, enum probe other);
/* Whether one op could hit both, as far as the kind of op and its answer say. */
bool probe_pair_is_possible(enum probe one, enum probe other);
uint64_t probe_pairs_possible(void);

/* Adds one op to the counts: hits has a bit for each probe that it hit. */
void probe_count(uint64_t hits, uint64_t probes[PROBE_COUNT], uint64_t pairs[PROBE_PAIR_COUNT]);
/* How many of them were hit at all. */
uint64_t probes_ever_hit(const uint64_t probes[PROBE_COUNT]);
uint64_t probe_pairs_ever_hit(const uint64_t pairs[PROBE_PAIR_COUNT]);

#endif
