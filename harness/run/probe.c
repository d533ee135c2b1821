#include "harness/run/probe.h"

#include "harness/base/check.h"

#include <assert.h>
#include <stddef.h>

static_assert(PROBE_COUNT <= 64, "one bit each in a word of hits");

/* Ops that can hit a probe, by what they are and how they ended.  Two probes without one in common
 * make no pair. */
enum {
    PLACED_BUFFER = 1u << 0,
    PLACED_LOAD = 1u << 1,
    PLACED_EXECUTE = 1u << 2,
    REFUSED_BUFFER = 1u << 3,
    REFUSED_LOAD = 1u << 4,
    REFUSED_EXECUTE = 1u << 5,
    FAILED_REQUEST = 1u << 6,
    DEFRAGMENT = 1u << 7,
    DONATE = 1u << 8,
    FREE = 1u << 9,
    RELEASE = 1u << 10,
    RETIRE = 1u << 11,
    PLACED = PLACED_BUFFER | PLACED_LOAD | PLACED_EXECUTE,
    REFUSED = REFUSED_BUFFER | REFUSED_LOAD | REFUSED_EXECUTE,
    REQUEST = PLACED | REFUSED | FAILED_REQUEST
};

/* Every request can be struck, and every other op that calls the device. */
static const uint32_t op_sets[PROBE_COUNT] = {
    [PROBE_DRAINED_FOR_A_REQUEST] = PLACED,
    [PROBE_MOVED_FOR_A_REQUEST] = PLACED,
    [PROBE_EVICTED_FOR_A_BUFFER] = PLACED_BUFFER,
    [PROBE_EVICTED_FOR_A_PROGRAM] = PLACED_LOAD | PLACED_EXECUTE,
    [PROBE_PLACED_AFTER_ALL_THREE] = PLACED,
    [PROBE_HOLE_EXACTLY_THE_REQUEST] = PLACED,
    [PROBE_RELOADED_BY_EXECUTE] = PLACED_EXECUTE,
    [PROBE_STACK_MET_THE_HEAP] = PLACED_EXECUTE,
    [PROBE_DEVICE_FULL] = PLACED,
    [PROBE_FAILED_AND_RECOVERED] = PLACED,
    [PROBE_HOLE_ONE_GRANULE_SHORT] = REQUEST,
    [PROBE_HOLE_FITS_BUT_FOR_ALIGNMENT] = PLACED_BUFFER | REFUSED_BUFFER | FAILED_REQUEST,
    [PROBE_EVICTED_WHILE_A_FREE_WAS_QUEUED] = REQUEST,
    [PROBE_EVICTED_ONCE_IT_WAS_IDLE] = REQUEST,
    [PROBE_MOVED_WHILE_A_PROGRAM_LOADS] = PLACED_LOAD | REFUSED_LOAD | FAILED_REQUEST,
    [PROBE_MOVED_WHILE_A_PROGRAM_EXECUTES] = REQUEST | DEFRAGMENT,
    [PROBE_MOVED_THROUGH_THE_HOST] = REQUEST | DEFRAGMENT,
    [PROBE_MOVED_AROUND_A_HELD_BLOCK] = REQUEST | DEFRAGMENT,
    [PROBE_COMPLETED_WHILE_AWAITING_ANOTHER] = REQUEST | DEFRAGMENT,
    [PROBE_AWAITED_OUT_OF_ORDER] = REQUEST | DEFRAGMENT,
    [PROBE_FAULT_STRUCK_A_MOVE] = REQUEST | DEFRAGMENT,
    [PROBE_FAULT_STRUCK_A_WAIT] = REQUEST | DEFRAGMENT,
    [PROBE_FAULT_STRUCK_AN_UNLOAD] = REQUEST,
    [PROBE_FAULT_STRUCK_HOST_MEMORY] = REQUEST | DEFRAGMENT | DONATE | FREE | RELEASE | RETIRE,
    [PROBE_OOM_AFTER_ALL_THREE] = REFUSED,
    [PROBE_OOM_WITH_ENOUGH_FREE] = REFUSED,
    [PROBE_OOM_WITHOUT_ENOUGH_FREE] = REFUSED,
    [PROBE_OOM_FOR_THE_STACK] = REFUSED_EXECUTE,
    [PROBE_OOM_WHILE_A_FREE_IS_LOST] = REFUSED,
    [PROBE_OOM_WHILE_A_PROGRAM_EXECUTES] = REFUSED,
    [PROBE_RELOAD_REFUSED] = REFUSED_EXECUTE,
    [PROBE_SEVERAL_HOSTS_SHORT_TOGETHER] = REFUSED,
    [PROBE_DONATED_WHILE_USED] = DONATE,
    [PROBE_FREED_WHILE_HELD] = FREE,
    [PROBE_RELEASED_BY_ONE_OF_TWO] = RELEASE,
    [PROBE_RETIRED_MEMORY] = RETIRE,
};

static const struct probe_info probes[PROBE_COUNT] = {
    [PROBE_DRAINED_FOR_A_REQUEST] = {"drained_for_a_request",
                                     "a request was placed after an event was awaited for it"},
    [PROBE_MOVED_FOR_A_REQUEST] = {"moved_for_a_request",
                                   "a request was placed after blocks were moved for it"},
    [PROBE_EVICTED_FOR_A_BUFFER] = {"evicted_for_a_buffer",
                                    "a buffer was placed after a program was evicted for it"},
    [PROBE_EVICTED_FOR_A_PROGRAM] =
        {"evicted_for_a_program",
         "a program was loaded or executed after another one was evicted for it"},
    [PROBE_PLACED_AFTER_ALL_THREE] = {"placed_after_all_three",
                                      "a request was placed after a wait, a move and an eviction"},
    [PROBE_HOLE_EXACTLY_THE_REQUEST] = {"hole_exactly_the_request",
                                        "mitigations gave a request a hole of exactly its size"},
    [PROBE_RELOADED_BY_EXECUTE] = {"reloaded_by_execute",
                                   "an evicted program was executed, which loaded it again"},
    [PROBE_STACK_MET_THE_HEAP] =
        {"stack_met_the_heap",
         "the stack of an executing program ends where the lowest block begins"},
    [PROBE_DEVICE_FULL] = {"device_full", "no byte was free after a request"},
    [PROBE_FAILED_AND_RECOVERED] = {"failed_and_recovered",
                                    "a call failed, and the next request on that host was placed"},
    [PROBE_HOLE_ONE_GRANULE_SHORT] =
        {"hole_one_granule_short",
         "the largest hole was one granule smaller than a request that was refused or mitigated"},
    [PROBE_HOLE_FITS_BUT_FOR_ALIGNMENT] =
        {"hole_fits_but_for_alignment",
         "a hole had the size of a request, but its alignment made the target refuse or mitigate"},
    [PROBE_EVICTED_WHILE_A_FREE_WAS_QUEUED] =
        {"evicted_while_a_free_was_queued",
         "a program was evicted while a queued free could have been awaited"},
    [PROBE_EVICTED_ONCE_IT_WAS_IDLE] =
        {"evicted_once_it_was_idle",
         "a program was evicted after its execution ended during the same request"},
    [PROBE_MOVED_WHILE_A_PROGRAM_LOADS] = {"moved_while_a_program_loads",
                                           "blocks were moved while a program was loaded"},
    [PROBE_MOVED_WHILE_A_PROGRAM_EXECUTES] = {"moved_while_a_program_executes",
                                              "blocks were moved while a program executed"},
    [PROBE_MOVED_THROUGH_THE_HOST] = {"moved_through_the_host",
                                      "a block was moved through host memory"},
    [PROBE_MOVED_AROUND_A_HELD_BLOCK] =
        {"moved_around_a_held_block",
         "blocks were moved on both sides of a held block, or past it"},
    [PROBE_COMPLETED_WHILE_AWAITING_ANOTHER] = {"completed_while_awaiting_another",
                                                "an event completed while another one was awaited"},
    [PROBE_AWAITED_OUT_OF_ORDER] =
        {"awaited_out_of_order", "an event was awaited while an earlier op's event was unfinished"},
    [PROBE_FAULT_STRUCK_A_MOVE] = {"fault_struck_a_move", "a fault struck a copy or a staging"},
    [PROBE_FAULT_STRUCK_A_WAIT] = {"fault_struck_a_wait", "a fault struck the wait for an event"},
    [PROBE_FAULT_STRUCK_AN_UNLOAD] = {"fault_struck_an_unload",
                                      "a fault struck the eviction of a program"},
    [PROBE_FAULT_STRUCK_HOST_MEMORY] = {"fault_struck_host_memory",
                                        "the allocator was refused host memory"},
    [PROBE_OOM_AFTER_ALL_THREE] =
        {"oom_after_all_three",
         "a request was refused after a wait; blocks moved or could move, programs were evicted or could be"},
    [PROBE_OOM_WITH_ENOUGH_FREE] = {"oom_with_enough_free",
                                    "a request was refused although enough bytes were free in sum"},
    [PROBE_OOM_WITHOUT_ENOUGH_FREE] = {"oom_without_enough_free",
                                       "a request was refused for more bytes than were free"},
    [PROBE_OOM_FOR_THE_STACK] = {"oom_for_the_stack",
                                 "a loaded program was refused the stack that it needs to execute"},
    [PROBE_OOM_WHILE_A_FREE_IS_LOST] =
        {"oom_while_a_free_is_lost",
         "a request was refused while a queued free waited for a lost event"},
    [PROBE_OOM_WHILE_A_PROGRAM_EXECUTES] = {"oom_while_a_program_executes",
                                            "a request was refused while a program executed"},
    [PROBE_RELOAD_REFUSED] = {"reload_refused",
                              "an evicted program was refused the memory that it needs to reload"},
    [PROBE_SEVERAL_HOSTS_SHORT_TOGETHER] =
        {"several_hosts_short_together",
         "a request was refused, and so was the last request on another host"},
    [PROBE_DONATED_WHILE_USED] = {"donated_while_used",
                                  "a block was donated while an unfinished event used it"},
    [PROBE_FREED_WHILE_HELD] = {"freed_while_held", "a block was freed while it was held"},
    [PROBE_RELEASED_BY_ONE_OF_TWO] =
        {"released_by_one_of_two",
         "a freed block was released by one holder while another one held it"},
    [PROBE_RETIRED_MEMORY] = {"retired_memory", "memory went bad and was taken out of service"},
};

const struct probe_info *probe_info(enum probe probe)
{
    CHECK(probe < PROBE_COUNT);
    return &probes[probe];
}

uint32_t probe_pair_index(enum probe one, enum probe other)
{
    CHECK(one < PROBE_COUNT);
    CHECK(other < PROBE_COUNT);
    CHECK(one != other);
    const uint32_t low = one < other ? one : other;
    const uint32_t high = one < other ? other : one;
    return high * (high - 1) / 2 + low;
}

bool probe_pair_is_possible(enum probe one, enum probe other)
{
    CHECK(one < PROBE_COUNT);
    CHECK(other < PROBE_COUNT);
    return one != other && (op_sets[one] & op_sets[other]) != 0;
}

uint64_t probe_pairs_possible(void)
{
    uint64_t count = 0;
    for (unsigned high = 1; high < PROBE_COUNT; high++) {
        for (unsigned low = 0; low < high; low++) {
            count += probe_pair_is_possible((enum probe)low, (enum probe)high);
        }
    }
    return count;
}

void probe_count(uint64_t hits, uint64_t probes_hit[PROBE_COUNT], uint64_t pairs[PROBE_PAIR_COUNT])
{
    CHECK_COSTLY(hits < UINT64_C(1) << PROBE_COUNT);
    for (; hits != 0; hits &= hits - 1) {
        const unsigned one = (unsigned)__builtin_ctzll(hits);
        CHECK_COSTLY(one < PROBE_COUNT);
        probes_hit[one]++;
        for (uint64_t others = hits & (hits - 1); others != 0; others &= others - 1) {
            pairs[probe_pair_index((enum probe)one, (enum probe)__builtin_ctzll(others))]++;
        }
    }
}

static uint64_t count_hit(const uint64_t *counts, size_t count)
{
    uint64_t hit = 0;
    for (size_t i = 0; i < count; i++) {
        hit += counts[i] > 0;
    }
    return hit;
}

uint64_t probes_ever_hit(const uint64_t counts[PROBE_COUNT])
{
    return count_hit(counts, PROBE_COUNT);
}

uint64_t probe_pairs_ever_hit(const uint64_t pairs[PROBE_PAIR_COUNT])
{
    return count_hit(pairs, PROBE_PAIR_COUNT);
}
