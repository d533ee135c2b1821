#include "explore/private/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "explore/strategy.h"

const char *step_kind_name(enum step_kind kind)
{
    static const char *const names[STEP_KIND_COUNT] = {
        [STEP_START] = "start",
        [STEP_OP] = "op",
        [STEP_DEVICE] = "device",
        [STEP_LOCK] = "lock",
        [STEP_TRY_LOCK] = "try_lock",
        [STEP_UNLOCK] = "unlock",
        [STEP_COND_WAIT] = "cond_wait",
        [STEP_SIGNAL] = "signal",
        [STEP_WAIT] = "wait",
        [STEP_POST] = "post",
        [STEP_CREATE] = "create",
        [STEP_ATOMIC] = "atomic",
        [STEP_SLEEP] = "sleep",
        [STEP_YIELD] = "yield",
        [STEP_END] = "end",
    };
    EXPLORE_CHECK((unsigned)kind < STEP_KIND_COUNT);
    return names[kind];
}

/* The first lane of the mask after `lane`, round and round. */
static uint8_t find_next_lane(uint64_t lanes, uint8_t lane)
{
    const uint64_t above = lanes & ~((UINT64_C(2) << lane) - 1);
    return (uint8_t)__builtin_ctzll(above != 0 ? above : lanes);
}

struct decision decision_default(const struct choice *choice)
{
    if ((choice->lanes >> choice->at.lane & 1) != 0) {
        return (struct decision){.lane = choice->at.lane};
    }
    if (choice->lanes != 0) {
        return (struct decision){.lane = find_next_lane(choice->lanes, choice->at.lane)};
    }
    if (choice->event_count > 0) {
        return (struct decision){.completes = true, .event = choice->events[0]};
    }
    EXPLORE_CHECK(choice->sleepers != 0);
    return (struct decision){.lane = find_next_lane(choice->sleepers, choice->at.lane)};
}

bool decision_equal(const struct decision *a, const struct decision *b)
{
    return a->completes == b->completes &&
           (a->completes ? a->event == b->event : a->lane == b->lane);
}

_Noreturn void explore_check_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "hbmstress: internal error: %s:%d: %s does not hold\n", file, line, condition);
    abort();
}
