#include "explore/strategies/strategies.h"

#include <string.h>

const struct strategy_kind *const strategies[] = {
    &strategy_portfolio,   &strategy_random,     &strategy_pct,    &strategy_delay,
    &strategy_round_robin, &strategy_exhaustive, &strategy_replay, NULL,
};

const struct strategy_kind *strategy_find(const char *name)
{
    for (size_t i = 0; strategies[i] != NULL; i++) {
        if (strcmp(strategies[i]->name, name) == 0) {
            return strategies[i];
        }
    }
    return NULL;
}
