/* Delay bounding: the default order, but for a few decisions at which who would go on is passed
 * over once. */
#include "explore/private/participants.h"
#include "explore/strategies/strategies.h"

enum { DELAY_COUNT_DEFAULT = 3 };

struct delay {
    uint64_t seed;
    uint32_t count;
    struct run_length length;
    uint32_t at[STRATEGY_DELAY_COUNT_MAX]; /* [count]: decisions of this run, in no order; some may
                                              be the same */
};

static void delay_init(void *state, uint64_t seed, uint64_t argument)
{
    const uint64_t asked = argument == 0 ? DELAY_COUNT_DEFAULT : argument;
    const uint32_t count = asked < STRATEGY_DELAY_COUNT_MAX ? (uint32_t)asked
                                                            : STRATEGY_DELAY_COUNT_MAX;
    *(struct delay *)state = (struct delay){.seed = seed, .count = count};
}

static void delay_begin(void *state, uint64_t run)
{
    struct delay *delay = state;
    struct chance chance = chance_of(delay->seed, run);
    for (uint32_t i = 0; i < delay->count; i++) {
        delay->at[i] = chance_below(&chance, run_length_expected(&delay->length));
    }
}

/* Delays that meet at one decision pass over one participant each. */
static struct decision delay_choose(void *state, const struct choice *choice)
{
    const struct delay *delay = state;
    const uint64_t participants = participants_of(choice);
    if (participants == 0) {
        return decision_default(choice);
    }
    uint8_t next = participant_default(choice);
    for (uint32_t i = 0; i < delay->count; i++) {
        if (delay->at[i] == choice->index) {
            next = participant_after(participants, next);
        }
    }
    return participant_decision(choice, next, NULL);
}

static bool delay_end(void *state, const struct run_summary *summary)
{
    struct delay *delay = state;
    run_length_learn(&delay->length, summary);
    return true;
}

const struct strategy_kind strategy_delay = {
    .name = "delay",
    .summary = "The default order, with a few delays at random decisions.",
    .state_bytes = sizeof(struct delay),
    .init = delay_init,
    .begin = delay_begin,
    .choose = delay_choose,
    .end = delay_end,
};
