/* Who asks a refused request again: lanes, and trials; and a flag that means nothing.
 * tests/cases/rules/retry.case has what it shows. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/suite.h"

#include "harness/call/clients.h"
#include "harness/generate/slipping.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"

#include <check.h>

TEST(an_op_that_is_no_request_asks_nothing_again)
{
    start();
    JUDGED(refuse(17), VERDICT_JUSTIFIED);
    struct op other = op_make(OP_REPORT);
    other.flags = OP_RETRY;
    KEEPS(step(other));
    ck_assert_uint_eq(run_observation(script.run)->skipped, 0);
    ck_assert_uint_eq(run_ops(script.run)->ops[1].flags, 0);
    stop();
}

/* --- lanes --- */

static void end_call_of(struct clients *clients, const struct op *op, enum target_result result)
{
    const struct call call = {.op = *op, .slot = SLOT_NONE, .result = result};
    clients_begin(clients, op);
    clients_end(clients, &call);
}

TEST(a_lane_asks_again_what_it_was_refused_itself)
{
    struct clients *clients = clients_create(8);
    struct op request = op_make(OP_ALLOC);
    struct op retry = op_make(OP_ALLOC);
    retry.flags = OP_RETRY;
    request.size_bytes = retry.size_bytes = G;
    request.lane = retry.lane = 3;
    ck_assert(!clients_were_refused(clients, &retry));
    end_call_of(clients, &request, TARGET_NO_MEMORY);
    ck_assert(clients_were_refused(clients, &retry));
    retry.lane = 2;
    ck_assert(!clients_were_refused(clients, &retry));
    retry.lane = 3;
    retry.size_bytes = 2 * G;
    ck_assert(!clients_were_refused(clients, &retry));
    retry.size_bytes = G;
    end_call_of(clients, &request, TARGET_OK);
    ck_assert(!clients_were_refused(clients, &retry));
    end_call_of(clients, &request, TARGET_NO_MEMORY);
    clients_clear(clients);
    ck_assert(!clients_were_refused(clients, &retry));
    clients_destroy(clients);
}

/* --- who asks --- */

TEST(one_refusal_in_eight_is_asked_again)
{
    struct retrying retrying;
    struct op refused = op_make(OP_LOAD);
    struct op op;
    unsigned count = 0;
    refused.size_bytes = 5 * G;
    retrying_init(&retrying, 1);
    for (unsigned i = 0; i < 8000; i++) {
        if (retrying_next(&retrying, &refused, &op)) {
            ck_assert_uint_eq(op.flags, OP_RETRY);
            ck_assert(op_asks_same(&op, &refused));
            count++;
        }
    }
    ck_assert_uint_gt(count, 850);
    ck_assert_uint_lt(count, 1150);
    const uint8_t flags[] = {OP_RETRY, OP_SPMD, OP_COLLECTIVE};
    for (unsigned i = 0; i < 3000; i++) {
        refused.flags = flags[i % 3];
        ck_assert(!retrying_next(&retrying, &refused, &op));
    }
}

/* With the retries alone: what the contract promises is not asked. */
TEST(plants_that_refuse_too_early_grant_a_retry)
{
    static const struct {
        const char *target, *scenario;
    } grounds[] = {
        {"plant_retry", "fragmentation_storm"},
        {"plant_premature_unretried", "queued_free_race"},
        {"plant_premature_moved_unretried", "fragmentation_storm"},
        {"plant_premature_evicted_once", "eviction_pressure"},
        {"plant_premature_last_hole", "fragmentation_storm"},
    };
    for (size_t i = 0; i < sizeof grounds / sizeof grounds[0]; i++) {
        uint64_t granted = 0;
        for (uint64_t seed = 1; seed <= 40 && granted == 0; seed++) {
            struct trial trial;
            wish_play(&(struct trial_wish){grounds[i].target, scenario_find(grounds[i].scenario),
                                           seed, .op_count_max = 2000},
                      &trial);
            granted += trial.totals.retries_granted;
            trial_deinit(&trial);
        }
        ck_assert_msg(granted > 0, "%s", grounds[i].target);
    }
}

TEST(the_reference_grants_no_retry)
{
    static const char *const names[] = {"fragmentation_storm", "queued_free_race",
                                        "eviction_pressure", "training_step"};
    uint64_t retries = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            struct trial trial;
            wish_play(
                &(struct trial_wish){"hbm", scenario_find(names[i]), seed, .op_count_max = 2000},
                &trial);
            ck_assert_int_eq(trial.first.kind, VERDICT_NONE);
            ck_assert_uint_eq(trial.totals.retries_granted, 0);
            retries += trial.totals.retries;
            trial_deinit(&trial);
        }
    }
    ck_assert_uint_gt(retries, 100);
}
