/* What a call that failed leaves, where the target says little of itself or the device does not do
 * all that it is asked. */
#include "tests/harness/rules/overlap_rig.h"
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

static void start_with(enum defrag_contract defrag)
{
    prepare();
    script.contract.defrag = defrag;
    start_hosts(1);
}

/* The scripted target without one of its calls. */
static struct target partial_target;
static void start_partial(void)
{
    char reason[RUN_REASON_BYTES] = "";
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = 16 * G;
    script.run = run_create(&partial_target, &setup, reason);
    ck_assert_msg(script.run != NULL, "%s", reason);
}

/* A request that can never be right. */
static const struct verdict *ask_for_nothing(void (*act)(void))
{
    script.act = act;
    script.result = TARGET_INVALID;
    return step(op_make(OP_ALLOC));
}

static void refuse_host_memory(void)
{
    const struct device_services *device = script.device[0];
    ck_assert_ptr_null(device->host_alloc(device->context, 64));
}

/* Answered FAILED, because host memory was refused. */
static const struct verdict *fail_op(struct op op)
{
    KEEPS(arm(FAULT_HOST_MEMORY));
    script.act = refuse_host_memory;
    script.result = TARGET_FAILED;
    return step(op);
}

static void arm_late(enum fault_kind fault, uint64_t call, uint64_t delay_ns)
{
    struct op op = op_make(OP_FAULT);
    op.tag = (uint8_t)fault;
    op.size_bytes = call;
    op.delay_ns = delay_ns;
    KEEPS(step(op));
}

/* --- what it had the device do --- */

static void copy_half(void)
{
    ck_assert_int_eq(copy(0, 4, 2), DEVICE_PARTIAL);
}
static void copy_all(void)
{
    ck_assert_int_eq(copy(0, 4, 2), DEVICE_OK);
}
static void copy_out_of_the_device(void)
{
    ck_assert_int_eq(copy(0, 15, 2), DEVICE_REFUSED);
}
static void take_memory(void)
{
    const struct device_services *device = script.device[0];
    device->host_free(device->context, device->host_alloc(device->context, 64), 64);
}
static void stage_and_drop(void)
{
    uint64_t stage = 0;
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 0, 2 * G, &stage), DEVICE_OK);
    device->stage_drop(device->context, stage);
}

/* Host memory is for the target's own use, in any call. */
TEST(each_effort_of_a_call_that_needs_none_is_told)
{
    static const struct {
        void (*act)(void);
        enum fault_kind fault; /* FAULT_KIND_COUNT: none */
        const char *reason;    /* NULL: nothing is said */
    } rows[] = {
        {copy_all, FAULT_KIND_COUNT,
         "alloc failed, and copied memory although no such failure "
         "needs that"},
        {copy_half, FAULT_COPY_HALF,
         "alloc failed, and copied memory although no such failure "
         "needs that"},
        {stage_and_drop, FAULT_KIND_COUNT,
         "alloc failed, and copied memory to the host although "
         "no such failure needs that"},
        {take_memory, FAULT_KIND_COUNT, NULL},
        {refuse_host_memory, FAULT_HOST_MEMORY, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare();
        script.contract.defrag = DEFRAG_REPACK;
        script.contract.resumes = true;
        start_hosts(1);
        KEEPS(alloc_at(0, 2));
        if (rows[i].fault != FAULT_KIND_COUNT) {
            KEEPS(arm(rows[i].fault));
        }
        const struct verdict *verdict = ask_for_nothing(rows[i].act);
        if (rows[i].reason == NULL) {
            KEEPS(verdict);
        } else {
            BREAKS(verdict, RULE_FAILED_CHANGED);
            ck_assert_str_eq(verdict->reason, rows[i].reason);
            ck_assert_str_eq(verdict->mechanism, "mitigation of a call that needs none");
        }
        stop();
    }
}

/* A copy out of the device is wrong by itself. */
TEST(a_copy_out_of_the_device_is_told_first)
{
    start();
    KEEPS(alloc_at(0, 2));
    const struct verdict *verdict = ask_for_nothing(copy_out_of_the_device);
    BREAKS(verdict, RULE_OUTSIDE);
    ck_assert_str_eq(verdict->reason, "a copy left the device");
    stop();
}

static void await_1(void)
{
    wait_for(1);
}
static void await_1_twice(void)
{
    wait_for(1);
    wait_for(1); /* is done by then */
}

/* Time that a fault lets pass is nobody's.  Whether the event was awaited is seen at the call after
 * the wait, or at the end. */
TEST(a_wait_of_a_call_that_needs_none_is_told_unless_a_fault_struck)
{
    void (*const acts[])(void) = {await_1, await_1_twice};
    for (int has_fault = 0; has_fault < 2; has_fault++) {
        for (size_t i = 0; i < 2; i++) {
            start();
            KEEPS(alloc_at(0, 2));
            KEEPS(on_for(OP_USE, 0, 1000));
            if (has_fault != 0) {
                arm_late(FAULT_CLOCK_JUMP, 1, 10);
            }
            const struct verdict *verdict = ask_for_nothing(acts[i]);
            if (has_fault != 0) {
                KEEPS(verdict);
            } else {
                BREAKS(verdict, RULE_FAILED_CHANGED);
                ck_assert_str_eq(verdict->reason, "alloc failed, and awaited an event although no "
                                                  "such failure needs that");
            }
            stop();
        }
    }
}

static void await_done_then_pending(void)
{
    wait_for(2); /* is done already */
    wait_for(1);
    take_memory();
}

/* Which wait took time: the second. */
TEST(a_wait_for_what_is_done_is_no_effort)
{
    for (int is_pending = 0; is_pending < 2; is_pending++) {
        start();
        KEEPS(alloc_at(0, 2));
        KEEPS(on_for(OP_USE, 0, is_pending != 0 ? 1000 : 0));
        KEEPS(on_for(OP_USE, 0, 0));
        const struct verdict *verdict = ask_for_nothing(await_done_then_pending);
        ck_assert_int_eq(verdict->rule, is_pending != 0 ? RULE_FAILED_CHANGED : RULE_NONE);
        stop();
    }
}

/* Of calls that overlap nobody knows which one let the time pass. */
TEST(a_wait_is_not_held_against_calls_that_overlap)
{
    start_lanes(DEFRAG_SLIDE);
    make_block_at_7();
    struct op use = op_make(OP_USE);
    use.ref = 0;
    use.delay_ns = 1000;
    end_call(begin_call(use));
    const uint32_t first = begin_alloc(0);
    const uint32_t second = begin_alloc(0);
    script.act = await_1;
    end_refused(first, TARGET_INVALID, "");
    end_refused(second, TARGET_INVALID, "");
    KEEPS(&rig.verdicts[second]);
    stop_lanes();
}

/* --- stages --- */

static void leave_stage_of_nothing(void)
{
    uint64_t stage = 0;
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 8 * G, 2 * G, &stage), DEVICE_OK);
}

TEST(a_stage_of_free_memory_is_left_by_no_failure)
{
    for (int is_left = 0; is_left < 2; is_left++) {
        start_with(DEFRAG_REPACK);
        KEEPS(alloc_at(0, 2));
        script.act = is_left != 0 ? leave_stage_of_nothing : stage_and_drop;
        const struct verdict *verdict = refuse(15);
        if (is_left != 0) {
            BREAKS(verdict, RULE_FAILED_CHANGED);
            ck_assert_str_eq(verdict->reason,
                             "alloc failed and left a stage of 1024 bytes from 0x1000 in host "
                             "memory, of no block that is there alone");
        } else {
            JUDGED(verdict, VERDICT_JUSTIFIED);
        }
        stop();
    }
}

/* A run that goes on after the refusal sees what else the call did, and that is the end of it. */
TEST(harm_is_told_behind_a_refusal_that_was_premature)
{
    for (int is_left = 0; is_left < 2; is_left++) {
        start_with(DEFRAG_REPACK);
        run_go_on(script.run);
        KEEPS(alloc_at(0, 2));
        script.act = is_left != 0 ? leave_stage_of_nothing : stage_and_drop;
        const struct verdict *verdict = refuse(8);
        if (is_left != 0) {
            BREAKS(verdict, RULE_FAILED_CHANGED);
        } else {
            JUDGED(verdict, VERDICT_PREMATURE);
        }
        ck_assert_int_eq(run_is_broken(script.run), is_left);
        ck_assert_uint_eq(run_totals(script.run)->premature, 1);
        stop();
    }
}

static uint64_t stage_left;
static void leave_0_in_host_memory(void)
{
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 0, 2 * G, &stage_left), DEVICE_OK);
    ck_assert_int_eq(device->stage_in(device->context, stage_left, 4 * G), DEVICE_REFUSED);
    script.at[1].address = TARGET_ADDRESS_NONE;
}

/* Block 0, of two granules, is in host memory alone. */
static void start_with_absent(void)
{
    start_with(DEFRAG_REPACK);
    KEEPS(alloc_at(0, 2));
    arm_late(FAULT_COPY, 2, 0);
    script.act = leave_0_in_host_memory;
    KEEPS(refuse(15));
    ck_assert_uint_eq(model_absent_count(run_model(script.run, 0)), 1);
}

/* --- the report --- */

static void add_row(struct target_row row)
{
    script.rows[script.row_count < 0 ? 0 : script.row_count] = row;
    script.row_count = script.row_count < 0 ? 1 : script.row_count + 1;
}

static struct op make_output(void)
{
    struct op op = op_make(OP_OUTPUT);
    op.size_bytes = 2 * G;
    op.tag = 3;
    return op;
}

/* Block 0 is [0, 2); the row is next to that of the block, which may be in host memory. */
TEST(a_row_of_what_failed_is_told_whatever_it_looks_like)
{
    static const struct {
        struct target_row row;
        bool is_absent, breaks;
        const char *reason;
    } rows[] = {
        {{G, 2 * G, BLOCK_OUTPUT, 3},
         false,
         true, /* in the middle of the block */
         "output failed, and the report has a row of 1024 bytes at 0x200 for what it was asked"},
        {{8 * G, 2 * G, BLOCK_OUTPUT, 3},
         false,
         true,
         "output failed, and the report has a row of 1024 bytes at 0x1000 for what it was asked"},
        {{TARGET_ADDRESS_NONE, 2 * G, BLOCK_OUTPUT, 3},
         true,
         true,
         "output failed, and the report has a row of 1024 bytes without an address for what it was "
         "asked"},
        {{8 * G, 2 * G, BLOCK_OUTPUT, 4}, false, false, NULL},
        {{8 * G, 2 * G, BLOCK_BUFFER, 3}, false, false, NULL},
        {{8 * G, G, BLOCK_OUTPUT, 3}, false, false, NULL},
        {{8 * G, 3 * G, BLOCK_OUTPUT, 3}, false, false, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].is_absent) {
            start_with_absent();
        } else {
            start();
            KEEPS(alloc_at(0, 2));
        }
        add_row((struct target_row){rows[i].is_absent ? TARGET_ADDRESS_NONE : 0, 2 * G,
                                    BLOCK_BUFFER, 0});
        add_row(rows[i].row);
        const struct verdict *verdict = fail_op(make_output());
        ck_assert_msg(verdict->rule == (rows[i].breaks ? RULE_FAILED_CHANGED : RULE_NONE),
                      "row %zu: %s, %s", i, rule_info(verdict->rule)->name, verdict->reason);
        if (rows[i].breaks) {
            ck_assert_str_eq(verdict->reason, rows[i].reason);
        }
        stop();
    }
}

/* Lists repeat themselves, so that every eighth out-of-memory might be always the same one. */
TEST(the_refusals_that_are_looked_at_are_scattered)
{
    unsigned looked_at[8] = {0};
    for (uint32_t number = 1; number <= 64; number++) {
        start();
        KEEPS(alloc_at(0, 2));
        while (run_ops(script.run)->count < number) {
            KEEPS(on(OP_TOUCH, 0));
        }
        add_row((struct target_row){0, 2 * G, BLOCK_BUFFER, 0});
        add_row((struct target_row){4 * G, 15 * G, BLOCK_BUFFER, 0});
        looked_at[number % 8] += refuse(15)->kind == VERDICT_BROKEN;
        stop();
    }
    for (unsigned i = 0; i < 8; i++) {
        ck_assert_msg(looked_at[i] <= 4, "%u of 8 with remainder %u", looked_at[i], i);
    }
}

/* Memory that went bad has no tag, and is exactly as large as was said. */
TEST(memory_that_is_not_retired_has_no_row)
{
    static const struct {
        struct target_row row;
        bool breaks;
    } rows[] = {
        {{8 * G, 2 * G, BLOCK_RETIRED, 0}, true}, {{8 * G, 2 * G, BLOCK_RETIRED, 9}, true},
        {{8 * G, G, BLOCK_RETIRED, 0}, false},    {{8 * G, 3 * G, BLOCK_RETIRED, 0}, false},
        {{8 * G, 2 * G, BLOCK_BUFFER, 0}, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        add_row(rows[i].row);
        struct op op = op_make(OP_RETIRE);
        op.address = 8 * G;
        op.size_bytes = 2 * G;
        const struct verdict *verdict = fail_op(op);
        ck_assert_msg(verdict->rule == (rows[i].breaks ? RULE_FAILED_CHANGED : RULE_NONE),
                      "row %zu: %s, %s", i, rule_info(verdict->rule)->name, verdict->reason);
        stop();
    }
}

/* The classes of the contract say how large a block may be that was asked for; the program that was
 * executed had its size from its load. */
TEST(a_row_of_what_failed_has_a_size_that_was_asked_for)
{
    static const struct {
        enum op_kind kind;
        uint64_t size;
        bool breaks;
    } rows[] = {
        {OP_ALLOC, 4, false},  {OP_ALLOC, 5, true},    {OP_ALLOC, 8, true},
        {OP_ALLOC, 9, false},  {OP_EXECUTE, 2, false}, {OP_EXECUTE, 3, true},
        {OP_EXECUTE, 4, true}, {OP_EXECUTE, 5, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare();
        script.contract.rounding = (struct target_rounding){.kind = ROUNDING_CLASSES, .steps = 1};
        start_hosts(1);
        KEEPS(load_at(0, 3, 0));
        add_row((struct target_row){0, 3 * G, BLOCK_PROGRAM, 0});
        struct op op = op_make(rows[i].kind);
        op.ref = rows[i].kind == OP_EXECUTE ? 0 : OP_NONE;
        op.size_bytes = rows[i].kind == OP_EXECUTE ? 0 : 5 * G;
        add_row((struct target_row){8 * G, rows[i].size * G,
                                    rows[i].kind == OP_EXECUTE ? BLOCK_PROGRAM : BLOCK_BUFFER, 0});
        const struct verdict *verdict = fail_op(op);
        ck_assert_msg(verdict->rule == (rows[i].breaks ? RULE_FAILED_CHANGED : RULE_NONE),
                      "row %zu: %s, %s", i, rule_info(verdict->rule)->name, verdict->reason);
        stop();
    }
}

/* --- targets that cannot be asked --- */

static void evict_0(void)
{
    ck_assert_int_eq(unload(0), DEVICE_OK);
}

TEST(a_target_that_says_nothing_of_itself_may_fail)
{
    prepare();
    script.contract.defrag = DEFRAG_NONE;
    partial_target = scripted_target;
    partial_target.locate = NULL;
    partial_target.report = NULL;
    start_partial();
    KEEPS(load_at(0, 2, 0));
    script.act = evict_0;
    KEEPS(alloc_at(8, 2));
    KEEPS(fail_op(make_output()));
    KEEPS(report());
    stop();
}

/* The evicted program is looked for where all are, and where it is the one that failed to run. */
TEST(no_evicted_program_has_an_image_after_any_failure)
{
    for (int has_image = 0; has_image < 2; has_image++) {
        start();
        KEEPS(load_at(0, 2, 0));
        KEEPS(load_at(2, 2, 0));
        script.act = evict_0;
        KEEPS(alloc_at(8, 2));
        script.at[1].address = has_image != 0 ? 12 * G : TARGET_ADDRESS_NONE;
        const struct verdict *verdict = fail_op(make_output());
        if (has_image != 0) {
            BREAKS(verdict, RULE_FAILED_CHANGED);
            ck_assert_str_eq(verdict->reason, "output failed, and program 0, which is evicted, has "
                                              "its image at 0x1800");
        } else {
            KEEPS(verdict);
        }
        stop();
    }
}

static unsigned reports;
static void count_reports(struct target_instance *instance,
                          void (*row)(void *context, const struct target_row *row), void *context)
{
    reports++;
    scripted_target.report(instance, row, context);
}

static void leave_stage_and_fail(void)
{
    leave_stage_of_nothing();
    refuse_host_memory();
}

/* The report is looked at last, and not behind anything else that is wrong. */
TEST(a_failure_that_is_wrong_is_looked_at_no_further)
{
    for (int how = 0; how < 4; how++) {
        prepare();
        partial_target = scripted_target;
        partial_target.report = count_reports;
        start_partial();
        reports = 0;
        KEEPS(load_at(0, 2, 0));
        script.act = evict_0;
        KEEPS(alloc_at(8, 2));
        script.at[1].address = how == 1 ? 12 * G : TARGET_ADDRESS_NONE;
        const struct verdict *verdict = NULL;
        if (how < 3) {
            verdict = ask_for_nothing(how == 2 ? copy_all : NULL);
        } else {
            KEEPS(arm(FAULT_HOST_MEMORY));
            script.act = leave_stage_and_fail;
            script.result = TARGET_FAILED;
            verdict = step(make_output());
        }
        ck_assert_int_eq(verdict->rule, how == 0 ? RULE_NONE : RULE_FAILED_CHANGED);
        /* What is asked for can never be right, but has a row as any other. */
        ck_assert_uint_eq(reports, how == 0);
        stop();
    }
}

/* --- failures without a reason --- */

static void refuse_copy(void)
{
    ck_assert_int_eq(copy(0, 4, 2), DEVICE_REFUSED);
}

/* Whatever the device refused is an excuse, but for a range that went bad: to note that needs host
 * memory alone.  A failure says why, unless there was no host memory to say it with. */
TEST(a_failure_has_an_excuse_and_a_text)
{
    static const struct {
        enum op_kind kind;
        enum fault_kind fault;
        void (*act)(void);
        const char *text;
        enum rule rule;
        const char *mechanism;
    } rows[] = {
        {OP_ALLOC, FAULT_HOST_MEMORY, refuse_host_memory, "", RULE_NONE, ""},
        {OP_ALLOC, FAULT_COPY, refuse_copy, "refused", RULE_NONE, ""},
        {OP_ALLOC, FAULT_COPY, refuse_copy, "", RULE_MESSAGE, "empty text of a failure"},
        {OP_ALLOC, FAULT_COPY, NULL, "refused", RULE_STATUS, "alloc returned FAILED"},
        {OP_RETIRE, FAULT_HOST_MEMORY, refuse_host_memory, "", RULE_NONE, ""},
        {OP_RETIRE, FAULT_COPY, refuse_copy, "refused", RULE_STATUS, "retire returned FAILED"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        KEEPS(alloc_at(0, 2));
        KEEPS(arm(rows[i].fault));
        script.message = rows[i].text;
        script.act = rows[i].act;
        script.result = TARGET_FAILED;
        struct op op = op_make(rows[i].kind);
        op.size_bytes = G;
        op.address = rows[i].kind == OP_RETIRE ? 8 * G : 0;
        const struct verdict *verdict = step(op);
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s, %s", i,
                      rule_info(verdict->rule)->name, verdict->reason);
        ck_assert_str_eq(verdict->mechanism, rows[i].mechanism);
        stop();
    }
}

/* What is in host memory alone is an excuse for the calls that need it, and for no others. */
TEST(what_is_in_host_memory_fails_the_calls_that_need_it)
{
    static const struct {
        enum op_kind kind;
        enum rule rule;
    } rows[] = {{OP_USE, RULE_NONE},
                {OP_DONATE, RULE_NONE},
                {OP_HOLD, RULE_STATUS},
                {OP_FREE, RULE_STATUS}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_with_absent();
        KEEPS(alloc_at(0, 15));
        script.result = TARGET_FAILED;
        struct op op = op_make(rows[i].kind);
        op.ref = 0;
        op.size_bytes = rows[i].kind == OP_DONATE ? G : 0;
        const struct verdict *verdict = step(op);
        ck_assert_msg(verdict->rule == rows[i].rule, "%s: %s, %s", op_kind_info(rows[i].kind)->name,
                      rule_info(verdict->rule)->name, verdict->reason);
        stop();
    }
}

/* A run that goes on takes the use as the target did. */
TEST(what_is_in_host_memory_cannot_be_used)
{
    start_with(DEFRAG_REPACK);
    run_go_on(script.run);
    KEEPS(alloc_at(0, 2));
    arm_late(FAULT_COPY, 2, 0);
    script.act = leave_0_in_host_memory;
    KEEPS(refuse(15));
    KEEPS(alloc_at(0, 15));
    const struct verdict *verdict = on_for(OP_USE, 0, 1000);
    BREAKS(verdict, RULE_STATUS);
    ck_assert_str_eq(verdict->reason,
                     "use returned OK, but the contents of block 0 are in host memory");
    ck_assert_str_eq(verdict->mechanism, "block in host memory");
    ck_assert(!run_is_broken(script.run));
    ck_assert_uint_eq(model_event_count(run_model(script.run, 0)), 1);
    stop();
}

/* Room that was kept for it may be given up when the same is asked again. */
TEST(a_retry_next_to_a_block_in_host_memory_says_nothing)
{
    start_with_absent();
    KEEPS(alloc_at(0, 15));
    JUDGED(refuse(1), VERDICT_JUSTIFIED);
    struct op retry = op_make(OP_ALLOC);
    retry.flags = OP_RETRY;
    script.block = (struct target_block){next_handle(), 15 * G, G};
    KEEPS(step(retry));
    ck_assert_uint_eq(run_totals(script.run)->retries_granted, 1);
    stop();
}

/* Calls that overlap: the block is gone by the time the use of it has failed. */
TEST(a_use_of_what_is_gone_has_no_excuse)
{
    start_lanes(DEFRAG_SLIDE);
    make_block_at_7();
    struct op use = op_make(OP_USE);
    use.ref = 0;
    use.delay_ns = 1000;
    const uint32_t user = begin_call(use);
    struct op release = op_make(OP_FREE);
    release.ref = 0;
    const uint32_t free_call = begin_call(release);
    script.at[1].address = TARGET_ADDRESS_NONE;
    end_call(free_call);
    end_refused(user, TARGET_FAILED, "gone");
    BREAKS(&rig.verdicts[user], RULE_STATUS);
    ck_assert_ptr_nonnull(strstr(rig.verdicts[user].reason, "use returned FAILED"));
    stop_lanes();
}
