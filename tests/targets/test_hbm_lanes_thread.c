/* Lanes that truly run in parallel: the reference allocator keeps its promises under every
 * scenario, and a target that has none of the locks it claims is caught.  HBMSTRESS_SEEDS (12 by
 * default) says how many lists of each scenario; HBMSTRESS_LANES (2 to 4 by turns) how many lanes.
 */
#include "harness/lanes/lanes_free.h"
#include "harness/lanes/lanes_search.h"
#include "harness/op/ops_file.h"
#include "harness/trial/lane_trial.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/scenario_count.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_COUNT = 4 };

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    const uint64_t number = text == NULL ? 0 : strtoull(text, NULL, 10);
    return number == 0 ? otherwise : number;
}

/* --- the reference allocator --- */

static struct trial_plan draw_plan(const struct scenario *scenario, struct setup *setup,
                                   uint64_t seed)
{
    setup_init(setup);
    snprintf(setup->chip, sizeof setup->chip, "%s", scenario->chip);
    setup->capacity_bytes = chip_find(scenario->chip)->capacity_bytes;
    setup->seed = seed;
    return (struct trial_plan){.target = target_find("hbm"),
                               .scenario = scenario,
                               .setup = setup,
                               .capacity_is_free = true,
                               .op_count_max = scenario->ops_per_trial};
}

static void add_found(struct lanes_free_found *to, const struct lanes_free_found *from)
{
    to->call_count += from->call_count;
    to->overlapping_count += from->overlapping_count;
    to->longest_count = from->longest_count > to->longest_count ? from->longest_count
                                                                : to->longest_count;
}

/* True: every promise was kept. */
static bool keeps_promises(const struct scenario *scenario, uint64_t seed,
                           struct run_totals *totals, struct lanes_free_found *all)
{
    struct setup setup;
    struct trial trial;
    struct lanes_found found;
    char reason[RUN_REASON_BYTES] = "";
    const struct lane_trial_plan plan = {
        .draw = draw_plan(scenario, &setup, seed),
        .lane_count = (uint8_t)number_from("HBMSTRESS_LANES", 2 + seed % 3),
        .search = {.seed = seed, .schedule_count_max = RUN_COUNT, .is_free_running = true},
    };
    ck_assert_msg(lane_trial_run(&plan, NULL, &trial, &found, reason), "%s", reason);
    const bool is_kept = trial.first.kind == VERDICT_NONE;
    if (!is_kept) {
        printf("%s seed %" PRIu64 " op %u: %s: %s\n", scenario->name, seed, trial.first.op,
               rule_info(trial.first.rule)->name, trial.first.reason);
        if (getenv("HBMSTRESS_PRINT") != NULL) {
            ops_file_print(stdout, &trial.setup, &trial.ops, trial.first.reason);
        }
    }
    run_totals_add(totals, &trial.totals);
    add_found(all, &found.free_running);
    trial_deinit(&trial);
    return is_kept;
}

EVERY_TEST(.timeout_s = 1200);

TEST(hbm_keeps_its_promises_to_threads, .count = count_scenarios)
{
    const struct scenario *scenario = scenarios[_i];
    const uint64_t seed_count = number_from("HBMSTRESS_SEEDS", 12);
    struct run_totals totals = {0};
    struct lanes_free_found all = {0};
    uint64_t failed = 0;
    for (uint64_t seed = 1; seed <= seed_count; seed++) {
        failed += !keeps_promises(scenario, seed, &totals, &all);
    }
    printf("%s: %" PRIu64 " calls by threads, %" PRIu64 " of them met, up to %" PRIu64
           " in a row; %" PRIu64 " OOMs, %" PRIu64 " excused, %" PRIu64 " unknown; "
           "%" PRIu64 " of %" PRIu64 " seeds failed\n",
           scenario->name, all.call_count, all.overlapping_count, all.longest_count, totals.ooms,
           totals.excused, totals.unknown, failed, seed_count);
    ck_assert_uint_eq(failed, 0);
}

/* --- a target without the lock that it claims --- */

enum {
    BLOCK_BYTES = 512,
    HEAP_BYTES = 1 << 20,
    ALLOC_COUNT = 24,
    ATTEMPT_COUNT = 50,
    MEETING_YIELD_COUNT = 10000
};

/* A pointer that only goes up, until everything was freed.  Its accesses are atomic, its steps are
 * not. */
struct target_instance {
    pthread_mutex_t mutex;
    bool is_locking;
    atomic_uint inside_count;
    atomic_uint_least64_t top_bytes, block_count, peak_bytes;
};

static enum target_result bump_open(const struct target_setup *setup,
                                    const struct device_services *services,
                                    struct target_instance **instance,
                                    struct target_contract *contract, char *reason,
                                    size_t reason_bytes)
{
    (void)setup;
    (void)services;
    (void)reason;
    (void)reason_bytes;
    *contract = (struct target_contract){
        .granule_bytes = BLOCK_BYTES, .queues_frees = true, .thread_safe = true};
    *instance = calloc(1, sizeof **instance);
    ck_assert_ptr_nonnull(*instance);
    pthread_mutex_init(&(*instance)->mutex, NULL);
    return TARGET_OK;
}

static enum target_result bump_open_locking(const struct target_setup *setup,
                                            const struct device_services *services,
                                            struct target_instance **instance,
                                            struct target_contract *contract, char *reason,
                                            size_t reason_bytes)
{
    const enum target_result result = bump_open(setup, services, instance, contract, reason,
                                                reason_bytes);
    (*instance)->is_locking = true;
    return result;
}

static void bump_close(struct target_instance *instance)
{
    pthread_mutex_destroy(&instance->mutex);
    free(instance);
}

/* Between reading and writing: until another thread stands here, too, or none came. */
static void meet_other_thread(struct target_instance *instance)
{
    atomic_fetch_add(&instance->inside_count, 1);
    for (int i = 0; i < MEETING_YIELD_COUNT && atomic_load(&instance->inside_count) < 2; i++) {
        sched_yield();
    }
}

static enum target_result bump_alloc(struct target_instance *instance,
                                     const struct target_request *request,
                                     struct target_block *block)
{
    ck_assert_uint_eq(request->size_bytes, BLOCK_BYTES);
    if (instance->is_locking) {
        pthread_mutex_lock(&instance->mutex);
    }
    const uint64_t top_bytes = atomic_load(&instance->top_bytes);
    if (!instance->is_locking) {
        meet_other_thread(instance);
    }
    atomic_store(&instance->top_bytes, top_bytes + BLOCK_BYTES);
    const uint64_t in_use_bytes = (atomic_fetch_add(&instance->block_count, 1) + 1) * BLOCK_BYTES;
    if (in_use_bytes > atomic_load(&instance->peak_bytes)) {
        atomic_store(&instance->peak_bytes, in_use_bytes);
    }
    if (instance->is_locking) {
        pthread_mutex_unlock(&instance->mutex);
    } else {
        atomic_fetch_sub(&instance->inside_count, 1);
    }
    *block = (struct target_block){
        .handle = top_bytes + 1, .address = top_bytes, .size_bytes = BLOCK_BYTES};
    return TARGET_OK;
}

static enum target_result bump_free(struct target_instance *instance, uint64_t handle,
                                    uint64_t event)
{
    (void)handle;
    ck_assert_uint_eq(event, 0);
    if (atomic_fetch_sub(&instance->block_count, 1) == 1) {
        atomic_store(&instance->top_bytes, 0);
    }
    return TARGET_OK;
}

static void bump_stats(struct target_instance *instance, struct target_stats *stats)
{
    const uint64_t count = atomic_load(&instance->block_count);
    const uint64_t peak_bytes = atomic_load(&instance->peak_bytes);
    *stats = (struct target_stats){.num_allocs = count,
                                   .bytes_in_use = count * BLOCK_BYTES,
                                   .peak_bytes_in_use = peak_bytes,
                                   .largest_alloc_size = peak_bytes == 0 ? 0 : BLOCK_BYTES,
                                   .bytes_limit = HEAP_BYTES,
                                   .bytes_reservable_limit = HEAP_BYTES,
                                   .largest_free_block_bytes = HEAP_BYTES -
                                                               atomic_load(&instance->top_bytes)};
}

static const char *bump_message(struct target_instance *instance)
{
    (void)instance;
    return "";
}

#define BUMP_TARGET(OPEN)                                                                         \
    {                                                                                             \
        .abi_version = TARGET_ABI_VERSION, .size_bytes = sizeof(struct target), .name = "bump",   \
        .summary = "", .open = OPEN, .close = bump_close, .alloc = bump_alloc, .free = bump_free, \
        .stats = bump_stats, .message = bump_message                                              \
    }
static const struct target without_lock = BUMP_TARGET(bump_open);
static const struct target with_lock = BUMP_TARGET(bump_open_locking);

/* Runs a list of allocations by three lanes up to so many times; returns whether the last run broke
 * a promise. */
static bool breaks_in(const struct target *target, uint64_t run_count, struct trial *trial,
                      struct lanes_found *found)
{
    struct setup setup;
    struct op_list ops;
    char reason[RUN_REASON_BYTES] = "";
    const struct lanes_search search = {
        .seed = 1, .schedule_count_max = run_count, .is_free_running = true};
    setup_init(&setup);
    setup.capacity_bytes = HEAP_BYTES;
    op_list_init(&ops);
    for (uint32_t i = 0; i < ALLOC_COUNT; i++) {
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = BLOCK_BYTES;
        op.lane = (uint8_t)(i % 3);
        op_list_append(&ops, &op);
    }
    ck_assert_msg(lanes_search(target, &setup, &ops, &search, NULL, trial, found, reason), "%s",
                  reason);
    ck_assert_uint_eq(trial->ops.count, ops.count);
    op_list_deinit(&ops);
    return trial->first.kind != VERDICT_NONE;
}

TEST(a_missing_lock_is_found)
{
    struct trial trial;
    struct lanes_found found;
    ck_assert(breaks_in(&without_lock, ATTEMPT_COUNT, &trial, &found));
    ck_assert_int_eq(trial.first.kind, VERDICT_BROKEN);
    ck_assert_int_eq(trial.first.rule, RULE_OVERLAP);
    ck_assert_ptr_nonnull(strstr(trial.first.reason, "(free-running: not exactly replayable)"));
    ck_assert_uint_ge(found.free_running.longest_count, 2);
    printf("a missing lock: found in run %" PRIu64 " of up to %d\n", found.schedule_count,
           ATTEMPT_COUNT);
    trial_deinit(&trial);
}

TEST(the_same_target_with_its_lock_keeps_its_promises)
{
    struct trial trial;
    struct lanes_found found;
    const bool is_broken = breaks_in(&with_lock, ATTEMPT_COUNT, &trial, &found);
    ck_assert_msg(!is_broken, "%s", trial.first.reason);
    ck_assert_uint_eq(found.schedule_count, ATTEMPT_COUNT);
    ck_assert_uint_eq(found.free_running.call_count, (uint64_t)ATTEMPT_COUNT * ALLOC_COUNT);
    trial_deinit(&trial);
}

static void expect_refusal(const struct op *op, const char *expected)
{
    struct setup setup;
    struct op_list ops;
    struct trial trial;
    struct lanes_free_found found;
    char reason[RUN_REASON_BYTES] = "";
    setup_init(&setup);
    setup.capacity_bytes = HEAP_BYTES;
    op_list_init(&ops);
    op_list_append(&ops, op);
    const struct lanes_plan plan = {.target = target_find("hbm"), .setup = &setup, .ops = &ops};
    ck_assert(!lanes_run_free(&plan, 1, NULL, &trial, &found, reason));
    ck_assert_msg(strstr(reason, expected) != NULL, "'%s' does not say '%s'", reason, expected);
    op_list_deinit(&ops);
}

TEST(what_depends_on_the_schedule_and_too_many_lanes_are_refused)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = BLOCK_BYTES;
    op.lane = 16;
    expect_refusal(&op, "more than 16 lanes");
    op.lane = 1;
    op.flags |= OP_FITTED;
    expect_refusal(&op, "depend on the schedule");
}
