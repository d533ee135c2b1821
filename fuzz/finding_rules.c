#include "fuzz/finding_rules.h"

#include <stdlib.h>

/* One function a rule.  Each notes its own number, so that no compiler takes two of them for one.
 */
static volatile enum rule ended_in;

#define END_IN(name, rule)                                     \
    __attribute__((noinline)) static _Noreturn void name(void) \
    {                                                          \
        ended_in = rule;                                       \
        abort();                                               \
    }

END_IN(finding_none, RULE_NONE)
END_IN(finding_premature, RULE_PREMATURE)
END_IN(finding_overlap, RULE_OVERLAP)
END_IN(finding_outside, RULE_OUTSIDE)
END_IN(finding_misaligned, RULE_MISALIGNED)
END_IN(finding_too_small, RULE_TOO_SMALL)
END_IN(finding_contents, RULE_CONTENTS)
END_IN(finding_reused_early, RULE_REUSED_EARLY)
END_IN(finding_held_moved, RULE_HELD_MOVED)
END_IN(finding_moved_unasked, RULE_MOVED_UNASKED)
END_IN(finding_busy_evicted, RULE_BUSY_EVICTED)
END_IN(finding_wrong_eviction, RULE_WRONG_EVICTION)
END_IN(finding_failed_changed, RULE_FAILED_CHANGED)
END_IN(finding_counters, RULE_COUNTERS)
END_IN(finding_message, RULE_MESSAGE)
END_IN(finding_report, RULE_REPORT)
END_IN(finding_status, RULE_STATUS)
END_IN(finding_handle, RULE_HANDLE)
END_IN(finding_hang, RULE_HANG)
END_IN(finding_not_coalesced, RULE_NOT_COALESCED)
END_IN(finding_host_memory, RULE_HOST_MEMORY)
END_IN(finding_spmd, RULE_SPMD)
END_IN(finding_replay, RULE_REPLAY)
END_IN(finding_regret, RULE_REGRET)
END_IN(finding_overrun, RULE_OVERRUN)
END_IN(finding_crash, RULE_CRASH)
END_IN(finding_deadlock, RULE_DEADLOCK)
END_IN(finding_livelock, RULE_LIVELOCK)
END_IN(finding_lost_wakeup, RULE_LOST_WAKEUP)
END_IN(finding_race, RULE_RACE)
END_IN(finding_misuse, RULE_MISUSE)

static void (*const ends[RULE_COUNT])(void) = {
    [RULE_NONE] = finding_none,
    [RULE_PREMATURE] = finding_premature,
    [RULE_OVERLAP] = finding_overlap,
    [RULE_OUTSIDE] = finding_outside,
    [RULE_MISALIGNED] = finding_misaligned,
    [RULE_TOO_SMALL] = finding_too_small,
    [RULE_CONTENTS] = finding_contents,
    [RULE_REUSED_EARLY] = finding_reused_early,
    [RULE_HELD_MOVED] = finding_held_moved,
    [RULE_MOVED_UNASKED] = finding_moved_unasked,
    [RULE_BUSY_EVICTED] = finding_busy_evicted,
    [RULE_WRONG_EVICTION] = finding_wrong_eviction,
    [RULE_FAILED_CHANGED] = finding_failed_changed,
    [RULE_COUNTERS] = finding_counters,
    [RULE_MESSAGE] = finding_message,
    [RULE_REPORT] = finding_report,
    [RULE_STATUS] = finding_status,
    [RULE_HANDLE] = finding_handle,
    [RULE_HANG] = finding_hang,
    [RULE_NOT_COALESCED] = finding_not_coalesced,
    [RULE_HOST_MEMORY] = finding_host_memory,
    [RULE_SPMD] = finding_spmd,
    [RULE_REPLAY] = finding_replay,
    [RULE_REGRET] = finding_regret,
    [RULE_OVERRUN] = finding_overrun,
    [RULE_CRASH] = finding_crash,
    [RULE_DEADLOCK] = finding_deadlock,
    [RULE_LIVELOCK] = finding_livelock,
    [RULE_LOST_WAKEUP] = finding_lost_wakeup,
    [RULE_RACE] = finding_race,
    [RULE_MISUSE] = finding_misuse,
};

_Noreturn void end_in_rule(enum rule rule)
{
    ends[rule < RULE_COUNT ? rule : RULE_NONE]();
    abort(); /* not reached: no end returns */
}
