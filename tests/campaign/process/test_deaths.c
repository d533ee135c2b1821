/* Each planted target that ends its process, hangs, or spoils memory becomes one finding; its
 * shrunk list ends in that finding and in no other, in a fresh process. */
#include "campaign/process/attempt.h"
#include "campaign/process/shrink_process.h"
#include "campaign/trials/trials.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/faulty_scenario.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEED_COUNT = 20,
    MISSED_MAX = 1,
    SHRUNK_COUNT = 4,
    TRIAL_COUNT_MAX = 48,
    OP_COUNT_MAX = 600,
    REPLAY_COUNT_MAX = 300,
    WAIT_MS = 1000
};
/* What these small devices ask for takes less than a hundredth of it. */
#define OP_TIMEOUT_NS UINT64_C(50000000)
#define TRIAL_TIMEOUT_NS UINT64_C(300000000000)

/* signature: with what each finding begins. */
struct ground {
    const char *target, *scenario, *signature;
};
static const struct ground grounds[] = {
    {"plant_crash_segv", "fragmentation_storm", "crash: SIGSEGV at "},
    {"plant_crash_abort", "fragmentation_storm", "crash: SIGABRT at "},
    {"plant_crash_exit", "queued_free_race", "crash: exit status 3 in free_after"},
    {"plant_crash_host_refused", "faulty", "crash: SIGSEGV at "},
    {"plant_hang_spin", "queued_free_race", "hang in free_after"},
    {"plant_overrun", "fragmentation_storm", "overrun: "},
    {"plant_contents_scribble", "faulty", "contents: "},
    {"plant_contents_lost_copy", "faulty", "contents: "},
    {"plant_host_memory_leak", "fragmentation_storm", "host_memory at the end"},
    {"plant_host_memory_grow", "fragmentation_storm", "host_memory: answer"},
    {"plant_counters_failed", "faulty", "counters: bytes_in_use"},
    {"plant_overlap_half_unload", "faulty", "overlap: "},
};
enum { GROUND_COUNT = sizeof grounds / sizeof grounds[0] };

static const struct scenario *scenario_named(const char *name)
{
    return strcmp(name, faulty_scenario.name) == 0 ? &faulty_scenario : scenario_find(name);
}

/* One trial in a worker, as a run has it. */
static void run_trial(struct workers *workers, uint64_t number, struct trial_result *trial_result)
{
    const struct task task = {.is_sampled = true, .trial = number, .op_count_max = OP_COUNT_MAX};
    enum workers_result result = WORKERS_NOTHING;
    ck_assert(workers_start(workers, &task));
    while (result == WORKERS_NOTHING) {
        result = workers_take(workers, WAIT_MS, trial_result);
    }
    ck_assert_int_eq(result, WORKERS_READY);
}

/* Trials until one has a finding.  False: none had. */
static bool find_finding(const struct plan *plan, struct trial_result *trial_result)
{
    bool is_found = false;
    struct workers *workers = workers_create(plan, 1, TRIAL_TIMEOUT_NS);
    ck_assert_ptr_nonnull(workers);
    for (uint64_t i = 0; i < TRIAL_COUNT_MAX && !is_found; i++) {
        trial_result_deinit(trial_result);
        trial_result_init(trial_result);
        run_trial(workers, i, trial_result);
        is_found = trial_result_rule(trial_result) != NULL;
    }
    workers_destroy(workers);
    return is_found;
}

static void check_shrunk(const struct target *target, const struct trial_result *trial_result)
{
    const struct shrink_process shrink_process = {.target = target,
                                                  .setup = &trial_result->setup,
                                                  .ops = &trial_result->ops,
                                                  .signature = trial_result->head.signature,
                                                  .replay_count_max = REPLAY_COUNT_MAX};
    const struct attempt attempt = {.target = target,
                                    .setup = &trial_result->setup,
                                    .duration_ns = TRIAL_TIMEOUT_NS,
                                    .is_run_again = true};
    struct shrunk shrunk = {0};
    struct attempt_result result;
    op_list_init(&shrunk.ops);
    ck_assert_msg(shrink_process_run(&shrink_process, &shrunk) == SHRINK_PROCESS_DONE, "%s: %s",
                  trial_result->head.signature, shrunk.why);
    attempt_run(&attempt, &shrunk.ops, NULL, &result);
    ck_assert_str_eq(result.signature, trial_result->head.signature);
    ck_assert_str_eq(shrunk.signature, trial_result->head.signature);
    ck_assert_uint_le(shrunk.ops.count, trial_result->ops.count);
    op_list_deinit(&shrunk.ops);
    writing_deinit(&shrunk.certificate);
}

static struct part part_of(const struct ground *ground, uint64_t seed)
{
    struct part part = {.scenario = scenario_named(ground->scenario),
                        .target = target_find(ground->target),
                        .capacity_is_free = true,
                        .op_count_max = OP_COUNT_MAX,
                        .duration_ns = UINT64_MAX};
    ck_assert_ptr_nonnull(part.scenario);
    ck_assert_ptr_nonnull(part.target);
    snprintf(part.name, sizeof part.name, "%s", ground->scenario);
    setup_init(&part.setup);
    snprintf(part.setup.target, sizeof part.setup.target, "%s", ground->target);
    snprintf(part.setup.chip, sizeof part.setup.chip, "%s", part.scenario->chip);
    part.setup.capacity_bytes = chip_find(part.scenario->chip)->capacity_bytes;
    part.setup.seed = seed;
    return part;
}

EVERY_TEST(.timeout_s = 900);

TEST(a_plant_is_one_finding_and_its_shrunk_list_the_same_one, .to = GROUND_COUNT)
{
    const struct ground *ground = &grounds[_i];
    const uint64_t seed_count = draws_count(SEED_COUNT, MISSED_MAX + 1);
    const uint64_t shrunk_count = draws_count(SHRUNK_COUNT, 1);
    uint64_t caught_count = 0;
    char other[SIGNATURE_BYTES] = "nothing";
    death_set_op_timeout(OP_TIMEOUT_NS);
    for (uint64_t seed = 1; seed <= seed_count; seed++) {
        struct part part = part_of(ground, seed);
        const struct plan plan = {
            .parts = &part, .count = 1, .setup = part.setup, .duration_ns = UINT64_MAX};
        struct trial_result trial_result;
        trial_result_init(&trial_result);
        const bool is_found = find_finding(&plan, &trial_result);
        const char *signature = trial_result.head.signature;
        if (is_found && strncmp(signature, ground->signature, strlen(ground->signature)) == 0) {
            ck_assert_str_eq(trial_result_rule(&trial_result), part.target->breaks);
            caught_count++;
            /* To shrink costs a process for each list: a few seeds are enough unless all are asked
             * for. */
            if (caught_count <= shrunk_count || getenv("HBMSTRESS_EXHAUSTIVE") != NULL) {
                check_shrunk(part.target, &trial_result);
            }
        } else if (is_found) {
            snprintf(other, sizeof other, "%s", signature);
        }
        trial_result_deinit(&trial_result);
    }
    ck_assert_msg(caught_count + MISSED_MAX >= seed_count,
                  "%s: caught for %" PRIu64 " of %" PRIu64 " seeds; else %s", ground->target,
                  caught_count, seed_count, other);
}
