/* The rules, one row each, for includers that define
 * RULE(enumerator, name, gravity, promise, judge, plant) and undefine it afterwards: every table
 * over rules is made from this list.
 *
 * The order is that of enum rule, of `hbmstress list rules` and of the totals by rule.
 *
 * - `gravity` is that of enum rule_gravity (rule.h).
 * - `promise` is printed to users.
 * - `judge` is JUDGE(function), a function of harness/rules/, for a call alone and for calls that
 *   overlap; or ROAD(name), where what a call did does not decide it: oracle_judge is in
 *   harness/oracle/oracle.c; again_breaks, which runs the list once more, in harness/trial/again.c;
 *   related_breaks, which runs related lists next to it, in harness/trial/related.c;
 *   death_rule, for the process that awaits the trial's, in campaign/process/death.c; the scheduler
 *   of explore/ ends the run, and harness/lanes/lanes.c names the rule.  A hang is also seen on the
 *   last two roads, and host memory by again_breaks; what open() answers under a sweep (status,
 *   message, host memory) is judged in harness/sweep/.
 * - `plant` is a target that breaks exactly this rule: targets/plants/list.h,
 *   targets/threaded/list.h, targets/segments/list.h. */
/* clang-format off */
RULE(PREMATURE, premature, ANSWER,
     "the target reports out-of-memory only when nothing fits after every mitigation",
     ROAD("oracle_judge"), "plant_premature_undrained")
RULE(OVERLAP, overlap, HARM,
     "blocks are disjoint from each other and from the stack",
     JUDGE(rules_judge_overlap), "plant_overlap")
RULE(OUTSIDE, outside, HARM,
     "blocks lie inside the device",
     JUDGE(rules_judge_outside), "plant_outside")
RULE(MISALIGNED, misaligned, HARM,
     "addresses are multiples of the granule and of the requested alignment",
     JUDGE(rules_judge_misaligned), "plant_misaligned")
RULE(TOO_SMALL, too_small, HARM,
     "a block is at least as large as the request",
     JUDGE(rules_judge_too_small), "plant_too_small")
RULE(CONTENTS, contents, HARM,
     "contents survive every move",
     JUDGE(rules_judge_contents), "plant_contents")
RULE(REUSED_EARLY, reused_early, HARM,
     "the memory of a queued free is not used again before its events are done",
     JUDGE(rules_judge_reused_early), "plant_reused_early")
RULE(HELD_MOVED, held_moved, HARM,
     "held and dying blocks and busy programs never move",
     JUDGE(rules_judge_held_moved), "plant_held_moved")
RULE(MOVED_UNASKED, moved_unasked, HARM,
     "blocks move only by copies and only as the contract allows",
     JUDGE(rules_judge_moved_unasked), "plant_moved_unasked")
RULE(BUSY_EVICTED, busy_evicted, HARM,
     "busy programs are never evicted",
     JUDGE(rules_judge_eviction), "plant_busy_evicted")
RULE(WRONG_EVICTION, wrong_eviction, HARM,
     "only loaded programs are evicted, and only by requests that may",
     JUDGE(rules_judge_eviction), "plant_wrong_eviction")
RULE(FAILED_CHANGED, failed_changed, HARM,
     "a failed call changes nothing but what its mitigations may",
     JUDGE(rules_judge_failed_changed), "plant_failed_changed")
RULE(COUNTERS, counters, NUMBERS,
     "the target's counters equal the model's",
     JUDGE(rules_judge_counters), "plant_counters")
RULE(MESSAGE, message, NUMBERS,
     "an error's text follows the grammar and its numbers are right",
     JUDGE(rules_judge_message), "plant_message")
RULE(REPORT, report, NUMBERS,
     "the allocations report lists each block once and its sums agree",
     JUDGE(rules_judge_report), "plant_report")
RULE(STATUS, status, ANSWER,
     "each call returns the result that its request deserves",
     JUDGE(rules_judge_status), "plant_status")
RULE(HANDLE, handle, HARM,
     "handles are not 0 and name one thing each",
     JUDGE(rules_judge_handle), "plant_handle")
RULE(HANG, hang, HARM,
     "every call returns after a bounded number of device calls",
     JUDGE(rules_judge_hang), "plant_hang")
RULE(NOT_COALESCED, not_coalesced, NUMBERS,
     "after the last free there is one hole of the whole heap",
     JUDGE(rules_judge_not_coalesced), "plant_not_coalesced")
RULE(HOST_MEMORY, host_memory, HARM,
     "host memory stays in proportion, and close releases all of it",
     JUDGE(rules_judge_host_memory), "plant_host_memory")
RULE(SPMD, spmd, HARM,
     "the same request gets the same answer on every host",
     JUDGE(rules_judge_spmd), "plant_spmd")
RULE(REPLAY, replay, HARM,
     "running the same ops again gives the same observations",
     ROAD("again_breaks"), "plant_replay")
RULE(REGRET, regret, NUMBERS,
     "no more requests than allowed cost needless moves or evictions (--regret-max)",
     JUDGE(rules_judge_regret), "plant_regret_evicts_first")
RULE(OVERRUN, overrun, HARM,
     "the target writes only into host memory that it obtained, and frees nothing else",
     JUDGE(rules_judge_overrun), "plant_overrun")
RULE(CRASH, crash, HARM,
     "no call ends the process",
     ROAD("death_rule"), "plant_crash_segv")
RULE(DEADLOCK, deadlock, HARM,
     "lanes never wait for each other forever",
     ROAD("scheduler"), "race_lock_order")
RULE(LIVELOCK, livelock, HARM,
     "lanes that keep running complete calls",
     ROAD("scheduler"), "race_spins")
RULE(LOST_WAKEUP, lost_wakeup, HARM,
     "no lane waits for a condition that already holds when no other lane can wake it",
     ROAD("scheduler"), "race_signal")
RULE(RACE, race, HARM,
     "plain accesses of two lanes to the same memory are ordered, if one of them writes",
     ROAD("scheduler"), "race_peek_unlocked")
RULE(MISUSE, misuse, HARM,
     "only the lane that holds a lock releases it, and nothing is destroyed while in use",
     ROAD("scheduler"), "race_unlocks_twice")
RULE(TOO_LARGE, too_large, ANSWER,
     "a block is no larger than the contract's rounding allows",
     JUDGE(rules_judge_too_large), "plant_too_large")
RULE(RETRY, retry, ANSWER,
     "a refused request is not granted when it is asked again at once",
     JUDGE(rules_judge_retry), "plant_retry")
RULE(RELATION, relation, ANSWER,
     "the same requests get the same answers under other ids, and at twice the size",
     ROAD("related_breaks"), "plant_relation_names")
RULE(NOT_RELEASED, not_released, HARM,
     "asleep the target has none of the device's memory, and awake it has all of it",
     JUDGE(rules_judge_not_released), "plant_not_released")
RULE(WAKE_GROWS, wake_grows, HARM,
     "no stage is left after a wake, nor more host memory than after the wake before",
     JUDGE(rules_judge_wake_grows), "plant_wake_grows")
RULE(ORDER, order, NUMBERS,
     "mitigations follow the contract's order, and evictions end when the request fits",
     JUDGE(rules_judge_order), "plant_order_evicts_first")
RULE(OWNERSHIP, ownership, NUMBERS,
     "each byte has one owner: free, used, evictable and held bytes add up to the limit",
     JUDGE(rules_judge_ownership), "plant_ownership")
RULE(REGION, region, HARM,
     "each block lies in one region that the target holds, and close gives back all of them",
     JUDGE(rules_judge_region), "segments_across")
RULE(RECORDED, recorded, HARM,
     "memory that a recording writes to is given to nobody else before the recording is dropped",
     JUDGE(rules_judge_recorded), "plant_record_reused")
RULE(HELD_BACK, held_back, NUMBERS,
     "no request that fits as it is waits in vain for a collective",
     JUDGE(rules_judge_held_back), "plant_held_back")
RULE(COST, cost, NUMBERS,
     "what an op costs grows no faster with blocks and holes than the contract declares",
     JUDGE(rules_judge_cost), "plant_cost_polls")
RULE(LATENCY, latency, NUMBERS,
     "no more ops than the contract allows exceed its bounds of device calls and moved bytes",
     JUDGE(rules_judge_latency), "plant_latency_spins")
/* clang-format on */
