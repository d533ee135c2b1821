/* After a call that failed all that can be seen of the target is as before, but for what its
 * mitigations did. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* --- calls that fail --- */

static void take_host_memory(void)
{
    const struct device_services *device = script.device[0];
    ck_assert_ptr_null(device->host_alloc(device->context, 64));
}

/* A call whose kind names op 0, answered FAILED because host memory was refused; act comes first.
 */
static void (*act_before)(void);
static void act_then_fail(void)
{
    if (act_before != NULL) {
        act_before();
    }
    take_host_memory();
}

static const struct verdict *fail_on_0(enum op_kind kind, void (*act)(void))
{
    KEEPS(arm(FAULT_HOST_MEMORY));
    act_before = act;
    script.act = act_then_fail;
    script.result = TARGET_FAILED;
    struct op op = op_make(kind);
    op.ref = op_kind_info(kind)->has_block ? 0 : OP_NONE;
    op.size_bytes = op_kind_info(kind)->has_size ? G : 0;
    return step(op);
}

/* A request that can never be right. */
static const struct verdict *ask_for_nothing(void (*act)(void))
{
    script.act = act;
    script.result = TARGET_INVALID;
    return step(op_make(OP_ALLOC));
}

static void start_with(enum defrag_contract defrag)
{
    prepare();
    script.contract.defrag = defrag;
    start_hosts(1);
}

/* --- blocks --- */

TEST(a_block_keeps_its_size)
{
    const uint64_t sizes[] = {2 * G, 0, G, 3 * G};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int how = 0; how < 4; how++) {
            start();
            KEEPS(alloc_at(0, 2));
            script.at[1].size_bytes = sizes[i];
            const struct verdict *verdict = how == 0   ? refuse(15)
                                            : how == 1 ? ask_for_nothing(NULL)
                                            : how == 2 ? fail_on_0(OP_HOLD, NULL)
                                                       : on(OP_HOLD, 0);
            const bool breaks = i >= 2 && how < 3;
            ck_assert_msg(verdict->rule == (breaks ? RULE_FAILED_CHANGED : RULE_NONE),
                          "size %zu, %d: %s, %s", i, how, rule_info(verdict->rule)->name,
                          verdict->reason);
            stop();
        }
    }
}

static void evict_0(void)
{
    ck_assert_int_eq(unload(0), DEVICE_OK);
}

/* locate says INVALID for a program that is not loaded. */
TEST(an_evicted_program_has_no_image)
{
    for (int has_image = 0; has_image < 2; has_image++) {
        start();
        KEEPS(load_at(0, 2, 0));
        KEEPS(alloc_at(2, 13));
        script.act = evict_0;
        KEEPS(alloc_at(0, 2));
        script.at[1].address = has_image ? 15 * G : TARGET_ADDRESS_NONE;
        struct op op = op_make(OP_EXECUTE);
        op.ref = 0;
        script.result = TARGET_NO_MEMORY;
        const struct verdict *verdict = step(op);
        if (has_image) {
            BREAKS(verdict, RULE_FAILED_CHANGED);
        } else {
            JUDGED(verdict, VERDICT_JUSTIFIED);
        }
        stop();
    }
}

/* --- the report --- */

/* One block of two granules at granule 0, and a row that belongs to none. */
static void report_also(struct target_row more)
{
    script.rows[0] = (struct target_row){0, 2 * G, BLOCK_BUFFER, 0};
    script.rows[1] = more;
    script.row_count = 2;
}

/* The first of 64 refusals that breaks a rule, or the last. */
static const struct verdict *refuse_until_broken(uint64_t size)
{
    const struct verdict *verdict = refuse(size);
    for (unsigned i = 1; i < 64 && verdict->kind != VERDICT_BROKEN; i++) {
        verdict = refuse(size);
    }
    return verdict;
}

TEST(a_refused_request_has_no_row)
{
    const struct {
        struct target_row row;
        bool breaks;
    } rows[] = {
        {{TARGET_ADDRESS_NONE, 15 * G, BLOCK_BUFFER, 0}, true},
        {{4 * G, 15 * G, BLOCK_BUFFER, 0}, true},
        {{0, 15 * G, BLOCK_BUFFER, 0}, true},      /* on the block */
        {{0, 2 * G, BLOCK_BUFFER, 0}, false},      /* the block, again */
        {{4 * G, 14 * G, BLOCK_BUFFER, 0}, false}, /* of no request: the report alone is wrong */
        {{4 * G, 15 * G, BLOCK_OUTPUT, 0}, false},
        {{4 * G, 15 * G, BLOCK_BUFFER, 1}, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        KEEPS(alloc_at(0, 2));
        report_also(rows[i].row);
        const struct verdict *verdict = refuse_until_broken(15);
        ck_assert_msg(verdict->rule == (rows[i].breaks ? RULE_FAILED_CHANGED : RULE_NONE),
                      "row %zu: %s, %s", i, rule_info(verdict->rule)->name, verdict->reason);
        stop();
    }
}

/* Which out-of-memories are looked at depends on the number of the op alone. */
TEST(one_refusal_in_eight_is_looked_at)
{
    unsigned looked_at = 0;
    for (uint32_t number = 1; number <= 64; number++) {
        start();
        KEEPS(alloc_at(0, 2));
        while (run_ops(script.run)->count < number) {
            KEEPS(report());
        }
        report_also((struct target_row){TARGET_ADDRESS_NONE, 15 * G, BLOCK_BUFFER, 0});
        looked_at += refuse(15)->kind == VERDICT_BROKEN;
        stop();
    }
    ck_assert_uint_ge(looked_at, 6);
    ck_assert_uint_le(looked_at, 10);
}

static void load_nothing_else(void)
{
}

TEST(what_failed_has_no_row)
{
    const struct {
        enum op_kind kind;
        struct target_row row;
        bool breaks;
    } rows[] = {
        {OP_LOAD, {4 * G, G, BLOCK_PROGRAM, 7}, true}, /* nobody is told its tag */
        {OP_LOAD, {4 * G, G, BLOCK_BUFFER, 0}, false},
        {OP_OUTPUT, {4 * G, G, BLOCK_OUTPUT, 0}, true},
        {OP_DONATE, {0, 2 * G, BLOCK_OUTPUT, 0}, true}, /* the old block is the new one already */
        {OP_DONATE, {4 * G, 2 * G, BLOCK_OUTPUT, 0}, true},
        {OP_HOLD, {4 * G, 2 * G, BLOCK_BUFFER, 0}, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        KEEPS(alloc_at(0, 2));
        report_also(rows[i].row);
        const struct verdict *verdict = fail_on_0(rows[i].kind, load_nothing_else);
        ck_assert_msg(verdict->rule == (rows[i].breaks ? RULE_FAILED_CHANGED : RULE_NONE),
                      "row %zu: %s, %s", i, rule_info(verdict->rule)->name, verdict->reason);
        stop();
    }
}

/* The report takes memory for sorting: no fault that waits for a call of the target strikes that.
 */
TEST(looking_at_the_report_meets_no_fault)
{
    start();
    KEEPS(alloc_at(0, 2));
    KEEPS(arm(FAULT_HOST_MEMORY));
    script.sorts_report = true;
    KEEPS(ask_for_nothing(NULL));
    script.sorts_report = false;
    script.act = take_host_memory;
    script.result = TARGET_FAILED;
    KEEPS(on(OP_HOLD, 0));
    stop();
}

/* --- mitigations --- */

static void move_0_to_4(void)
{
    ck_assert_int_eq(copy(0, 4, 2), DEVICE_OK);
    script.at[1].address = 4 * G;
}
static void await_1(void)
{
    wait_for(1);
}
static void evict_2(void)
{
    ck_assert_int_eq(unload(2), DEVICE_OK);
}
static void copy_refused(void)
{
    ck_assert_int_eq(copy(0, 15, 2), DEVICE_REFUSED);
}
static void await_done(void)
{
    wait_for(3);
}

/* Op 0: a block; op 1: one whose free is queued; op 2: an idle program; op 3: an event that is
 * done. */
static void start_with_room(void)
{
    start_with(DEFRAG_REPACK);
    KEEPS(alloc_at(0, 2));
    KEEPS(on_for(OP_USE, 0, 1000));
    KEEPS(load_at(10, 2, 0));
    KEEPS(on_for(OP_USE, 0, 0));
    KEEPS(alloc_at(2, 1));
}

static void (*const efforts[])(void) = {move_0_to_4, await_1, evict_2};
enum { EFFORT_COUNT = sizeof efforts / sizeof efforts[0] };

TEST(what_can_never_be_right_needs_no_mitigation)
{
    for (size_t i = 0; i < EFFORT_COUNT; i++) {
        start_with_room();
        if (efforts[i] == move_0_to_4) {
            KEEPS(complete(1));
        }
        BREAKS(ask_for_nothing(efforts[i]), RULE_FAILED_CHANGED);
        stop();
    }
    start_with_room();
    KEEPS(ask_for_nothing(NULL));
    KEEPS(ask_for_nothing(await_done));
    stop();
}

/* What a call may do that was refused what it needed: a request mitigates, others do not. */
TEST(only_a_request_that_failed_may_have_mitigated)
{
    static const struct {
        enum op_kind kind;
        bool breaks;
    } rows[] = {{OP_ALLOC, false},      {OP_OUTPUT, false},    {OP_LOAD, false},
                {OP_DEFRAGMENT, false}, {OP_HOLD, true},       {OP_USE, true},
                {OP_FREE, true},        {OP_FREE_AFTER, true}, {OP_DONATE, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_with_room();
        KEEPS(complete(1));
        const struct verdict *verdict = fail_on_0(rows[i].kind, move_0_to_4);
        ck_assert_msg(verdict->rule == (rows[i].breaks ? RULE_FAILED_CHANGED : RULE_NONE),
                      "%s: %s, %s", op_kind_info(rows[i].kind)->name,
                      rule_info(verdict->rule)->name, verdict->reason);
        stop();
    }
}

TEST(what_the_device_refused_is_no_mitigation)
{
    start_with_room();
    KEEPS(arm(FAULT_COPY));
    KEEPS(ask_for_nothing(copy_refused));
    stop();
}

/* --- transfers --- */

static uint64_t stage_0(void)
{
    uint64_t stage = 0;
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 0, 2 * G, &stage), DEVICE_OK);
    return stage;
}
static void leave_stage(void)
{
    (void)stage_0();
}
static void drop_stage(void)
{
    script.device[0]->stage_drop(script.device[0]->context, stage_0());
}
static uint64_t stage_left;
static void leave_block_in_host_memory(void)
{
    stage_left = stage_0();
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_in(device->context, stage_left, 4 * G), DEVICE_REFUSED);
    script.at[1].address = TARGET_ADDRESS_NONE;
}
static void bring_block_back(void)
{
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_in(device->context, stage_left, 4 * G), DEVICE_OK);
    script.at[1].address = 4 * G;
}

static const struct verdict *refuse_after(void (*act)(void))
{
    script.act = act;
    return refuse(15);
}

TEST(a_refused_request_leaves_no_stage)
{
    start_with(DEFRAG_REPACK);
    KEEPS(alloc_at(0, 2));
    JUDGED(refuse_after(drop_stage), VERDICT_JUSTIFIED);
    BREAKS(refuse_after(leave_stage), RULE_FAILED_CHANGED);
    stop();
}

/* What a refused stage_in leaves on the host is where the block is. */
TEST(the_stage_of_a_block_in_host_memory_stays)
{
    start_with(DEFRAG_REPACK);
    KEEPS(alloc_at(0, 2));
    struct op op = op_make(OP_FAULT);
    op.tag = FAULT_COPY;
    op.size_bytes = 2;
    KEEPS(step(op));
    KEEPS(refuse_after(leave_block_in_host_memory));
    stop();
}

/* Any call may bring it back, whatever its own answer is. */
TEST(a_call_that_fails_may_bring_a_block_back)
{
    for (int is_invalid = 0; is_invalid < 2; is_invalid++) {
        start_with(DEFRAG_REPACK);
        KEEPS(alloc_at(0, 2));
        struct op op = op_make(OP_FAULT);
        op.tag = FAULT_COPY;
        op.size_bytes = 2;
        KEEPS(step(op));
        KEEPS(refuse_after(leave_block_in_host_memory));
        KEEPS(is_invalid ? ask_for_nothing(bring_block_back)
                         : fail_on_0(OP_HOLD, bring_block_back));
        stop();
    }
}

/* --- counters --- */

TEST(the_largest_hole_is_compared_after_every_failure)
{
    start();
    KEEPS(alloc_at(0, 2));
    script.stats_more.largest_free_block_bytes = G;
    KEEPS(on(OP_HOLD, 0));
    BREAKS(ask_for_nothing(NULL), RULE_COUNTERS);
    stop();
}

/* Two blocks of two granules, of which one went for the other: the peak is two or four. */
TEST(a_peak_that_was_told_once_stays)
{
    for (int goes_up = 0; goes_up < 2; goes_up++) {
        start();
        KEEPS(alloc_at(0, 2));
        KEEPS(on_for(OP_FREE_AFTER, 0, 1000));
        script.act = await_1;
        script.stats_more.peak_bytes_in_use = G; /* three: it is not known better */
        KEEPS(alloc_at(0, 2));
        script.stats_more.peak_bytes_in_use = 0;
        KEEPS(ask_for_nothing(NULL));
        script.stats_more.peak_bytes_in_use = goes_up ? G : -(uint64_t)G;
        BREAKS(ask_for_nothing(NULL), RULE_COUNTERS);
        stop();
    }
}
