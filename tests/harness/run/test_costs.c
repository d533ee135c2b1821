/* What a request is said to have asked for, what was done for it, and what it cost; and that a
 * target that broke a rule is asked no more. */
#include "harness/run/run_state.h"
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

static void evict_0(void)
{
    ck_assert_int_eq(unload(0), DEVICE_OK);
}

static void evict_1(void)
{
    ck_assert_int_eq(unload(1), DEVICE_OK);
}

static void take_memory(void)
{
    const struct device_services *device = script.device[0];
    device->host_free(device->context, device->host_alloc(device->context, 8), 8);
}

/* --- what a refusal did --- */

static void move_0_to_6(void)
{
    ck_assert_int_eq(copy(8, 6, 2), DEVICE_OK);
    script.at[1].address = 6 * G;
}
static void move_0_to_6_by_host(void)
{
    uint64_t stage = 0;
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 8 * G, 2 * G, &stage), DEVICE_OK);
    ck_assert_int_eq(device->stage_in(device->context, stage, 6 * G), DEVICE_OK);
    script.at[1].address = 6 * G;
}
static void look_into_0(void)
{
    uint64_t stage = 0;
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 8 * G, 2 * G, &stage), DEVICE_OK);
    device->stage_drop(device->context, stage);
}
static void move_0_to_6_and_back(void)
{
    move_0_to_6();
    ck_assert_int_eq(copy(6, 8, 2), DEVICE_OK);
    script.at[1].address = 8 * G;
}
static void await_nothing(void)
{
    wait_for(2);
}
static void await_nothing_and_move(void)
{
    wait_for(2);
    move_0_to_6();
}
static void evict_program(void)
{
    ck_assert_int_eq(unload(1), DEVICE_OK);
}
/* Three granules fit at once; what the target did before it refused them is named. */
TEST(a_premature_refusal_is_named_for_what_was_done_for_it)
{
    static const struct {
        void (*act)(void);
        const char *mechanism;
    } rows[] = {
        {NULL, "buffer fits at once, in a hole of twice its size or more"},
        {look_into_0, "buffer fits at once, in a hole of twice its size or more"},
        {move_0_to_6, "fits after its own defragment"},
        {move_0_to_6_by_host, "fits after its own defragment"},
        {move_0_to_6_and_back, "fits after its own defragment"},
        {await_nothing, "fits after its own drain"},
        {await_nothing_and_move, "fits after its own drain and defragment"},
        {evict_program, "fits after its own evict"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_with(DEFRAG_REPACK);
        KEEPS(alloc_at(8, 2));
        KEEPS(load_at(14, 1, 0));
        KEEPS(on_for(OP_USE, 0, 0)); /* the event of op 2, which is done */
        script.act = rows[i].act;
        const struct verdict *verdict = refuse(3);
        JUDGED(verdict, VERDICT_PREMATURE);
        ck_assert_msg(strcmp(verdict->mechanism, rows[i].mechanism) == 0, "row %zu: %s", i,
                      verdict->mechanism);
        stop();
    }
}

/* --- sums --- */

TEST(a_verdict_has_the_sums_of_its_request)
{
    const uint64_t most = (uint64_t)1 << 63;
    const struct {
        uint64_t image_bytes, stack_bytes, requested_bytes;
    } rows[] = {
        {17 * G, 0, 17 * G},
        {17 * G, G, 18 * G},
        {most, most - 1, UINT64_MAX},
        {most, most, UINT64_MAX}, /* would be 0 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        KEEPS(alloc_at(0, 2));
        struct op op = op_make(OP_LOAD);
        op.size_bytes = rows[i].image_bytes;
        op.stack_bytes = rows[i].stack_bytes;
        script.result = TARGET_NO_MEMORY;
        const struct verdict *verdict = step(op);
        JUDGED(verdict, VERDICT_JUSTIFIED);
        ck_assert_uint_eq(verdict->requested_bytes, rows[i].requested_bytes);
        ck_assert_uint_eq(verdict->free_bytes, 14 * G);
        stop();
    }
}

/* Whose image is there needs room for its stack alone, down to the last granule. */
TEST(an_execution_needs_its_image_only_where_it_is_not_there)
{
    for (int is_evicted = 0; is_evicted < 2; is_evicted++) {
        prepare();
        script.contract.rounding = (struct target_rounding){
            .kind = ROUNDING_CLASSES, .steps = 1, .smallest_bytes = 4 * G};
        start_hosts(1);
        KEEPS(load_at(14, 2, 11));
        if (is_evicted != 0) {
            script.act = evict_0;
        }
        KEEPS(alloc_at(13, 1));
        script.at[1].address = is_evicted != 0 ? TARGET_ADDRESS_NONE : 14 * G;
        script.result = TARGET_NO_MEMORY;
        const struct verdict *verdict = on_for(OP_EXECUTE, 0, 10);
        JUDGED(verdict, VERDICT_PREMATURE);
        ck_assert_uint_eq(verdict->requested_bytes, (is_evicted != 0 ? 13 : 11) * G);
        stop();
    }
}

/* What was moved for it, and where it is then. */
TEST(a_premature_refusal_names_a_plan)
{
    start();
    KEEPS(alloc_at(7, 2));
    const struct verdict *verdict = refuse(14);
    JUDGED(verdict, VERDICT_PREMATURE);
    ck_assert_str_eq(verdict->reason, "move blocks (1, 1.0K), then the request fits at 0x0");
    stop();
}

/* --- costs --- */

static void move_7_to(uint64_t at)
{
    ck_assert_int_eq(copy(7, at, 2), DEVICE_OK);
    script.at[1].address = at * G;
}
static void move_7_to_0(void)
{
    move_7_to(0);
}
static void move_7_to_0_by_host(void)
{
    uint64_t stage = 0;
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 7 * G, 2 * G, &stage), DEVICE_OK);
    ck_assert_int_eq(device->stage_in(device->context, stage, 0), DEVICE_OK);
    script.at[1].address = 0;
}
static void move_7_to_0_in_two_steps(void)
{
    move_7_to(4);
    ck_assert_int_eq(copy(4, 0, 2), DEVICE_OK);
    script.at[1].address = 0;
}
static void evict_7(void)
{
    ck_assert_int_eq(unload(0), DEVICE_OK);
}
/* Op 0 is a block, or an idle program, of two granules at granule 7. */
TEST(what_a_request_cost_beyond_the_cheapest_plan_is_counted)
{
    static const struct {
        bool is_program;
        uint64_t size, at; /* granted there; at 16: it is refused */
        void (*act)(void);
        unsigned kinds;
        uint64_t evicted, moved; /* granules beyond the plan */
    } rows[] = {
        {false, 14, 2, move_7_to_0, 0, 0, 0},
        {false, 14, 2, move_7_to_0_by_host, 0, 0, 0},
        {false, 14, 2, move_7_to_0_in_two_steps, 1u << REGRET_MOVED_TOO_MUCH, 0, 2},
        {false, 7, 9, move_7_to_0, 1u << REGRET_MOVED_NEEDLESSLY, 0, 2},
        {false, 7, 9, move_7_to_0_by_host, 1u << REGRET_MOVED_NEEDLESSLY, 0, 2},
        {false, 15, 16, move_7_to_0, 1u << REGRET_IN_VAIN, 0, 2},
        {false, 7, 0, take_memory, 0, 0, 0},
        {true, 16, 0, evict_7, 0, 0, 0},
        {true, 14, 0, evict_7, 1u << REGRET_EVICTED_NEEDLESSLY, 2, 0},
        {true, 17, 16, evict_7, 1u << REGRET_IN_VAIN, 2, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_with(DEFRAG_REPACK);
        KEEPS(rows[i].is_program ? load_at(7, 2, 0) : alloc_at(7, 2));
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = rows[i].size * G;
        script.act = rows[i].act;
        script.result = rows[i].at == 16 ? TARGET_NO_MEMORY : TARGET_OK;
        script.block = (struct target_block){next_handle(), rows[i].at * G, op.size_bytes};
        JUDGED(step(op), rows[i].at == 16 ? VERDICT_JUSTIFIED : VERDICT_NONE);
        const struct run_totals *totals = run_totals(script.run);
        for (unsigned k = 0; k < REGRET_KIND_COUNT; k++) {
            ck_assert_msg(totals->regrets[k] == (rows[i].kinds >> k & 1), "row %zu: %s", i,
                          regret_info((enum regret_kind)k)->name);
        }
        ck_assert_uint_eq(totals->regretted_evicted_bytes, rows[i].evicted * G);
        ck_assert_uint_eq(totals->regretted_moved_bytes, rows[i].moved * G);
        stop();
    }
}

static void move_9_to_0_after_a_fault(void)
{
    ck_assert_int_eq(copy(7, 0, 2), DEVICE_REFUSED);
    move_7_to_0();
}

/* Nothing is regretted of what is no request, of a request in which a fault struck, and of one that
 * is asked again. */
TEST(some_costs_are_nobody_s)
{
    for (int how = 0; how < 4; how++) {
        start_with(DEFRAG_REPACK);
        run_go_on(script.run);
        script.run->judge.looks_back = how != 3;
        KEEPS(alloc_at(7, 2));
        struct op op = op_make(how == 0 ? OP_DEFRAGMENT : OP_ALLOC);
        op.size_bytes = how == 0 ? 0 : 7 * G;
        if (how == 1) {
            KEEPS(arm(FAULT_COPY));
        } else if (how == 2) {
            JUDGED(refuse(7), VERDICT_PREMATURE);
            op.flags = OP_RETRY;
        }
        script.act = how == 1 ? move_9_to_0_after_a_fault : move_7_to_0;
        script.block = (struct target_block){next_handle(), 9 * G, 7 * G};
        KEEPS(step(op));
        ck_assert_uint_eq(run_totals(script.run)->regretted, 0);
        stop();
    }
}

/* --- after harm --- */

static struct target asking_target;
static unsigned asked;
static void count_stats(struct target_instance *instance, struct target_stats *stats)
{
    asked++;
    scripted_target.stats(instance, stats);
}

static void start_asking(void)
{
    char reason[RUN_REASON_BYTES] = "";
    struct setup setup;
    prepare();
    script.contract.defrag = DEFRAG_REPACK;
    script.contract.rounding = (struct target_rounding){.kind = ROUNDING_CLASSES, .steps = 1};
    asking_target = scripted_target;
    asking_target.stats = count_stats;
    setup_init(&setup);
    setup.capacity_bytes = 16 * G;
    script.run = run_create(&asking_target, &setup, reason);
    ck_assert_msg(script.run != NULL, "%s", reason);
    KEEPS(alloc_at(12, 4));
}

static void *much;
static void take_much(void)
{
    const struct device_services *device = script.device[0];
    much = device->host_alloc(device->context, (size_t)4 << 20);
}
static void copy_out(void)
{
    ck_assert_int_eq(copy(12, 15, 4), DEVICE_REFUSED);
}
static void tear_block(void)
{
    ck_assert_int_eq(copy(12, 11, 2), DEVICE_OK);
    script.at[1].address = 11 * G;
}
static void move_block(void)
{
    ck_assert_int_eq(copy(12, 4, 4), DEVICE_OK);
    script.at[1].address = 4 * G;
}
static void claim_block(void)
{
    script.at[1].address = 4 * G;
}

static const struct verdict *ask_and(enum target_result result, void (*act)(void), uint64_t at)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 9 * G;
    script.act = act;
    script.result = result;
    script.block = (struct target_block){next_handle(), at * G, 9 * G};
    return step(op);
}

static const struct verdict *ask_again(void)
{
    struct op op = op_make(OP_ALLOC);
    JUDGED(ask_and(TARGET_NO_MEMORY, NULL, 0), VERDICT_JUSTIFIED);
    op.flags = OP_RETRY;
    script.block = (struct target_block){next_handle(), 0, 9 * G};
    asked = 0;
    return step(op);
}

static const struct verdict *load_what_cannot_run(void)
{
    KEEPS(on(OP_HOLD, 0));
    asked = 0;
    return load_at(8, 2, 11);
}

static const struct verdict *donate_to_handle_0(void)
{
    struct op op = op_make(OP_DONATE);
    op.ref = 0;
    op.size_bytes = G;
    script.block = (struct target_block){0, 12 * G, 4 * G};
    return step(op);
}

/* Op 1 is a program, which is evicted if it is loaded again. */
static const struct verdict *execute_at(uint64_t at, bool is_evicted)
{
    KEEPS(load_at(0, 2, 0));
    if (is_evicted) {
        script.act = evict_1;
        KEEPS(alloc_at(4, 2));
    }
    asked = 0;
    script.block = (struct target_block){2, at * G, 2 * G};
    return on_for(OP_EXECUTE, 1, 10);
}

static const struct verdict *retire_under_move(void)
{
    struct op op = op_make(OP_RETIRE);
    op.address = 4 * G;
    op.size_bytes = 4 * G;
    script.act = move_block;
    return step(op);
}

static void move_block_and_wait(void)
{
    move_block();
    wait_for(1);
}

static const struct verdict *move_in_use(void)
{
    KEEPS(on_for(OP_USE, 0, 1000));
    asked = 0;
    script.act = move_block_and_wait;
    return step(op_make(OP_DEFRAGMENT));
}

static void leave_block_in_host_memory(void)
{
    uint64_t stage = 0;
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 12 * G, 4 * G, &stage), DEVICE_OK);
    ck_assert_int_eq(device->stage_in(device->context, stage, 0), DEVICE_REFUSED);
    script.at[1].address = TARGET_ADDRESS_NONE;
}

static const struct verdict *use_in_host_memory(void)
{
    struct op op = op_make(OP_FAULT);
    op.tag = FAULT_COPY;
    op.size_bytes = 2;
    KEEPS(step(op));
    KEEPS(ask_and(TARGET_NO_MEMORY, leave_block_in_host_memory, 0));
    asked = 0;
    return on_for(OP_USE, 0, 1000);
}

/* What broke a rule is not asked about itself any more: nobody knows what that would do. */
TEST(a_target_that_broke_a_rule_is_asked_no_more)
{
    static const enum rule rules[] = {
        RULE_NONE,     RULE_OUTSIDE,       RULE_HOST_MEMORY, RULE_STATUS,    RULE_FAILED_CHANGED,
        RULE_CONTENTS, RULE_OVERLAP,       RULE_RETRY,       RULE_PREMATURE, RULE_STATUS,
        RULE_HANDLE,   RULE_MOVED_UNASKED, RULE_OVERLAP,     RULE_OVERLAP,   RULE_OUTSIDE,
        RULE_OUTSIDE,  RULE_HELD_MOVED,    RULE_STATUS,
    };
    for (unsigned how = 0; how < sizeof rules / sizeof rules[0]; how++) {
        start_asking();
        much = NULL;
        asked = 0;
        const struct verdict *verdict = how == 0    ? ask_and(TARGET_OK, NULL, 0)
                                        : how == 1  ? ask_and(TARGET_OK, copy_out, 0)
                                        : how == 2  ? ask_and(TARGET_OK, take_much, 0)
                                        : how == 3  ? ask_and(TARGET_FAILED, NULL, 0)
                                        : how == 4  ? ask_and(TARGET_NO_MEMORY, claim_block, 0)
                                        : how == 5  ? ask_and(TARGET_OK, tear_block, 0)
                                        : how == 6  ? ask_and(TARGET_OK, NULL, 5)
                                        : how == 7  ? ask_again()
                                        : how == 8  ? refuse(8)
                                        : how == 9  ? load_what_cannot_run()
                                        : how == 10 ? donate_to_handle_0()
                                        : how == 11 ? execute_at(4, false)
                                        : how == 12 ? execute_at(13, true)
                                        : how == 13 ? retire_under_move()
                                        : how == 14 ? execute_at(15, true)
                                        : how == 15 ? ask_and(TARGET_OK, NULL, 8)
                                        : how == 16 ? move_in_use()
                                                    : use_in_host_memory();
        ck_assert_msg(verdict->rule == rules[how], "%u: %s, %s", how,
                      rule_info(verdict->rule)->name, verdict->reason);
        ck_assert_msg(asked == (how == 0), "%u: asked %u times", how, asked);
        script.device[0]->host_free(script.device[0]->context, much, (size_t)4 << 20);
        stop();
    }
}
