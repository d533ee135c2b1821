/* Probabilistic concurrency testing: who has the highest priority goes on; priorities are random, d
 * - 1 of them change. A decision counts as a step of the paper: where only one thing can happen, no
 * priority matters. */
#include "explore/private/participants.h"
#include "explore/strategies/strategies.h"

enum { PCT_DEPTH_DEFAULT = 3 };

struct pct {
    uint64_t seed;
    uint32_t depth;
    struct run_length length;
    uint32_t participant_count_max; /* of the runs that have ended */
    /* These belong to this run: */
    struct chance chance;
    uint64_t known;                          /* bit per participant that has a priority */
    int64_t priority[PARTICIPANT_COUNT_MAX]; /* all distinct: random ones above d, 1..d-1 by change
                                                points, then */
    int64_t lowest; /* those of lanes that gave way: each below all others */
    uint32_t change[STRATEGY_PCT_DEPTH_MAX]; /* [depth - 1]: decisions, counted from 1 */
};

static void pct_init(void *state, uint64_t seed, uint64_t argument)
{
    const uint64_t asked = argument == 0 ? PCT_DEPTH_DEFAULT : argument;
    const uint32_t depth = asked < STRATEGY_PCT_DEPTH_MAX ? (uint32_t)asked
                                                          : STRATEGY_PCT_DEPTH_MAX;
    *(struct pct *)state = (struct pct){.seed = seed, .depth = depth};
}

static void pct_begin(void *state, uint64_t run)
{
    struct pct *pct = state;
    pct->chance = chance_of(pct->seed, run);
    pct->known = 0;
    pct->lowest = 0;
    for (uint32_t i = 0; i + 1 < pct->depth; i++) {
        pct->change[i] = 1 + chance_below(&pct->chance, run_length_expected(&pct->length));
    }
}

/* The low bits are the participant's number, so that no two priorities are the same. */
static void meet_change_point(struct pct *pct, uint64_t participants)
{
    for (uint64_t fresh = participants & ~pct->known; fresh != 0; fresh &= fresh - 1) {
        const uint64_t number = (uint64_t)__builtin_ctzll(fresh);
        pct->priority[number] = (int64_t)(chance_next(&pct->chance) >> 8 << 6 | number) +
                                STRATEGY_PCT_DEPTH_MAX;
    }
    pct->known |= participants;
}

static uint8_t find_highest_participant(const struct pct *pct, uint64_t participants)
{
    uint8_t highest = (uint8_t)__builtin_ctzll(participants);
    for (uint64_t rest = participants & (participants - 1); rest != 0; rest &= rest - 1) {
        const uint8_t other = (uint8_t)__builtin_ctzll(rest);
        highest = pct->priority[other] > pct->priority[highest] ? other : highest;
    }
    return highest;
}

/* A lane that gives way waits for the others; with its priority kept it would spin for ever. */
static void lower_priority(struct pct *pct, const struct point *at)
{
    if (at->kind == STEP_YIELD || at->kind == STEP_SLEEP) {
        pct->known |= UINT64_C(1) << at->lane;
        pct->priority[at->lane] = --pct->lowest;
    }
}

static struct decision pct_choose(void *state, const struct choice *choice)
{
    struct pct *pct = state;
    const uint64_t participants = participants_of(choice);
    if (participants == 0) {
        return decision_default(choice);
    }
    meet_change_point(pct, participants);
    lower_priority(pct, &choice->at);
    uint8_t highest = find_highest_participant(pct, participants);
    for (uint32_t i = 0; i + 1 < pct->depth; i++) {
        if (pct->change[i] == choice->index + 1) {
            pct->priority[highest] = (int64_t)i + 1;
            highest = find_highest_participant(pct, participants);
        }
    }
    return participant_decision(choice, highest, &pct->chance);
}

static bool pct_end(void *state, const struct run_summary *summary)
{
    struct pct *pct = state;
    const uint32_t count = (uint32_t)__builtin_popcountll(pct->known);
    pct->participant_count_max = count > pct->participant_count_max ? count
                                                                    : pct->participant_count_max;
    run_length_learn(&pct->length, summary);
    return true;
}

bool strategy_pct_bound(const void *state, struct strategy_bound *bound)
{
    const struct pct *pct = state;
    if (!pct->length.is_known) {
        return false;
    }
    const uint32_t n = pct->participant_count_max > 0 ? pct->participant_count_max : 1;
    *bound = (struct strategy_bound){
        .n = n, .k = run_length_expected(&pct->length), .depth = pct->depth};
    bound->probability = 1.0 / (double)bound->n;
    for (uint32_t i = 1; i < pct->depth; i++) {
        bound->probability /= (double)bound->k;
    }
    return true;
}

const struct strategy_kind strategy_pct = {
    .name = "pct",
    .summary =
        "Random priorities that change a few times. Finds a defect of its depth with a known probability.",
    .state_bytes = sizeof(struct pct),
    .init = pct_init,
    .begin = pct_begin,
    .choose = pct_choose,
    .end = pct_end,
};
