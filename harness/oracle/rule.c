#include "harness/oracle/rule.h"

#include "harness/base/check.h"
#include "harness/oracle/verdict.h"

#include <string.h>

static const struct rule_info rules[RULE_COUNT] = {
    [RULE_NONE] = {"none", "no promise is broken"},
    [RULE_PREMATURE] = {"premature",
                        "an out-of-memory fires only when nothing fits after every mitigation"},
    [RULE_OVERLAP] = {"overlap", "blocks are disjoint from each other and from the stack"},
    [RULE_OUTSIDE] = {"outside", "blocks lie inside the device"},
    [RULE_MISALIGNED] = {"misaligned",
                         "addresses are multiples of the granule and of the asked alignment"},
    [RULE_TOO_SMALL] = {"too_small", "a block is at least as large as the request"},
    [RULE_CONTENTS] = {"contents", "contents survive every move"},
    [RULE_REUSED_EARLY] =
        {"reused_early",
         "the memory of a queued free is not used again before its events are done"},
    [RULE_HELD_MOVED] = {"held_moved", "held and dying blocks and busy programs never move"},
    [RULE_MOVED_UNASKED] = {"moved_unasked",
                            "blocks move only by copies and only as the contract allows"},
    [RULE_BUSY_EVICTED] = {"busy_evicted", "busy programs are never evicted"},
    [RULE_WRONG_EVICTION] = {"wrong_eviction",
                             "only loaded programs are evicted, and only by requests that may"},
    [RULE_FAILED_CHANGED] = {"failed_changed", "a failed call leaves the blocks as they were"},
    [RULE_COUNTERS] = {"counters", "the target's counters equal the model's"},
    [RULE_MESSAGE] = {"message", "an error's text follows the grammar and its numbers are right"},
    [RULE_REPORT] = {"report", "the allocations report lists each block once and its sums agree"},
    [RULE_STATUS] = {"status", "each call returns the result that its request deserves"},
    [RULE_HANDLE] = {"handle", "handles are not 0 and name one thing each"},
    [RULE_HANG] = {"hang", "every call returns after a bounded number of device calls"},
    [RULE_NOT_COALESCED] = {"not_coalesced",
                            "after the last free there is one hole of the whole heap"},
    [RULE_HOST_MEMORY] =
        {"host_memory", "host memory stays in proportion, and is back where it began after close"},
    [RULE_OVERRUN] =
        {"overrun",
         "the target writes only into host memory that it was given, and gives back only that"},
    [RULE_SPMD] = {"spmd", "the same request gets the same answer on every host"},
    [RULE_REPLAY] = {"replay", "the same ops give the same observations again"},
    [RULE_REGRET] =
        {"regret", "no more requests than allowed cost needless moves or evictions (--regret-max)"},
    [RULE_CRASH] = {"crash", "no call takes the process with it"},
    [RULE_DEADLOCK] = {"deadlock", "lanes never await each other for ever"},
    [RULE_LIVELOCK] = {"livelock", "lanes that go on get calls done"},
    [RULE_LOST_WAKEUP] =
        {"lost_wakeup",
         "nobody waits for a condition that holds already, with nobody left to wake it"},
    [RULE_RACE] =
        {"race",
         "plain accesses of two lanes to the same memory are ordered, if one of them writes"},
    [RULE_MISUSE] = {"misuse",
                     "locks are given back by who holds them, and not destroyed while in use"},
};

const struct rule_info *rule_info(enum rule rule)
{
    CHECK(rule < RULE_COUNT);
    return &rules[rule];
}

enum rule rule_find(const char *name)
{
    for (unsigned i = 1; i < RULE_COUNT; i++) {
        if (strcmp(rules[i].name, name) == 0) {
            return (enum rule)i;
        }
    }
    return RULE_NONE;
}

const char *verdict_name(enum verdict_kind kind)
{
    static const char *const names[] = {
        [VERDICT_NONE] = "none",           [VERDICT_JUSTIFIED] = "justified",
        [VERDICT_PREMATURE] = "premature", [VERDICT_UNKNOWN] = "unknown",
        [VERDICT_BROKEN] = "broken",       [VERDICT_DISPUTED] = "disputed",
    };
    CHECK(kind < sizeof names / sizeof names[0]);
    return names[kind];
}
