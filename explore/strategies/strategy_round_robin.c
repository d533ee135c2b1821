/* Another participant at each decision, in the order of numbers, the device after the last lane. */
#include "explore/private/participants.h"
#include "explore/strategies/strategies.h"

struct round_robin {
    bool has_completed; /* the last decision completed an event, */
    struct point at;    /* while a lane stood there */
};

static void round_robin_init(void *state, uint64_t seed, uint64_t argument)
{
    (void)seed;
    (void)argument;
    *(struct round_robin *)state = (struct round_robin){0};
}

static void round_robin_begin(void *state, uint64_t run)
{
    (void)run;
    *(struct round_robin *)state = (struct round_robin){0};
}

/* Whose turn it was.  A completion leaves the lane where it stands, so the choice alone does not
 * tell. */
static uint8_t find_last_participant(const struct round_robin *round, const struct choice *choice)
{
    const struct point *at = &choice->at;
    const bool is_same = at->lane == round->at.lane && at->op == round->at.op &&
                         at->number == round->at.number;
    return round->has_completed && is_same ? (uint8_t)PARTICIPANT_DEVICE : at->lane;
}

static struct decision round_robin_choose(void *state, const struct choice *choice)
{
    struct round_robin *round = state;
    const uint64_t participants = participants_of(choice);
    if (participants == 0) {
        return decision_default(choice);
    }
    const uint8_t next = participant_after(participants, find_last_participant(round, choice));
    *round = (struct round_robin){.has_completed = next == PARTICIPANT_DEVICE, .at = choice->at};
    return participant_decision(choice, next, NULL);
}

const struct strategy_kind strategy_round_robin = {
    .name = "round_robin",
    .summary = "At each decision the next participant runs, in the order of their numbers.",
    .state_bytes = sizeof(struct round_robin),
    .init = round_robin_init,
    .begin = round_robin_begin,
    .choose = round_robin_choose,
    .end = strategy_goes_on,
};
