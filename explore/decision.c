#include "explore/private/check.h"
#include "explore/private/participants.h"
#include "explore/strategy.h"

#include <stdio.h>
#include <stdlib.h>

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

struct decision decision_default(const struct choice *choice)
{
    if ((choice->lanes >> choice->at.lane & 1) != 0) {
        return (struct decision){.lane = choice->at.lane};
    }
    if (choice->lanes != 0) {
        return (struct decision){.lane = participant_after(choice->lanes, choice->at.lane)};
    }
    if (choice->event_count > 0) {
        return (struct decision){.completes = true, .event = choice->events[0]};
    }
    EXPLORE_CHECK(choice->sleepers != 0);
    return (struct decision){.lane = participant_after(choice->sleepers, choice->at.lane)};
}

bool decision_equal(const struct decision *a, const struct decision *b)
{
    return a->completes == b->completes &&
           (a->completes ? a->event == b->event : a->lane == b->lane);
}

bool decision_is_offered(const struct decision *decision, const struct choice *choice)
{
    if (!decision->completes) {
        return decision->lane < LANE_COUNT_MAX &&
               ((choice->lanes | choice->sleepers) >> decision->lane & 1) != 0;
    }
    for (uint32_t i = 0; i < choice->event_count; i++) {
        if (choice->events[i] == decision->event) {
            return true;
        }
    }
    return false;
}

_Noreturn void explore_check_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "hbmstress: internal error: %s:%d: %s does not hold\n", file, line, condition);
    abort();
}
