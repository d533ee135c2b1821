#include "tests/explore/pthreads_rig.h"

#include "explore/chance.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

enum { FIND_RUN_COUNT = 300 };

struct coin {
    struct chance chance;
    uint64_t hash;
};

static struct decision coin_choose(void *state, const struct choice *choice)
{
    struct coin *coin = state;
    const uint64_t all = choice->lanes | choice->sleepers;
    uint32_t nth = chance_below(&coin->chance, (uint32_t)__builtin_popcountll(all));
    uint64_t left = all;
    for (; nth > 0; nth--) {
        left &= left - 1;
    }
    const uint8_t lane = (uint8_t)__builtin_ctzll(left);
    coin->hash = (coin->hash ^ lane ^ choice->at.number << 8 ^ all << 16) * UINT64_C(0x100000001B3);
    return (struct decision){.lane = lane};
}

static const struct strategy_kind coin_kind = {
    .name = "coin", .summary = "Any lane.", .choose = coin_choose};

static void run_plan(enum scheduler_backend backend, uint32_t run_count, struct scheduler_plan plan,
                     struct outcomes *outcomes)
{
    static struct scheduler_report report;
    struct scheduler *scheduler = scheduler_create(backend);
    struct coin coin = {.hash = 1};
    plan.strategy = &coin_kind;
    plan.strategy_state = &coin;
    plan.step_count_max = 20000;
    memset(outcomes, 0, sizeof *outcomes);
    for (uint32_t i = 0; i < run_count; i++) {
        coin.chance = chance_of(i, 0);
        scheduler_run(scheduler, &plan, &report);
        outcomes->counts[report.outcome]++;
        outcomes->step_count += report.step_count;
        if (report.outcome != SCHEDULER_FINISHED) {
            memcpy(outcomes->text, report.text, sizeof outcomes->text);
        }
    }
    outcomes->decisions_hash = coin.hash;
    scheduler_destroy(scheduler);
}

void rig_run(enum scheduler_backend backend, uint32_t run_count, void (*body)(void *context),
             struct outcomes *outcomes)
{
    run_plan(backend, run_count, (struct scheduler_plan){.body = body}, outcomes);
}

void rig_run_stuck(enum scheduler_backend backend, uint32_t stuck_after_ms,
                   void (*body)(void *context), struct outcomes *outcomes)
{
    run_plan(backend, 1, (struct scheduler_plan){.body = body, .stuck_after_ms = stuck_after_ms},
             outcomes);
}

void rig_check_finishes(uint32_t run_count, void (*body)(void *context))
{
    struct outcomes fibers, threads;
    rig_run(SCHEDULER_FIBERS, run_count, body, &fibers);
    ck_assert_msg(fibers.counts[SCHEDULER_FINISHED] == run_count, "%s", fibers.text);
    rig_run(SCHEDULER_THREADS, run_count, body, &threads);
    ck_assert_msg(threads.counts[SCHEDULER_FINISHED] == run_count, "%s", threads.text);
    ck_assert_uint_eq(fibers.step_count, threads.step_count);
    ck_assert_uint_eq(fibers.decisions_hash, threads.decisions_hash);
}

void rig_check_finds(enum scheduler_outcome outcome, void (*body)(void *context),
                     char text[SCHEDULER_TEXT_BYTES])
{
    for (int backend = SCHEDULER_FIBERS; backend <= SCHEDULER_THREADS; backend++) {
        struct outcomes outcomes;
        rig_run((enum scheduler_backend)backend, FIND_RUN_COUNT, body, &outcomes);
        ck_assert_msg(outcomes.counts[outcome] > 0, "no schedule ends in %s",
                      scheduler_outcome_name(outcome));
        ck_assert_msg(outcomes.counts[outcome] + outcomes.counts[SCHEDULER_FINISHED] ==
                          FIND_RUN_COUNT,
                      "%s", outcomes.text);
        memcpy(text, outcomes.text, sizeof outcomes.text);
    }
}
