/* How what happened under faults is judged: what a fault excuses, and what it never does.  And
 * memory that went bad. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void start_resuming(enum defrag_contract defrag)
{
    prepare();
    script.contract.resumes = true;
    script.contract.defrag = defrag;
    start_hosts(1);
}

static const struct verdict *arm_for(enum fault_kind fault, uint64_t delay_ns)
{
    struct op op = op_make(OP_FAULT);
    op.tag = (uint8_t)fault;
    op.size_bytes = 1;
    op.delay_ns = delay_ns;
    return step(op);
}

static const struct verdict *defragment_with(void (*act)(void))
{
    script.act = act;
    return step(op_make(OP_DEFRAGMENT));
}

static const struct verdict *alloc_with(void (*act)(void), uint64_t at, uint64_t size)
{
    script.act = act;
    return alloc_at(at, size);
}

static const struct verdict *fail_with(void (*act)(void), const char *message)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = G;
    script.act = act;
    script.result = TARGET_FAILED;
    script.message = message;
    return step(op);
}

/* --- copies that stop half-way --- */

static void move_0_to_4_in_part(void)
{
    ck_assert_int_eq(copy(0, 4, 2), DEVICE_PARTIAL);
}
static void move_0_to_4_and_believe_it(void)
{
    move_0_to_4_in_part();
    script.at[1].address = 4 * G;
}
static void move_0_to_4_in_two_calls(void)
{
    move_0_to_4_in_part();
    ck_assert_int_eq(copy(0, 4, 2), DEVICE_OK);
    script.at[1].address = 4 * G;
}
static void move_0_to_4_at_last(void)
{
    ck_assert_int_eq(copy(0, 4, 2), DEVICE_OK);
    script.at[1].address = 4 * G;
}
static void slide_0_to_1_in_part(void)
{
    ck_assert_int_eq(copy(0, 1, 2), DEVICE_PARTIAL);
}
static void slide_0_to_1_in_two_calls(void)
{
    slide_0_to_1_in_part();
    ck_assert_int_eq(copy(0, 1, 2), DEVICE_OK);
    script.at[1].address = G;
}
static void stage_0_to_4_in_part(void)
{
    const struct device_services *device = script.device[0];
    uint64_t stage = 0;
    ck_assert_int_eq(device->stage_out(device->context, 0, 2 * G, &stage), DEVICE_OK);
    ck_assert_int_eq(device->stage_in(device->context, stage, 4 * G), DEVICE_PARTIAL);
    script.at[1].address = 4 * G;
}

EVERY_TEST(.timeout_s = 120);

TEST(a_copy_that_stopped_half_way_has_moved_nothing)
{
    const struct {
        void (*act)(void);
        enum rule rule;
    } rows[] = {
        {move_0_to_4_in_two_calls, RULE_NONE}, {slide_0_to_1_in_two_calls, RULE_NONE},
        {move_0_to_4_in_part, RULE_NONE},      {move_0_to_4_and_believe_it, RULE_CONTENTS},
        {slide_0_to_1_in_part, RULE_CONTENTS}, {stage_0_to_4_in_part, RULE_CONTENTS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_resuming(DEFRAG_SLIDE);
        KEEPS(alloc_at(0, 2));
        KEEPS(arm(FAULT_COPY_HALF));
        const struct verdict *verdict = defragment_with(rows[i].act);
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s", i, verdict->reason);
        if (rows[i].rule == RULE_NONE) {
            KEEPS(on(OP_TOUCH, 0));
            KEEPS(report());
        }
        stop();
    }
}

TEST(a_copy_may_go_on_in_a_later_op)
{
    start_resuming(DEFRAG_SLIDE);
    KEEPS(alloc_at(0, 2));
    KEEPS(arm(FAULT_COPY_HALF));
    KEEPS(defragment_with(move_0_to_4_in_part));
    KEEPS(arm(FAULT_COPY)); /* refuses nothing that goes on */
    KEEPS(defragment_with(move_0_to_4_at_last));
    KEEPS(on(OP_TOUCH, 0));
    stop();
}

TEST(half_a_copy_over_a_queued_free_is_as_wrong_as_a_whole_one)
{
    start_resuming(DEFRAG_SLIDE);
    KEEPS(alloc_at(0, 2));
    KEEPS(alloc_at(4, 2));
    KEEPS(on_for(OP_FREE_AFTER, 1, 1000));
    KEEPS(arm(FAULT_COPY_HALF));
    BREAKS(defragment_with(move_0_to_4_in_part), RULE_REUSED_EARLY);
    stop();
}

/* The copy itself stays in order: the block was not in use when it was copied away. */
TEST(what_completes_during_a_late_copy_came_after_it)
{
    for (int late = 0; late < 2; late++) {
        start_resuming(DEFRAG_SLIDE);
        KEEPS(alloc_at(0, 2));
        KEEPS(alloc_at(4, 2));
        KEEPS(on_for(OP_FREE_AFTER, 1, 1000));
        KEEPS(arm_for(late ? FAULT_COPY_LATE : FAULT_CLOCK_JUMP, 1000));
        if (late) {
            BREAKS(defragment_with(move_0_to_4_at_last), RULE_REUSED_EARLY);
        } else {
            KEEPS(defragment_with(move_0_to_4_at_last));
        }
        stop();
    }
}

/* --- unloads that stop half-way --- */

static void unload_0(void)
{
    ck_assert_int_eq(unload(0), DEVICE_OK);
}
static void unload_0_in_part(void)
{
    ck_assert_int_eq(unload(0), DEVICE_PARTIAL);
}
static void unload_0_in_two_calls(void)
{
    unload_0_in_part();
    ck_assert_int_eq(unload(0), DEVICE_OK);
}

static void start_with_program(void)
{
    start_resuming(DEFRAG_SLIDE);
    KEEPS(load_at(4, 2, 1));
    KEEPS(arm(FAULT_UNLOAD_HALF));
}

TEST(a_program_is_gone_when_all_of_its_image_is)
{
    start_with_program();
    KEEPS(alloc_with(unload_0_in_two_calls, 4, 2));
    KEEPS(report());
    stop();
    start_with_program();
    BREAKS(alloc_with(unload_0_in_part, 4, 2), RULE_OVERLAP);
    stop();
}

TEST(half_an_image_that_is_left_loaded_is_seen)
{
    start_with_program();
    KEEPS(alloc_with(unload_0_in_part, 8, 2));
    BREAKS(report(), RULE_CONTENTS);
    stop();
    start_with_program();
    KEEPS(alloc_with(unload_0_in_part, 8, 2));
    BREAKS(execute(0, 10), RULE_CONTENTS);
    stop();
    start_with_program(); /* whole images run, and are reported */
    KEEPS(alloc_at(8, 2));
    KEEPS(execute(0, 10));
    KEEPS(report());
    stop();
}

TEST(half_an_unload_is_held_to_what_a_whole_one_is)
{
    start_with_program();
    KEEPS(execute(0, 1000));
    BREAKS(alloc_with(unload_0_in_part, 8, 2), RULE_BUSY_EVICTED);
    stop();
    start_with_program();
    BREAKS(defragment_with(unload_0_in_part), RULE_WRONG_EVICTION);
    stop();
}

/* --- out-of-memories --- */

static void copy_refused(void)
{
    ck_assert_int_eq(copy(4, 0, 2), DEVICE_REFUSED);
}
static void copy_in_part(void)
{
    ck_assert_int_eq(copy(4, 0, 2), DEVICE_PARTIAL);
}

TEST(what_stopped_half_way_excuses_no_out_of_memory)
{
    const struct {
        enum fault_kind fault;
        void (*act)(void);
        enum verdict_kind kind;
    } rows[] = {
        {FAULT_COPY, copy_refused, VERDICT_JUSTIFIED},
        {FAULT_ANY, copy_refused, VERDICT_JUSTIFIED},
        {FAULT_COPY_HALF, copy_in_part, VERDICT_PREMATURE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_resuming(DEFRAG_SLIDE);
        KEEPS(alloc_at(4, 2));
        KEEPS(arm(rows[i].fault));
        script.act = rows[i].act;
        JUDGED(refuse(14), rows[i].kind);
        stop();
    }
    start_with_program();
    script.act = unload_0_in_part;
    JUDGED(refuse(16), VERDICT_PREMATURE);
    stop();
}

static void wait_1_lost(void)
{
    ck_assert_int_eq(script.device[0]->event_wait(script.device[0]->context, 2), DEVICE_LOST);
}
static void wait_1_refused(void)
{
    ck_assert_int_eq(script.device[0]->event_wait(script.device[0]->context, 2), DEVICE_REFUSED);
}
static void unload_0_refused(void)
{
    ck_assert_int_eq(unload(0), DEVICE_REFUSED);
}

TEST(an_event_that_was_lost_is_awaited_by_nobody)
{
    const struct {
        enum fault_kind fault;
        void (*act)(void);
        enum verdict_kind first, second;
    } rows[] = {
        {FAULT_EVENT_LOST, wait_1_lost, VERDICT_JUSTIFIED, VERDICT_JUSTIFIED},
        {FAULT_WAIT_TIMEOUT, wait_1_refused, VERDICT_JUSTIFIED, VERDICT_PREMATURE},
        {FAULT_EVENT_LATE, NULL, VERDICT_PREMATURE, VERDICT_PREMATURE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        KEEPS(alloc_at(4, 2));
        KEEPS(on_for(OP_FREE_AFTER, 0, 1000));
        KEEPS(arm_for(rows[i].fault, 10));
        script.act = rows[i].act;
        JUDGED(refuse(16), rows[i].first);
        JUDGED(refuse(16), rows[i].second);
        stop();
    }
}

static void look_at_1(void)
{
    (void)script.device[0]->event_done(script.device[0]->context, 2);
}
static void look_at_1_and_copy(void)
{
    look_at_1();
    (void)copy(4, 4, 2);
}

/* Block 0 is a queued free, or is used, until the event of op 1. */
TEST(what_completed_between_the_last_looks_is_no_reason_against_an_out_of_memory)
{
    const struct {
        enum op_kind kind;
        bool drains;
        void (*act)(void);
        enum verdict_kind first;
    } rows[] = {
        {OP_FREE_AFTER, false, look_at_1, VERDICT_JUSTIFIED},
        {OP_FREE_AFTER, true, look_at_1, VERDICT_JUSTIFIED},
        {OP_FREE_AFTER, false, look_at_1_and_copy, VERDICT_PREMATURE},
        {OP_FREE_AFTER, true, look_at_1_and_copy, VERDICT_PREMATURE},
        {OP_USE, true, look_at_1, VERDICT_JUSTIFIED},
        {OP_USE, true, look_at_1_and_copy, VERDICT_PREMATURE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare();
        script.contract.drains = rows[i].drains;
        start_hosts(1);
        KEEPS(alloc_at(4, 2));
        KEEPS(on_for(rows[i].kind, 0, 1000));
        KEEPS(arm_for(FAULT_POLL_JUMP, 1000));
        script.act = rows[i].act;
        const struct verdict *verdict = refuse(14);
        ck_assert_msg(verdict->kind == rows[i].first, "row %zu: %s", i, verdict->reason);
        if (verdict->kind == VERDICT_JUSTIFIED) {
            JUDGED(refuse(14), VERDICT_PREMATURE);
        }
        stop();
    }
}

/* 14 granules are free before the jump, 16 after it. */
TEST(the_numbers_of_a_text_may_lack_what_completed_between_the_last_looks)
{
    for (int jumps = 0; jumps < 2; jumps++) {
        prepare();
        script.contract.documented_messages = true;
        script.contract.drains = false;
        start_hosts(1);
        KEEPS(alloc_at(4, 2));
        KEEPS(on_for(OP_FREE_AFTER, 0, 1000));
        if (jumps) {
            KEEPS(arm_for(FAULT_POLL_JUMP, 1000));
        }
        script.act = look_at_1;
        script.message = "RESOURCE_EXHAUSTED: Attempting to allocate 8.5K. That was not possible. "
                         "There are 8.0K free.";
        const struct verdict *verdict = refuse(17);
        ck_assert_int_eq(verdict->rule, jumps ? RULE_NONE : RULE_MESSAGE);
        stop();
    }
}

TEST(a_busy_unload_excuses_each_op_in_which_it_is_refused)
{
    start();
    KEEPS(load_at(4, 2, 1));
    KEEPS(arm_for(FAULT_UNLOAD_BUSY, 1000));
    for (int i = 0; i < 2; i++) {
        script.act = unload_0_refused;
        JUDGED(refuse(16), VERDICT_JUSTIFIED);
    }
    JUDGED(refuse(16), VERDICT_PREMATURE); /* not asked for: no excuse */
    stop();
}

TEST(no_regret_is_counted_where_a_fault_struck)
{
    for (int strikes = 0; strikes < 2; strikes++) {
        start_resuming(DEFRAG_SLIDE);
        KEEPS(load_at(4, 2, 1));
        if (strikes) {
            KEEPS(arm(FAULT_UNLOAD_HALF));
        }
        KEEPS(alloc_with(strikes ? unload_0_in_two_calls : unload_0, 8,
                         2)); /* there was room without */
        ck_assert_uint_eq(run_totals(script.run)->regretted, strikes ? 0 : 1);
        stop();
    }
}

/* --- answers --- */

static void no_host_memory(void)
{
    ck_assert_ptr_null(script.device[0]->host_alloc(script.device[0]->context, 8));
}

TEST(a_failure_follows_a_refusal_and_says_so)
{
    start_resuming(DEFRAG_SLIDE);
    KEEPS(alloc_at(4, 2));
    KEEPS(arm(FAULT_COPY));
    KEEPS(fail_with(copy_refused, "the device refused to copy"));
    KEEPS(arm(FAULT_HOST_MEMORY));
    KEEPS(fail_with(no_host_memory, ""));
    KEEPS(arm(FAULT_COPY));
    BREAKS(fail_with(copy_refused, ""), RULE_MESSAGE);
    stop();
    start_resuming(DEFRAG_SLIDE);
    KEEPS(alloc_at(4, 2));
    KEEPS(arm(FAULT_COPY_HALF));
    BREAKS(fail_with(copy_in_part, "the device copied one half"), RULE_STATUS);
    stop();
}

static void poll_for_ever(void)
{
    while (!script.device[0]->event_done(script.device[0]->context, 2)) {
    }
}

TEST(who_polls_for_ever_hangs)
{
    start();
    KEEPS(alloc_at(4, 2));
    KEEPS(on_for(OP_FREE_AFTER, 0, 1000));
    BREAKS(alloc_with(poll_for_ever, 4, 2), RULE_HANG);
    stop();
}

TEST(scenarios_do_not_see_ops_of_the_harness)
{
    start();
    JUDGED(refuse(17), VERDICT_JUSTIFIED);
    const struct model *model = run_model(script.run, 0);
    struct op op = op_make(OP_RETIRE);
    op.size_bytes = G;
    for (int i = 0; i < 2; i++) { /* the second one is skipped */
        KEEPS(step(op));
        KEEPS(arm(FAULT_COPY));
        ck_assert_uint_eq(model_last_op(model), 0);
        ck_assert_int_eq(model_last_result(model), TARGET_NO_MEMORY);
        ck_assert(!model_last_skipped(model));
    }
    ck_assert_int_eq(script.retire_calls, 1);
    KEEPS(on(OP_TOUCH, 7));
    ck_assert(model_last_skipped(model));
    ck_assert_uint_eq(model_last_op(model), 5);
    stop();
}

/* Every free of the end would be refused for ever. */
TEST(a_run_ends_without_faults)
{
    start();
    KEEPS(alloc_at(4, 2));
    struct op op = op_make(OP_FAULT);
    op.tag = FAULT_HOST_MEMORY;
    op.size_bytes = 1;
    op.flags = OP_FOR_EVER;
    KEEPS(step(op));
    void *memory = script.device[0]->host_alloc(script.device[0]->context, 8);
    ck_assert_ptr_null(memory);
    KEEPS(run_finish(script.run));
    memory = script.device[0]->host_alloc(script.device[0]->context, 8);
    ck_assert_ptr_nonnull(memory);
    script.device[0]->host_free(script.device[0]->context, memory, 8);
    stop();
}

static struct op spmd_alloc(uint8_t host, uint64_t at)
{
    struct op op = op_make(OP_ALLOC);
    op.host = host;
    op.flags = OP_SPMD;
    op.size_bytes = 16 * G;
    script.block = (struct target_block){next_handle(), at, 16 * G};
    return op;
}

TEST(hosts_may_differ_once_one_of_them_had_a_fault)
{
    for (int differs = 0; differs < 2; differs++) {
        prepare();
        script.odd_host_does_not_drain = true;
        start_hosts(2);
        struct op op = op_make(OP_ALLOC);
        op.host = 1;
        op.size_bytes = G;
        script.block = (struct target_block){1, 0, G};
        KEEPS(step(op));
        op = op_make(OP_FREE_AFTER);
        op.host = 1;
        op.ref = 0;
        op.delay_ns = 1000;
        KEEPS(step(op));
        if (differs) {
            op = op_make(OP_RETIRE);
            op.host = 1;
            op.address = G;
            op.size_bytes = G;
            KEEPS(step(op));
        }
        KEEPS(step(spmd_alloc(0, 0)));
        op = spmd_alloc(1, 0);
        script.result = TARGET_NO_MEMORY;
        if (differs) {
            JUDGED(step(op), VERDICT_JUSTIFIED);
        } else {
            BREAKS(step(op), RULE_SPMD);
        }
        stop();
    }
}

/* --- memory that went bad --- */

static struct op make_retire(uint64_t at, uint64_t size)
{
    struct op op = op_make(OP_RETIRE);
    op.address = at * G;
    op.size_bytes = size * G;
    return op;
}

static bool is_skipped(struct op op)
{
    KEEPS(step(op));
    return run_observation(script.run)->skipped != 0;
}

TEST(only_what_is_free_is_retired)
{
    start();
    KEEPS(alloc_at(4, 2));    /* 0 */
    KEEPS(load_at(12, 1, 2)); /* 1 */
    KEEPS(execute(1, 1000));  /* the stack ends at 2 */
    KEEPS(alloc_at(8, 2));
    KEEPS(on_for(OP_FREE_AFTER, 3, 1000)); /* dying */
    const struct op taken[] = {make_retire(5, 1),  make_retire(3, 2),
                               make_retire(5, 2),  make_retire(8, 1),
                               make_retire(12, 1), make_retire(1, 1),
                               make_retire(15, 2), make_retire(16, 1),
                               make_retire(2, 0),  make_retire(UINT64_MAX / G, 1)};
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        ck_assert_msg(is_skipped(taken[i]), "row %zu", i);
    }
    struct op odd = make_retire(2, 1);
    odd.size_bytes = G + 1;
    ck_assert(is_skipped(odd));
    odd = make_retire(2, 1);
    odd.address = 2 * G + 8;
    ck_assert(is_skipped(odd));
    ck_assert_int_eq(script.retire_calls, 0);
    ck_assert(!is_skipped(make_retire(2, 2)));
    ck_assert(!is_skipped(make_retire(6, 2)));
    ck_assert(is_skipped(make_retire(6, 2)));
    ck_assert_int_eq(script.retire_calls, 2);
    KEEPS(report());
    KEEPS(run_finish(script.run));
    stop();
}

TEST(who_cannot_retire_is_not_asked)
{
    struct target without = scripted_target;
    struct setup setup;
    char reason[RUN_REASON_BYTES] = "";
    prepare();
    without.retire = NULL;
    setup_init(&setup);
    setup.capacity_bytes = 16 * G;
    script.run = run_create(&without, &setup, reason);
    ck_assert_ptr_nonnull(script.run);
    ck_assert(is_skipped(make_retire(4, 1)));
    stop();
}

TEST(a_range_that_is_named_by_chance_is_one_that_is_free)
{
    const struct {
        uint64_t at, size;       /* as asked, in granules */
        uint64_t is_at, is_size; /* size 0 = skipped */
    } rows[] = {
        {0, 1, 2, 1},  {3, 9, 3, 1},   {4, 9, 6, 2},  {5, 1, 6, 1},
        {9, 2, 10, 2}, {15, 9, 15, 1}, {16, 1, 2, 1}, {16 + 12, 1, 13, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        KEEPS(alloc_at(4, 2));
        KEEPS(load_at(12, 1, 2));
        KEEPS(execute(1, 1000));
        KEEPS(alloc_at(8, 2));
        struct op op = make_retire(rows[i].at, rows[i].size);
        op.address += 7; /* rounded down */
        op.flags = OP_RELATIVE;
        KEEPS(step(op));
        const struct op *resolved = &run_ops(script.run)->ops[4];
        ck_assert_msg(resolved->address == rows[i].is_at * G &&
                          resolved->size_bytes == rows[i].is_size * G,
                      "row %zu: %d granules at %d", i, (int)(resolved->size_bytes / G),
                      (int)(resolved->address / G));
        ck_assert_uint_eq(resolved->flags, 0);
        ck_assert_int_eq(script.retire_calls, 1);
        stop();
    }
    start(); /* from the bottom on when nothing is free above, and nowhere when nothing is */
    KEEPS(alloc_at(4, 12));
    struct op op = make_retire(9, 0);
    op.flags = OP_RELATIVE;
    KEEPS(step(op));
    ck_assert_uint_eq(run_ops(script.run)->ops[1].address, 0);
    ck_assert_uint_eq(run_ops(script.run)->ops[1].size_bytes, G); /* at least one granule */
    op.size_bytes = UINT64_MAX;
    KEEPS(step(op));
    ck_assert_uint_eq(run_ops(script.run)->ops[2].size_bytes, 3 * G);
    ck_assert(is_skipped(op));
    stop();
}

TEST(a_retired_range_is_a_block_that_nobody_names_and_nothing_moves)
{
    start();
    KEEPS(alloc_at(4, 2));
    KEEPS(step(make_retire(8, 2)));
    const struct model *model = run_model(script.run, 0);
    ck_assert_uint_eq(model_counters(model)->block_count, 2);
    ck_assert_uint_eq(model_in_use_bytes(model), 4 * G);
    ck_assert_uint_eq(model_live_count(model), 1);
    ck_assert_ptr_null(model_find(model, 1));
    const enum op_kind kinds[] = {OP_FREE,  OP_HOLD,   OP_RELEASE, OP_USE,
                                  OP_TOUCH, OP_DONATE, OP_UNLOAD};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct op op = op_make(kinds[i]);
        op.ref = 1;
        op.size_bytes = kinds[i] == OP_DONATE ? G : 0;
        ck_assert_msg(is_skipped(op), "%s", op_kind_info(kinds[i])->name);
    }
    KEEPS(report());
    JUDGED(refuse(9), VERDICT_JUSTIFIED);
    JUDGED(refuse(7), VERDICT_JUSTIFIED);
    BREAKS(alloc_at(9, 1), RULE_OVERLAP);
    stop();
    start();
    KEEPS(alloc_at(4, 2));
    KEEPS(step(make_retire(8, 2)));
    JUDGED(refuse(6), VERDICT_PREMATURE); /* beside the block that moves */
    stop();
}

static void move_0_to_9(void)
{
    (void)copy(0, 9, 2);
}
/* In the end everything is where it should be. */
static void move_0_to_4_by_way_of_10(void)
{
    const struct device_services *device = script.device[0];
    uint64_t stage = 0;
    ck_assert_int_eq(device->stage_out(device->context, 10 * G, 2 * G, &stage), DEVICE_OK);
    ck_assert_int_eq(copy(0, 10, 2), DEVICE_OK);
    ck_assert_int_eq(copy(10, 4, 2), DEVICE_OK);
    ck_assert_int_eq(device->stage_in(device->context, stage, 10 * G), DEVICE_OK);
    script.at[1].address = 4 * G;
}

TEST(a_copy_onto_bad_memory_is_lost)
{
    void (*const acts[])(void) = {move_0_to_9, move_0_to_4_by_way_of_10};
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        start_resuming(DEFRAG_REPACK);
        KEEPS(alloc_at(0, 2));
        KEEPS(step(make_retire(10, 2)));
        BREAKS(defragment_with(acts[i]), RULE_CONTENTS);
        stop();
    }
}

TEST(a_retirement_is_taken_note_of)
{
    static const enum target_result results[] = {TARGET_NO_MEMORY, TARGET_INVALID, TARGET_FAILED};
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        start();
        script.result = results[i];
        BREAKS(step(make_retire(4, 1)), RULE_STATUS);
        stop();
    }
    start();
    KEEPS(alloc_at(4, 2));
    KEEPS(arm(FAULT_HOST_MEMORY));
    script.act = no_host_memory;
    script.result = TARGET_FAILED;
    KEEPS(step(make_retire(8, 1)));
    ck_assert_uint_eq(model_counters(run_model(script.run, 0))->block_count, 1);
    KEEPS(arm(FAULT_COPY));
    script.act = copy_refused;
    script.result = TARGET_FAILED;
    BREAKS(step(make_retire(8, 1)), RULE_STATUS);
    stop();
}

TEST(a_retired_block_is_reported_as_one)
{
    for (int is_right = 0; is_right < 2; is_right++) {
        start();
        KEEPS(step(make_retire(8, 2)));
        script.rows[0] = (struct target_row){8 * G, 2 * G, is_right ? BLOCK_RETIRED : BLOCK_BUFFER,
                                             9};
        script.row_count = 1;
        if (is_right) {
            KEEPS(report());
        } else {
            BREAKS(report(), RULE_REPORT);
        }
        stop();
    }
}

TEST(a_run_ends_with_what_went_bad_and_one_hole_beside_it)
{
    for (int coalesces = 0; coalesces < 2; coalesces++) {
        start();
        KEEPS(alloc_at(4, 2));
        KEEPS(step(make_retire(10, 2)));
        KEEPS(on(OP_HOLD, 0));
        KEEPS(on(OP_FREE, 0));
        script.stats_more.largest_free_block_bytes = coalesces ? 0 : (uint64_t)-G;
        if (coalesces) {
            KEEPS(run_finish(script.run));
        } else {
            BREAKS(run_finish(script.run), RULE_NOT_COALESCED);
        }
        stop();
    }
}
