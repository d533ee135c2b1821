/* A random walk: each participant as likely at each decision. */
#include "explore/private/participants.h"
#include "explore/strategies/strategies.h"

struct random_walk {
    uint64_t seed;
    struct chance chance; /* of this run */
};

static void random_init(void *state, uint64_t seed, uint64_t argument)
{
    (void)argument;
    *(struct random_walk *)state = (struct random_walk){.seed = seed};
}

static void random_begin(void *state, uint64_t run)
{
    struct random_walk *walk = state;
    walk->chance = chance_of(walk->seed, run);
}

static struct decision random_choose(void *state, const struct choice *choice)
{
    struct random_walk *walk = state;
    struct decision time_out;
    if (participants_time_out(choice, &walk->chance, &time_out)) {
        return time_out;
    }
    return participant_decision(choice, participant_draw(participants_of(choice), &walk->chance),
                                &walk->chance);
}

const struct strategy_kind strategy_random = {
    .name = "random",
    .summary = "At each decision all participants are equally likely.",
    .state_bytes = sizeof(struct random_walk),
    .init = random_init,
    .begin = random_begin,
    .choose = random_choose,
    .end = strategy_goes_on,
};
