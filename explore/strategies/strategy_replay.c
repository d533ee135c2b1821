/* The switches are chained by point, and the chains found by hashing, so that a decision looks at
 * few of them. */
#include "explore/strategies/strategies.h"

#include "explore/private/check.h"
#include "explore/private/participants.h"

#include <stdlib.h>
#include <string.h>

#define NO_ENTRY SIZE_MAX

struct chain {
    size_t first, last; /* entries of one point, in order; NO_ENTRY: free place */
    size_t next;        /* of this run: the first that was not consumed */
};

struct strategy_replay {
    struct schedule_switch *switches; /* [count] */
    size_t *after;                    /* [count]: the next entry of the same point */
    size_t count;
    struct chain *chains; /* [chain_count], open addressing, at most half full */
    size_t chain_count;   /* a power of two; 0 = nothing was set */
    uint64_t dropped;
};

static void replay_init(void *state, uint64_t seed, uint64_t argument)
{
    (void)seed;
    (void)argument;
    *(struct strategy_replay *)state = (struct strategy_replay){0};
}

static void replay_deinit(void *state)
{
    struct strategy_replay *replay = state;
    free(replay->switches);
    free(replay->after);
    free(replay->chains);
    *replay = (struct strategy_replay){0};
}

static void replay_begin(void *state, uint64_t run)
{
    (void)run;
    struct strategy_replay *replay = state;
    replay->dropped = 0;
    for (size_t i = 0; i < replay->chain_count; i++) {
        replay->chains[i].next = replay->chains[i].first;
    }
}

static bool is_switch_at(const struct schedule_switch *entry, const struct point *at)
{
    return entry->lane == at->lane && entry->op == at->op && entry->number == at->number;
}

/* The chain of the point, or the free place where it belongs. */
static struct chain *replay_chain(const struct strategy_replay *replay, const struct point *at)
{
    uint64_t hash = ((uint64_t)at->op << 32 | at->number) * UINT64_C(0x9E3779B97F4A7C15);
    hash = (hash ^ hash >> 29 ^ at->lane) * UINT64_C(0xBF58476D1CE4E5B9);
    const size_t mask = replay->chain_count - 1;
    size_t place = (size_t)(hash >> 32) & mask;
    while (replay->chains[place].first != NO_ENTRY &&
           !is_switch_at(&replay->switches[replay->chains[place].first], at)) {
        place = (place + 1) & mask;
    }
    return &replay->chains[place];
}

static void replay_add(struct strategy_replay *replay, size_t entry)
{
    const struct schedule_switch *added = &replay->switches[entry];
    const struct point at = {.lane = added->lane, .op = added->op, .number = added->number};
    struct chain *chain = replay_chain(replay, &at);
    if (chain->first == NO_ENTRY) {
        chain->first = entry;
    } else {
        replay->after[chain->last] = entry;
    }
    chain->last = entry;
}

void strategy_replay_set(void *state, const struct schedule_switch *switches, size_t count)
{
    struct strategy_replay *replay = state;
    replay_deinit(replay);
    if (count == 0) {
        return;
    }
    replay->count = count;
    for (replay->chain_count = 2; replay->chain_count < 2 * count;) {
        replay->chain_count *= 2;
    }
    replay->switches = malloc(count * sizeof *switches);
    replay->after = malloc(count * sizeof *replay->after);
    replay->chains = malloc(replay->chain_count * sizeof *replay->chains);
    EXPLORE_CHECK(replay->switches != NULL && replay->after != NULL && replay->chains != NULL);
    memcpy(replay->switches, switches, count * sizeof *switches);
    memset(replay->after, 0xFF, count * sizeof *replay->after);
    memset(replay->chains, 0xFF, replay->chain_count * sizeof *replay->chains);
    for (size_t i = 0; i < count; i++) {
        replay_add(replay, i);
    }
}

uint64_t strategy_replay_dropped(const void *state)
{
    return ((const struct strategy_replay *)state)->dropped;
}

/* When no lane can go on, an event completes and the point is asked again: the lane of the switch
 * may be able then. */
static bool can_switch_wait(const struct choice *choice, const struct schedule_switch *entry)
{
    return !entry->completes && choice->lanes == 0 && choice->event_count > 0;
}

static struct decision replay_choose(void *state, const struct choice *choice)
{
    struct strategy_replay *replay = state;
    if (replay->chain_count == 0) {
        return decision_default(choice);
    }
    struct chain *chain = replay_chain(replay, &choice->at);
    while (chain->next != NO_ENTRY) {
        const struct schedule_switch *entry = &replay->switches[chain->next];
        const struct decision decision = {
            .completes = entry->completes, .lane = entry->to, .event = entry->event};
        const bool is_offered = decision_is_offered(&decision, choice);
        if (!is_offered && can_switch_wait(choice, entry)) {
            break;
        }
        chain->next = replay->after[chain->next];
        if (is_offered) {
            return decision;
        }
        replay->dropped++;
    }
    return decision_default(choice);
}

const struct strategy_kind strategy_replay = {
    .name = "replay",
    .summary =
        "Repeats the switches of a recorded schedule, and uses the default order everywhere else.",
    .state_bytes = sizeof(struct strategy_replay),
    .init = replay_init,
    .deinit = replay_deinit,
    .begin = replay_begin,
    .choose = replay_choose,
    .end = strategy_goes_on,
};
