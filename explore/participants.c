#include "explore/private/participants.h"

#include "explore/private/check.h"

/* Rare, for a time-out that comes early is often no more than slow; not so rare that a run has
 * none. */
enum { TIME_OUT_ONE_IN = 16 };

uint64_t participants_of(const struct choice *choice)
{
    EXPLORE_CHECK(choice->lanes >> LANE_COUNT_MAX == 0);
    return choice->lanes | (uint64_t)(choice->event_count > 0) << PARTICIPANT_DEVICE;
}

uint8_t participant_after(uint64_t participants, uint8_t participant)
{
    EXPLORE_CHECK(participants != 0);
    const uint64_t behind = participants & ~((UINT64_C(2) << participant) - 1);
    return (uint8_t)__builtin_ctzll(behind != 0 ? behind : participants);
}

uint8_t participant_default(const struct choice *choice)
{
    EXPLORE_CHECK(participants_of(choice) != 0);
    const struct decision decision = decision_default(choice);
    return decision.completes ? (uint8_t)PARTICIPANT_DEVICE : decision.lane;
}

uint8_t participant_draw(uint64_t of, struct chance *chance)
{
    EXPLORE_CHECK(of != 0);
    for (uint32_t skip = chance_below(chance, (uint32_t)__builtin_popcountll(of)); skip > 0;
         skip--) {
        of &= of - 1;
    }
    return (uint8_t)__builtin_ctzll(of);
}

struct decision participant_decision(const struct choice *choice, uint8_t participant,
                                     struct chance *chance)
{
    if (participant != PARTICIPANT_DEVICE) {
        return (struct decision){.lane = participant};
    }
    EXPLORE_CHECK(choice->event_count > 0);
    uint32_t index = 0;
    if (chance != NULL && choice->event_count > 1 && chance_below(chance, 2) == 0) {
        index = chance_below(chance, choice->event_count);
    }
    return (struct decision){.completes = true, .event = choice->events[index]};
}

bool participants_time_out(const struct choice *choice, struct chance *chance,
                           struct decision *decision)
{
    if (choice->sleepers == 0) {
        return false;
    }
    if (participants_of(choice) != 0 && chance_below(chance, TIME_OUT_ONE_IN) != 0) {
        return false;
    }
    *decision = (struct decision){.lane = participant_draw(choice->sleepers, chance)};
    return true;
}

bool strategy_goes_on(void *state, const struct run_summary *summary)
{
    (void)state;
    (void)summary;
    return true;
}

uint32_t run_length_expected(const struct run_length *length)
{
    if (!length->is_known) {
        return RUN_LENGTH_GUESS;
    }
    if (length->longest == 0) {
        return 1;
    }
    return length->longest < UINT32_MAX ? (uint32_t)length->longest : UINT32_MAX;
}

void run_length_learn(struct run_length *length, const struct run_summary *summary)
{
    length->is_known = true;
    if (summary->decision_count > length->longest) {
        length->longest = summary->decision_count;
    }
}
