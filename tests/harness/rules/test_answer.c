/* Answers that are wrong in a way that the other suites of the rules do not look at, each next to
 * its legal neighbour. */
#include "harness/rules/private/families.h"
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

/* Is so much part of what was said? */
static void expect_reason(const struct verdict *verdict, const char *part)
{
    ck_assert_msg(strstr(verdict->reason, part) != NULL, "'%s' lacks '%s'", verdict->reason, part);
}

/* --- new blocks --- */

/* The stack of a program that runs ends at granule 4. */
TEST(a_new_block_lies_above_the_stack)
{
    for (uint64_t at = 3; at <= 4; at++) {
        start();
        KEEPS(load_at(12, 1, 4));
        KEEPS(execute(0, 1000));
        const struct verdict *verdict = alloc_at(at, 1);
        if (at == 4) {
            KEEPS(verdict);
        } else {
            BREAKS(verdict, RULE_OVERLAP);
            ck_assert_str_eq(verdict->reason, "0x600 lies in the stack, which ends at 0x800");
            ck_assert_str_eq(verdict->mechanism, "answer");
        }
        stop();
    }
}

static void move_0_to_4(void)
{
    ck_assert_int_eq(copy(0, 4, 2), DEVICE_OK);
    script.at[1].address = 4 * G;
}

/* The range was free when the target was told. */
TEST(nothing_is_moved_into_memory_that_goes_bad)
{
    for (uint64_t at = 4; at <= 6; at += 2) {
        start();
        KEEPS(alloc_at(0, 2));
        struct op op = op_make(OP_RETIRE);
        op.address = at * G;
        op.size_bytes = 2 * G;
        script.act = move_0_to_4;
        const struct verdict *verdict = step(op);
        if (at == 6) {
            KEEPS(verdict);
            KEEPS(report());
        } else {
            BREAKS(verdict, RULE_OVERLAP);
            ck_assert_str_eq(verdict->reason, "[0x800, +1024) lies on live block 0 at 0x800");
        }
        stop();
    }
}

/* --- donations --- */

TEST(an_output_that_takes_over_its_input_has_a_handle)
{
    for (uint64_t handle = 0; handle < 3; handle += 2) {
        start();
        KEEPS(alloc_at(4, 2));
        struct op op = op_make(OP_DONATE);
        op.ref = 0;
        op.size_bytes = G;
        script.block = (struct target_block){handle, 4 * G, 2 * G};
        const struct verdict *verdict = step(op);
        ck_assert_int_eq(verdict->rule, handle == 0 ? RULE_HANDLE : RULE_NONE);
        stop();
    }
}

/* --- images --- */

static void evict_0(void)
{
    ck_assert_int_eq(unload(0), DEVICE_OK);
}

/* Op 0 is an evicted program of two granules, op 1 the block [8, 10). */
TEST(an_image_that_is_loaded_again_is_a_new_block)
{
    static const struct {
        struct target_block image;
        enum rule rule;
    } rows[] = {
        {{1, 4 * G, 2 * G}, RULE_NONE},           {{0, 4 * G, 2 * G}, RULE_HANDLE},
        {{1, 4 * G, G}, RULE_TOO_SMALL},          {{1, 15 * G, 2 * G}, RULE_OUTSIDE},
        {{1, 4 * G + 1, 2 * G}, RULE_MISALIGNED}, {{1, 9 * G, 2 * G}, RULE_OVERLAP},
        {{1, 4 * G, 3 * G}, RULE_TOO_LARGE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        KEEPS(load_at(4, 2, 0));
        script.act = evict_0;
        KEEPS(alloc_at(8, 2));
        script.block = rows[i].image;
        const struct verdict *verdict = on_for(OP_EXECUTE, 0, 10);
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s, %s", i,
                      rule_info(verdict->rule)->name, verdict->reason);
        stop();
    }
}

TEST(an_image_that_is_there_stays_where_it_is)
{
    for (uint64_t at = 4; at <= 6; at += 2) {
        start();
        KEEPS(load_at(4, 2, 0));
        script.block = (struct target_block){1, at * G, 2 * G};
        const struct verdict *verdict = on_for(OP_EXECUTE, 0, 10);
        if (at == 4) {
            KEEPS(verdict);
        } else {
            BREAKS(verdict, RULE_MOVED_UNASKED);
            ck_assert_str_eq(verdict->reason, "the target reports the image of program 0 at 0xc00, "
                                              "but it was at 0x800");
            ck_assert_str_eq(verdict->mechanism, "image");
        }
        stop();
    }
}

static void evict_half_of_0(void)
{
    ck_assert_int_eq(unload(0), DEVICE_PARTIAL);
}
static void evict_0_in_two_steps(void)
{
    evict_half_of_0();
    evict_0();
}

/* Half an image is none; all of it is gone only after the second step. */
TEST(half_an_image_does_not_run)
{
    for (int is_resumed = 0; is_resumed < 2; is_resumed++) {
        prepare();
        script.contract.resumes = true;
        start_hosts(1);
        KEEPS(load_at(4, 2, 0));
        KEEPS(arm(FAULT_UNLOAD_HALF));
        script.act = is_resumed != 0 ? evict_0_in_two_steps : evict_half_of_0;
        KEEPS(alloc_at(8, 2));
        const struct model *model = run_model(script.run, 0);
        ck_assert_uint_eq(model_counters(model)->block_count, is_resumed != 0 ? 1 : 2);
        script.block = (struct target_block){1, 4 * G, 2 * G};
        const struct verdict *verdict = on_for(OP_EXECUTE, 0, 10);
        if (is_resumed != 0) {
            KEEPS(verdict);
        } else {
            BREAKS(verdict, RULE_CONTENTS);
        }
        stop();
    }
}

static void evict_1(void)
{
    ck_assert_int_eq(unload(1), DEVICE_OK);
}

TEST(a_buffer_is_not_evicted)
{
    start();
    KEEPS(load_at(4, 2, 0));
    KEEPS(alloc_at(8, 2));
    script.act = evict_1;
    const struct verdict *verdict = alloc_at(10, 2);
    BREAKS(verdict, RULE_WRONG_EVICTION);
    ck_assert_str_eq(verdict->reason, "evicted program 1, which is not loaded");
    ck_assert_str_eq(verdict->mechanism, "program that is not loaded");
    stop();
}

/* Of calls that overlap one must be under way that may evict. */
TEST(calls_that_overlap_evict_only_if_one_of_them_may)
{
    start();
    KEEPS(load_at(4, 2, 0));
    const struct model *model = run_model(script.run, 0);
    for (int is_overlapping = 0; is_overlapping < 2; is_overlapping++) {
        for (int may_evict = 0; may_evict < 2; may_evict++) {
            struct verdict verdict = {.kind = VERDICT_NONE};
            struct judge judge = {.verdict = &verdict, .is_overlapping = is_overlapping != 0};
            const struct host host = {.model = (struct model *)model};
            const struct rule_evidence evidence = {.judge = &judge,
                                                   .host = &host,
                                                   .slot = model_slot_of_op(model, 0),
                                                   .may_evict = may_evict != 0};
            ck_assert_int_eq(rule_judge(RULE_WRONG_EVICTION, &evidence), may_evict);
            ck_assert_int_eq(verdict.rule, may_evict != 0 ? RULE_NONE : RULE_WRONG_EVICTION);
            ck_assert_str_eq(verdict.reason, may_evict != 0 ? ""
                                             : is_overlapping != 0
                                                 ? "evicted program 0, which is not loaded, or no "
                                                   "call may evict"
                                                 : "evicted program 0 for a request that may not "
                                                   "evict");
        }
    }
    stop();
}

/* --- stacks --- */

/* A run that goes on takes the program as the target has it, and its stack then lies on a block, or
 * is larger than the device.  Blocks [0, 2) and [2, 4), and one that is held at 12: with the image
 * three of two granules are to lie above the stack.  For 9 granules of stack there are two spans of
 * three, which are large enough together alone. */
TEST(a_load_that_cannot_run_is_told_again_when_it_runs)
{
    static const struct {
        uint64_t stack;
        const char *load, *execution; /* what is said; NULL: nothing */
    } rows[] = {
        {8, NULL, NULL},
        {9, "load returned OK for a stack of 4608 bytes, but it cannot be reserved: ",
         "the stack [0, 0x1200) lies on a block"},
        {10, "load returned OK for a stack of 5120 bytes, but at most 4608 can be reserved",
         "the stack [0, 0x1400) lies on a block"},
        {17, "load returned OK for a stack of 8704 bytes, but at most 4608 can be reserved",
         "the stack [0, 0x2200) lies on a block"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_with(DEFRAG_REPACK);
        run_go_on(script.run);
        KEEPS(alloc_at(0, 2));
        KEEPS(alloc_at(2, 2));
        KEEPS(alloc_at(12, 1));
        KEEPS(on(OP_HOLD, 2));
        const struct verdict *verdict = load_at(9, 2, rows[i].stack);
        if (rows[i].load == NULL) {
            KEEPS(verdict);
            stop();
            continue;
        }
        BREAKS(verdict, RULE_STATUS);
        expect_reason(verdict, rows[i].load);
        ck_assert_str_eq(verdict->mechanism, "stack");
        ck_assert(!run_is_broken(script.run));
        KEEPS(report());
        verdict = execute(4, 1000);
        BREAKS(verdict, RULE_OVERLAP);
        ck_assert_str_eq(verdict->reason, rows[i].execution);
        stop();
    }
}

/* --- results --- */

TEST(a_result_that_no_call_gets_is_named_for_the_call)
{
    static const struct {
        enum op_kind kind;
        enum target_result result;
        const char *mechanism, *reason;
    } rows[] = {
        {OP_FREE, TARGET_FAILED, "free returned FAILED", "free returned FAILED"},
        {OP_FREE_AFTER, TARGET_FAILED, "free returned FAILED", "free_after returned FAILED"},
        {OP_USE, TARGET_INVALID, "use returned INVALID", "use returned INVALID"},
        {OP_HOLD, TARGET_NO_MEMORY, "hold returned NO_MEMORY", "hold returned NO_MEMORY"},
        {OP_OUTPUT, TARGET_FAILED, "alloc returned FAILED", "output returned FAILED"},
        {OP_HOLD, (enum target_result)4, "answer", "the result is 4, which is no valid result"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        KEEPS(alloc_at(0, 2));
        struct op op = op_make(rows[i].kind);
        op.ref = op_kind_info(rows[i].kind)->has_block ? 0 : OP_NONE;
        op.size_bytes = op_kind_info(rows[i].kind)->has_size ? G : 0;
        script.result = rows[i].result;
        const struct verdict *verdict = step(op);
        BREAKS(verdict, RULE_STATUS);
        ck_assert_str_eq(verdict->mechanism, rows[i].mechanism);
        ck_assert_str_eq(verdict->reason, rows[i].reason);
        stop();
    }
}

/* Op 0 made the block; calls that overlap name it once it is gone. */
TEST(what_is_gone_takes_no_call)
{
    struct verdict verdict = {.kind = VERDICT_NONE};
    struct judge judge = {.verdict = &verdict, .goes_on = true};
    struct call call = {.op = op_make(OP_HOLD)};
    call.op.ref = 3;
    const struct rule_evidence evidence = {.judge = &judge, .call = &call, .sight = SIGHT_GONE};
    ck_assert(!rule_judge(RULE_STATUS, &evidence));
    ck_assert(judge.cannot_follow);
    ck_assert_str_eq(verdict.reason, "hold returned OK for block 3, which was gone");
    ck_assert_str_eq(verdict.mechanism, "block that was gone");
}

/* --- asked again --- */

static void move_2_to_4(void)
{
    ck_assert_int_eq(copy(0, 4, 2), DEVICE_OK);
    script.at[1].address = 4 * G;
}
static void move_2_to_4_by_host(void)
{
    uint64_t stage = 0;
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 0, 2 * G, &stage), DEVICE_OK);
    ck_assert_int_eq(device->stage_in(device->context, stage, 4 * G), DEVICE_OK);
    script.at[1].address = 4 * G;
}
static void look_into_2(void)
{
    uint64_t stage = 0;
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 0, 2 * G, &stage), DEVICE_OK);
    device->stage_drop(device->context, stage);
}
static void take_memory(void)
{
    const struct device_services *device = script.device[0];
    device->host_free(device->context, device->host_alloc(device->context, 8), 8);
}

/* Classes of a power of two: a request of 9 granules is justly refused where no 16 are free.  Op 0
 * is the block [0, 2), op 1 a program. */
TEST(a_retry_that_made_room_itself_is_told_so)
{
    static const struct {
        void (*act)(void);
        bool made_room;
    } rows[] = {
        {NULL, false},   {move_2_to_4, true},  {move_2_to_4_by_host, true},
        {evict_1, true}, {look_into_2, false}, {take_memory, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare();
        script.contract.defrag = DEFRAG_REPACK;
        script.contract.rounding = (struct target_rounding){.kind = ROUNDING_CLASSES, .steps = 1};
        start_hosts(1);
        KEEPS(alloc_at(0, 2));
        KEEPS(load_at(2, 1, 0));
        JUDGED(refuse(9), VERDICT_JUSTIFIED);
        struct op retry = op_make(OP_ALLOC);
        retry.flags = OP_RETRY;
        script.act = rows[i].act;
        script.block = (struct target_block){next_handle(), 6 * G, 9 * G};
        const struct verdict *verdict = step(retry);
        BREAKS(verdict, RULE_RETRY);
        ck_assert(run_is_broken(script.run));
        ck_assert_str_eq(
            verdict->reason,
            rows[i].made_room
                ? "alloc was refused as op 2 and granted when it was asked again, after "
                  "moves or evictions of its own, with no event and no time in between: "
                  "the refusal was premature"
                : "alloc was refused as op 2 and granted when it was asked again, with "
                  "no event and no time in between: the refusal was premature");
        stop();
    }
}

/* --- texts --- */

/* Without a run that goes on a wrong text is the end of it; without documented messages any text
 * will do. */
TEST(the_first_wrong_text_ends_a_run)
{
    static const struct {
        bool is_documented;
        const char *text;
        enum rule rule;
        const char *mechanism;
    } rows[] = {
        {true,
         "RESOURCE_EXHAUSTED: Attempting to allocate 8.5K. That was not possible. There are "
         "8.0K free.",
         RULE_NONE, NULL},
        {true,
         "RESOURCE_EXHAUSTED: Attempting to allocate 8.5K. That was not possible. There are "
         "8.5K free.",
         RULE_MESSAGE, "numbers"},
        {true, "no memory", RULE_MESSAGE, "words"},
        {false, "no memory", RULE_NONE, NULL},
        {false, "", RULE_MESSAGE, "empty text"},
        {true, "", RULE_MESSAGE, "empty text"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare();
        script.contract.documented_messages = rows[i].is_documented;
        script.message = rows[i].text;
        start_hosts(1);
        const struct verdict *verdict = refuse(17);
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s", i, verdict->reason);
        ck_assert_int_eq(run_is_broken(script.run), rows[i].rule == RULE_MESSAGE);
        if (rows[i].rule == RULE_MESSAGE) {
            ck_assert_str_eq(verdict->mechanism, rows[i].mechanism);
        }
        stop();
    }
}

#define NEEDED(size)                                   \
    "RESOURCE_EXHAUSTED: Attempting to allocate " size \
    ". That was not possible. There are 7.0K free."
#define FRAGMENTED " Due to fragmentation, the largest contiguous region of free memory is 3.5K."

/* Seven granules are free on either side of a block that never moves: they would do for 14. */
TEST(fragmentation_is_to_be_named_from_the_byte_on_that_would_do)
{
    static const struct {
        enum defrag_contract defrag;
        uint64_t size;
        const char *text;
        bool is_right;
    } rows[] = {
        {DEFRAG_NONE, 14, NEEDED("7.0K"), false},
        {DEFRAG_NONE, 14, NEEDED("7.0K") FRAGMENTED, true},
        {DEFRAG_NONE, 15, NEEDED("7.5K"), true},
        {DEFRAG_SLIDE, 15, NEEDED("7.5K"), true},
        {DEFRAG_SLIDE, 14, NEEDED("7.0K"), true}, /* the block is held */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare();
        script.contract.defrag = rows[i].defrag;
        script.contract.documented_messages = true;
        script.message = rows[i].text;
        start_hosts(1);
        KEEPS(alloc_at(7, 2));
        KEEPS(on(OP_HOLD, 0));
        const struct verdict *verdict = refuse(rows[i].size);
        ck_assert_msg(verdict->rule == (rows[i].is_right ? RULE_NONE : RULE_MESSAGE), "row %zu: %s",
                      i, verdict->reason);
        stop();
    }
}

/* Behind a right one the target is looked at as after any other call. */
TEST(behind_a_right_text_counters_are_compared)
{
    prepare();
    script.contract.documented_messages = true;
    script
        .message = "RESOURCE_EXHAUSTED: Attempting to allocate 8.5K. That was not possible. There "
                   "are 8.0K free.";
    start_hosts(1);
    run_go_on(script.run);
    script.stats_more.num_allocs = 1;
    BREAKS(refuse(17), RULE_COUNTERS);
    ck_assert_int_eq(run_hidden_oom(script.run)->kind, VERDICT_JUSTIFIED);
    KEEPS(alloc_at(0, 1));
    ck_assert_ptr_null(run_hidden_oom(script.run));
    stop();
}
