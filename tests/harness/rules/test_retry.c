/* A request that was refused is asked again at once, with time pinned. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include "harness/call/clients.h"
#include "harness/device/timeline.h"
#include "harness/generate/slipping.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"

#include <check.h>
#include <string.h>

/* Classes of a power of two: a request of 9 granules is justly refused where no 16 are free. */
static void start_with_doublings(void)
{
    prepare();
    script.contract.rounding = (struct target_rounding){.kind = ROUNDING_CLASSES, .steps = 1};
    start_hosts(1);
    run_go_on(script.run);
    KEEPS(alloc_at(12, 4));
}

static struct op make_retry(void)
{
    struct op op = op_make(OP_ALLOC);
    op.flags = OP_RETRY;
    return op;
}

static const struct verdict *ask_again(void)
{
    return step(make_retry());
}

static const struct verdict *grant_again_at(uint64_t at, uint64_t size)
{
    script.block = (struct target_block){next_handle(), at * G, size * G};
    return ask_again();
}

/* --- the rule --- */

TEST(what_is_granted_when_it_is_asked_again_was_refused_too_early)
{
    start_with_doublings();
    JUDGED(refuse(9), VERDICT_JUSTIFIED);
    BREAKS(grant_again_at(0, 9), RULE_RETRY);
    const struct run_findings *findings = run_findings(script.run);
    ck_assert_uint_eq(findings->count, 1);
    ck_assert_str_eq(findings->findings[0].signature, "retry: granted when asked again");
    /* The run goes on, and the block is there. */
    KEEPS(report());
    KEEPS(on(OP_FREE, 2));
    ck_assert_uint_eq(run_totals(script.run)->retries, 1);
    ck_assert_uint_eq(run_totals(script.run)->retries_granted, 1);
    ck_assert_uint_eq(run_totals(script.run)->late, 0);
    stop();
}

TEST(it_takes_over_what_the_op_before_asked_for)
{
    start_with_doublings();
    JUDGED(refuse(9), VERDICT_JUSTIFIED);
    struct op retry = make_retry();
    retry.size_bytes = 3 * G;
    retry.tag = 7;
    script.result = TARGET_NO_MEMORY;
    JUDGED(step(retry), VERDICT_JUSTIFIED);
    const struct op *asked = &run_ops(script.run)->ops[2];
    ck_assert_uint_eq(asked->size_bytes, 9 * G);
    ck_assert_uint_eq(asked->tag, 0);
    ck_assert_uint_eq(asked->flags, OP_RETRY);
    stop();
}

TEST(what_is_refused_again_breaks_nothing)
{
    start_with_doublings();
    JUDGED(refuse(9), VERDICT_JUSTIFIED);
    for (unsigned i = 1; i <= 3; i++) {
        script.result = TARGET_NO_MEMORY;
        JUDGED(ask_again(), VERDICT_JUSTIFIED);
        ck_assert_uint_eq(run_totals(script.run)->retries, i);
    }
    ck_assert_uint_eq(run_totals(script.run)->retries_granted, 0);
    stop();
}

TEST(behind_a_premature_refusal_it_says_no_more)
{
    start();
    run_go_on(script.run);
    JUDGED(refuse(3), VERDICT_PREMATURE);
    KEEPS(grant_again_at(0, 3));
    ck_assert_uint_eq(run_totals(script.run)->retries_granted, 1);
    ck_assert_uint_eq(run_findings(script.run)->count, 1);
    stop();
}

static void wait_in_vain(void)
{
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->event_wait(device->context, 2), DEVICE_REFUSED);
}

TEST(behind_a_refusal_in_which_a_fault_struck_it_says_nothing)
{
    start_with_doublings();
    KEEPS(on_for(OP_USE, 0, 1000));
    KEEPS(arm(FAULT_WAIT));
    script.act = wait_in_vain;
    JUDGED(refuse(9), VERDICT_JUSTIFIED);
    KEEPS(grant_again_at(0, 9));
    ck_assert_uint_eq(run_totals(script.run)->retries_granted, 1);
    stop();
}

/* --- when it is asked --- */

static void expect_skipped(const struct verdict *verdict)
{
    KEEPS(verdict);
    ck_assert_uint_eq(run_observation(script.run)->skipped, 1);
    ck_assert_uint_eq(run_totals(script.run)->retries, 0);
}

TEST(it_is_skipped_unless_the_op_before_was_refused)
{
    start();
    expect_skipped(ask_again()); /* there is none */
    KEEPS(alloc_at(0, 4));
    expect_skipped(ask_again()); /* granted */
    JUDGED(refuse(13), VERDICT_JUSTIFIED);
    KEEPS(on_for(OP_ADVANCE, OP_NONE, 1));
    expect_skipped(ask_again()); /* not at once */
    struct op other = op_make(OP_REPORT);
    other.flags = OP_RETRY;
    KEEPS(step(other)); /* no request: the flag means nothing */
    ck_assert_uint_eq(run_observation(script.run)->skipped, 0);
    ck_assert_uint_eq(run_ops(script.run)->ops[run_ops(script.run)->count - 1].flags, 0);
    stop();
}

TEST(it_is_skipped_behind_what_another_host_was_refused)
{
    prepare();
    start_hosts(2);
    JUDGED(refuse(17), VERDICT_JUSTIFIED);
    struct op retry = make_retry();
    retry.host = 1;
    retry.size_bytes = 17 * G;
    expect_skipped(step(retry));
    stop();
}

TEST(it_is_skipped_behind_what_a_group_was_refused)
{
    prepare();
    start_hosts(2);
    struct op request = op_make(OP_ALLOC);
    request.size_bytes = 17 * G;
    request.flags = OP_SPMD;
    script.result = TARGET_NO_MEMORY;
    JUDGED(step(request), VERDICT_JUSTIFIED);
    expect_skipped(ask_again());
    stop();
}

/* --- pinned time --- */

static enum device_result waited[3];
static uint64_t waited_events[3];

static void wait_for_all(void)
{
    const struct device_services *device = script.device[0];
    for (unsigned i = 0; i < 3; i++) {
        waited[i] = device->event_wait(device->context, waited_events[i]);
    }
}

TEST(no_event_completes_while_it_is_asked)
{
    start();
    KEEPS(alloc_at(0, 4));
    KEEPS(alloc_at(4, 4));
    KEEPS(on_for(OP_USE, 0, 1000));
    KEEPS(on_for(OP_USE, 0, DELAY_NEVER));
    KEEPS(on_for(OP_USE, 1, 10));
    KEEPS(on_for(OP_ADVANCE, OP_NONE, 10));
    waited_events[0] = 3; /* op 2: pending */
    waited_events[1] = 4; /* lost */
    waited_events[2] = 5; /* done */
    JUDGED(refuse(13), VERDICT_JUSTIFIED);
    script.act = wait_for_all;
    script.result = TARGET_NO_MEMORY;
    JUDGED(ask_again(), VERDICT_JUSTIFIED);
    ck_assert_int_eq(waited[0], DEVICE_REFUSED);
    ck_assert_int_eq(waited[1], DEVICE_LOST);
    ck_assert_int_eq(waited[2], DEVICE_OK);
    ck_assert_uint_eq(run_observation(script.run)->now_ns, 10);
    /* Time goes on behind it. */
    script.act = wait_for_all;
    JUDGED(refuse(13), VERDICT_JUSTIFIED);
    ck_assert_int_eq(waited[0], DEVICE_OK);
    ck_assert_uint_eq(run_observation(script.run)->now_ns, 1000);
    stop();
}

static enum device_result copied;

static void copy_two(void)
{
    copied = copy(0, 8, 2);
}

TEST(a_fault_waits_until_it_was_asked)
{
    start();
    KEEPS(alloc_at(0, 2));
    JUDGED(refuse(15), VERDICT_JUSTIFIED);
    device_arm(run_device(script.run, 0), &(struct device_fault){.kind = FAULT_COPY, .call = 1});
    script.act = copy_two;
    script.at[1].address = 8 * G;
    script.result = TARGET_NO_MEMORY;
    JUDGED(ask_again(), VERDICT_JUSTIFIED);
    ck_assert_int_eq(copied, DEVICE_OK);
    script.act = copy_two;
    JUDGED(refuse(15), VERDICT_JUSTIFIED);
    ck_assert_int_eq(copied, DEVICE_REFUSED);
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
    struct op retry = make_retry();
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

static void run_trial_on(const char *target, const char *scenario, uint64_t seed,
                         struct trial *trial)
{
    struct setup setup;
    char reason[RUN_REASON_BYTES] = "";
    setup_init(&setup);
    setup.seed = seed;
    const struct trial_plan plan = {.target = target_find(target),
                                    .scenario = scenario_find(scenario),
                                    .setup = &setup,
                                    .capacity_is_free = true,
                                    .op_count_max = 2000};
    ck_assert_msg(trial_run(&plan, NULL, trial, reason), "%s", reason);
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
            run_trial_on(grounds[i].target, grounds[i].scenario, seed, &trial);
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
            run_trial_on("hbm", names[i], seed, &trial);
            ck_assert_int_eq(trial.first.kind, VERDICT_NONE);
            ck_assert_uint_eq(trial.totals.retries_granted, 0);
            retries += trial.totals.retries;
            trial_deinit(&trial);
        }
    }
    ck_assert_uint_gt(retries, 100);
}
