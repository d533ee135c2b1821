/* The rules, one row each, for includers that define RULE(enumerator, name, promise, plant) and
 * undefine it afterwards: every table over rules is made from this list.
 *
 * The order is that of enum rule, of `hbmstress list rules` and of the totals by rule.  `promise`
 * is printed to users; `plant` is a target (targets/plants.c, targets/races.c) that breaks exactly
 * this rule. */
/* clang-format off */
RULE(PREMATURE, premature,
     "an out-of-memory fires only when nothing fits after every mitigation",
     "plant_premature_undrained")
RULE(OVERLAP, overlap,
     "blocks are disjoint from each other and from the stack",
     "plant_overlap")
RULE(OUTSIDE, outside,
     "blocks lie inside the device",
     "plant_outside")
RULE(MISALIGNED, misaligned,
     "addresses are multiples of the granule and of the asked alignment",
     "plant_misaligned")
RULE(TOO_SMALL, too_small,
     "a block is at least as large as the request",
     "plant_too_small")
RULE(CONTENTS, contents,
     "contents survive every move",
     "plant_contents")
RULE(REUSED_EARLY, reused_early,
     "the memory of a queued free is not used again before its events are done",
     "plant_reused_early")
RULE(HELD_MOVED, held_moved,
     "held and dying blocks and busy programs never move",
     "plant_held_moved")
RULE(MOVED_UNASKED, moved_unasked,
     "blocks move only by copies and only as the contract allows",
     "plant_moved_unasked")
RULE(BUSY_EVICTED, busy_evicted,
     "busy programs are never evicted",
     "plant_busy_evicted")
RULE(WRONG_EVICTION, wrong_eviction,
     "only loaded programs are evicted, and only by requests that may",
     "plant_wrong_eviction")
RULE(FAILED_CHANGED, failed_changed,
     "a failed call leaves the blocks as they were",
     "plant_failed_changed")
RULE(COUNTERS, counters,
     "the target's counters equal the model's",
     "plant_counters")
RULE(MESSAGE, message,
     "an error's text follows the grammar and its numbers are right",
     "plant_message")
RULE(REPORT, report,
     "the allocations report lists each block once and its sums agree",
     "plant_report")
RULE(STATUS, status,
     "each call returns the result that its request deserves",
     "plant_status")
RULE(HANDLE, handle,
     "handles are not 0 and name one thing each",
     "plant_handle")
RULE(HANG, hang,
     "every call returns after a bounded number of device calls",
     "plant_hang")
RULE(NOT_COALESCED, not_coalesced,
     "after the last free there is one hole of the whole heap",
     "plant_not_coalesced")
RULE(HOST_MEMORY, host_memory,
     "host memory stays in proportion, and is back where it began after close",
     "plant_host_memory")
RULE(SPMD, spmd,
     "the same request gets the same answer on every host",
     "plant_spmd")
RULE(REPLAY, replay,
     "the same ops give the same observations again",
     "plant_replay")
RULE(REGRET, regret,
     "no more requests than allowed cost needless moves or evictions (--regret-max)",
     "plant_regret_evicts_first")
RULE(OVERRUN, overrun,
     "the target writes only into host memory that it was given, and gives back only that",
     "plant_overrun")
RULE(CRASH, crash,
     "no call takes the process with it",
     "plant_crash_segv")
RULE(DEADLOCK, deadlock,
     "lanes never await each other for ever",
     "race_lock_order")
RULE(LIVELOCK, livelock,
     "lanes that go on get calls done",
     "race_spins")
RULE(LOST_WAKEUP, lost_wakeup,
     "nobody waits for a condition that holds already, with nobody left to wake it",
     "race_signal")
RULE(RACE, race,
     "plain accesses of two lanes to the same memory are ordered, if one of them writes",
     "race_peek_unlocked")
RULE(MISUSE, misuse,
     "locks are given back by who holds them, and not destroyed while in use",
     "race_unlocks_twice")
/* clang-format on */
