/* A target that sleeps gives all of the device back, and after its wake everything is as before. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* --- what a target does in a sleep and in a wake --- */

enum { BLOCK_COUNT = 2 };
static const uint64_t block_at[BLOCK_COUNT] = {2, 8}, block_size[BLOCK_COUNT] = {4, 2};
static uint64_t stages[BLOCK_COUNT];

static const struct device_services *device_0(void)
{
    return script.device[0];
}

static void save(void)
{
    for (int i = 0; i < BLOCK_COUNT; i++) {
        ck_assert_int_eq(device_0()->stage_out(device_0()->context, block_at[i] * G,
                                               block_size[i] * G, &stages[i]),
                         DEVICE_OK);
    }
}

static void unmap(uint64_t from, uint64_t size)
{
    device_0()->unmap(device_0()->context, from * G, size * G);
}

static void save_and_release(void)
{
    save();
    unmap(0, 16);
}

static void take(void)
{
    ck_assert_int_eq(device_0()->map(device_0()->context, 0, 16 * G), DEVICE_OK);
}

static enum device_result restore(int block, uint64_t to)
{
    return device_0()->stage_copy(device_0()->context, stages[block], to * G);
}

static void drop(void)
{
    for (int i = 0; i < BLOCK_COUNT; i++) {
        device_0()->stage_drop(device_0()->context, stages[i]);
    }
}

static void restore_all(void)
{
    take();
    for (int i = 0; i < BLOCK_COUNT; i++) {
        ck_assert_int_eq(restore(i, block_at[i]), DEVICE_OK);
    }
    drop();
}

/* --- the rig --- */

static void start_asleep_or_awake(enum sleep_contract sleeps, enum defrag_contract defrag,
                                  void (*sleep)(void))
{
    prepare();
    script.contract.sleeps = sleeps;
    script.contract.defrag = defrag;
    start_hosts(1);
    for (int i = 0; i < BLOCK_COUNT; i++) {
        KEEPS(alloc_at(block_at[i], block_size[i]));
    }
    script.act = sleep;
    if (sleep != NULL) {
        KEEPS(step(op_make(OP_SLEEP)));
    }
}

static void start_asleep(void)
{
    start_asleep_or_awake(SLEEP_KEEPS, DEFRAG_REPACK, save_and_release);
}

static void start_awake(void)
{
    start_asleep_or_awake(SLEEP_KEEPS, DEFRAG_REPACK, NULL);
}

static const struct verdict *sleep_with(void (*act)(void))
{
    script.act = act;
    return step(op_make(OP_SLEEP));
}

static const struct verdict *wake_with(void (*act)(void))
{
    script.act = act;
    return step(op_make(OP_WAKE));
}

/* The call fails for a call of the device that act finds refused. */
static const struct verdict *fail_with(enum op_kind kind, enum fault_kind fault, void (*act)(void))
{
    KEEPS(arm(fault));
    script.act = act;
    script.result = TARGET_FAILED;
    return step(op_make(kind));
}

static bool was_skipped(void)
{
    return run_observation(script.run)->skipped == 1;
}

/* --- when --- */

TEST(everything_is_as_before_after_each_wake)
{
    start_awake();
    for (int i = 0; i < 3; i++) {
        KEEPS(sleep_with(save_and_release));
        ck_assert(!was_skipped());
        KEEPS(report());
        KEEPS(wake_with(restore_all));
        ck_assert(!was_skipped());
        KEEPS(on(OP_TOUCH, 0));
        KEEPS(on(OP_TOUCH, 1));
    }
    KEEPS(on(OP_FREE, 0));
    KEEPS(run_finish(script.run));
    stop();
}

TEST(nothing_but_reports_and_the_wake_is_called_asleep)
{
    const enum op_kind kinds[] = {OP_FREE, OP_USE, OP_HOLD, OP_TOUCH, OP_DONATE};
    start_asleep();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        KEEPS(on(kinds[i], 0));
        ck_assert(was_skipped());
    }
    KEEPS(alloc_at(12, 1));
    ck_assert(was_skipped());
    KEEPS(step(op_make(OP_DEFRAGMENT)));
    ck_assert(was_skipped());
    KEEPS(step(op_make(OP_SLEEP)));
    ck_assert(was_skipped());
    KEEPS(report());
    ck_assert(!was_skipped());
    KEEPS(wake_with(restore_all));
    KEEPS(step(op_make(OP_WAKE)));
    ck_assert(was_skipped());
    stop();
}

TEST(it_sleeps_only_while_nothing_is_in_use)
{
    start_awake();
    KEEPS(on(OP_HOLD, 0)); /* which keeps an address, no more */
    KEEPS(on_for(OP_USE, 0, 100));
    KEEPS(step(op_make(OP_SLEEP)));
    ck_assert(was_skipped());
    KEEPS(complete(3));
    KEEPS(load_at(12, 1, 1));
    KEEPS(execute(6, 100));
    KEEPS(step(op_make(OP_SLEEP)));
    ck_assert(was_skipped());
    KEEPS(complete(7));
    KEEPS(on(OP_UNLOAD, 6));
    KEEPS(on_for(OP_FREE_AFTER, 1, 100));
    KEEPS(step(op_make(OP_SLEEP)));
    ck_assert(was_skipped());
    KEEPS(complete(11));
    KEEPS(sleep_with(save_and_release));
    ck_assert(!was_skipped());
    stop();
}

TEST(a_target_that_does_not_sleep_is_not_asked_to)
{
    start_asleep_or_awake(SLEEP_NONE, DEFRAG_REPACK, NULL);
    KEEPS(step(op_make(OP_SLEEP)));
    ck_assert(was_skipped());
    KEEPS(step(op_make(OP_WAKE)));
    ck_assert(was_skipped());
    stop();
}

TEST(it_is_woken_when_the_list_ends)
{
    start_asleep();
    script.act = restore_all;
    KEEPS(run_finish(script.run));
    stop();
    start_asleep();
    script.act = take;
    BREAKS(run_finish(script.run), RULE_CONTENTS);
    stop();
}

/* --- the device's memory --- */

static void release_most(void)
{
    save();
    unmap(0, 15);
}

static void do_nothing(void)
{
}

static void take_most(void)
{
    ck_assert_int_eq(device_0()->map(device_0()->context, 0, 15 * G), DEVICE_OK);
    ck_assert_int_eq(restore(0, 2), DEVICE_OK);
    ck_assert_int_eq(restore(1, 8), DEVICE_OK);
    drop();
}

static void unmap_one(void)
{
    unmap(15, 1);
}

TEST(asleep_it_has_nothing_of_the_device)
{
    start_awake();
    BREAKS(sleep_with(release_most), RULE_NOT_RELEASED);
    stop();
    start_awake();
    BREAKS(sleep_with(do_nothing), RULE_NOT_RELEASED);
    stop();
}

TEST(awake_it_has_all_of_it)
{
    start_asleep();
    BREAKS(wake_with(do_nothing), RULE_NOT_RELEASED);
    stop();
    start_asleep();
    BREAKS(wake_with(take_most), RULE_NOT_RELEASED);
    stop();
    start_awake();
    script.act = unmap_one;
    BREAKS(alloc_at(12, 1), RULE_NOT_RELEASED);
    stop();
}

/* The copy that is refused is that of the second block. */
static void take_in_part(void)
{
    take();
    ck_assert_int_eq(restore(0, 2), DEVICE_REFUSED);
}

static void take_in_part_and_release(void)
{
    take_in_part();
    unmap(0, 16);
}

/* The fault strikes the second call. */
static const struct verdict *fail_second(enum op_kind kind, void (*act)(void))
{
    struct op op = op_make(OP_FAULT);
    op.tag = FAULT_COPY;
    op.size_bytes = 2;
    KEEPS(step(op));
    script.act = act;
    script.result = TARGET_FAILED;
    return step(op_make(kind));
}

TEST(a_failed_wake_leaves_nothing_of_the_device)
{
    start_asleep();
    BREAKS(fail_second(OP_WAKE, take_in_part), RULE_NOT_RELEASED);
    stop();
    start_asleep();
    for (int i = 0; i < 3; i++) {
        KEEPS(fail_second(OP_WAKE, take_in_part_and_release));
    }
    KEEPS(wake_with(restore_all));
    stop();
}

static void save_in_part(void)
{
    uint64_t stage = 0;
    ck_assert_int_eq(device_0()->stage_out(device_0()->context, 2 * G, 4 * G, &stage), DEVICE_OK);
    ck_assert_int_eq(device_0()->stage_out(device_0()->context, 8 * G, 2 * G, &stages[1]),
                     DEVICE_REFUSED);
    stages[0] = stage;
}

static void save_in_part_and_drop(void)
{
    save_in_part();
    device_0()->stage_drop(device_0()->context, stages[0]);
}

static void save_in_part_and_release(void)
{
    save_in_part_and_drop();
    unmap(0, 2);
}

TEST(a_failed_sleep_leaves_everything)
{
    start_awake();
    KEEPS(fail_second(OP_SLEEP, save_in_part_and_drop));
    KEEPS(sleep_with(save_and_release));
    KEEPS(wake_with(restore_all));
    stop();
    start_awake();
    BREAKS(fail_second(OP_SLEEP, save_in_part), RULE_FAILED_CHANGED);
    stop();
    start_awake();
    BREAKS(fail_second(OP_SLEEP, save_in_part_and_release), RULE_NOT_RELEASED);
    stop();
}

static void copy_asleep(void)
{
    take();
    restore_all();
    unmap(15, 1);
    ck_assert_int_eq(copy(2, 15, 1), DEVICE_REFUSED);
    ck_assert_int_eq(device_0()->map(device_0()->context, 15 * G, G), DEVICE_OK);
}

TEST(nothing_is_copied_where_no_memory_is)
{
    start_asleep();
    BREAKS(wake_with(copy_asleep), RULE_OUTSIDE);
    stop();
}

/* --- contents and places --- */

static void restore_one(void)
{
    take();
    ck_assert_int_eq(restore(0, 2), DEVICE_OK);
    drop();
}

static void restore_elsewhere(void)
{
    take();
    ck_assert_int_eq(restore(0, 2), DEVICE_OK);
    ck_assert_int_eq(restore(1, 12), DEVICE_OK);
    drop();
}

static void restore_and_move(void)
{
    restore_elsewhere();
    script.at[2].address = 12 * G;
}

TEST(each_block_holds_what_it_held)
{
    start_asleep();
    BREAKS(wake_with(restore_one), RULE_CONTENTS);
    stop();
    start_asleep();
    BREAKS(wake_with(restore_elsewhere), RULE_CONTENTS);
    stop();
}

TEST(what_is_discarded_is_the_client_s_to_write)
{
    start_asleep_or_awake(SLEEP_DISCARDS, DEFRAG_REPACK, NULL);
    for (int i = 0; i < 2; i++) {
        script.act = unmap_one;
        unmap(0, 15);
        KEEPS(step(op_make(OP_SLEEP)));
        KEEPS(wake_with(take));
        KEEPS(on(OP_TOUCH, 0));
    }
    stop();
}

TEST(no_block_moves_in_a_sleep_or_a_wake)
{
    const enum defrag_contract contracts[] = {DEFRAG_SLIDE, DEFRAG_REPACK};
    for (size_t i = 0; i < sizeof contracts / sizeof contracts[0]; i++) {
        start_asleep_or_awake(SLEEP_KEEPS, contracts[i], save_and_release);
        BREAKS(wake_with(restore_and_move), RULE_MOVED_UNASKED);
        stop();
    }
}

/* Memory that went bad is nobody's to restore. */
TEST(bad_memory_stays_bad)
{
    start_awake();
    struct op op = op_make(OP_RETIRE);
    op.address = 12 * G;
    op.size_bytes = G;
    KEEPS(step(op));
    KEEPS(sleep_with(save_and_release));
    KEEPS(wake_with(restore_all));
    stop();
}

/* --- host memory --- */

static void restore_and_keep(void)
{
    restore_all();
    ck_assert_ptr_nonnull(device_0()->host_alloc(device_0()->context, 64));
}

static void restore_with_stage(void)
{
    take();
    for (int i = 0; i < BLOCK_COUNT; i++) {
        ck_assert_int_eq(restore(i, block_at[i]), DEVICE_OK);
    }
    device_0()->stage_drop(device_0()->context, stages[1]);
}

TEST(a_wake_leaves_no_stage)
{
    start_asleep();
    BREAKS(wake_with(restore_with_stage), RULE_WAKE_GROWS);
    stop();
}

TEST(host_memory_does_not_grow_from_wake_to_wake)
{
    start_asleep();
    KEEPS(wake_with(restore_and_keep)); /* what the first one takes may stay */
    KEEPS(sleep_with(save_and_release));
    KEEPS(wake_with(restore_all));
    KEEPS(sleep_with(save_and_release));
    BREAKS(wake_with(restore_and_keep), RULE_WAKE_GROWS);
    stop();
}

TEST(after_other_calls_it_may)
{
    start_asleep();
    for (uint32_t i = 0; i < 3; i++) {
        KEEPS(wake_with(restore_and_keep));
        KEEPS(alloc_at(12 + i, 1));
        KEEPS(on(OP_FREE, run_observation(script.run)->op));
        KEEPS(sleep_with(save_and_release));
    }
    KEEPS(fail_second(OP_WAKE, take_in_part_and_release));
    KEEPS(wake_with(restore_and_keep));
    stop();
}

/* --- answers --- */

TEST(a_wake_fails_only_for_a_refused_call)
{
    const enum target_result results[] = {TARGET_FAILED, TARGET_INVALID, TARGET_NO_MEMORY};
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        start_asleep();
        script.result = results[i];
        BREAKS(step(op_make(OP_WAKE)), RULE_STATUS);
        stop();
        start_awake();
        script.result = results[i];
        BREAKS(step(op_make(OP_SLEEP)), RULE_STATUS);
        stop();
    }
}

static void take_refused(void)
{
    ck_assert_int_eq(device_0()->map(device_0()->context, 0, 16 * G), DEVICE_REFUSED);
}

static void take_host_memory(void)
{
    ck_assert_ptr_null(device_0()->host_alloc(device_0()->context, 64));
}

TEST(a_refused_wake_comes_again)
{
    start_asleep();
    KEEPS(fail_with(OP_WAKE, FAULT_COPY, take_refused));
    KEEPS(fail_with(OP_WAKE, FAULT_ANY, take_refused));
    KEEPS(fail_with(OP_WAKE, FAULT_HOST_MEMORY, take_host_memory));
    KEEPS(wake_with(restore_all));
    KEEPS(on(OP_TOUCH, 0));
    stop();
}
