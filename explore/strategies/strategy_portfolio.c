/* The default: no strategy finds everything, so the runs are dealt to several, each with a state of
 * its own. */
#include "explore/private/check.h"
#include "explore/private/participants.h"
#include "explore/strategies/strategies.h"

#include <stdlib.h>

struct hand {
    const struct strategy_kind *kind;
    uint64_t argument;
    uint32_t share; /* runs of each round */
};

/* The random walk has no blind spot, so it has the most; what takes four orderings at once is rare.
 */
static const struct hand hands[] = {
    {&strategy_random, 0, 3}, {&strategy_pct, 2, 2},   {&strategy_pct, 3, 2},
    {&strategy_pct, 4, 1},    {&strategy_delay, 3, 2},
};
/* One run of it is all there is, so it has no share but comes first. */
static const struct hand first_hand = {&strategy_round_robin, 0, 1};
enum { HAND_COUNT = sizeof hands / sizeof hands[0], FIRST_HAND = HAND_COUNT };

struct portfolio {
    void *states[HAND_COUNT + 1]; /* [FIRST_HAND]: of first_hand */
    uint64_t seed;
    struct chance chance; /* of this run's time-outs */
    uint32_t hand;        /* that decides in this run */
};

static const struct hand *get_hand(uint32_t index)
{
    return index == FIRST_HAND ? &first_hand : &hands[index];
}

/* Round by round; within one, again and again to each that has some of its share left. */
static uint32_t choose_hand(uint64_t run)
{
    if (run == 0) {
        return FIRST_HAND;
    }
    uint32_t round = 0;
    for (uint32_t i = 0; i < HAND_COUNT; i++) {
        round += hands[i].share;
    }
    uint32_t place = (uint32_t)((run - 1) % round), i = 0, dealt = 0;
    while (hands[i].share <= dealt || place-- > 0) {
        i = (i + 1) % HAND_COUNT;
        dealt += i == 0;
        EXPLORE_CHECK(dealt < round);
    }
    return i;
}

const struct strategy_kind *strategy_portfolio_dealt(uint64_t run, uint64_t *argument)
{
    const struct hand *hand = get_hand(choose_hand(run));
    if (argument != NULL) {
        *argument = hand->argument;
    }
    return hand->kind;
}

static void portfolio_init(void *state, uint64_t seed, uint64_t argument)
{
    (void)argument;
    struct portfolio *portfolio = state;
    *portfolio = (struct portfolio){.seed = seed};
    for (uint32_t i = 0; i <= FIRST_HAND; i++) {
        const struct hand *hand = get_hand(i);
        portfolio->states[i] = malloc(hand->kind->state_bytes);
        EXPLORE_CHECK(portfolio->states[i] != NULL);
        hand->kind->init(portfolio->states[i], seed, hand->argument);
    }
}

static void portfolio_deinit(void *state)
{
    struct portfolio *portfolio = state;
    for (uint32_t i = 0; i <= FIRST_HAND; i++) {
        const struct hand *hand = get_hand(i);
        if (hand->kind->deinit != NULL) {
            hand->kind->deinit(portfolio->states[i]);
        }
        free(portfolio->states[i]);
    }
}

/* The run keeps its number, so a hand's decisions are those that it would take alone. */
static void portfolio_begin(void *state, uint64_t run)
{
    struct portfolio *portfolio = state;
    portfolio->hand = choose_hand(run);
    portfolio->chance = chance_of(~portfolio->seed, run);
    get_hand(portfolio->hand)->kind->begin(portfolio->states[portfolio->hand], run);
}

/* Random fires time-outs by itself; for the others it is done here. */
static struct decision portfolio_choose(void *state, const struct choice *choice)
{
    struct portfolio *portfolio = state;
    const struct strategy_kind *kind = get_hand(portfolio->hand)->kind;
    struct decision time_out;
    if (kind != &strategy_random && participants_time_out(choice, &portfolio->chance, &time_out)) {
        return time_out;
    }
    return kind->choose(portfolio->states[portfolio->hand], choice);
}

static bool portfolio_end(void *state, const struct run_summary *summary)
{
    struct portfolio *portfolio = state;
    return get_hand(portfolio->hand)->kind->end(portfolio->states[portfolio->hand], summary);
}

const struct strategy_kind strategy_portfolio = {
    .name = "portfolio",
    .summary =
        "The first run uses round_robin; the others take turns with random, pct of depth 2, 3 and 4, and delay.",
    .state_bytes = sizeof(struct portfolio),
    .init = portfolio_init,
    .deinit = portfolio_deinit,
    .begin = portfolio_begin,
    .choose = portfolio_choose,
    .end = portfolio_end,
};
